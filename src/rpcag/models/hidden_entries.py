"""Hide entries of X, and measure how well they are predicted."""

import math
from dataclasses import dataclass

import numpy as np

from rpcag.linalg.blocks import column_blocks

# Random seed of the hidden entries. It is not a small number: a script that spoils
# entries with default_rng(0) must not hide just these.
SEED = (0x72706361, 0x67)
# Share of the observed entries that is hidden, and the number that is enough. With a
# larger share the remaining data are less like X; with a smaller one the errors are
# less accurate.
HIDDEN, ENOUGH = 0.15, 30_000
# Residuals are truncated at this many deviations of their feature, because a hidden
# gross error cannot be predicted. Smaller values ignore the tails of features.
TRUNCATION = 5.0
# A deviation is the 95 % quantile of the distances to the median, over that of a normal
# variable. The median distance would ignore the tails that many features have.
QUANTILE, NORMAL = 0.95, 1.96
# At most HEAVY times the deviation by the 75 % quantile: in features with more gross
# errors, the 95 % quantile is the size of these. Smaller values ignore tails again.
MIDDLE, MIDDLE_NORMAL, HEAVY = 0.75, 1.15, 4.0
# Features with a larger share of entries at their median, such as pixels of a dark
# background, do not count in `explained`: the median predicts most of their entries. If
# they did, the median distance would be close to zero, and so would be meaningless.
COMMON = 0.25
# Share of features that must count; with fewer, as in counts that are mostly zeros, all
# of them do.
FEWEST = 0.1
# Parts of the hidden entries that give the standard error of `explained`.
GROUPS = 10
# Entries of X that are sorted at a time: 8 MiB of doubles, and a few arrays of that
# size. Fewer would take more time for the loop over columns.
PIECE = 2**20


def hide(X: np.ndarray, draw: int = 0, axes: tuple[int, ...] = (0, 1)) -> np.ndarray:
    """Draw the entries to hide, as a mask, with a fixed random seed.

    Columns (axis 0) and rows (axis 1) that would lose all their entries keep them. The
    entries of different draws do not overlap, as long as these are fewer than seven.
    """
    observed = ~np.isnan(X)
    share = min(HIDDEN, ENOUGH / max(int(observed.sum()), 1))
    places = np.random.default_rng(SEED).random(X.shape) - draw * share
    hidden = (places >= 0) & (places < share) & observed
    for axis in axes:
        hidden &= (observed & ~hidden).any(axis=axis, keepdims=True)
    return hidden


@dataclass(frozen=True)
class Spread:
    """How the observed entries of every feature are spread.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        The median.
    limit : ndarray of shape (n_features,)
        The distance from a prediction at which errors are truncated.
    mean : ndarray of shape (n_features,)
    common : ndarray of shape (n_features,)
        Share of the entries that equal the median.
    """

    center: np.ndarray
    limit: np.ndarray
    mean: np.ndarray
    common: np.ndarray

    def explained(
        self, truth: np.ndarray, predicted: np.ndarray, columns: np.ndarray
    ) -> tuple[float, float]:
        """Share of the spread of hidden entries in these columns that is predicted.

        With d the distance of an entry from its prediction and m that from the median
        of its feature, in units of the feature, it is 1 - (median d / median m)^2. Data
        that are mostly tied have m = 0; there it is 1 - the ratio of truncated mean
        squares, around the prediction and around the mean of the feature. The second
        number is the standard error, from GROUPS parts of the entries.
        """
        varied = self.common <= COMMON
        is_tied = varied.mean() < FEWEST
        if not is_tied:
            kept = varied[columns]
            truth, predicted, columns = truth[kept], predicted[kept], columns[kept]
        limit = self.limit[columns]
        unit = np.where(limit > 0, limit, 1.0)
        trivial = (self.mean if is_tied else self.center)[columns]
        with np.errstate(over="ignore", invalid="ignore"):
            left = np.minimum(np.abs(truth - predicted), limit)
            total = np.minimum(np.abs(truth - trivial), limit)
        if not is_tied:  # mean squares are in the unit of X, as the criterion is
            left, total = left / unit, total / unit
        left, total = np.nan_to_num(left), np.nan_to_num(total)
        typical = _root_mean_square if is_tied else np.median
        groups = np.random.default_rng(SEED).permutation(len(left)) % GROUPS
        parts = [
            _share(left[groups == k], total[groups == k], typical)
            for k in range(min(GROUPS, len(left)))
        ]
        error = float(np.std(parts) / math.sqrt(len(parts))) if parts else math.nan
        return _share(left, total, typical), error


def spread_of(X: np.ndarray) -> Spread:
    """Measure the observed entries of every feature."""
    return Spread(*measure_spread(X))


def measure_spread(X: np.ndarray) -> np.ndarray:
    """The four rows of numbers of a `Spread`."""
    found = np.zeros((4, X.shape[1]))
    for columns in column_blocks(X.shape, PIECE, PIECE):
        values = X[:, columns].astype(np.float64)
        counts = np.count_nonzero(~np.isnan(values), axis=0)
        some = np.maximum(counts, 1)
        with np.errstate(over="ignore", invalid="ignore"):  # near the largest numbers
            center = _quantiles(values, counts, 0.5)
            distances = np.abs(values - center)
            deviation = _quantiles(distances, counts, QUANTILE) / NORMAL
            middle = _quantiles(distances, counts, MIDDLE) / MIDDLE_NORMAL
            capped = np.minimum(deviation, HEAVY * middle)
            deviation = np.where(middle > 0, capped, deviation)
            # A feature that is constant but for a few entries: their mean distance.
            apart = np.nansum(distances / some, axis=0)
            deviation = np.where(deviation > 0, deviation, apart)
            mean = np.nansum(values / some, axis=0)
        common = np.count_nonzero(distances == 0, axis=0) / some
        found[:, columns] = center, TRUNCATION * deviation, mean, common
    return found


def _quantiles(X: np.ndarray, counts: np.ndarray, share: float) -> np.ndarray:
    """A quantile of every column, an entry of it; 0 where all are NaN."""
    ordered = np.sort(X, axis=0)  # NaN last
    places = np.rint(share * np.maximum(counts - 1, 0)).astype(int)
    found = np.take_along_axis(ordered, places[None], axis=0)[0]
    return np.where(counts > 0, found, 0.0)


def _share(left: np.ndarray, total: np.ndarray, typical) -> float:
    """1 - (typical size of left / typical size of total)^2."""
    if left.size == 0:
        return math.nan
    spread = float(typical(total))
    return 1 - (float(typical(left)) / spread) ** 2 if spread > 0 else 0.0


def _root_mean_square(values: np.ndarray) -> float:
    return math.sqrt(float(np.mean(values**2)))
