"""Parameters and provenance as lists of terms."""

from typing import Any

from rpcag.page.document import escape
from rpcag.page.words import share

# Facts under each heading; all other facts are under the last.
GROUPS = {
    "Parameters": ("model", "parameters", "resolved"),
    "Answer": (
        *("objective", "lower_bound", "gap", "rank", "n_iter", "status", "seconds"),
        *("explained", "explained_error", "sparse_share", "gross_share"),
    ),
    "Data": ("input", "missing", "scale"),
    "Graph": ("graph",),
    "Largest errors": ("largest",),
    "Made with": ("versions",),
}
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
REST = "More"
UNSHOWN = ("history", "scaling")  # a number per certificate, or per feature


def facts_html(facts: dict[str, Any]) -> str:
    known = {name for names in GROUPS.values() for name in names} | set(UNSHOWN)
    groups = GROUPS | {REST: tuple(name for name in facts if name not in known)}
    lists = []
    for heading, names in groups.items():
        rows = [row for name in names for row in _rows(name, facts)]
        if rows:
            inside = "".join(
                f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>"
                for name, value in rows
            )
            lists.append(f"<div><h3>{heading}</h3><dl>{inside}</dl></div>")
    return f'<div class="facts">{"".join(lists)}</div>'


def _rows(name: str, facts: dict[str, Any]) -> list[tuple[str, str]]:
    value = facts.get(name)
    if value is None or name not in facts:
        return []
    if name == "parameters" and isinstance(value, dict):
        used = facts.get("resolved") or {}
        return [(key, _parameter(given, used.get(key))) for key, given in value.items()]
    if (
        name == "resolved"
    ):  # shown with the parameters, except those that were not given
        given = facts.get("parameters") or {}
        return [(key, text(more)) for key, more in value.items() if key not in given]
    if name == "largest":
        return [_outlier(entry) for entry in value]
    if isinstance(value, dict):
        return [(NAMES.get(k) or str(k), text(entry)) for k, entry in value.items()]
    told = share(value) if name.endswith("_share") else text(value)
    return [(NAMES.get(name, name.replace("_", " ")), told)]


def _outlier(entry: dict[str, Any]) -> tuple[str, str]:
    sample, feature = (_named(entry, kind) for kind in ("sample", "feature"))
    where = f"{sample}, {feature}"
    return where, f"{text(entry.get('value'))} where {text(entry.get('expected'))} fits"


def _named(entry: dict[str, Any], kind: str) -> str:
    """A name that is only a number says what it numbers."""
    name = str(entry.get(kind))
    return f"{kind} {name}" if name.isdigit() else name


def _parameter(given: Any, used: Any) -> str:
    if used is None or text(used) == text(given):
        return text(given)
    return f"{text(given)}: {text(used)}"


def text(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return (
            " × ".join(map(text, value)) if len(value) < 5 else f"{len(value)} values"
        )
    if isinstance(value, dict):
        return ", ".join(f"{key} {text(entry)}" for key, entry in value.items())
    return str(value)
