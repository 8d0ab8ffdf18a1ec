"""``rpcag repair``."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table as RichTable

from rpcag.commands import options as o
from rpcag.commands.output import mistakes, report, shortened, summary
from rpcag.commands.progress import GapBar
from rpcag.graphs.inputs import percent
from rpcag.page.words import count
from rpcag.stopping import go_on

SHOWN = 12  # columns in the summary
NAMED = 8  # columns in a list
STREAM = Path("-")


@dataclass(frozen=True)
class RepairOptions:
    """Which cells to change, and which files to write besides the table."""

    only_gaps: bool = o.option("Fill gaps. Replace no values.", default=False)
    only_errors: bool = o.option("Replace wrong values. Fill no gaps.", default=False)
    cells: Path | None = o.option(
        "List of the changed cells. Default: REPAIRED with the suffix .cells.csv. Not "
        "written by default if the table goes to standard output.",
        "FILE",
    )
    report: Path | None = o.option("Also write an HTML report.", "PAGE")
    alpha: float = o.model_option(
        "False discovery rate: the largest share of replaced values that may have been "
        "correct.",
        "NUMBER",
        default=0.02,
    )
    graph: str = o.model_option(
        "Graph between rows: robust, knn, complete, chain, or a FILE with an adjacency "
        "matrix or a list of edges. auto: chain if there are timestamps, else robust.",
        "KIND|FILE",
        default="auto",
    )


@dataclass(frozen=True)
class SheetOptions(o.TextOptions):
    """How to read a table whose other columns are kept."""

    time: str | None = o.reading_option(
        "Column of timestamps: ISO 8601 or numbers. Default: the first column of ISO "
        "timestamps or increasing Unix times.",
        "COLUMN",
    )
    no_time: bool = o.reading_option("Do not look for timestamps.", default=False)
    keep: list[str] | None = o.reading_option(
        "Column to leave unchanged, such as an identifier. Can be repeated.",
        "COLUMN",
        *("--keep", "--drop"),
    )
    sheet: str | None = o.reading_option(
        "Sheet of an Excel workbook. Default: the first.", "NAME"
    )


@o.takes_groups
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
            *("--output", "-o"),
            metavar="REPAIRED",
            help="Repaired table, in the same format; - for standard output.",
        ),
    ],
    *,
    options: RepairOptions,
    reading: SheetOptions,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace existing files.")
    ] = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Fill the gaps of a table and replace its wrong values.

    The repaired file keeps its format, header, column order, text, timestamps and
    number format. Unchanged cells stay the same to the byte. REPAIRED.cells.csv lists
    every changed cell with a 90 % interval.

    Columns of text, booleans, timestamps or formulas and constant columns stay
    unchanged. So do identifiers: whole numbers without gaps that increase from row to
    row. If there are timestamps, rows close in time help to predict each other.

    Examples:
    rpcag repair sensors.csv -o repaired.csv
    rpcag repair sensors.csv -o filled.csv --only-gaps --missing -999
    rpcag repair sensors.csv -o checked.csv --only-errors --alpha 0.01 --json
    rpcag repair kinds.csv -o kept.csv --keep 5:00 --graph knn --quiet
    """
    from rpcag.files import repaired as files
    from rpcag.files.sheet import read_sheet

    with mistakes():
        _check_options(options, reading)
        if json and output == STREAM:
            raise ValueError("--json and -o - both write to standard output; give one")
        targets = _targets(table, output, options, force)
        time: str | Literal[False] | None = False if reading.no_time else reading.time
        with GapBar("repair", quiet=quiet) as bar:
            bar.count("reading")
            found = read_sheet(table, reading.reading(), time=time, sheet=reading.sheet)
            files.check_delimiter(table, output, found)
            repaired = _repaired(found, bar, options)
            bar.count("writing")
            edits = found.edits(repaired.values, repaired.filled | repaired.replaced)
            _write(found, edits, repaired, targets)
        facts = _facts(found, repaired, targets)
    report(
        facts,
        *_summary(facts, table),
        notes=[*found.notes, *_warnings(facts)],
        quiet=quiet,
        json=json,
        stderr=output == STREAM,
    )


def _check_options(options: RepairOptions, reading: SheetOptions) -> None:
    if options.only_gaps and options.only_errors:
        raise ValueError("--only-gaps and --only-errors exclude each other; give one")
    if reading.time is not None and reading.no_time:
        raise ValueError("--time and --no-time exclude each other; give one")
    if not 0 < options.alpha < 1:
        raise ValueError(f"--alpha must lie between 0 and 1, got {options.alpha:g}")


def _targets(
    table: Path, output: Path, options: RepairOptions, force: bool
) -> dict[str, Path]:
    """The files to write, by kind, after a check that all of them can be written."""
    from rpcag.files import repaired as files

    files.check_format(table, output)
    cells, page = options.cells, options.report
    if cells is None and output != STREAM:
        cells = files.cells_path(output)
    if cells is not None and cells.suffix.lower() != ".csv":
        raise ValueError(f"--cells must be a .csv file, got {cells}")
    if page is not None and page.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"--report must be an .html file, got {page}")
    given = {"output": output, "cells": cells, "report": page}
    targets = {what: path for what, path in given.items() if path is not None}
    if len({path.absolute() for path in targets.values()}) < len(targets):
        raise ValueError("--output, --cells and --report must be different files")
    words = {"output": "repaired table", "cells": "list of cells", "report": "report"}
    for what, path in targets.items():
        files.check_output(table, path, force=force, what=words[what])
    return targets


