"""Parameters and provenance as lists of terms."""

from typing import Any

from rpcag.page.document import escape
from rpcag.page.words import error

NAMES = {
    "n_iter": "iterations",
    "lower_bound": "lower bound",
    "sha256": "SHA-256",
    "gap": "certified gap",
    "explained": "hidden entries predicted",
    "explained_error": "standard error of that",
    "missing": "missing entries",
    "sparse_share": "in the sparse part",
    "gross_share": "gross errors",
}
# Not in the list of results: they have lists of their own, or are too long (a number
# per certificate, or per feature).
UNSHOWN = ("model", "parameters", "resolved", "largest", "history", "scaling")


def facts_html(facts: dict[str, Any]) -> str:
    """A list of parameters, one of results, and one for every dict among the facts."""
    given, used = facts.get("parameters") or {}, facts.get("resolved") or {}
    others = {str(key): value for key, value in facts.items() if key not in UNSHOWN}
    groups: dict[str, dict[str, Any]] = {
        "Parameters": {"model": facts.get("model")},
        "Result": {k: v for k, v in others.items() if not isinstance(v, dict)},
        "Largest errors": dict(map(error, facts.get("largest") or [])),
        **{k.capitalize(): v for k, v in others.items() if isinstance(v, dict)},
    }
    for key in given | used:  # as given, and as used instead
        values = [text(part[key]) for part in (given, used) if key in part]
        groups["Parameters"][key] = ": ".join(dict.fromkeys(values))
    lists = []
    for title, entries in groups.items():
        rows = "".join(
            f"<dt>{escape(NAMES.get(key, str(key)))}</dt><dd>{escape(text(value))}</dd>"
            for key, value in entries.items()
            if value is not None
        )
        if rows:
            lists.append(f"<div><h3>{escape(title)}</h3><dl>{rows}</dl></div>")
    return f'<div class="facts">{"".join(lists)}</div>'


def text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        short = len(value) < 5
        return " × ".join(map(text, value)) if short else f"{len(value)} values"
    if isinstance(value, dict):
        return ", ".join(f"{key} {text(entry)}" for key, entry in value.items())
    return str(value)
