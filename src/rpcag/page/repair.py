"""The page of a repaired table: changed cells, and how well cells are predicted."""

import math
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from rpcag.files.sheet import Sheet
from rpcag.page import pack
from rpcag.page.document import (
    Page,
    empty,
    escape,
    hint,
    scrolled,
    section,
    verdict,
    write_page,
)
from rpcag.page.extract import spread
from rpcag.page.words import count, share
from rpcag.tables.repair import Repaired

# More of any of these makes a larger page.
COLUMNS = 1000  # shown; of more, those with the most changes
CELLS = 30_000  # changed cells that are listed and marked
VALUES = 500_000  # values drawn; of more, the least and largest of some rows at a time
BINS = 500  # of the rows, in the map
MAP = 300_000  # bins times columns of the map
NAMES = 20_000  # names of rows; of more, those of listed cells and of every few rows
LONGEST = 80  # signs of a name
LARGEST = 1e300  # differences of values must be finite

NOTES = POOR, CONSTANT, EMPTY = (
    "no better than the median",
    "constant, left alone",
    "empty, left alone",
)
Scales = tuple[np.ndarray, np.ndarray]  # center and unit of every column


def write_report(path: Path | str, sheet: Sheet, repaired: Repaired) -> None:
    """Write a page that shows the changes: one self-contained HTML file.

    Parameters
    ----------
    path : Path or str
        Replaced if it exists.
    sheet : Sheet
        The table before the repair.
    repaired : Repaired
        The result.
    """
    write_page(Path(path), report(sheet, repaired))


def report(sheet: Sheet, repaired: Repaired) -> str:
    """Return the HTML of `write_report`."""
    n, p = sheet.X.shape
    name = PurePath(sheet.name).name or "table"
    lead = f"{count(n, 'row')} · {count(p, 'column')} · repaired"
    page = Page(name, f'<p class="lead">{escape(lead)}</p>')
    page.add('<div class="columns two">')
    page.add(*(verdict(*told) for told in _verdicts(sheet, repaired)), "</div>")
    if n and p:
        shown, notes = _shown_columns(repaired)
        scales = _scales(sheet, repaired, shown)
        parts = _sections(page, sheet, repaired, shown, scales)
        told = [hint(" ".join(notes))] if notes else []
        page.add(section("changes", "What was changed", *told, *parts["changes"]))
        page.add(section("column", "Column by column", *parts["column"]))
        page.add(section("cells", "Changed cells", *parts["cells"]))
        page.add(section("columns", "Columns", *_table(sheet, repaired, shown, scales)))
    else:
        page.add(empty("This table is empty."))
    return page.html()


# -- sentences -------------------------------------------------------------------------


def _verdicts(sheet: Sheet, repaired: Repaired) -> list[tuple[str, str, str]]:
    found = [("summary", *_summary(sheet, repaired))]
    explained = repaired.explained[np.isfinite(repaired.explained)]
    if len(explained):
        told = (
            f"Median of {count(len(explained), 'column')}, which range from "
            f"{_percent(explained.min())} to {_percent(explained.max())}. Known cells "
            "were hidden and predicted: 100 % is a perfect prediction, and 0 % is no "
            "better than the median of the column."
        )
        poor = int(_is_poor(repaired).sum())
        if poor:
            told += (
                f" {count(poor, 'column is', 'columns are')} predicted no better than "
                "by the median."
            )
        middle = _percent(float(np.median(explained)))
        found.append(
            ("score", f"Predicts {middle} of the spread of hidden cells", told)
        )
    return found


def _summary(sheet: Sheet, repaired: Repaired) -> tuple[str, str]:
    total = max(sheet.X.size, 1)
    filled, replaced = int(repaired.filled.sum()), int(repaired.replaced.sum())
    left = int(np.isnan(repaired.values).sum())
    headline = (
        f"{count(filled, 'gap')} filled, {count(replaced, 'wrong cell')} replaced"
    )
    told = (
        f"These are {share(filled / total)} and {share(replaced / total)} of the "
        f"{count(sheet.X.size, 'cell')}. All other cells are unchanged."
    )
    if left:
        told += f" {count(left, 'cell is', 'cells are')} still missing."
    dead = int(repaired.dead.sum())
    if dead:
        told += (
            f" {count(dead, 'column is', 'columns are')} constant or empty, and "
            "left alone."
        )
    return headline, told


def _percent(part: float) -> str:
    return f"{100 * part:.0f} %".replace("-", "−")


def _is_poor(repaired: Repaired) -> np.ndarray:
    """Columns whose hidden cells the median predicts as well."""
    with np.errstate(invalid="ignore"):
        return ~repaired.dead & (repaired.explained <= 0)


