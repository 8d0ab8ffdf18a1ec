"""Prediction intervals from the errors at hidden cells."""

import numpy as np

# Features with fewer known cells take the quantiles of all features: a 90 % quantile of
# fewer than fifty cells is one of the five largest errors.
FEWEST = 50
# Intervals of scores below the threshold in which cells are counted.
PARTS = 20


class Calibration:
    """Quantiles of sizes of errors, relative to their typical size, by feature.

    This is weighted split conformal prediction: the weight of a cell is the probability
    that it is correct, because the true values of gaps are correct.
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

    Features of different kinds are treated separately: wrong cells are not equally
    visible in them.
    """
    found = np.ones(scores.shape, np.float32)
    if not np.isfinite(threshold):
        return found
    for kind in np.unique(kinds):
        known = ~np.isnan(scores) & (kinds == kind)
        found[known] = _chances(scores[known] / threshold)
    return found


def _chances(scores: np.ndarray) -> np.ndarray:
    """The same for scores in units of the threshold above which cells count as wrong.

    Below it, wrong cells are taken to be as dense as in the middle half of the scores
    above. Just above it, there are also correct cells in heavy tails. Some cells above
    are correct if there are correct ones just below: their number in [2^k, 2^(k+1))
    falls by the same factor from one k to the next.
    """
    above = scores >= 1
    if not above.any():
        return np.ones(len(scores))
    counts = np.histogram(scores, PARTS, (0, 1))[0]
    first, last = np.quantile(scores[above], (0.25, 0.75))
    n_wrong = np.count_nonzero(above) / 2 / max((last - first) * PARTS, 1)
    n_correct = np.maximum(counts - n_wrong, 0)
    shares = np.where(counts > 0, n_correct / np.maximum(counts, 1), 1.0)
    shares = np.minimum.accumulate(shares)  # decreasing in the score
    correct = shares * counts
    nearest = correct[PARTS // 2 :].sum()
    factor = min(nearest / max(correct[PARTS // 4 : PARTS // 2].sum(), 1), 1)
    octaves = np.floor(np.log2(scores[above])).astype(int)
    n_above = np.bincount(octaves)
    expected = nearest * factor ** np.arange(1, len(n_above) + 1)
    shares_above = np.minimum(expected / np.maximum(n_above, 1), shares[-1])
    found = shares[np.minimum(PARTS * scores, PARTS - 1).astype(int)]
    found[above] = np.minimum.accumulate(shares_above)[octaves]
    return found


def _quantile(ratios: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Conformal quantile: the new cell counts as one with the largest error."""
    if len(ratios) == 0:
        return 0.0
    order = np.argsort(ratios, kind="stable")
    masses = np.cumsum(weights[order], dtype=np.float64)
    place = int(np.searchsorted(masses, share * (masses[-1] + 1)))
    return float(ratios[order[min(place, len(ratios) - 1)]])
