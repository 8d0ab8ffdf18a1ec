"""All tables and figures of a report, as files."""

from collections.abc import Iterator
from pathlib import Path

from rpcag.study.plan import SETUPS
from rpcag.study.report import SETUP_NAMES, Report
from rpcag.study.tables import Table


def all_tables(report: Report) -> Iterator[Table]:
    """The short ones first, then one per data set and protocol."""
    for _, table in _named(report):
        yield table


def _named(report: Report) -> Iterator[tuple[str, Table]]:
    summary = {
        "wins": report.wins(),
        "fair_means": report.means(),
        "rpcag_minus_rpca": report.paired(),
    }
    for name, table in summary.items():
        if table.rows:
            yield name, table
    for setup in SETUPS["oracle"]:
        cells = report.oracle(*setup)
        if cells:
            name = f"oracle, {SETUP_NAMES[setup]}"
            yield f"deviations_{'_'.join(setup)}", report.deviations(cells, name)
    for protocol, cells_of in (("oracle", report.oracle), ("fair", report.fair)):
        for setup in SETUPS[protocol]:
            cells = cells_of(*setup)
            for dataset in report.datasets:
                if any(key[0] == dataset for key in cells):
                    name = f"{protocol}, {SETUP_NAMES[setup]}"
                    table = report.beside(dataset, cells, name)
                    yield f"{protocol}_{'_'.join(setup)}_{dataset}", table


def write(report: Report, folder: Path) -> Iterator[Path]:
    """Every table as CSV, Markdown and LaTeX."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in _named(report):
        for ending, text in (
            ("csv", table.csv()),
            ("md", f"{table.title}\n\n{table.markdown()}"),
            ("tex", table.latex()),
        ):
            path = folder / f"{name}.{ending}"
            partial = path.with_suffix(f".{ending}.part")
            partial.write_text(text)
            partial.replace(path)
            yield path
