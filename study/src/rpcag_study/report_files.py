"""The report of a store as files: a page on one screen, and every table and figure."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from rpcag.plugins import (
    check_file,
    check_folder,
    explained,
    replace_files,
    versions,
    write_atomically,
    write_json,
    write_text,
)
from rpcag_study import summary
from rpcag_study.errors_csv import errors_csv
from rpcag_study.experiments import (
    as_printed,
    components,
    directions,
    faces,
    graph_quality,
    parameters,
    phase,
    timing,
    video,
)
from rpcag_study.report import Report
from rpcag_study.tables import Table


class Experiment(NamedTuple):
    module: ModuleType
    title: str
    figures: tuple[str, ...] = ()  # functions of `rpcag_study.figures`


EXPERIMENTS = {
    "as_printed": Experiment(as_printed, "The printed algorithm as printed"),
    "components": Experiment(
        components, "Three components of three faces", ("components",)
    ),
    "graph_quality": Experiment(
        graph_quality, "Graphs built with less and less of the mask"
    ),
    "parameters": Experiment(parameters, "Errors over lam and gamma", ("parameters",)),
    "timing": Experiment(timing, "Time by number of samples"),
    "directions": Experiment(
        directions, "Principal directions of occluded faces", ("directions",)
    ),
    "phase": Experiment(
        phase, "Recovery of random low-rank matrices", ("phase", "phase_difference")
    ),
    "faces": Experiment(faces, "Recovery of occluded faces", ("faces",)),
    "video": Experiment(video, "Moving objects in videos", ("video",)),
}
# The file that lists the files of a report, and the pattern of their names.
INDEX = "report.json"
NAMES = r"[^./\\][^/\\]*\.(csv|png)"
DPI = 120
# Titles of two folds: the first is open.
FIRST, EVERY = "Result", "Every column"
# Rows of a table on a page; longer ones are in the CSV files only.
LONGEST = 40
# Words of the Markdown page. Folds that do not fit are in the CSV files and on the HTML
# page only.
WORDS = 1450
# First lines of the pages that are written from a store.
REPRODUCTION = "# What was reproduced, and what was not"
RECOVERY = "# Low-rank recovery"
PAGE_TITLES = (REPRODUCTION, RECOVERY, "# Videos, by every method")
PICTURE = "reproduction.png"
CAPTION = "Printed error against ours: a point per data set, corruption and model."
INTRODUCTION = (
    "`rpcag report --page` writes this page from the stored results. [Reproduce the "
    "paper](study.md) describes the protocols and how to run them again. "
    "`rpcag report -o FOLDER` writes every table as CSV. `errors.csv` has every cell."
)


class Fold(NamedTuple):
    """A part of the page that is closed until somebody opens it."""

    title: str
    tables: list[Table]


class Screen(NamedTuple):
    """What a page shows: sentences and two tables, a figure between, and folds."""

    sentences: list[str]
    tables: list[Table]
    folds: list[Fold]


def tables_of(report: Report, records: list[dict]) -> dict[str, dict[str, Table]]:
    """Every table that has rows, by the title of its fold and by name."""
    made = {
        FIRST: {
            "model_means": summary.model_means(report),
            "wins_and_losses": summary.wins_and_losses(report),
        },
        EVERY: {"every_column": summary.every_column(report)},
        "RPCAG against RPCA": {"graph_control": summary.graph_control(report)},
        "RPCAG against the best other model": {
            "comparisons": summary.comparisons(report)
        },
        "What was run": {
            "coverage": summary.coverage(report),
            "certificates": summary.certificates(report),
        },
    }
    for name, experiment in _present(records).items():
        try:
            found = experiment.module.tables(records)
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(
                f"the store has records of {name} that are not whole ({error!r}); "
                "delete their lines"
            ) from error
        made[experiment.title] = {f"{name}_{k}": t for k, t in enumerate(found, 1)}
    made |= {
        "Columns in which each model is best": {"wins": report.wins()},
        "Mean errors without labels": {"fair_means": report.means()},
        "RPCAG minus RPCA, by data set": {"rpcag_minus_rpca": report.paired()},
    }
    return {
        title: {name: table for name, table in tables.items() if table.rows}
        for title, tables in made.items()
    }


def _present(records: list[dict]) -> dict[str, Experiment]:
    """Experiments that are in the store."""
    present = {record["run"].get("experiment", "") for record in records}
    return {n: e for n, e in EXPERIMENTS.items() if n.replace("_", "-") in present}


def screen(report: Report, records: list[dict]) -> Screen:
    """Everything a page has, whatever it is written in."""
    made = tables_of(report, records)
    first = list(made.pop(FIRST).values())
    if len(report.datasets) > 2:  # not a store of one's own, all of which fits
        del made[EVERY]
    folds = [
        Fold(title, [t for t in tables.values() if len(t.rows) <= LONGEST])
        for title, tables in made.items()
    ]
    return Screen(summary.sentences(report), first, [f for f in folds if f.tables])


def reproduction(report: Report, records: list[dict], picture: str | None) -> str:
    """The page docs/reproduction.md."""
    found = screen(report, records)
    parts = [REPRODUCTION, *found.sentences, *map(with_title, found.tables[:1])]
    if picture is not None:
        parts.append(f"![{CAPTION}]({picture})")
    parts += [*map(with_title, found.tables[1:]), INTRODUCTION]
    left_out = []
    for fold in found.folds:
        text = folded(fold)
        if len("\n\n".join([*parts, text]).split()) <= WORDS:
            parts.append(text)
        else:
            left_out.append(fold.title)
    if left_out:
        parts.append("Only in the CSV files and on the HTML page:")
        parts.append("\n".join(f"- {title}" for title in left_out))
    return "\n\n".join(parts) + "\n"


def picture_of(page: Path) -> Path:
    return page.parent / "images" / PICTURE


def write_reproduction(report: Report, records: list[dict], page: Path) -> list[Path]:
    """The page, and its figure in the folder "images" beside it."""
    picture = picture_of(page)
    if not report.trials:  # of other experiments only
        write_text(page, reproduction(report, records, None))
        return [page]
    import rpcag.plots  # noqa: F401, names the extra if matplotlib is missing
    from rpcag_study.figures import printed_against_ours

    with write_atomically(picture) as part:
        printed_against_ours(report).savefig(part, dpi=150)
    link = picture.relative_to(page.parent).as_posix()
    write_text(page, reproduction(report, records, link))
    return [page, picture]


def with_title(table: Table) -> str:
    if not table.rows:
        return ""
    title = f"**{table.title[0].upper()}{table.title[1:]}**"
    parts = (title, table.markdown().strip(), table.note)
    return "\n\n".join(part for part in parts if part)


def folded(fold: Fold) -> str:
    head = f"<details>\n<summary>{fold.title}</summary>"
    return "\n\n".join([head, *map(with_title, fold.tables), "</details>"])


# -- files -----------------------------------------------------------------------------


def write(
    report: Report,
    records: list[dict],
    folder: Path,
    tell: Callable[[str], Any] = lambda text: None,
) -> list[Path]:
    """Every table as CSV, and the figures: all files or none.

    `tell` is called for every figure that is left out, with the reason. INDEX lists the
    files. The files of an earlier report are replaced.
    """
    names: list[str] = []

    with replace_files(folder, INDEX, lambda: _replaceable(folder, names)) as new:
        for name, text in _texts(report, records):
            with explained(folder / name):
                (new / name).write_text(text, encoding="utf-8", newline="\n")
            names.append(name)
        for name, figure in _figures(report, records, folder, tell):
            with explained(folder / name):
                figure.savefig(new / name, dpi=DPI)
            names.append(name)
        content = {"rpcag_report": 1, "files": names, "versions": versions()}
        write_json(new / INDEX, content)
    return [folder / name for name in (*names, INDEX)]


def check_report(folder: Path) -> None:
    """Check the folder for `write`, as far as possible before the names are known."""
    _replaceable(folder, [])


def _replaceable(folder: Path, names: Iterable[str]) -> set[str]:
    return check_folder(folder, INDEX, names, _names_in, NAMES, "report", force=True)


def _names_in(index: dict[str, Any]) -> list[str]:
    if index["rpcag_report"] != 1:
        raise ValueError("not an index of this layout")
    return index["files"]


def _texts(report: Report, records: list[dict]) -> Iterator[tuple[str, str]]:
    """Names and contents of all text files."""
    if report.trials:
        yield "errors.csv", errors_csv(report)
    for tables in tables_of(report, records).values():
        for name, table in tables.items():
            yield f"{name}.csv", table.csv()


def _figures(
    report: Report, records: list[dict], folder: Path, tell: Callable[[str], Any]
) -> Iterator[tuple[str, Any]]:
    """Names and figures for the results in the store."""
    from rpcag_study import figures

    for experiment in _present(records).values():
        for name in experiment.figures:
            # Faces and frames are not in the store: no data, no picture.
            try:
                yield f"{name}.png", getattr(figures, name)(records)
            except FileNotFoundError as error:
                tell(f"{folder / name}.png is not drawn: {error}")
    if report.trials:
        yield "printed_against_ours.png", figures.printed_against_ours(report)


def check_page(path: Path, option: str) -> None:
    """Refuse to write a page over anything but an earlier one."""
    if not path.name or path.is_dir():
        raise ValueError(f"{option} must name a file such as page.md, got {path}")

    def is_ours(path: Path) -> bool:
        with path.open("rb") as file:
            first = file.readline().decode(errors="replace").strip()
        return not first or first in PAGE_TITLES

    check_file(path, is_ours, "report", force=True, example="page.md")


def check_pictures(page: Path, pictures: Iterable[Path]) -> None:
    """Raise an error if a picture would replace a file that no earlier page shows."""
    text = page.read_text(encoding="utf-8", errors="replace") if page.exists() else ""
    for picture in pictures:
        shown = f"]({picture.relative_to(page.parent).as_posix()})" in text
        check_file(
            picture,
            lambda path, shown=shown: shown,
            "page",
            force=True,
            example="a.png",
        )
