"""What numbers mean, in sentences."""

import math
from typing import Any


def certificate(facts: dict[str, Any]) -> tuple[str, str]:
    """A headline and a sentence on how good the answer is proven to be.

    With gap = (objective - bound) / objective, the objective is bound / (1 - gap): it
    is gap / (1 - gap) above the bound, and so at most that much above the best.
    """
    gap, model = facts.get("gap"), facts.get("model", "The model")
    if gap is None:
        return (
            "No certificate",
            f"{model} gives an answer without a proof of how good it is.",
        )
    objective, bound = facts.get("objective"), facts.get("lower_bound")
    known = ""
    if objective is not None and bound is not None:
        known = (
            f"The objective of this answer is {objective:.6g}, and it is proven that "
            f"no answer has one below {bound:.6g}. "
        )
    if gap >= 0.5:
        headline = "The certificate proves little yet"
        told = "That is a weak statement: "
        told += _remedy(facts)
    else:
        above = _upwards(100 * max(gap, 0.0) / (1 - gap))
        headline = f"Proven: at most {above} % above the best"
        told = f"So the objective is proven to be at most {above} % above the best"
        told += " there is. " + _ending(facts)
    return headline, (known + told).strip()


def _ending(facts: dict[str, Any]) -> str:
    status, steps = facts.get("status"), facts.get("n_iter")
    after = "" if steps is None else f" after {steps:,} iterations"
    return {
        "converged": f"The fit ended{after}, with the gap that was asked for.",
        "max_iter": f"The fit ran out of iterations{after}; more would prove more.",
        "stopped": f"The fit was stopped{after}.",
        "stalled": f"The precision of the numbers allowed no smaller gap{after}.",
        "numerical_error": f"Rounding errors made the certificate invalid{after}.",
    }.get(str(status), "")


def _remedy(facts: dict[str, Any]) -> str:
    if facts.get("status") == "max_iter":
        return "the fit ran out of iterations; give it more."
    if facts.get("status") == "numerical_error":
        return (
            "rounding errors made the certificate invalid; use double precision, or "
            "subtract the mean of every column."
        )
    return "let the fit run longer, or ask for a smaller gap."


def _upwards(percent: float) -> str:
    """Two digits, never below the number itself: it is said to be proven."""
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
    """A share in per cent, that is not rounded to none or all."""
    percent = 100 * part
    if 0 < percent < 0.1:
        return "less than 0.1 %"
    return f"{percent:.1f} %"
