"""``rpcag repair``."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table as RichTable

from rpcag.commands import options as o
from rpcag.commands.decompose import load_graph
from rpcag.commands.far_values import far_value_named
from rpcag.commands.output import console, mistakes, note, print_json
from rpcag.commands.progress import GapBar
from rpcag.files.table import Reading
from rpcag.graphs.inputs import percent
from rpcag.page.words import count
from rpcag.stopping import go_on

SHOWN = 12  # columns in the summary
NAMED = 8  # columns in a list


def repair(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            show_default=False,
            help=".csv, .tsv, .txt, .csv.gz, .parquet or .xlsx; - for standard input.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="REPAIRED",
            help="The repaired table, in the same format; - for standard output.",
        ),
    ],
    only_gaps: Annotated[
        bool, typer.Option("--only-gaps", help="Fill gaps; replace no values.")
    ] = False,
    only_errors: Annotated[
        bool, typer.Option("--only-errors", help="Replace wrong values; fill no gaps.")
    ] = False,
    cells: Annotated[
        Path | None,
        typer.Option(
            "--cells",
            metavar="FILE",
            help="List of the changed cells. Default: REPAIRED with the suffix "
            ".cells.csv; none if the table goes to standard output.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="PAGE", help="Also write an HTML report."),
    ] = None,
    alpha: Annotated[
        float,
        typer.Option(
            "--alpha",
            metavar="NUMBER",
            help="False discovery rate: share of the replaced values that may have "
            "been correct.",
            rich_help_panel=o.MODEL,
        ),
    ] = 0.02,
    graph: Annotated[
        str,
        typer.Option(
            "--graph",
            metavar="auto|robust|knn|complete|chain|FILE",
            help="Graph between rows. auto: chain if there are timestamps, else "
            "robust. FILE is an adjacency matrix or a list of edges.",
            rich_help_panel=o.MODEL,
        ),
    ] = "auto",
    time: Annotated[
        str | None,
        o.reading_option(
            "--time",
            metavar="COLUMN",
            help="Column of timestamps: ISO 8601 or numbers. Default: the first column "
            "of ISO timestamps or of Unix times that only rise.",
        ),
    ] = None,
    no_time: Annotated[
        bool, o.reading_option("--no-time", help="Do not look for timestamps.")
    ] = False,
    keep: Annotated[
        list[str] | None,
        o.reading_option(
            "--keep",
            "--drop",
            metavar="COLUMN",
            help="Column to leave alone, such as an identifier. Can be repeated.",
        ),
    ] = None,
    missing: o.Missing = None,
    sheet: Annotated[
        str | None,
        o.reading_option(
            "--sheet",
            metavar="NAME",
            help="Sheet of an Excel workbook. Default: the first.",
        ),
    ] = None,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    header: o.Header = None,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace files that exist.")
    ] = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Fill the gaps of a table and replace its wrong values.

    The repaired file keeps its format, header, column order, text, timestamps and
    number format, and unchanged cells are equal to the byte. REPAIRED.cells.csv lists
    every changed cell with a 90 % interval.

    Text, booleans, timestamps, formulas and constant columns are left alone. So are
    indexes and identifiers: whole numbers without gaps that rise from row to row.
    Timestamps order the rows, so that neighbors in time help to predict each row.

    Examples:
    rpcag repair sensors.csv -o repaired.csv
    rpcag repair sensors.csv -o filled.csv --only-gaps --missing -999
    rpcag repair sensors.csv -o checked.csv --only-errors --alpha 0.01 --json
    rpcag repair kinds.csv -o kept.csv --keep 5:00 --graph knn --quiet
    """
    from rpcag.files import sheets

    with mistakes():
        _check_options(only_gaps, only_errors, alpha, time, no_time, json, output)
        targets = _targets(table, output, cells, report, force)
        reading = Reading(
            keep=tuple(keep or ()),
            missing=tuple(missing or ()),
            delimiter=delimiter,
            decimal=decimal,
            header=header,
        )
        wanted: str | Literal[False] | None = False if no_time else time
        # Certificates stop the solves; the gap to reach is that of the models.
        with GapBar("repair", 1e-3, 1000, quiet=quiet) as bar:
            bar.describe(f"reading {table}")
            found = sheets.read_sheet(table, reading, time=wanted, sheet=sheet)
            sheets.check_delimiter(table, output, found)
            repaired = _repaired(found, bar, only_gaps, only_errors, alpha, graph)
            bar.describe("writing")
            edits = found.edits(repaired.values, repaired.filled | repaired.replaced)
            go_on()
            _write(found, edits, repaired, targets)
        facts = _facts(found, repaired, targets)
    if json:
        print_json(facts)
    elif not quiet:
        is_stream = output == sheets.STREAM
        for message in [*found.notes, *_warnings(found, repaired)]:
            note(message)
        for shown in _summary(facts, found, repaired, table):
            console(stderr=is_stream).print(shown)


