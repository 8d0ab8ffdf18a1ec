"""The page of a repaired table: changed cells, and how well cells are predicted."""

import math
from dataclasses import replace
from pathlib import PurePath
from typing import Any

import numpy as np

from rpcag.files.sheet import Sheet
from rpcag.graphs.inputs import percent
from rpcag.page import pack
from rpcag.page.document import Page, empty, escape, hint, scrolled, section, verdict
from rpcag.page.words import count
from rpcag.tables.repair import Repaired

# More of any of these makes a larger page.
COLUMNS = 500  # shown: those with the most changes
LISTED = 300  # changed cells in the table
MARKED = 30_000  # changed cells in the chart
VALUES = 500_000  # values in the chart; with more, some rows are left out
ROWS = 20_000  # rows in the chart
NAMES = 100_000  # names of rows; with more, rows are numbered
BINS = 100  # groups of rows in the strip of a column
LONGEST = 80  # characters of a name
LARGEST = 1e300  # differences of values must be finite
NOTHING = "–"  # in place of a number


def report(sheet: Sheet, repaired: Repaired) -> str:
    """HTML page that shows what a repair changed, and how well cells are predicted."""
    n, p = sheet.X.shape
    lead = f'<p class="lead">{count(n, "row")} · {count(p, "column")} · repaired</p>'
    page = Page(PurePath(sheet.name).name or "table", lead)
    scores = _summary(sheet, repaired), _score(repaired)
    page.add('<div class="columns two">', *scores, "</div>")
    if not sheet.X.size:
        page.add(empty("This table is empty."))
        return page.html()
    changes = (repaired.filled | repaired.replaced).sum(axis=0)
    shown = np.sort(np.argsort(-changes, kind="stable")[:COLUMNS])
    parts: dict[str, Any] = {
        name: A[..., shown]
        for name, A in vars(repaired).items()
        if isinstance(A, np.ndarray)
    }
    part = replace(repaired, **parts)
    X = sheet.X[:, shown]
    described = [
        _column(sheet.features[j], X[:, k], part, k) for k, j in enumerate(shown)
    ]
    columns = [column for column, _ in described]
    names = [_short(name) for name in sheet.samples]
    listed = _listed(part)
    chart = _chart(page, X, part, names, columns, listed)
    cells = _cells(X, part, names, columns, listed, changes.sum())
    page.add(
        section("columns", "Columns", _overview(part, described, p)),
        section("column", "Column by column", *chart),
        section("cells", "Changed cells", cells),
    )
    return page.html()


def _column(
    name: str, x: np.ndarray, repaired: Repaired, k: int
) -> tuple[dict[str, Any], list[str]]:
    """A column for the chart, and its cells in the table."""
    errors = repaired.error[k], repaired.median_error[k]
    size = errors[0]
    if not (np.isfinite(size) and size > 0):
        size = np.abs(x[np.isfinite(x)]).max(initial=0.0) / 100 or 1.0
    digits = max(0, 1 - math.floor(math.log10(size)))  # two of the prediction error
    # `explained` is NaN if there were too few values to measure it.
    note = "no better than the median" if repaired.explained[k] <= 0 else ""
    if repaired.dead[k]:
        note = "empty, left alone" if np.isnan(x).all() else "constant, left alone"
    filled, replaced = (
        f"{A[:, k].sum():,}" for A in (repaired.filled, repaired.replaced)
    )
    predicted = _percent(repaired.explained[k])
    error, median_error = (_number(error, digits) for error in errors)
    told = [f"{filled} filled", f"{replaced} replaced"]
    if predicted != NOTHING:
        told += [f"{predicted} of the spread predicted", f"typical error {error}"]
    facts = " · ".join(filter(None, [*told, note]))
    column = {"name": _short(name), "digits": digits, "facts": facts}
    return column, [filled, replaced, predicted, error, median_error, note]


