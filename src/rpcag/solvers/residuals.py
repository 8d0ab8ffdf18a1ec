"""How far the copies of ADMM are from L, and the penalties that keep them near."""

import math
from collections.abc import Sequence

from rpcag.solvers.result import Distances


def relative_residuals(
    distances: Sequence[Distances], size: float
) -> tuple[float, float]:
    """Of all copies the largest ||L - P|| / ||L|| and the largest move of P / ||U||.

    `size` is ||L||^2; where ||P|| is larger, it takes the place of ||L||.
    """
    primal = max(_ratio(d.apart, max(size, d.copy)) for d in distances)
    dual = max(_ratio(d.moved, d.multiplier) for d in distances)
    return primal, dual


def balance(
    distances: Sequence[Distances], size: float, mean: float, limit: float
) -> list[float]:
    """Double the penalty of a copy that lags behind L, halve that of one that drags.

    ||L - P|| is measured against the geometric mean of ||L|| and of its distance from
    constant columns: beside a large mean alone (raw images) it would look small however
    wrong the penalty is. `size` is ||L||^2 and `mean` its part in constant columns.
    """
    spread = max(size - mean, 1e-6 * size)
    unit = math.sqrt(math.sqrt(size * spread)) or 1.0
    factors = []
    for d in distances:
        primal, dual = math.sqrt(d.apart) / unit, _ratio(d.moved, d.multiplier)
        lags, drags = primal > limit * dual, dual > limit * primal
        factors.append(2.0 if lags else 0.5 if drags else 1.0)
    return factors


def _ratio(numerator: float, denominator: float) -> float:
    """sqrt(numerator / denominator), zero for 0/0."""
    if numerator == 0:
        return 0.0
    return math.sqrt(numerator / denominator) if denominator > 0 else 1.0
