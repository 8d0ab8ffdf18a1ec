"""The page of a repaired table: changed cells, and how well cells are predicted."""

import math
from dataclasses import dataclass
from pathlib import PurePath

import numpy as np

from rpcag.files.sheet import Sheet
from rpcag.graphs.inputs import percent
from rpcag.page import pack
from rpcag.page.document import (
    Page,
    empty,
    escape,
    hint,
    scrolled,
    section,
    verdict,
)
from rpcag.page.extract import spread
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
    """HTML page that shows the changes, and how well cells are predicted.

    Parameters
    ----------
    sheet : Sheet
        The table before the repair.
    repaired : Repaired
        The result.
    """
    n, p = sheet.X.shape
    name = PurePath(sheet.name).name or "table"
    lead = f"{count(n, 'row')} · {count(p, 'column')} · repaired"
    page = Page(name, f'<p class="lead">{escape(lead)}</p>')
    page.add('<div class="columns two">', _summary(sheet, repaired))
    page.add(_score(repaired), "</div>")
    if not n or not p:
        page.add(empty("This table is empty."))
        return page.html()
    changes = (repaired.filled | repaired.replaced).sum(axis=0)
    shown = np.sort(np.argsort(-changes, kind="stable")[:COLUMNS])
    listed = _listed(repaired, shown)
    columns = [_column(sheet, repaired, j) for j in shown]
    chart = _chart(page, sheet, repaired, columns, listed)
    cells = _cells(sheet, repaired, columns, listed)
    page.add(section("columns", "Columns", _overview(repaired, columns, p)))
    page.add(section("column", "Column by column", *chart))
    page.add(section("cells", "Changed cells", cells))
    return page.html()


@dataclass(frozen=True)
class _Column:
    """A column of the page, as text."""

    j: int  # in the matrices
    name: str
    digits: int  # decimals that show two digits of the prediction error
    counts: tuple[str, str]  # of gaps and of wrong cells
    scores: tuple[str, str, str]  # share predicted, error, error of the median
    note: str


def _column(sheet: Sheet, repaired: Repaired, j: int) -> _Column:
    size, explained = repaired.error[j], repaired.explained[j]
    if not (np.isfinite(size) and size > 0):
        known = sheet.X[np.isfinite(sheet.X[:, j]), j]
        size = float(np.abs(known).max(initial=0)) / 100 or 1.0
    digits = max(0, 1 - math.floor(math.log10(size)))
    # `explained` is NaN if there were too few values to measure it.
    note = "no better than the median" if explained <= 0 else ""
    if repaired.dead[j]:
        is_empty = np.isnan(sheet.X[:, j]).all()
        note = "empty, left alone" if is_empty else "constant, left alone"
    filled, replaced = repaired.filled[:, j], repaired.replaced[:, j]
    errors = [_number(e[j], digits) for e in (repaired.error, repaired.median_error)]
    return _Column(
        j=int(j),
        name=_short(sheet.features[j]),
        digits=digits,
        counts=(f"{filled.sum():,}", f"{replaced.sum():,}"),
        scores=(_percent(explained), errors[0], errors[1]),
        note=note,
    )


# -- headlines -------------------------------------------------------------------------


def _summary(sheet: Sheet, repaired: Repaired) -> str:
    filled, replaced = int(repaired.filled.sum()), int(repaired.replaced.sum())
    total = max(sheet.X.size, 1)
    told = (
        f"These are {percent(filled / total)} and {percent(replaced / total)} of the "
        f"{count(sheet.X.size, 'cell')}. All other cells are unchanged."
    )
    left, dead = int(np.isnan(repaired.values).sum()), int(repaired.dead.sum())
    if left:
        told += f" {count(left, 'cell is', 'cells are')} still missing."
    if dead:
        told += (
            f" {count(dead, 'column is', 'columns are')} constant or empty, and "
            "left alone."
        )
    headline = (
        f"{count(filled, 'gap')} filled, {count(replaced, 'wrong cell')} replaced"
    )
    return verdict("summary", headline, told)


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
        told += (
            f" {count(poor, 'column is', 'columns are')} predicted no better than by "
            "the median."
        )
    middle = _percent(float(np.median(explained)))
    return verdict("score", f"Predicts {middle} of the spread of hidden cells", told)


# -- columns ---------------------------------------------------------------------------