def _summary(sheet: Sheet, repaired: Repaired) -> str:
    filled, replaced = int(repaired.filled.sum()), int(repaired.replaced.sum())
    total = max(sheet.X.size, 1)
    left, dead = int(np.isnan(repaired.values).sum()), int(repaired.dead.sum())
    columns = count(dead, "column is", "columns are")
    told = [
        f"These are {percent(filled / total)} and {percent(replaced / total)} of the "
        f"{count(sheet.X.size, 'cell')}. All other cells are unchanged.",
        f"{count(left, 'cell is', 'cells are')} still missing." if left else "",
        f"{columns} constant or empty, and left alone." if dead else "",
    ]
    wrong = count(replaced, "wrong cell")
    headline = f"{count(filled, 'gap')} filled, {wrong} replaced"
    return verdict("summary", headline, " ".join(filter(None, told)))


def _score(repaired: Repaired) -> str:
    explained = repaired.explained[np.isfinite(repaired.explained)]
    if not len(explained):
        return ""
    told = (
        f"Median of {count(len(explained), 'column')}, which range from "
        f"{_percent(explained.min())} to {_percent(explained.max())}. Known cells were "
        "hidden and predicted: 100 % is a perfect prediction, and 0 % is no better "
        "than the median of the column."
    )
    poor = int((explained <= 0).sum())
    if poor:
        columns = count(poor, "column is", "columns are")
        told += f" {columns} predicted no better than by the median."
    middle = _percent(np.median(explained))
    return verdict("score", f"Predicts {middle} of the spread of hidden cells", told)


def _overview(
    repaired: Repaired, columns: list[tuple[dict[str, Any], list[str]]], total: int
) -> str:
    """A table that needs no script to be read."""
    rows = []
    for k, (column, (*numbers, note)) in enumerate(columns):
        which = repaired.filled[:, k], repaired.replaced[:, k]
        texts = "".join(f"<td>{text}</td>" for text in numbers)
        rows.append(
            f'<tr><th scope="row"><div class="name"><a href="#column" '
            f'data-column="{k}">{escape(column["name"])}</a></div></th>'
            f'<td data-value="{np.sum(which)}">{_strip(*which)}</td>'
            f'{texts}<td class="words">{note}</td></tr>'
        )
    header = [
        *("column", "changes over the rows", "gaps filled", "cells replaced"),
        *("spread predicted", "typical error", "error of the median", "note"),
    ]
    caption = (
        "Blue bars are gaps and orange bars are wrong cells, from the first row to the "
        "last. Errors are typical distances from hidden cells. Click a name to see "
        "the column."
    )
    if len(columns) < total:
        caption += (
            f" The {len(columns):,} of {total:,} columns with the most changes are "
            "shown."
        )
    return scrolled(caption, header, rows)


def _strip(filled: np.ndarray, replaced: np.ndarray) -> str:
    """Gaps as bars upwards and wrong cells as bars downwards, for some rows at a time.

    The longest bar of either kind has length 1.
    """
    n = len(filled)
    starts = np.unique(np.linspace(0, n, min(n, BINS), endpoint=False).astype(int))
    paths = []
    for kind, which, way in (("gap", filled, "-"), ("error", replaced, "")):
        counts = np.add.reduceat(which, starts, dtype=int)
        lengths = counts / max(counts.max(), 1)
        bars = "".join(
            f"M{b} 1v{way}{lengths[b]:.2g}" for b in np.flatnonzero(counts).tolist()
        )
        paths.append(f'<path class="{kind}" d="{bars}"/>')
    return (
        f'<svg class="strip" viewBox="-0.5 0 {len(starts)} 2" '
        f'preserveAspectRatio="none" aria-hidden="true">{"".join(paths)}</svg>'
    )