def _check_options(
    only_gaps: bool,
    only_errors: bool,
    alpha: float,
    time: str | None,
    no_time: bool,
    json: bool,
    output: Path,
) -> None:
    if only_gaps and only_errors:
        raise ValueError("--only-gaps and --only-errors exclude each other; give one")
    if time is not None and no_time:
        raise ValueError("--time and --no-time exclude each other; give one")
    if not 0 < alpha < 1:
        raise ValueError(f"--alpha must lie between 0 and 1, got {alpha:g}")
    if json and str(output) == "-":
        raise ValueError("--json and -o - both write to standard output; give one")


def _targets(
    table: Path, output: Path, cells: Path | None, report: Path | None, force: bool
) -> dict[str, Path]:
    """The files to write by what they are; all of them can be written."""
    from rpcag.files import sheets

    sheets.check_format(table, output)
    targets = {"output": output}
    if cells is None and output != sheets.STREAM:
        cells = sheets.cells_path(output)
    if cells is not None:
        if cells.suffix.lower() != ".csv":
            raise ValueError(f"--cells must be a .csv file, got {cells}")
        targets["cells"] = cells
    if report is not None:
        if report.suffix.lower() not in (".html", ".htm"):
            raise ValueError(f"--report must be an .html file, got {report}")
        targets["report"] = report
    if len({path.absolute() for path in targets.values()}) < len(targets):
        raise ValueError("--output, --cells and --report must be different files")
    words = {"output": "repaired table", "cells": "list of cells", "report": "report"}
    for what, path in targets.items():
        sheets.check_output(table, path, force=force, what=words[what])
    return targets


def _repaired(
    found: Any,
    bar: GapBar,
    only_gaps: bool,
    only_errors: bool,
    alpha: float,
    graph: str,
) -> Any:
    from rpcag.tables.repair import repair_matrix

    def callback(step: Any) -> bool:
        go_on()
        return bar(step)

    chosen: Any = graph
    if graph != "auto":
        names = found.labels or [str(i) for i in range(len(found.X))]
        chosen = load_graph(graph, names)
    with far_value_named(found.name, found.X, found.samples, found.features):
        return repair_matrix(
            found.X,
            gaps=not only_errors,
            errors=not only_gaps,
            alpha=alpha,
            graph=chosen,
            times=found.times,
            integers=found.integers,
            callback=callback,
        )


def _write(found: Any, edits: Any, repaired: Any, targets: dict[str, Path]) -> None:
    """All files or none."""
    from rpcag.atomic import write_together
    from rpcag.files import sheets

    is_stream = targets["output"] == sheets.STREAM
    files = {k: p for k, p in targets.items() if not (is_stream and k == "output")}
    with ExitStack() as stack:
        parts = stack.enter_context(write_together(files.values()))
        named = dict(zip(files, parts, strict=True))
        if "output" in named:
            with sheets.opened(named["output"], targets["output"]) as file:
                found.write(file, edits)
        if "cells" in named:
            sheets.write_cells(named["cells"], found, edits, repaired)
        if "report" in named:
            from rpcag.page.repair import (  # type: ignore[import-not-found, unused-ignore]
                write_report,
            )

            write_report(named["report"], found, repaired)
        go_on()
        if is_stream:
            sheets.write_stream(found, edits)


def _weak(repaired: Any) -> np.ndarray:
    """Columns that are predicted no better than by their median."""
    return ~repaired.dead & ~(np.nan_to_num(repaired.explained, nan=0.0) > 0)


def _warnings(found: Any, repaired: Any) -> list[str]:
    weak = [found.features[j] for j in np.flatnonzero(_weak(repaired))]
    if not weak:
        return []
    which = f"column {weak[0]!r} is" if len(weak) == 1 else f"{len(weak)} columns are"
    such = "" if len(weak) == 1 else f", such as {weak[0]!r}"
    return [
        f"{which} predicted no better than by the median{such}; gaps there get the "
        "median"
    ]


