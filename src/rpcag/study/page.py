"""All tables and figures of a report, as files."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from rpcag.atomic import explained, replace_files
from rpcag.files.place import check_file, check_folder, recorded
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
# The file that lists the files of a report, and the pattern of their names.
INDEX = "report.json"
NAMES = r"[^./\\][^/\\]*\.(csv|md|tex|png)"
DPI = 120
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
) -> list[Path]:
    """Every table as CSV, Markdown and LaTeX, and the figures: all files or none.

    `tell` is called for every figure that is left out, with the reason. INDEX lists the
    files. The files of an earlier report are replaced.
    """
    names: list[str] = []

    def index(place: str, leftovers: list[str]) -> str:
        found = {"rpcag_report": 1, "files": [place + name for name in names]}
        found |= {"leftovers": leftovers} if leftovers else {}
        return json.dumps(found, indent=1) + "\n"

    with replace_files(folder, INDEX) as new:
        for name, text in _texts(report, records):
            with explained(folder / name, new.stage / name):
                (new.stage / name).write_text(text, encoding="utf-8", newline="\n")
            names.append(name)
        for name, figure in _figures(report, records, folder, tell):
            with explained(folder / name, new.stage / name):
                figure.savefig(new.stage / name, dpi=DPI)
            names.append(name)
        return new.commit(index, lambda: _replaceable(folder, names))


def check_report(folder: Path) -> None:
    """Check the folder for `write`, as far as possible before the names are known."""
    _replaceable(folder, [])


def _replaceable(folder: Path, names: Iterable[str]) -> set[str]:
    def old(folder: Path) -> set[str]:
        found = recorded(folder / INDEX, _names_in, NAMES)
        return set() if found is None else {*found, INDEX}

    ours = check_folder(folder, [*names, INDEX], old, "report", force=True)
    return ours - {INDEX}


def _names_in(index: dict[str, Any]) -> list[str]:
    if index["rpcag_report"] != 1:
        raise ValueError("not an index of this layout")
    return index["files"]


def _texts(report: Report, records: list[dict]) -> Iterator[tuple[str, str]]:
    """Names and contents of all text files."""
    if report.trials:
        yield "errors.csv", errors_csv(report)
    for name, table in (*_named(report), *_experiments(records)):
        yield f"{name}.csv", table.csv()
        yield f"{name}.md", f"{table.title}\n\n{table.markdown()}"
        yield f"{name}.tex", table.latex()


def _figures(
    report: Report, records: list[dict], folder: Path, tell: Callable[[str], Any]
) -> Iterator[tuple[str, Any]]:
    """Names and figures for the results in the store; none without matplotlib."""
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
        yield f"{name}.png", figure


def check_page(path: Path, option: str) -> None:
    """Refuse to write a page over anything but an earlier one."""
    if not path.name or path.is_dir():
        raise ValueError(f"{option} must name a file such as page.md, got {path}")

    def is_ours(path: Path) -> bool:
        with path.open("rb") as file:
            first = file.readline().decode(errors="replace").strip()
        return not first or first in TITLES

    check_file(path, is_ours, "report", force=True, example="page.md")


def check_pictures(page: Path, pictures: Iterable[Path]) -> None:
    """Raise an error if a picture would replace a file that no earlier page shows."""
    text = page.read_text(encoding="utf-8", errors="replace") if page.exists() else ""
    for picture in pictures:
        link = f"]({picture.relative_to(page.parent).as_posix()})"
        check_file(
            picture, partial(_shows, text, link), "page", force=True, example="a.png"
        )


def _shows(page: str, link: str, picture: Path) -> bool:
    return link in page
