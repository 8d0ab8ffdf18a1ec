"""Prediction intervals from the errors at hidden cells."""

import numpy as np

# Features with fewer known cells take the quantiles of all features: a 90 % quantile of
# fewer than fifty cells is one of the five largest errors.
FEWEST = 50
# Intervals of scores below the threshold in which cells are counted.
PARTS = 20


class Calibration:
    """Quantiles of sizes of errors, relative to their typical size, by feature.

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
        """Sizes that this share of the correct cells does not exceed."""
        return np.array([_quantile(*part, share) for part in self.errors])


def chances_correct(
    scores: np.ndarray, threshold: float, kinds: np.ndarray
) -> np.ndarray:
    """Probability that cells with these scores are correct; 1 where they are NaN.

    Cells above the threshold t are wrong. Some wrong cells are below it. They are taken
    to be as dense there as in [1.5 t, 2 t), where hardly any correct cells are; so an
    interval of width h has 2 h / t times as many wrong cells as that one. Features of
    different kinds are treated separately: wrong cells are not equally visible in them.
    """
    found = np.ones(scores.shape, np.float32)
    if not np.isfinite(threshold):
        return found
    for kind in np.unique(kinds):
        columns = np.flatnonzero(kinds == kind)
        counts = np.zeros(2 * PARTS)
        for j in columns:
            counts += np.histogram(scores[:, j] / threshold, 2 * PARTS, (0, 2))[0]
        n_wrong = 2 * counts[3 * PARTS // 2 :].sum() / PARTS
        shares = 1 - n_wrong / np.maximum(counts[:PARTS], 1)
        # A larger score is no better a sign.
        shares = np.append(np.minimum.accumulate(np.clip(shares, 0, 1)), 0)
        for j in columns:
            known = ~np.isnan(scores[:, j])
            places = np.minimum(PARTS * scores[known, j] / threshold, PARTS)
            found[known, j] = shares[places.astype(int)]
    return found


def _quantile(ratios: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Conformal quantile: the cell itself counts as one that is beyond all others."""
    if len(ratios) == 0:
        return 0.0
    order = np.argsort(ratios, kind="stable")
    masses = np.cumsum(weights[order], dtype=np.float64)
    place = int(np.searchsorted(masses, share * (masses[-1] + 1)))
    return float(ratios[order[min(place, len(ratios) - 1)]])