def _repaired(found: Any, bar: GapBar, options: RepairOptions) -> Any:
    from rpcag.commands.fitting import far_value_named, load_graph
    from rpcag.tables.repair import repair_matrix

    graph: Any = options.graph
    if graph != "auto":
        names = found.labels or [str(i) for i in range(len(found.X))]
        graph = load_graph(graph, names)
    with far_value_named(found.name, found.X, found.samples, found.features):
        return repair_matrix(
            found.X,
            gaps=not options.only_errors,
            errors=not options.only_gaps,
            alpha=options.alpha,
            graph=graph,
            times=found.times,
            integers=found.integers,
            callback=bar,
        )


def _write(found: Any, edits: Any, repaired: Any, targets: dict[str, Path]) -> None:
    """Write all files, or none."""
    from rpcag.atomic import explained, write_together
    from rpcag.files import repaired as files

    paths = {what: path for what, path in targets.items() if path != STREAM}
    with write_together(paths.values()) as parts:
        for (what, path), part in zip(paths.items(), parts, strict=True):
            with explained(path):
                if what == "output":
                    with files.opened(part, path) as file:
                        found.write(file, edits)
                elif what == "cells":
                    files.write_cells(part, found, edits, repaired)
                else:
                    from rpcag.page.repair import write_report

                    write_report(part, found, repaired)
        go_on()
        if "output" not in paths:
            files.write_stream(found, edits)


def _facts(found: Any, repaired: Any, targets: dict[str, Path]) -> dict[str, Any]:
    def number(x: float) -> float | None:
        return float(x) if np.isfinite(x) else None

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
            "no_better_than_median": bool(
                not repaired.dead[j] and not repaired.explained[j] > 0
            ),
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


def _where(facts: dict[str, Any], fact: str) -> list[str]:
    """The names of the columns for which a fact holds."""
    return [column["name"] for column in facts["features"] if column[fact]]


def _warnings(facts: dict[str, Any]) -> list[str]:
    weak = _where(facts, "no_better_than_median")
    if not weak:
        return []
    which = f"column {weak[0]!r} is" if len(weak) == 1 else f"{len(weak)} columns are"
    such = "" if len(weak) == 1 else f", such as {weak[0]!r}"
    return [
        f"{which} predicted no better than by the median{such}; gaps there get the "
        "median"
    ]


def _summary(facts: dict[str, Any], table: Path) -> list[RichTable]:
    columns = facts["features"]
    numbers = facts["rows"] * len(columns)
    rows = {
        "rows x columns": f"{facts['rows']:,} x {facts['columns']:,}, of which "
        f"{count(len(columns), 'column')} of numbers",
        "gaps filled": _share(facts["filled"], numbers),
        "values replaced": _share(facts["replaced"], numbers),
    }
    marks = [f"{x:g} in {c['name']!r}" for c in columns for x in c["fill_values"]]
    if marks:
        rows["of these fill values"] = shortened(marks, NAMED)
    if facts["time"] is not None:
        rows["order of rows"] = f"timestamps in {facts['time']!r}"
    others: dict[str, list[str]] = {}
    for column, role in facts["left_alone"].items():
        if role != "time":
            others.setdefault(role, []).append(column)
    for role, names in others.items():
        key = "kept" if role == "kept" else f"left alone ({role})"
        rows[key] = shortened(names, NAMED)
    dead = _where(facts, "constant_or_empty")
    if dead:
        rows["constant or empty"] = f"{shortened(dead, NAMED)}: left alone"
    weak = _where(facts, "no_better_than_median")
    if weak:
        rows["no better than median"] = shortened(weak, NAMED)
    for what, words in (
        ("output", "written to"),
        ("cells", "cells"),
        ("report", "report"),
    ):
        if facts.get(what, "-") != "-":
            rows[words] = facts[what]
    name = "standard input" if table == STREAM else str(table)
    shown = [summary(f"Repair of {name}", rows)]
    live = [column for column in columns if not column["constant_or_empty"]]
    return [*shown, _predictions(live)] if live else shown


def _predictions(columns: list[dict[str, Any]]) -> RichTable:
    """The columns that are predicted worst first."""
    table = RichTable(title="Prediction of hidden cells, worst columns first")
    table.add_column("column")
    heads = ("explained", "error", "error of median", "filled", "replaced")
    for head in heads:
        table.add_column(head, justify="right")

    def explained(column: dict[str, Any]) -> float:
        return np.inf if column["explained"] is None else column["explained"]

    for c in sorted(columns, key=explained)[:SHOWN]:
        table.add_row(
            escape(c["name"]),
            _shown(c["explained"], "{:.0%}"),
            _shown(c["error"], "{:.3g}"),
            _shown(c["median_error"], "{:.3g}"),
            f"{c['filled']:,}",
            f"{c['replaced']:,}",
        )
    if len(columns) > SHOWN:
        table.add_row(f"... and {len(columns) - SHOWN} more", *[""] * len(heads))
    return table


def _shown(x: float | None, form: str) -> str:
    return "-" if x is None else form.format(x).replace("%", " %")


def _share(part: int, whole: int) -> str:
    return f"{part:,} ({percent(part / whole)} of the numbers)" if part else "none"
