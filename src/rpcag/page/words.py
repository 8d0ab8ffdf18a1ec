"""Sentences that explain numbers."""

import math
from typing import Any

# How a fit ended, by its status.
ENDINGS = {
    "converged": "with the requested gap",
    "max_iter": "which is the maximum; allow more",
    "stopped": "because it was stopped",
    "stalled": "because rounding allows no smaller gap",
    "numerical_error": "because rounding errors made the certificate invalid; use "
    "double precision, or subtract the mean of every column",
}


def certificate(facts: dict[str, Any]) -> tuple[str, str]:
    """A headline and a sentence on how far the objective is from the optimum.

    With gap = (objective - bound) / objective, the objective is bound / (1 - gap): it
    is gap / (1 - gap) above the bound, and so at most that much above the optimum.
    """
    gap, model = facts.get("gap"), facts.get("model", "The model")
    if gap is None:
        told = (
            f"{model} has no bound on the distance of its objective from the optimum."
        )
        return "No certificate", told
    headline = "The objective may be far above the optimum"
    if gap < 0.5:
        above = _upwards(100 * max(gap, 0.0) / (1 - gap))
        headline = f"Objective at most {above} % above the optimum (certified)"
    told = "This bounds the error of the optimization, not of the model."
    objective, bound = facts.get("objective"), facts.get("lower_bound")
    if objective is not None and bound is not None:
        told = (
            f"The objective of this answer is {objective:.6g}, and the optimum of the "
            f"problem is proven to be at least {bound:.6g}. {told}"
        )
    if facts.get("status") in ENDINGS and facts.get("n_iter") is not None:
        ending = ENDINGS[facts["status"]]
        told += f" The fit ended after {facts['n_iter']:,} iterations, {ending}."
    return headline, told


def prediction(facts: dict[str, Any]) -> str | None:
    """The share of the spread of hidden entries that the model predicts, if known."""
    explained, error = facts.get("explained"), facts.get("explained_error")
    if explained is None:
        return None
    told = f"{100 * explained:.0f} % of the spread of hidden entries"
    return told if error is None else f"{told} (± {max(math.ceil(100 * error), 1)} %)"


def error(entry: dict[str, Any]) -> tuple[str, str]:
    """Where a value of the sparse part is, and what it is."""
    names = {kind: str(entry.get(kind)) for kind in ("sample", "feature")}
    # A name that is only a number says what it numbers.
    where = (f"{kind} {n}" if n.isdigit() else n for kind, n in names.items())
    value, expected = (f"{entry.get(k, math.nan):.4g}" for k in ("value", "expected"))
    return ", ".join(where), f"{value} where {expected} fits"


def _upwards(percent: float) -> str:
    """Two digits, never below the number itself: it is a certified bound."""
    if percent <= 0:
        return "0"
    unit = 10.0 ** (1 - math.floor(math.log10(percent)))
    return f"{math.ceil(percent * unit) / unit:.3g}"


def count(number: int, one: str, many: str | None = None) -> str:
    """1 edge, 2 edges, 1,000 edges."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