# -- what the scripts draw -------------------------------------------------------------


def _shown_columns(repaired: Repaired) -> tuple[np.ndarray, list[str]]:
    changes = (repaired.filled | repaired.replaced).sum(axis=0)
    p = len(changes)
    if p <= COLUMNS:
        return np.arange(p), []
    most = np.sort(np.argsort(-changes, kind="stable")[:COLUMNS])
    return most, [f"The {COLUMNS:,} of {p:,} columns with the most changes are shown."]


def _sections(
    page: Page, sheet: Sheet, repaired: Repaired, shown: np.ndarray, scales: Scales
) -> dict[str, list[str]]:
    center, unit = scales

    def scaled(A: np.ndarray) -> np.ndarray:
        return (A[:, shown] - center) / unit

    filled, replaced = repaired.filled[:, shown], repaired.replaced[:, shown]
    cells, listed = _cells(sheet, repaired, shown, scales)
    changed = page.widget(
        "changes",
        rows=_rows(sheet.samples, cells[0]),
        columns={
            "names": [_short(sheet.features[j]) for j in shown],
            "center": center.tolist(),
            "unit": unit.tolist(),
            "digits": [
                _digits(repaired.error[j], unit[k]) for k, j in enumerate(shown)
            ],
            "filled": filled.sum(axis=0).tolist(),
            "replaced": replaced.sum(axis=0).tolist(),
            "notes": [_note(sheet, repaired, j) for j in shown],
            "explained": _finite(repaired.explained[shown]),
            "error": _finite(repaired.error[shown]),
            "median_error": _finite(repaired.median_error[shown]),
        },
        first=_first(filled, replaced),
        coverage=f"{100 * repaired.coverage:.0f} %",
        map=_map(filled, replaced),
        cells=pack.exact(cells),
        lines=_lines(scaled(repaired.values)),
    )
    if not (filled.any() or replaced.any()):
        told = empty("Nothing was changed.")
        # The data of the column view are with the map.
        return {
            "changes": [told, changed],
            "column": [page.widget("column")],
            "cells": [told],
        }
    return {
        "changes": [changed],
        "column": [page.widget("column")],
        "cells": [page.widget("cells"), *([hint(listed)] if listed else [])],
    }


def _first(filled: np.ndarray, replaced: np.ndarray) -> int:
    """The column that is shown first: the one with the most wrong cells, or gaps."""
    which = replaced if replaced.any() else filled
    return int(which.sum(axis=0).argmax())


