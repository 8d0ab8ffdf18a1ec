"""Sentences that explain numbers."""

import math
from typing import Any


def certificate(facts: dict[str, Any]) -> tuple[str, str]:
    """A headline and a sentence on how far the objective is from the optimum.

    With gap = (objective - bound) / objective, the objective is bound / (1 - gap): it
    is gap / (1 - gap) above the bound, and so at most that much above the optimum.
    """
    gap, model = facts.get("gap"), facts.get("model", "The model")
    if gap is None:
        return (
            "No certificate",
            f"{model} has no bound on the distance of its objective from the optimum.",
        )
    objective, bound = facts.get("objective"), facts.get("lower_bound")
    known = ""
    if objective is not None and bound is not None:
        known = (
            f"The objective of this answer is {objective:.6g}, and the optimum of the "
            f"problem is proven to be at least {bound:.6g}. "
        )
    if gap >= 0.5:
        headline = "The objective may be far above the optimum"
        told = "The bound is weak: "
        told += _remedy(facts)
    else:
        above = _upwards(100 * max(gap, 0.0) / (1 - gap))
        headline = f"Objective at most {above} % above the optimum (certified)"
        told = "This bounds the error of the optimization, not of the model. "
        told += _ending(facts)
    return headline, (known + told).strip()


def prediction(facts: dict[str, Any]) -> str | None:
    """The share of the spread of hidden entries that the model predicts, if known."""
    explained, error = facts.get("explained"), facts.get("explained_error")
    if explained is None:
        return None
    told = f"{100 * explained:.0f} % of the spread of hidden entries"
    return told if error is None else f"{told} (± {max(math.ceil(100 * error), 1)} %)"


def fit(facts: dict[str, Any]) -> tuple[str, str] | None:
    """A headline and a sentence on how well the model fits the data, if known."""
    told = prediction(facts)
    if told is None:
        return None
    return (
        f"Predicts {told}",
        "Some entries were hidden while the weights were chosen. 100 % is a perfect "
        "prediction, and 0 % is no better than the median or mean of each feature.",
    )


def _ending(facts: dict[str, Any]) -> str:
    status, steps = facts.get("status"), facts.get("n_iter")
    after = "" if steps is None else f" after {steps:,} iterations"
    return {
        "converged": f"The fit ended{after}, with the requested gap.",
        "max_iter": f"The fit ran out of iterations{after}; allow more of them.",
        "stopped": f"The fit was stopped{after}.",
        "stalled": f"The precision of the numbers allowed no smaller gap{after}.",
        "numerical_error": f"Rounding errors made the certificate invalid{after}.",
    }.get(str(status), "")


def _remedy(facts: dict[str, Any]) -> str:
    if facts.get("status") == "max_iter":
        return "the fit ran out of iterations; allow more."
    if facts.get("status") == "numerical_error":
        return (
            "rounding errors made the certificate invalid; use double precision, or "
            "subtract the mean of every column."
        )
    return "let the fit run longer, or ask for a smaller gap."


def _upwards(percent: float) -> str:
    """Two digits, never below the number itself: it is a certified bound."""
    if percent <= 0:
        return "0"
    digits = 1 - math.floor(math.log10(percent))
    up = math.ceil(percent * 10**digits) / 10**digits
    if digits > 7:
        return f"{up:.1e}"
    text = f"{up:.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def count(number: int, one: str, many: str | None = None) -> str:
    """1 edge, 2 edges, 1,000 edges."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def share(part: float) -> str:
    """A share in percent that is not rounded to none or all."""
    percent = 100 * part
    if 0 < percent < 0.1:
        return "less than 0.1 %"
    return f"{percent:.1f} %"
