"""Prediction intervals from the errors at hidden cells."""

import numpy as np

# Features with fewer known cells take the quantiles of all features: a 5 % quantile of
# fewer than a hundred cells is one of the five largest errors.
FEWEST = 100
# Intervals of scores below the threshold in which cells are counted.
PARTS = 20


class Calibration:
    """Quantiles of prediction errors, in units of their typical size, by feature.

    This is split conformal prediction with weights: a cell counts with the probability
    that it is correct, because gaps stand for correct values.
    """

    def __init__(self, ratios: np.ndarray, weights: np.ndarray) -> None:
        counted = (weights > 0) & ~np.isnan(ratios)
        few = np.count_nonzero(counted, axis=0) < FEWEST
        pooled = counted if few.any() else np.zeros_like(counted)
        all_of_them = ratios[pooled], weights[pooled]
        self.errors = [
            all_of_them if few[j] else (ratios[some, j], weights[some, j])
            for j, some in enumerate(counted.T)
        ]

    def quantiles(self, share: float) -> np.ndarray:
        return np.array([_quantile(*part, share) for part in self.errors])


def chances_correct(
    scores: np.ndarray, threshold: float, kinds: np.ndarray
) -> np.ndarray:
    """Probability that cells with these scores are correct; NaN scores count as 1.

    Cells above the threshold t are wrong. If wrong cells are as dense below t as in
    [t, 2 t), where hardly any other cells are, an interval of width h that holds m cells
    has h / t times the number of cells in [t, 2 t) wrong ones. This is done for every
    kind of feature, because wrong cells are not equally visible in all of them.
    """
    found = np.ones(scores.shape, np.float32)
    if not np.isfinite(threshold):
        return found
    places = np.nan_to_num(scores / threshold, nan=-1.0)
    found[places >= 1] = 0.0
    parts = np.floor(np.clip(places, -1, 2) * PARTS).astype(np.int16)
    for kind in np.unique(kinds):
        columns = kinds == kind
        counts = np.bincount(parts[:, columns][places[:, columns] >= 0], minlength=1)
        counts = np.pad(counts, (0, max(2 * PARTS - len(counts), 0)))
        n_wrong = counts[PARTS : 2 * PARTS].sum() / PARTS
        shares = np.clip(1 - n_wrong / np.maximum(counts[:PARTS], 1), 0, 1)
        # A larger score is no better a sign.
        shares = np.r_[np.minimum.accumulate(shares), np.zeros(PARTS + 1)]
        shown = np.where(places[:, columns] < 0, 1.0, shares[parts[:, columns]])
        found[:, columns] = shown
    return found


def _quantile(ratios: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Conformal quantile: the cell itself counts as one that is beyond all others."""
    if len(ratios) == 0:
        return 0.0
    sign = 1.0 if share > 0.5 else -1.0
    order = np.argsort(sign * ratios, kind="stable")
    masses = np.cumsum(weights[order], dtype=np.float64)
    wanted = max(share, 1 - share) * (masses[-1] + 1)
    place = min(int(np.searchsorted(masses, wanted)), len(ratios) - 1)
    return float(ratios[order[place]])
