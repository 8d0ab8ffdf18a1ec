"""The score from which cells are wrong, at a given false discovery rate."""

import math

import numpy as np

# Quantiles of the scores that tell how fast their distribution falls. The upper one
# leaves room for 15 % of wrong cells.
QUANTILES = (0.5, 0.85)
# Scores of correct cells have survival functions exp(-(t / scale)^power). In real
# tables the tails are heavier than the middle of the distribution suggests, so the
# power is at most POWER: larger numbers flag more cells that are unusual but correct.
POWER = 0.7
# Ratio of the ends of an interval of scores. Wider ones are too coarse to be ends of a
# gap between correct and wrong cells; narrower ones hold too few cells.
RATIO = 1.25
# Standard deviations, and cells, by which the correct cells in an interval can
# outnumber the cells that were counted there.
DEVIATIONS, MORE = 2.0, 2.0
ROUNDS = 20


def score_threshold(scores: np.ndarray, alpha: float) -> float:
    """Smallest score t such that the cells above have a false discovery rate of alpha.

    Among n scores with a share of wrong ones, (1 - share) n (S(a) - S(b)) correct ones
    are expected between a and b. If fewer are there, the tail is lower than S from
    there on, by the same factor, so that a gap in the scores separates correct from
    wrong cells. The rate is the sum of these numbers above t over the number of scores
    above t. S is extrapolated from quantiles in the middle, where wrong cells are rare.
    The share is iterated. Returns infinity if there is no such t.
    """
    n, threshold, share = len(scores), math.inf, 0.0
    if n == 0:
        return threshold
    ordered = np.sort(scores)
    heights = [-math.log(1 - q) for q in QUANTILES]
    for _ in range(ROUNDS):
        middle, upper = np.quantile(ordered, [(1 - share) * q for q in QUANTILES])
        if not 0 < middle < upper:
            return math.inf
        power = math.log(heights[1] / heights[0]) / math.log(upper / middle)
        n_steps = math.ceil(math.log(ordered[-1] / upper) / math.log(RATIO)) + 1
        edges = upper * RATIO ** np.arange(n_steps + 1)
        survival = np.exp(-heights[1] * (edges / upper) ** min(power, POWER))
        counts = np.diff(np.searchsorted(ordered, edges))
        expected = -(1 - share) * n * np.diff(survival)
        most = counts + DEVIATIONS * np.sqrt(counts) + MORE
        lowered = np.minimum(most / np.maximum(expected, MORE), 1.0)
        correct = expected * np.minimum.accumulate(lowered)
        above = np.cumsum(counts[::-1])[::-1]
        rates = np.cumsum(correct[::-1])[::-1] / np.maximum(above, 1)
        found = np.flatnonzero((rates <= alpha) & (above > 0))
        threshold = float(edges[found[0]]) if len(found) else math.inf
        n_wrong = int(above[found[0]]) if len(found) else 0
        if abs(n_wrong / n - share) < 1e-4:
            break
        share = n_wrong / n
    return threshold
