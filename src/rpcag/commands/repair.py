"""``rpcag repair``."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from rpcag.commands import options as o
from rpcag.commands.output import mistakes, report, summary
from rpcag.commands.progress import GapBar
from rpcag.files.decomposition import plain
from rpcag.files.names import listed
from rpcag.graphs.inputs import percent
from rpcag.page.words import count
from rpcag.stopping import go_on

WORST = 3  # columns that are predicted worst, in the summary
TARGETS: dict[str, tuple[str, tuple[str, ...]]] = {  # what is in a file, its suffixes
    "output": ("repaired table", ()),
    "cells": ("list of cells", (".csv",)),
    "report": ("report", (".html", ".htm")),
}


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
        "Nominal false discovery rate: the estimated share of the replaced values that "
        "were correct, between 0 and 1.",
        "NUMBER",
        default=0.02,
    )
    graph: str = o.model_option(
        "Graph between rows: robust, knn, complete, chain, or a FILE with an adjacency "
        "matrix or a list of edges. auto (default): robust, or chain if there are "
        "timestamps and it predicts hidden cells clearly better.",
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
    drop: list[str] | None = o.reading_option(
        "Column to leave unchanged and out of the model, such as an identifier. Can be "
        "repeated.",
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
        o.argument(
            "TABLE",
            ".csv, .tsv, .txt, .csv.gz, .parquet or .xlsx; - for standard input.",
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
    number format. In text files, unchanged cells stay the same to the byte.
    REPAIRED.cells.csv lists every changed cell with a 90 % interval.

    Columns of text, booleans, timestamps or formulas and constant columns stay
    unchanged. So do identifiers: increasing whole numbers, none of them missing.
    With timestamps, rows close in time are used if they predict each other.

    Examples:
    rpcag repair sensors.csv -o repaired.csv
    rpcag repair sensors.csv -o filled.csv --only-gaps --missing -999
    rpcag repair sensors.csv -o checked.csv --only-errors --alpha 0.01 --json
    rpcag repair sensors.csv -o neighbors.csv --graph knn --quiet
    """
    from rpcag.commands.fitting import load_graph
    from rpcag.files.sheet import read_sheet
    from rpcag.tables.repair import repair_matrix

    with mistakes():
        if options.only_gaps and options.only_errors:
            raise ValueError("give --only-gaps or --only-errors, not both")
        if reading.time is not None and reading.no_time:
            raise ValueError("give --time or --no-time, not both")
        if json and output == o.STREAM:
            raise ValueError("--json and -o - both write to standard output; give one")
        targets = _targets(table, output, options, force)
        how = reading.reading()
        if reading.no_time:
            how = replace(how, time=False)
        with GapBar("repair", quiet=quiet) as bar:
            bar.count("reading")
            found = read_sheet(table, how)
            names = found.labels or [str(i) for i in range(len(found.X))]
            is_auto = options.graph == "auto"
            repaired = repair_matrix(
                found.X,
                gaps=not options.only_errors,
                errors=not options.only_gaps,
                alpha=options.alpha,
                graph="auto" if is_auto else load_graph(options.graph, names),
                times=found.times,
                integers=found.integers,
                callback=bar,
            )
            bar.count("writing")
            edits = found.edits(repaired.values, repaired.filled | repaired.replaced)
            _write(found, edits, repaired, targets)
        facts = _facts(found, repaired, targets)
    report(
        facts,
        summary(f"Repair of {found.name}", _rows(facts)),
        notes=found.notes,
        quiet=quiet,
        json=json,
        stderr=output == o.STREAM,
    )


def _targets(
    table: Path, output: Path, options: RepairOptions, force: bool
) -> dict[str, Path]:
    """The files to write, by kind, after a check that all of them can be written."""
    from rpcag.files import repaired as files

    files.check_format(table, output)
    cells = options.cells
    if cells is None and output != o.STREAM:
        cells = files.cells_path(output)
    given = {"output": output, "cells": cells, "report": options.report}
    targets = {what: path for what, path in given.items() if path is not None}
    if len({path.absolute() for path in targets.values()}) < len(targets):
        raise ValueError("--output, --cells and --report must be different files")
    for what, path in targets.items():
        words, suffixes = TARGETS[what]
        if suffixes and path.suffix.lower() not in suffixes:
            raise ValueError(f"--{what} must be a file named {suffixes[0]}, got {path}")
        files.check_output(table, path, force=force, what=words)
    return targets


