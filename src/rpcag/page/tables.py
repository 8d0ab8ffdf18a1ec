"""Tables of a study as HTML that sorts, with colors."""

import re

from rpcag.page.document import escape, scrolled
from rpcag.study.methods import METHODS
from rpcag.study.report import Report, corruptions_of, short
from rpcag.study.results import Cell, ranks
from rpcag.study.tables import Table, percent, signed

OURS = "RPCAG"
# Points of difference to the paper that get the full color.
FULL = 20.0
# Names of rows longer than this are broken into lines.
LONG = 22
# "20.0 (24.7)": ours, and the printed number.
BESIDE = re.compile(r"^(?P<ours>[^()]+) \((?P<printed>[^()]+)\)$")


def table_html(table: Table) -> str:
    """Any table; the best of a column is marked, the printed numbers are small."""
    rows = []
    for i, (name, *cells) in enumerate(table.rows):
        line = [_name(name)]
        line += [_cell(c, (i, j + 1) in table.bold) for j, c in enumerate(cells)]
        rows.append(_row(name, line))
    return scrolled(f"{table.title[:1].upper()}{table.title[1:]}", table.header, rows)


def by_first_column(table: Table) -> list[Table]:
    """A table without bold cells whose first column repeats itself, as several."""
    names = dict.fromkeys(row[0] for row in table.rows)
    return [
        Table(
            f"{table.title}; {name}",
            table.header[1:],
            [row[1:] for row in table.rows if row[0] == name],
        )
        for name in names
    ]


def turned(table: Table) -> Table:
    """A table without bold cells, its rows as columns."""
    name, *rest = zip(table.header, *table.rows, strict=True)
    return Table(table.title, ["model", *name[1:]], [list(row) for row in rest])


def _name(text: str) -> str:
    kind = ' class="long"' if len(text) > LONG else ""
    return f'<th scope="row"><div{kind}>{escape(text)}</div></th>'


def _cell(text: str, best: bool) -> str:
    found = BESIDE.match(text)
    shown = f"<b>{escape(text)}</b>"
    if found:
        printed = f"<small>{escape(found['printed'])}</small>"
        shown = f"<b>{escape(found['ours'])}</b> {printed}"
    return f'<td class="best">{shown}</td>' if best else f"<td>{shown}</td>"


def beside_html(report: Report, dataset: str, cells: Cell, spread: Cell) -> str:
    """One data set: our errors, and small the printed ones, colored by either."""
    columns = corruptions_of(cells, dataset)
    models = {model for name, _, model in cells if name == dataset}
    order = [m for m in METHODS if m in models] + sorted(models - set(METHODS))
    best = {
        c: min(cells.get((dataset, c, m), 1.0) for m in order) + 1e-9 for c in columns
    }
    rows = []
    for model in order:
        line = [_name(model)]
        for corruption in columns:
            key = dataset, corruption, model
            line.append(
                _pair(
                    cells.get(key),
                    report.printed.get(key),
                    best[corruption],
                    spread.get(key),
                )
            )
        rows.append(_row(model, line))
    title = f"{dataset}: clustering error in %, small the paper’s"
    header = ["model", *(short(c) for c in columns)]
    return scrolled(title, header, rows)


def _pair(
    ours: float | None, printed: float | None, best: float, spread: float | None
) -> str:
    if ours is None:
        return "<td>–</td>"
    kinds, styles, notes = [], [f"--e:{ours:.3f}"], []
    if spread is not None:
        notes.append(f"± {percent(spread)} over seeds")
    shown = f"<b>{percent(ours)}</b>"
    if ours <= best:
        kinds.append("best")
    if printed is not None:
        apart = 100 * (ours - printed)
        kinds.append("lower" if apart < 0 else "higher")
        styles.append(f"--d:{min(abs(apart) / FULL, 1):.3f}")
        shown += f" <small>{percent(printed)}</small>"
        notes.append(f"{signed(apart)} points to the paper’s")
    title = f' title="{"; ".join(notes)}"' if notes else ""
    return (
        f'<td class="{" ".join(kinds)}" style="{";".join(styles)}" '
        f'data-value="{100 * ours:.4f}"{title}>{shown}</td>'
    )


def ranks_html(report: Report, cells: Cell) -> str:
    """The place of RPCAG in every column, and small its place in the paper."""
    place, printed = ranks(cells), ranks(report.printed)
    columns = corruptions_of(place)
    if not columns:
        return ""
    rows = []
    for dataset in report.datasets:
        if not any(key[0] == dataset for key in place):
            continue
        line = [_name(dataset)]
        for corruption in columns:
            at = place.get((dataset, corruption))
            theirs = printed.get((dataset, corruption))
            line.append(_rank(at, theirs))
        rows.append(_row(dataset, line))
    header = ["data", *(short(c) for c in columns)]
    title = "Rank of RPCAG among the models of a column, small in the paper"
    return scrolled(title, header, rows)


def _rank(at: int | None, theirs: int | None) -> str:
    if at is None:
        return "<td>–</td>"
    small = "" if theirs is None else f" <small>{theirs}</small>"
    depth = {1: 1.0, 2: 0.6, 3: 0.3}.get(at, 0.0)
    data = f'style="--r:{depth}" data-value="{at}"'
    return f'<td class="rank" {data}><b>{at}</b>{small}</td>'


def _row(name: str, cells: list[str]) -> str:
    kind = ' class="ours"' if name.split(",")[0].split(" (")[0] == OURS else ""
    return f"<tr{kind}>{''.join(cells)}</tr>"
