"""The score above which cells count as wrong, at a given false discovery rate."""

import math

import numpy as np

# Quantiles of the scores from which the decay of their distribution is estimated. The
# upper one allows for 15 % wrong cells.
QUANTILES = (0.5, 0.85)
HEIGHTS = tuple(-math.log(1 - q) for q in QUANTILES)
# Scores of correct cells have survival functions exp(-(t / scale)^power). In real
# tables the tails are heavier than the middle of the distribution suggests, so the
# power is at most POWER: larger numbers flag more cells that are unusual but correct.
POWER = 0.8
# Ratio of the ends of an interval of scores. Wider ones are too coarse to be ends of a
# gap between correct and wrong cells; narrower ones hold too few cells.
RATIO = 1.25
# Standard deviations, and cells, by which the correct cells in an interval can
# outnumber the cells that were counted there.
DEVIATIONS, MORE = 2.0, 2.0
# The share of wrong cells is iterated from this one. From zero it would stay at zero if
# many wrong cells raise the quantiles. At most the share MOST of the reference is
# wrong, whatever alpha is: with more, its quantiles say nothing about correct cells.
SHARE, MOST, ROUNDS = 0.15, 0.25, 40


def score_threshold(
    scores: np.ndarray, alpha: float, reference: np.ndarray | None = None
) -> float:
    """Smallest score t such that the cells above have a false discovery rate of alpha.

    It is infinite if there is none. `reference` are the scores, by default the same,
    whose quantiles are used: most of these cells are correct.

    Among n scores with a share of wrong ones, (1 - share) n (S(a) - S(b)) correct ones
    are expected between a and b. If fewer are there, the tail is lower than S from
    there on, by the same factor, so that a gap in the scores separates correct from
    wrong cells. The rate is the sum of these numbers above t over the number of scores
    above t. S is extrapolated from quantiles in the middle, where wrong cells are rare.
    The share is iterated.
    """
    share, score = SHARE, math.inf
    scores = np.sort(scores)
    ordered = scores if reference is None else np.sort(reference)
    n = max(len(scores), len(ordered))
    for _ in range(ROUNDS if min(len(scores), len(ordered)) else 0):
        middle, upper = np.quantile(ordered, [(1 - share) * q for q in QUANTILES])
        if not 0 < middle < upper:
            return math.inf
        n_steps = math.ceil(math.log(max(scores[-1] / upper, 1)) / math.log(RATIO)) + 1
        edges = upper * RATIO ** np.arange(n_steps + 1)
        counts = np.diff(np.searchsorted(scores, edges))
        power = math.log(HEIGHTS[1] / HEIGHTS[0]) / math.log(upper / middle)
        n_correct = (1 - share) * n
        # S(t) = exp(-h (t / upper)^power), with h its height at the upper quantile.
        tail = np.exp(-HEIGHTS[1] * (edges / upper) ** min(power, POWER))
        expected = n_correct * -np.diff(tail)
        most = counts + DEVIATIONS * np.sqrt(counts) + MORE
        lowered = np.minimum(most / np.maximum(expected, MORE), 1.0)
        correct = expected * np.minimum.accumulate(lowered)
        above = np.cumsum(counts[::-1])[::-1]
        rates = np.cumsum(correct[::-1])[::-1] / np.maximum(above, 1)
        beyond = len(ordered) - np.searchsorted(ordered, edges[:-1])
        is_few = beyond <= MOST * len(ordered)
        places = np.flatnonzero((rates <= alpha) & (above > 0) & is_few)
        score = float(edges[places[0]]) if len(places) else math.inf
        before, share = share, float(np.mean(ordered >= score))
        if abs(before - share) < 1e-4:
            break
    return score
