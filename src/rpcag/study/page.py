"""All tables and figures of a report, as files."""

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from rpcag.files.place import check_place
from rpcag.study.experiments import (
    components,
    directions,
    faces,
    graph_quality,
    parameters,
    phase,
    timing,
    video,
)
from rpcag.study.experiments.task import of_experiment
from rpcag.study.findings import findings
from rpcag.study.losses import losses
from rpcag.study.plan import SETUPS
from rpcag.study.report import SETUP_NAMES, Report
from rpcag.study.results import fits
from rpcag.study.standing import by_dataset, leads, oracle_means
from rpcag.study.tables import Table
from rpcag.study.tidy import errors_csv
from rpcag.study.verdicts import verdicts

EXPERIMENTS: dict[str, ModuleType] = {
    "components": components,
    "graph_quality": graph_quality,
    "parameters": parameters,
    "timing": timing,
    "directions": directions,
    "phase": phase,
    "faces": faces,
    "video": video,
}
# Tables of means, whose names begin as those of single columns do.
MEANS = ("oracle_means", "fair_leads", "fair_means", "fair_by_dataset", "fresh_leads")
# First lines of the pages that are written from a store.
REPRODUCTION = "# What was reproduced, and what was not"
RECOVERY = "# Low-rank recovery"
TITLES = (REPRODUCTION, RECOVERY, "# Videos, by every method")
PLOTS = "pictures need matplotlib, `pip install 'rpcag[plots]'`"
# Those with other figures than one of their own name.
FIGURES = {"phase": ("phase", "phase_difference")}


def all_tables(report: Report, records: list[dict]) -> Iterator[Table]:
    """The short ones first, then one per data set and protocol, then experiments."""
    for _, table in _named(report):
        yield table
    for _, table in _experiments(records):
        yield table


def _experiments(records: list[dict]) -> Iterator[tuple[str, Table]]:
    """Tables of the other experiments that are in the store."""
    for name, experiment in EXPERIMENTS.items():
        if of_experiment(name.replace("_", "-"), records):
            try:
                found = list(experiment.tables(records))
            except (KeyError, TypeError, IndexError) as error:
                raise ValueError(
                    f"the store has records of {name} that are not whole ({error!r}); "
                    "delete their lines"
                ) from error
            for number, table in enumerate(found):
                yield f"{name}_{number + 1}", table


def _named(report: Report) -> Iterator[tuple[str, Table]]:
    summary = {
        "wins": report.wins(),
        "fair_leads": leads(report),
        "fresh_leads": leads(report, "fresh"),
        "fair_means": report.means(),
        "fair_by_dataset": by_dataset(report),
        "rpcag_minus_rpca": report.paired(),
        "losses": losses(report),
        "oracle_means": oracle_means(report),
    }
    for name, table in summary.items():
        if table.rows:
            yield name, table
    for setup, cells in report.setups("oracle"):
        name = f"oracle, {SETUP_NAMES[setup]}"
        table = report.deviations(cells, name)
        if table.rows:
            yield f"deviations_{'_'.join(setup)}", table
    for protocol in SETUPS:
        yield from _every_column(report, protocol)


def _every_column(report: Report, protocol: str) -> Iterator[tuple[str, Table]]:
    """One table per setup and data set; clean data once per graph."""
    graphs = set()
    for setup, cells in report.setups(protocol):
        if setup[0] in graphs:
            cells = {key: error for key, error in cells.items() if key[1] != "none"}
        graphs.add(setup[0])
        for dataset in report.datasets:
            if any(key[0] == dataset for key in cells):
                name = f"{protocol}, {SETUP_NAMES[setup]}"
                spread = report.spreads(*setup, protocol)
                table = report.beside(dataset, cells, name, spread)
                yield f"{protocol}_{'_'.join(setup)}_{dataset}", table


def reproduction(report: Report, records: list[dict]) -> str:
    """The page docs/reproduction.md: what came out, in numbers from the store."""
    tables = dict(_named(report))
    wins = [tables[name] for name in ("wins",) if name in tables]
    sections: dict[str, list[str]] = {
        REPRODUCTION: [
            "Written by `rpcag report --page` from the stored results; "
            "[study.md](study.md) says how they were made. Errors are in per cent, by "
            "one-to-one matching of clusters and classes.",
            "\n".join(f"- {line}" for line in coverage(report)),
            *findings(report),
        ],
        "## In how many columns RPCAG is best": [
            *map(with_title, wins),
            *(HOW_WINS_COUNT for _ in wins),
        ],
        "## Ours beside the printed numbers": _sections(
            tables, "oracle_means", "deviations_"
        ),
        "## Without labels": _sections(
            tables,
            "fair_leads",
            "fresh_leads",
            "fair_means",
            "fair_by_dataset",
            "rpcag_minus_rpca",
        ),
        "## Where RPCAG loses": _sections(tables, "losses"),
        "## Every column": _sections(
            tables, "oracle_complete", "fair_knn_known", *_only_setups(tables)
        ),
        "## The other experiments": [
            *verdicts(records).values(),
            *(with_title(table) for _, table in _experiments(records)),
        ],
    }
    parts = []
    for heading, inside in sections.items():
        inside = [part for part in inside if part]
        if inside:
            parts += [heading, *inside]
    return "\n\n".join(parts) + "\n"