def _overview(repaired: Repaired, columns: list[_Column], total: int) -> str:
    """A table that needs no script to be read."""
    rows = []
    for k, column in enumerate(columns):
        which = repaired.filled[:, column.j], repaired.replaced[:, column.j]
        texts = "".join(f"<td>{x}</td>" for x in (*column.counts, *column.scores))
        rows.append(
            f'<tr><th scope="row"><div class="name"><a href="#column" '
            f'data-column="{k}">{escape(column.name)}</a></div></th>'
            f'<td data-value="{sum(A.sum() for A in which)}">{_strip(*which)}</td>'
            f'{texts}<td class="words">{column.note}</td></tr>'
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


# -- chart -----------------------------------------------------------------------------


def _chart(
    page: Page,
    sheet: Sheet,
    repaired: Repaired,
    columns: list[_Column],
    listed: np.ndarray,
) -> list[str]:
    shown = np.array([column.j for column in columns])
    center, unit = _scales(sheet, repaired, shown)
    n, p = len(sheet.X), len(shown)
    step = max(math.ceil(n * p / VALUES), math.ceil(n / ROWS))
    lines = (repaired.values[::step, shown] - center) / unit
    changed = np.flatnonzero((repaired.filled | repaired.replaced)[:, shown])
    marked = np.union1d(changed[spread(len(changed), MARKED)], listed)
    row, k = np.divmod(marked, p)
    matrices = (sheet.X, repaired.values, repaired.lower, repaired.upper)
    four = [(A[row, shown[k]] - center[k]) / unit[k] for A in matrices]
    cells = np.array([row, k, *four, repaired.scores[row, shown[k]]])
    # Show the column with the most wrong cells first, or the most gaps.
    which = repaired.replaced if repaired.replaced.any() else repaired.filled
    chart = page.widget(
        "column",
        columns=[
            {
                "name": column.name,
                "center": center[k],
                "unit": unit[k],
                "digits": column.digits,
                "facts": _facts(column),
            }
            for k, column in enumerate(columns)
        ],
        first=int(which[:, shown].sum(axis=0).argmax()),
        rows=n,
        names=[_short(name) for name in sheet.samples] if n <= NAMES else None,
        coverage=f"{100 * repaired.coverage:.0f} %",
        step=step,
        lines=pack.exact(lines),
        cells=pack.exact(cells),
    )
    notes = []
    if step > 1:
        notes.append(f"The line has one of {step} rows.")
    if len(marked) < len(changed):
        notes.append(
            f"{len(marked):,} of {len(changed):,} changed cells are marked, evenly "
            "drawn."
        )
    return [chart, *([hint(" ".join(notes))] if notes else [])]


def _scales(
    sheet: Sheet, repaired: Repaired, shown: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
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


def _facts(column: _Column) -> str:
    told = [f"{column.counts[0]} filled", f"{column.counts[1]} replaced"]
    predicted, error, _ = column.scores
    if predicted != NOTHING:
        told += [f"{predicted} of the spread predicted", f"typical error {error}"]
    return " · ".join([*told, *filter(None, [column.note])])


# -- cells -----------------------------------------------------------------------------


def _listed(repaired: Repaired, shown: np.ndarray) -> np.ndarray:
    """Flat indices of wrong cells by score, and then of gaps, evenly drawn."""
    replaced = repaired.replaced[:, shown]
    wrong, gaps = np.flatnonzero(replaced), np.flatnonzero(repaired.filled[:, shown])
    scores = np.abs(repaired.scores[:, shown].ravel()[wrong])
    wrong = wrong[np.argsort(-scores, kind="stable")[:LISTED]]
    room = LISTED - len(wrong)
    return np.concatenate([wrong, gaps[spread(len(gaps), room)] if room else gaps[:0]])


def _cells(
    sheet: Sheet, repaired: Repaired, columns: list[_Column], listed: np.ndarray
) -> str:
    if not len(listed):
        return empty("Nothing was changed.")
    rows = []
    for i, k in zip(*np.divmod(listed, len(columns)), strict=True):
        j = columns[k].j
        old, new, low, high = (
            _number(A[i, j], columns[k].digits)
            for A in (sheet.X, repaired.values, repaired.lower, repaired.upper)
        )
        kind = "gap" if repaired.filled[i, j] else "error"
        why = "too high" if sheet.X[i, j] > repaired.values[i, j] else "too low"
        score = NOTHING if kind == "gap" else f"{abs(repaired.scores[i, j]):.4g}"
        link = f'<a href="#column" data-column="{k}" data-row="{i}">'
        rows.append(
            f'<tr><th scope="row">{link}{escape(_short(sheet.samples[i]))}</a></th>'
            f'<td class="words">{escape(columns[k].name)}</td><td>{old}</td>'
            f"<td>{new}</td><td>{low} to {high}</td><td>{score}</td>"
            f'<td class="words"><i class="key {kind}"></i>'
            f"{'missing' if kind == 'gap' else why}</td></tr>"
        )
    total = int((repaired.filled | repaired.replaced).sum())
    interval = f"{100 * repaired.coverage:.0f} % interval"
    header = ["row", "column", "value", "replaced by", interval, "score", "why"]
    caption = "Click a row to see the cell in the chart."
    if len(listed) < total:
        caption = (
            f"{len(listed):,} of {count(total, 'changed cell')}, wrong cells with the "
            f"largest scores first. The file of cells lists all. {caption}"
        )
    return scrolled(caption, header, rows)


# -- words -----------------------------------------------------------------------------


def _percent(part: float) -> str:
    return NOTHING if np.isnan(part) else f"{100 * part:.0f} %".replace("-", "−")


def _number(value: float, digits: int) -> str:
    if np.isnan(value):
        return NOTHING
    text = f"{value:.{digits}f}" if digits <= 6 and abs(value) < 1e9 else f"{value:.4g}"
    return text.replace("-", "−")


def _short(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