def _facts(found: Any, repaired: Any, targets: dict[str, Path]) -> dict[str, Any]:
    def number(x: float) -> float | None:
        return float(x) if np.isfinite(x) else None

    weak = _weak(repaired)
    columns = [
        {
            "name": name,
            "explained": number(repaired.explained[j]),
            "error": number(repaired.error[j]),
            "median_error": number(repaired.median_error[j]),
            "filled": int(repaired.filled[:, j].sum()),
            "replaced": int(repaired.replaced[:, j].sum()),
            "fill_values": repaired.fill_values[j].tolist(),
            "constant_or_empty": bool(repaired.dead[j]),
            "no_better_than_median": bool(weak[j]),
        }
        for j, name in enumerate(found.features)
    ]
    return {
        "input": found.name,
        **{what: str(path) for what, path in targets.items()},
        "rows": len(found.X),
        "columns": len(found.columns),
        "time": found.time,
        "left_alone": {k: v for k, v in found.roles.items() if v != "number"},
        "filled": int(repaired.filled.sum()),
        "replaced": int(repaired.replaced.sum()),
        "coverage": repaired.coverage,
        "features": columns,
        "notes": found.notes,
    }


def _summary(
    facts: dict[str, Any], found: Any, repaired: Any, table: Path
) -> list[RichTable]:
    name = "standard input" if str(table) == "-" else str(table)
    shown = RichTable(show_header=False, title=escape(f"Repair of {name}"))
    shown.add_column(style="dim")
    shown.add_column()
    live = ~repaired.dead
    rows = {
        "rows x columns": f"{facts['rows']:,} x {facts['columns']:,}, of which "
        f"{count(len(found.features), 'column')} of numbers",
        "gaps filled": _share(facts["filled"], found.X.size),
        "values replaced": _share(facts["replaced"], found.X.size),
    }
    marks = [
        f"{value:g} in {name!r}"
        for name, values in zip(found.features, repaired.fill_values, strict=True)
        for value in values
    ]
    if marks:
        rows["of these fill values"] = _named(marks)
    if facts["time"] is not None:
        rows["order of rows"] = f"timestamps in {facts['time']!r}"
    others: dict[str, list[str]] = {}
    for column, role in found.roles.items():
        if role not in ("number", "time"):
            others.setdefault(role, []).append(column)
    for role, columns in others.items():
        rows[f"left alone ({role})" if role != "kept" else "kept"] = _named(columns)
    dead = [found.features[j] for j in np.flatnonzero(repaired.dead)]
    if dead:
        rows["constant or empty"] = f"{_named(dead)}: left alone"
    weak = [found.features[j] for j in np.flatnonzero(_weak(repaired))]
    if weak:
        rows["no better than median"] = _named(weak)
    for what in ("output", "cells", "report"):
        if what in facts and facts[what] != "-":
            rows[{"output": "written to"}.get(what, what)] = facts[what]
    for key, value in rows.items():
        shown.add_row(key, escape(value))
    return [shown, _columns(found, repaired)] if live.any() else [shown]


def _columns(found: Any, repaired: Any) -> RichTable:
    """The columns that are predicted worst first."""
    table = RichTable(title="Prediction of hidden cells, worst columns first")
    table.add_column("column")
    heads = ("explained", "error", "error of median", "filled", "replaced")
    for head in heads:
        table.add_column(head, justify="right")
    live = np.flatnonzero(~repaired.dead)
    order = live[np.argsort(repaired.explained[live], kind="stable")]
    for j in order[:SHOWN]:
        table.add_row(
            escape(found.features[j]),
            f"{100 * repaired.explained[j]:.0f} %",
            f"{repaired.error[j]:.3g}",
            f"{repaired.median_error[j]:.3g}",
            f"{int(repaired.filled[:, j].sum()):,}",
            f"{int(repaired.replaced[:, j].sum()):,}",
        )
    if len(order) > SHOWN:
        table.add_row(f"... and {len(order) - SHOWN} more", *[""] * len(heads))
    return table


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({percent(part / whole)} of the numbers)" if part else "none"


def _named(names: list[str]) -> str:
    more = len(names) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more} more" if more > 0 else "")
