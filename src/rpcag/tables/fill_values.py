"""Find fill values: numbers that mark missing values, far from the rest of a column."""

import numpy as np

# Smallest fill value that may occur only once, and its ratio to the next smaller
# number. With larger values, the 1e20 of climate models is not found; with smaller
# ones, data that extend over many orders of magnitude may be found.
SMALLEST, GAP = 1e15, 1e10
# Other fill values are -1, nines, or limits of integer types. They occur at least
# REPEATED times, in less than half of the cells. Their distance from the other values
# is FAR times the central 90 % range of these. At most a share BEYOND of the others, or
# two of them, are as far out, because heavy tails have no gap.
NINES = [float("9" * n) for n in range(2, 10)]
CLASSIC = np.array(
    [9.9, 9.99, 99.9, 99.99, 999.9, 999.99, 9999.9, 9999.99, *NINES]
    + [2.0**bits - k for bits in (15, 16, 31, 32) for k in (0, 1)]
)  # without their signs
REPEATED, FAR, BEYOND = 3, 3.0, 0.01
CENTRAL = (0.05, 0.95)


def fill_values(X: np.ndarray) -> np.ndarray:
    """Find fill values in X, such as -999 or 9.96921e+36; returns a bool ndarray.

    Values below 1e15 must repeat and have the form of a fill value, such as -999.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.tables.fill_values import fill_values
    >>> fill_values(np.array([[1.5], [1e20], [0.0], [-3.0]])).ravel()
    array([False,  True, False, False])
    """
    found = np.zeros(X.shape, dtype=bool)
    for j, column in enumerate(X.T):
        known = np.sort(column[np.isfinite(column)])
        huge = _huge(np.sort(np.abs(known)))
        found[:, j] = np.abs(column) >= huge
        found[:, j] |= np.isin(column, _repeated(known[np.abs(known) < huge]))
    return found


def _huge(sizes: np.ndarray) -> float:
    """The smallest size that is many orders of magnitude above all other values.

    Fill values are fewer than the others, or all equal.
    """
    low, high = sizes[:-1], sizes[1:]
    ends = np.flatnonzero((high >= SMALLEST) & (high / GAP >= low))
    if not len(ends):
        return np.inf
    n_large, limit = len(high) - ends[0], high[ends[0]]
    return limit if 2 * n_large < len(sizes) or limit == sizes[-1] else np.inf


def _repeated(values: np.ndarray) -> np.ndarray:
    """Classic fill values that repeat and are far from the other values."""
    is_classic = np.isin(np.abs(values), CLASSIC) | (values == -1)
    candidates, counts = np.unique(values[is_classic], return_counts=True)
    candidates = candidates[counts >= REPEATED]
    others = values[~np.isin(values, candidates)]
    if not len(candidates) or 2 * len(others) <= len(values):
        return values[:0]
    low, high = np.quantile(others, CENTRAL)
    reach = FAR * (high - low)
    is_out = (others < low - reach) | (others > high + reach)
    if reach == 0 or is_out.sum() > max(BEYOND * len(others), REPEATED - 1):
        return values[:0]
    return candidates[(candidates < low - reach) | (candidates > high + reach)]