def _write(found: Any, edits: Any, repaired: Any, targets: dict[str, Path]) -> None:
    """Write all files, or none."""
    from rpcag.atomic import explained, write_together
    from rpcag.files import repaired as files
    from rpcag.page.document import write_page
    from rpcag.page.repair import report as page_of

    paths = {what: path for what, path in targets.items() if path != o.STREAM}
    with write_together(paths.values()) as parts:
        for (what, path), part in zip(paths.items(), parts, strict=True):
            with explained(path):
                if what == "output":
                    with files.opened(part, path) as file:
                        found.file.write(file, edits)
                elif what == "cells":
                    files.write_cells(part, found, edits, repaired)
                else:
                    write_page(part, page_of(found, repaired))
        go_on()
        if "output" not in paths:
            files.write_stream(found, edits)


def _facts(found: Any, repaired: Any, targets: dict[str, Path]) -> dict[str, Any]:
    measures = {
        "name": found.features,
        "explained": repaired.explained,
        "error": repaired.error,
        "median_error": repaired.median_error,
        "filled": repaired.filled.sum(axis=0),
        "replaced": repaired.replaced.sum(axis=0),
        "fill_values": repaired.fill_values,
        "constant_or_empty": repaired.dead,
        "no_better_than_median": ~repaired.dead & ~(repaired.explained > 0),
    }
    columns = [
        dict(zip(measures, values, strict=True))
        for values in zip(*measures.values(), strict=True)
    ]
    facts = {
        "input": found.name,
        **{what: str(path) for what, path in targets.items()},
        "rows": len(found.X),
        "columns": len(found.roles),
        "time": found.time,
        "left_alone": {k: v for k, v in found.roles.items() if v != "number"},
        "filled": repaired.filled.sum(),
        "replaced": repaired.replaced.sum(),
        "coverage": repaired.coverage,
        "features": columns,
        "notes": found.notes,
    }
    return plain(facts)


def _rows(facts: dict[str, Any]) -> dict[str, str | None]:
    """What was done, for the terminal."""
    columns = facts["features"]

    def share(part: int) -> str:
        told = percent(part / (facts["rows"] * len(columns)))
        return f"{part:,} ({told} of the numbers)" if part else "none"

    def names(fact: str, told: str) -> str:
        found = [column["name"] for column in columns if column[fact]]
        return listed(found, show=str) + told if found else ""

    marks = [f"{x:g} in {c['name']!r}" for c in columns for x in c["fill_values"]]
    left: dict[str, list[str]] = {}
    for column, role in facts["left_alone"].items():
        left.setdefault(role, []).append(column)
    times = left.pop("time", [])
    return {
        "rows x columns": f"{facts['rows']:,} x {facts['columns']:,}, of which "
        f"{count(len(columns), 'column')} of numbers",
        "gaps filled": share(facts["filled"]),
        "values replaced": share(facts["replaced"]),
        "of these fill values": listed(marks, show=str),
        "order of rows": times and f"timestamps in {times[0]!r}",
        **{
            "kept" if role == "kept" else f"left alone ({role})": listed(all, show=str)
            for role, all in left.items()
        },
        "constant or empty": names("constant_or_empty", ": left alone"),
        "no better than median": names(
            "no_better_than_median", ": gaps get the median"
        ),
        "prediction": _prediction(columns),
        "written to": facts["output"].removeprefix("-"),
        "cells": facts.get("cells"),
        "report": facts.get("report"),
    }


def _prediction(columns: list[dict[str, Any]]) -> str | None:
    """How well hidden cells were predicted, in the median and in the worst columns."""
    known = [c for c in columns if c["explained"] is not None]
    if not known:
        return None
    known.sort(key=lambda c: c["explained"])
    middle = known[len(known) // 2]["explained"]
    worst = [f"{c['name']} {100 * c['explained']:.0f} %" for c in known[:WORST]]
    return (
        f"{100 * middle:.0f} % of the spread of hidden cells, in the median column\n"
        f"lowest: {', '.join(worst)}"
    )
