"""Typical size, center and spread of the entries of X, from a sample of them."""

import math

import numpy as np

from rpcag.linalg.blocks import column_blocks, row_blocks

# Entries from which a typical size is estimated. More take time and change little.
SAMPLE = 2**18
# Limits on typical sizes, so that their inverses do not overflow or underflow.
MIN_SIZE, MAX_SIZE = 2.0**-1022, 2.0**1023
# An entry beyond this many typical sizes is refused. The solvers handle larger ones
# only in part: squares of sizes in such units must not overflow.
TOO_FAR = 1e36


def observed_share(X: np.ndarray) -> float:
    """Share of the entries that are not NaN."""
    missing = sum(int(np.isnan(X[rows]).sum()) for rows in row_blocks(X.shape))
    return 1 - missing / X.size


def typical_size(X: np.ndarray) -> float:
    """Median size of the entries that are neither missing nor zero, as a deviation.

    0.6745 is the median of |x| for a standard normal x, so standardized data have a
    size of about one.
    """
    sizes = np.abs(X)
    sizes = sizes[sizes > 0]  # nor NaN
    if sizes.size == 0:
        return 1.0
    middle = len(sizes) // 2
    sizes.partition(middle)  # np.median looks for two numbers, which takes longer
    size = float(sizes[middle])
    if len(sizes) % 2 == 0:
        size = size / 2 + float(sizes[:middle].max()) / 2
    # Limited, because 1 / size is needed too.
    return min(max(size / 0.6745, MIN_SIZE), MAX_SIZE)


class TooFarApart(ValueError):
    """The largest entry of X is so large that others are lost to rounding.

    X may be scaled; the message has the entry of `given`. `place` is (row, column).
    """

    def __init__(self, X: np.ndarray, given: np.ndarray) -> None:
        i, j = np.unravel_index(np.nanargmax(np.abs(X)), X.shape)
        self.place = int(i), int(j)
        super().__init__(
            f"X[{i}, {j}] is {given[i, j]:.3g}, so far from the other values that they "
            "are lost to rounding; correct it, or mark it as missing by NaN"
        )


def check_range(X: np.ndarray, given: np.ndarray) -> None:
    """Refuse an entry that is too far from the others; see `TooFarApart`."""
    largest = max(float(np.fmax.reduce(X, None)), -float(np.fmin.reduce(X, None)))
    if largest / typical_size(thinned(X)) > TOO_FAR:
        raise TooFarApart(X, given)


def thinned(X: np.ndarray) -> np.ndarray:
    """At most SAMPLE evenly spread entries, enough for the first penalties."""
    step = math.ceil(X.size / SAMPLE)
    while math.gcd(step, X.shape[1]) > 1:  # else always the same features
        step += 1
    some = X.reshape(-1)[::step]
    return some if np.any(np.abs(some) > 0) else X


def typical_center(X: np.ndarray) -> np.ndarray:
    """The median of every feature, from at most a hundred rows; zero where unseen."""
    rows = some_rows(X)
    # Some columns at a time: whole rows would not stay in the cache.
    pieces = [np.sort(rows[:, at], axis=0) for at in column_blocks(rows.shape, most=64)]
    ordered = np.hstack(pieces)  # NaN last
    counts = np.count_nonzero(~np.isnan(ordered), axis=0)
    middle = np.maximum([counts - 1, counts], 0) // 2
    # Halves: the sum of the two middle ones may overflow.
    low, high = np.take_along_axis(ordered, middle, axis=0) / 2
    return np.where(counts > 0, low + high, 0)


def typical_spread(
    X: np.ndarray, size: float, center: np.ndarray, least: float = 1e-3
) -> float:
    """Typical distance of an entry from its feature's median, in rows that gave these.

    `size` is that of the entries themselves; the result is at least `least` times that.
    """
    distances = some_rows(X) - center
    if not np.any(np.abs(distances) > 0):
        return size
    return float(np.clip(typical_size(thinned(distances)), least * size, size))


def some_rows(X: np.ndarray) -> np.ndarray:
    return X[:: max(1, len(X) // 64)]