HOW_WINS_COUNT = (
    "The paper's RPCAG has the lowest error in 65 of its 72 columns. Under the oracle "
    "labels choose parameters and the run of k-means, for every model; models with "
    "larger grids gain more by that."
)


def _sections(tables: dict[str, Table], *beginnings: str) -> list[str]:
    """Tables whose names begin so, with their titles."""
    return [
        with_title(table)
        for beginning in dict.fromkeys(beginnings)
        for name, table in tables.items()
        if name.startswith(beginning)
    ]


def _only_setups(tables: dict[str, Table]) -> list[str]:
    """Of a store that has not what the page shows of every column, what it has."""
    names = {
        protocol: [n for n in tables if n.startswith(f"{protocol}_") and n not in MEANS]
        for protocol in SETUPS
    }
    if not names["oracle"] and not names["fair"]:
        return names["fresh"]
    shown = []
    for protocol, first in (("oracle", "complete"), ("fair", "knn_known")):
        if not any(n.startswith(f"{protocol}_{first}") for n in names[protocol]):
            shown += names[protocol]
    return shown


def with_title(table: Table) -> str:
    if not table.rows:
        return ""
    title = f"**{table.title[0].upper()}{table.title[1:]}**"
    parts = (title, table.note, table.markdown().strip())
    return "\n\n".join(part for part in parts if part)


def coverage(report: Report) -> list[str]:
    """How much of the study is there."""
    lines = []
    printed = {key[:2] for key in report.printed}
    for protocol in SETUPS:
        for setup, cells in report.setups(protocol):
            columns = {key[:2] for key in cells}
            own = len(columns - printed)
            more = f" and {own} other{'s' if own > 1 else ''}" if own else ""
            without = len(columns - {key[:2] for key in cells if key[2] == "RPCAG"})
            missed = f" ({without} without RPCAG)" if without else ""
            seeds = {
                trial.seed
                for trial in report.trials
                if trial.protocol == protocol and fits(trial, *setup)
            }
            lines.append(
                f"{protocol}, {SETUP_NAMES[setup]}: {len(columns & printed)} of "
                f"{len(printed)} columns{more}{missed}, "
                f"{len(seeds)} seed{'s' if len(seeds) > 1 else ''}"
            )
    counts = Counter(t.model for t in report.trials if t.protocol == "oracle")
    if counts:
        tried = ", ".join(f"{model} {count:,}" for model, count in counts.items())
        lines.append(f"embeddings the oracle looked at: {tried}")
    return lines


def write(
    report: Report,
    records: list[dict],
    folder: Path,
    tell: Callable[[str], Any] = lambda text: None,
) -> Iterator[Path]:
    """Every table as CSV, Markdown and LaTeX, and the figures.

    `tell` is called with every figure that is left out, and why.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if report.trials:
        save(folder / "errors.csv", errors_csv(report))
        yield folder / "errors.csv"
    for name, table in (*_named(report), *_experiments(records)):
        for ending, text in (
            ("csv", table.csv()),
            ("md", f"{table.title}\n\n{table.markdown()}"),
            ("tex", table.latex()),
        ):
            path = folder / f"{name}.{ending}"
            save(path, text)
            yield path

    yield from _figures(report, records, folder, tell)


def _figures(
    report: Report, records: list[dict], folder: Path, tell: Callable[[str], Any]
) -> Iterator[Path]:
    """Those of what is in the store; none without matplotlib."""
    try:
        from rpcag.study import figures
    except ImportError:
        tell(f"no pictures in {folder}: {PLOTS}")
        return
    drawn = {}
    for experiment in EXPERIMENTS:
        if of_experiment(experiment.replace("_", "-"), records):
            for name in FIGURES.get(experiment, (experiment,)):
                # Faces and frames are not in the store: no data, no picture.
                try:
                    drawn[name] = getattr(figures, name)(records)
                except FileNotFoundError as error:
                    tell(f"{folder / name}.png is not drawn: {error}")
    for protocol in SETUPS:
        for setup, cells in report.setups(protocol):
            title = f"{protocol}, {SETUP_NAMES[setup]}"
            name = f"bars_{protocol}_{'_'.join(setup)}"
            drawn[name] = figures.bars(cells, title)
    for name, figure in drawn.items():
        path = folder / f"{name}.png"
        save_figure(path, figure)
        yield path


def save_figure(path: Path, figure: Any, dpi: int = 120) -> None:
    """The whole file or none."""
    with _whole(path) as partial:
        figure.savefig(partial, format="png", dpi=dpi)


def save(path: Path, text: str) -> None:
    """The whole file or none."""
    with _whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


@contextlib.contextmanager
def _whole(path: Path) -> Iterator[Path]:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".part")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def check_page(path: Path, option: str) -> None:
    """Refuse to write a page over anything but an earlier one."""
    if not path.name or path.is_dir():
        raise ValueError(f"{option} must name a file such as page.md, got {path}")
    check_place(path)
    if path.exists():
        with path.open("rb") as file:
            first = file.readline().decode(errors="replace").strip()
        if first and first not in TITLES:
            raise ValueError(
                f"{option} would write over {path}, which is no page of a report; name "
                "another file"
            )


def check_folder(path: Path, option: str) -> None:
    if path.exists() and not path.is_dir():
        raise ValueError(f"{option} must name a folder, but {path} is a file")
    check_place(path)
