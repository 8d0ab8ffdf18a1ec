"""Hide entries of X, and measure how well they are predicted."""

import math
from dataclasses import dataclass

import numpy as np

from rpcag.linalg.blocks import column_blocks

# Random seed of the hidden entries. A large number, because a script that corrupts
# entries with default_rng(0) would otherwise hide exactly these entries.
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
# Distances count in `explained` up to GROSS typical ones, because a hidden gross error
# cannot be predicted. The typical one is a quantile, as a deviation: a quarter of the
# entries may be grossly wrong. Smaller values of GROSS ignore the tails of features.
GROSS = 3.0
# Parts of the hidden entries that give the standard error of `explained`.
GROUPS = 10
# Entries of X that are sorted at a time: 8 MiB of doubles, and a few arrays of that
# size. Fewer would take more time for the loop over columns.
PIECE = 2**20


def hide(X: np.ndarray, draw: int = 0, axes: tuple[int, ...] = (0, 1)) -> np.ndarray:
    """Draw the entries to hide, as a mask, with a fixed random seed.

    Columns (axis 0) and rows (axis 1) that would lose all their entries keep them. Up
    to six draws do not overlap.
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
    """Center and spread of the observed entries of every feature.

    Attributes
    ----------
    center : ndarray of shape (n_features,)
        The median.
    limit : ndarray of shape (n_features,)
        The distance from a prediction at which errors are truncated.
    mean : ndarray of shape (n_features,)
    unit : ndarray of shape (n_features,)
        Typical distance from the median, of entries that differ from it; 0 if none do.
    half : ndarray of shape (n_features,)
        The median of these distances; up to half of the entries may be grossly wrong.
    """

    center: np.ndarray
    limit: np.ndarray
    mean: np.ndarray
    unit: np.ndarray
    half: np.ndarray

    def explained(
        self, truth: np.ndarray, predicted: np.ndarray, columns: np.ndarray
    ) -> tuple[float, float]:
        """Share of the spread of hidden entries in these columns that is predicted.

        With d the distance of an entry from its prediction, and m that from the median
        or the mean of its feature, whichever is nearer to the hidden entries, it is ::

            1 - sum min(d, GROSS t(d))^2 / sum min(m, GROSS t(m))^2.

        Distances are truncated at the limits, and t is the typical size at entries that
        differ from the median. The unit of d and m is u^(1 - s) v^s, with u the unit of
        the feature, v that of a typical one, and s the share of entries at the median.
        Without ties, all features count alike. Counts with many zeros are in the unit
        of X, as in the criterion of the weights, because too few entries determine the
        unit of a feature there. The second number is the standard error, from GROUPS
        parts of the entries.
        """
        unit = self.unit[columns]
        varies = unit > 0
        apart = varies & (truth != self.center[columns])
        if apart.any():
            tied = 1 - apart.sum() / varies.sum()
            typical = np.median(self.unit[self.unit > 0])
            unit = unit ** (1 - tied) * typical**tied
        left, median, mean = (
            _distances(truth, other, self.limit[columns], unit)
            for other in (predicted, self.center[columns], self.mean[columns])
        )
        at_most = GROSS * _typical(median, apart)
        median, mean = (np.minimum(part, at_most) ** 2 for part in (median, mean))
        is_nearer = np.bincount(columns, mean) < np.bincount(columns, median)
        squares = np.array(
            [
                np.minimum(left, GROSS * _typical(left, apart)) ** 2,
                np.where(is_nearer[columns], mean, median),
            ]
        )
        groups = np.random.default_rng(SEED).permutation(len(left)) % GROUPS
        sums = (np.bincount(groups, row) for row in squares)
        parts = [_share(*pair) for pair in zip(*sums, strict=True)]
        error = float(np.std(parts) / math.sqrt(len(parts))) if parts else math.nan
        return _share(*squares), error


def spread_of(X: np.ndarray) -> Spread:
    """Measure the observed entries of every feature."""
    return Spread(*measure_spread(X))


def measure_spread(X: np.ndarray) -> np.ndarray:
    """The five rows of numbers of a `Spread`."""
    found = np.zeros((5, X.shape[1]))
    for columns in column_blocks(X.shape, PIECE, PIECE):
        values = X[:, columns].astype(np.float64)
        counts = np.count_nonzero(~np.isnan(values), axis=0)
        some = np.maximum(counts, 1)
        with np.errstate(over="ignore", invalid="ignore"):  # near the largest numbers
            center = _quantiles(np.sort(values, axis=0), counts, 0.5)
            distances = np.sort(np.abs(values - center), axis=0)
            deviation = _quantiles(distances, counts, QUANTILE) / NORMAL
            middle = _quantiles(distances, counts, MIDDLE) / MIDDLE_NORMAL
            capped = np.minimum(deviation, HEAVY * middle)
            deviation = np.where(middle > 0, capped, deviation)
            # A feature that is constant but for a few entries: their mean distance.
            apart = np.nansum(distances / some, axis=0)
            deviation = np.where(deviation > 0, deviation, apart)
            mean = np.nansum(values / some, axis=0)
        n_common = np.count_nonzero(distances == 0, axis=0)
        unit = _quantiles(distances, counts, MIDDLE, n_common) / MIDDLE_NORMAL
        half = _quantiles(distances, counts, 0.5, n_common)
        found[:, columns] = center, TRUNCATION * deviation, mean, unit, half
    return found


def _quantiles(
    ordered: np.ndarray, counts: np.ndarray, share: float, first: np.ndarray | int = 0
) -> np.ndarray:
    """A quantile of every column, sorted with NaN last, from its entry `first` on.

    It is an entry of the column; 0 where there are none.
    """
    places = first + np.rint(share * np.maximum(counts - first - 1, 0)).astype(int)
    places = np.minimum(places, len(ordered) - 1)
    found = np.take_along_axis(ordered, places[None], axis=0)[0]
    return np.where(counts > first, found, 0.0)


def _distances(
    truth: np.ndarray, other: np.ndarray, limit: np.ndarray, unit: np.ndarray
) -> np.ndarray:
    """Truncated at the limits, in units of the feature; 0 where it is constant."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        found = np.minimum(np.abs(truth - other), limit) / unit
    return np.nan_to_num(np.where(unit > 0, found, 0.0))


def _typical(distances: np.ndarray, apart: np.ndarray) -> float:
    """A quantile of the distances of these entries, as a deviation."""
    if not apart.any():
        return 0.0
    return float(np.quantile(distances[apart], MIDDLE)) / MIDDLE_NORMAL


def _share(left: np.ndarray, total: np.ndarray) -> float:
    """1 - sum of left / sum of total; 0 if nothing varies."""
    if left.size == 0:
        return math.nan
    spread = float(total.sum())
    return 1 - float(left.sum()) / spread if spread > 0 else 0.0