def _chart(
    page: Page,
    X: np.ndarray,
    repaired: Repaired,
    names: list[str],
    columns: list[dict[str, Any]],
    listed: np.ndarray,
) -> list[str]:
    center, unit = _scales(repaired.values)
    n, p = X.shape
    step = max(math.ceil(n * p / VALUES), math.ceil(n / ROWS))
    changed = np.flatnonzero(repaired.filled | repaired.replaced)
    marked = np.union1d(changed[pack.spread(len(changed), MARKED)], listed)
    i, k = np.divmod(marked, p)
    matrices = X, repaired.values, repaired.lower, repaired.upper
    with np.errstate(over="ignore"):  # a wrong value may have any size
        scaled = [(A[i, k] - center[k]) / unit[k] for A in matrices]
    # Show the column with the most wrong cells first, or the most gaps.
    which = repaired.replaced if repaired.replaced.any() else repaired.filled
    chart = page.widget(
        "column",
        columns=[
            column | {"center": middle, "unit": largest}
            for column, middle, largest in zip(columns, center, unit, strict=True)
        ],
        first=int(which.sum(axis=0).argmax()),
        rows=n,
        names=names if n <= NAMES else None,
        coverage=f"{100 * repaired.coverage:.0f} %",
        step=step,
        lines=pack.exact((repaired.values[::step] - center) / unit),
        cells=pack.exact(np.array([i, k, *scaled, repaired.scores[i, k]])),
    )
    notes = []
    if step > 1:
        notes.append(f"The line has one of {step} rows.")
    if len(marked) < len(changed):
        notes.append(
            f"{len(marked):,} of {len(changed):,} changed cells are marked, evenly "
            "drawn."
        )
    return [chart, hint(*notes)]


def _scales(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return center and largest deviation of every column of the repaired table.

    Values go onto the page as (value - center) / unit in single precision, so that
    columns far from zero keep their digits and very large values stay finite.
    """
    pack.check_size(LARGEST, values[~np.isnan(values)])
    # Any value near the others will do; a median of some rows is quick.
    some = np.ma.masked_invalid(values[pack.spread(len(values), 2001)])
    center = np.ma.median(some, axis=0).filled(0.0)
    unit = np.fmax.reduce(np.abs(values - center), axis=0, initial=0.0)
    return center, np.where(unit > 0, unit, 1.0)


def _listed(repaired: Repaired) -> np.ndarray:
    """Flat indices of wrong cells by score, and then of gaps, evenly drawn."""
    wrong, gaps = np.flatnonzero(repaired.replaced), np.flatnonzero(repaired.filled)
    scores = np.abs(repaired.scores.ravel()[wrong])
    wrong = wrong[np.argsort(-scores, kind="stable")[:LISTED]]
    return np.concatenate([wrong, gaps[pack.spread(len(gaps), LISTED - len(wrong))]])


def _cells(
    X: np.ndarray,
    repaired: Repaired,
    names: list[str],
    columns: list[dict[str, Any]],
    listed: np.ndarray,
    total: int,
) -> str:
    if not len(listed):
        return empty("Nothing was changed.")
    rows = []
    for i, k in zip(*np.divmod(listed, len(columns)), strict=True):
        old, new, low, high = (
            _number(A[i, k], columns[k]["digits"])
            for A in (X, repaired.values, repaired.lower, repaired.upper)
        )
        kind, why, score = "gap", "missing", NOTHING
        if repaired.replaced[i, k]:
            kind, score = "error", f"{abs(repaired.scores[i, k]):.4g}"
            why = "too high" if X[i, k] > repaired.values[i, k] else "too low"
        rows.append(
            f'<tr><th scope="row"><a href="#column" data-column="{k}" data-row="{i}">'
            f'{escape(names[i])}</a></th><td class="words">{escape(columns[k]["name"])}'
            f"</td><td>{old}</td><td>{new}</td><td>{low} to {high}</td><td>{score}</td>"
            f'<td class="words"><i class="key {kind}"></i>{why}</td></tr>'
        )
    interval = f"{100 * repaired.coverage:.0f} % interval"
    header = ["row", "column", "value", "replaced by", interval, "score", "why"]
    caption = "Click a row to see the cell in the chart."
    if len(listed) < total:
        caption = (
            f"{len(listed):,} of {count(total, 'changed cell')}, wrong cells with the "
            f"largest scores first. The file of cells lists all. {caption}"
        )
    return scrolled(caption, header, rows)


def _percent(part: float) -> str:
    return NOTHING if np.isnan(part) else f"{100 * part:.0f} %".replace("-", "−")


def _number(value: float, digits: int) -> str:
    if np.isnan(value):
        return NOTHING
    text = f"{value:.{digits}f}" if digits <= 6 and abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−")


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