def _scales(sheet: Sheet, repaired: Repaired, shown: np.ndarray) -> Scales:
    """Return center and largest deviation of every column.

    Values go onto the page as (value - center) / unit in single precision, so that
    columns far from zero keep their digits and very large values stay finite.
    """
    both = np.concatenate([sheet.X[:, shown], repaired.values[:, shown]])
    both[~np.isfinite(both)] = np.nan
    largest = float(np.fmax.reduce(np.abs(both), axis=None, initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"the table has values of {largest:.1e}, and a page holds none beyond "
            f"{LARGEST:.0e}; use another unit"
        )
    # Any value near the others will do; a median of some rows is quick.
    some = both[spread(len(both), 2001)]
    known = np.isfinite(some).any(axis=0)
    center = np.zeros(len(shown))
    center[known] = np.nanmedian(some[:, known], axis=0)
    unit = np.fmax.reduce(np.abs(both - center), axis=0, initial=0.0)
    return center, np.where(unit > 0, unit, 1.0)


def _cells(
    sheet: Sheet, repaired: Repaired, shown: np.ndarray, scales: Scales
) -> tuple[np.ndarray, str]:
    """Return changed cells and a note, if some are left out.

    The rows of the array are row, column, old and new value, lower and upper bound, and
    score. If there are too many cells, most are the wrong cells with the largest
    scores, and the others are gaps, evenly drawn.
    """
    center, unit = scales
    filled, replaced = repaired.filled[:, shown], repaired.replaced[:, shown]
    gaps, wrong = np.flatnonzero(filled), np.flatnonzero(replaced & ~filled)
    total, note = len(gaps) + len(wrong), ""
    if total > CELLS:
        room = max(CELLS - len(gaps), 3 * CELLS // 4)  # of wrong cells
        by_score = np.argsort(-np.abs(repaired.scores[:, shown].ravel()[wrong]))
        wrong = np.sort(wrong[by_score[:room]])
        gaps = gaps[spread(len(gaps), CELLS - len(wrong))]
        note = (
            f"Listed and marked: {len(wrong):,} wrong cells with the largest scores, "
            f"and {len(gaps):,} gaps, evenly drawn, of {total:,} changed cells. "
            "The map counts all."
        )
    row, k = np.divmod(np.sort(np.concatenate([gaps, wrong])), len(shown))
    j = shown[k]
    values = (sheet.X, repaired.values, repaired.lower, repaired.upper)
    four = [(A[row, j] - center[k]) / unit[k] for A in values]
    return np.array([row, k, *four, repaired.scores[row, j]]), note


def _map(filled: np.ndarray, replaced: np.ndarray) -> dict[str, Any]:
    """Return counts of both kinds of changes by column and some rows at a time."""
    n, p = filled.shape
    edges = _edges(n, min(BINS, max(MAP // p, 1)))
    return {
        "edges": edges.tolist(),
        "filled": pack.exact(np.add.reduceat(filled, edges[:-1], dtype=np.int64)),
        "replaced": pack.exact(np.add.reduceat(replaced, edges[:-1], dtype=np.int64)),
    }


def _lines(values: np.ndarray) -> dict[str, Any]:
    """Return all values, or of many the least and largest of some rows at a time."""
    n, p = values.shape
    if values.size <= VALUES:
        return {"edges": None, "low": pack.exact(values), "high": None}
    edges = _edges(n, max(VALUES // (2 * p), 1))
    return {
        "edges": edges.tolist(),
        "low": pack.exact(np.fmin.reduceat(values, edges[:-1])),
        "high": pack.exact(np.fmax.reduceat(values, edges[:-1])),
    }


def _edges(n: int, most: int) -> np.ndarray:
    """Return the first row of at most `most` bins of equal size, and n."""
    size = math.ceil(n / most)
    return np.append(np.arange(0, n, size), n)


def _rows(samples: list[str], listed: np.ndarray) -> dict[str, Any]:
    """Return names of rows: all, or those that are listed and some between them.

    Names that only count rows are left to the script.
    """
    n = len(samples)
    if all(name == str(i) for i, name in enumerate(samples)):
        return {"n": n, "at": None, "names": None}
    if n <= NAMES:
        return {"n": n, "at": None, "names": [_short(name) for name in samples]}
    at = np.union1d(spread(n, NAMES // 4), listed.astype(int))
    names = [_short(samples[i]) for i in at]
    return {"n": n, "at": at.tolist(), "names": names}


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def _digits(error: float, unit: float) -> int:
    """Return the number of decimals that shows two digits of the prediction error."""
    size = error if np.isfinite(error) and error > 0 else unit / 100
    return max(0, 1 - math.floor(math.log10(size)))


def _finite(values: np.ndarray) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]


# -- table of columns ------------------------------------------------------------------


def _table(
    sheet: Sheet, repaired: Repaired, shown: np.ndarray, scales: Scales
) -> list[str]:
    _, unit = scales
    rows = []
    for k, j in enumerate(shown):
        digits = _digits(repaired.error[j], unit[k])
        cells = [
            _cell(_percent(repaired.explained[j]), repaired.explained[j]),
            *(
                _cell(_number(size, digits), size)
                for size in (repaired.error[j], repaired.median_error[j])
            ),
            *(
                f"<td>{int(which[:, j].sum()):,}</td>"
                for which in (repaired.filled, repaired.replaced)
            ),
            _remark(_note(sheet, repaired, j)),
        ]
        name = escape(_short(sheet.features[j]))
        link = f'<a href="#column" data-column="{k}">{name}</a>'
        head = f'<th scope="row"><div class="name">{link}</div></th>'
        rows.append(f"<tr>{head}{''.join(cells)}</tr>")
    header = [
        *("column", "spread predicted", "typical error", "error of the median"),
        *("gaps filled", "cells replaced", "note"),
    ]
    caption = (
        "Errors are typical distances from hidden cells, in the unit of the column. "
        "Click a heading to sort, or a name to see the column."
    )
    return [scrolled(caption, header, rows)]


def _cell(text: str, value: float) -> str:
    return (
        f'<td data-value="{value}">{text}</td>' if np.isfinite(value) else "<td>–</td>"
    )


def _remark(note: str) -> str:
    # Tables sort by numbers; the same notes have the same one.
    key = f' data-value="{NOTES.index(note)}"' if note else ""
    return f'<td class="words"{key}>{note}</td>'


def _number(value: float, digits: int) -> str:
    return f"{value:.3g}" if digits > 6 or value >= 1e9 else f"{value:,.{digits}f}"


def _note(sheet: Sheet, repaired: Repaired, j: int) -> str:
    if repaired.dead[j]:
        return CONSTANT if np.isfinite(sheet.X[:, j]).any() else EMPTY
    return POOR if _is_poor(repaired)[j] else ""
