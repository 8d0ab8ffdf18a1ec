"""``rpcag datasets``, ``rpcag reproduce`` and ``rpcag report``."""

import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress
from rich.table import Table as RichTable

from rpcag.plugins import (
    INCOMPLETE,
    Json,
    Quiet,
    check_target,
    console,
    errors,
    fail,
    mistakes,
    note,
    option,
    print_json,
    say,
    takes_groups,
    write_page,
)

reproduce = typer.Typer(
    help="Run the experiments of the paper; stop and resume at any time.",
    invoke_without_command=True,
)
# Columns of a store up to which a report prints all of them.
FEW = 8
STORE = Path("results.jsonl")
QUICK: dict[str, Any] = {
    "datasets": ["MNIST", "USPS"],  # whoever has neither gets both by themselves
    "corruptions": ["none", "occlusion25", "missing25"],
    "protocols": ["fair"],
    "seeds": [1],
}
# The fields of a run that the progress bar shows.
SHOWN = (
    *("clip", "dataset", "n", "subjects", "images", "corruption", "knowledge"),
    *("signs", "rank", "errors", "graph", "mask", "seed", "model"),
)
StoreOption = Annotated[
    Path, typer.Option("--store", "-s", help="File of results; what it has is kept.")
]

ModelsOption = Annotated[str | None, typer.Option(help="e.g. RPCA,RPCAG.")]
SeedsOption = Annotated[str | None, typer.Option(help="e.g. 1,2,3.")]


@dataclass(frozen=True)
class OneProcess:
    """Options of every experiment."""

    store: Path = option(
        "File of results; what it has is kept.", None, "--store", "-s", default=STORE
    )
    quick: bool = option("Run a small part.", None, "--quick", default=False)
    quiet: bool = option("Print only errors.", None, "--quiet", "-q", default=False)
    json: bool = option("Print the result as JSON.", None, "--json", default=False)


@dataclass(frozen=True)
class Running(OneProcess):
    """Options of experiments whose runs may go to other processes."""

    jobs: int = option(
        "Processes.", None, "--jobs", "-j", default=os.cpu_count() or 1, min=1
    )
    dask: str | None = option("Scheduler to run on, e.g. tcp://host:8786.")


def register(app: typer.Typer) -> None:
    """Add the commands to ``rpcag``; called through the entry point."""
    app.command()(datasets)
    app.command()(report)
    app.add_typer(reproduce, name="reproduce")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def _numbers(text: str | None, option: str = "--seeds") -> list[int] | None:
    parts = _names(text)
    if parts is None:
        return None
    if not all(part.isdecimal() for part in parts):
        raise ValueError(
            f"{option} must be whole numbers with commas between, got {text!r}"
        )
    return list(dict.fromkeys(map(int, parts)))


def datasets(json: Json = False) -> None:
    """List the data sets: size, terms, and whether they are here.

    Examples:
    rpcag datasets
    rpcag datasets --json
    """
    from rpcag_study.datasets import list_datasets
    from rpcag_study.tables import Table

    if json:
        shown = ("name", "kind", "n", "p", "classes", "is_present", "terms")
        print_json([{s: getattr(e, s) for s in shown} for e in list_datasets()])
        return
    rows = []
    for e in list_datasets():
        present = "yes" if e.is_present else "no"
        rows.append(
            [e.name, str(e.n), str(e.p), str(e.classes or "-"), present, e.terms]
        )
    header = ["name", "samples", "features", "classes", "present", "terms"]
    title = "Data sets (research use; see the terms)"
    console().print(_rich(Table(title, header, rows)))


@reproduce.callback()
def everything(
    context: typer.Context,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a small part, in about a minute.")
    ] = False,
    store: StoreOption = STORE,
) -> None:
    """Run the experiments of the paper; stop and resume at any time.

    Example: rpcag reproduce --quick
    """
    if context.invoked_subcommand is None:
        if quick:
            _clustering(Running(store=store, quick=True))
        else:
            print(context.get_help())


@reproduce.command()
@takes_groups
def clustering(
    running: Running,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="oracle or paper (labels choose), fair (without labels), or "
            "fresh (fair, on images that the robust graph was not chosen on). "
            "Default: all."
        ),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Names, separated by commas. Default: all.")
    ] = None,
    corruptions: Annotated[
        str | None, typer.Option(help="As in the tables, e.g. none,occlusion25.")
    ] = None,
    models: ModelsOption = None,
    seeds: SeedsOption = None,
) -> None:
    """Clustering errors of every model on every data set and corruption.

    Examples:
    rpcag reproduce clustering --quick
    rpcag reproduce clustering --datasets ORL,YALE --models RPCA,RPCAG --protocol fair
    """
    with mistakes():
        chosen = {
            "protocols": _names(protocol),
            "datasets": _names(datasets),
            "corruptions": _names(corruptions),
            "models": _names(models),
            "seeds": _numbers(seeds),
        }
    _clustering(running, **chosen)


def _clustering(running: Running, **chosen: Any) -> None:
    from rpcag_study import Store, Study
    from rpcag_study.plan import FRESH
    from rpcag_study.report import Report
    from rpcag_study.summary import every_column

    given = {key: value for key, value in chosen.items() if value is not None}
    with mistakes():
        tasks = Study().plan(**((QUICK if running.quick else {}) | given))
        if not tasks:
            raise ValueError(
                "nothing to run: blocks (occlusion) need images, NMF and GNMF no "
                "negative values; FRPCAG, MMMF and MHMF are not under the oracle, and "
                f"fresh has {', '.join(FRESH)} and the corruptions that means are "
                "taken over"
            )
    done = _carry_out("clustering", tasks, running)
    if running.json:
        print_json(done)
    elif running.quick and not running.quiet:
        records = list(Store(running.store).read())
        console().print(_rich(every_column(Report(records))))


@reproduce.command()
@takes_groups
def timing(running: OneProcess) -> None:
    """Time and error of every model at n = 300, 600, 1200, in one process.

    Example: rpcag reproduce timing --quick
    """
    _experiment("timing", running)


def _add_experiment(name: str, title: str) -> None:
    """A command for an experiment without options of its own."""

    def command(running: Running) -> None:
        _experiment(name, running)

    command.__doc__ = f"{title}\n\nExample: rpcag reproduce {name} --quick"
    reproduce.command(name)(takes_groups(command))


for _name, _title in {
    "graph-quality": "Errors on YALE with 35 % missing, by knowledge of the mask.",
    "parameters": "Errors of RPCAG over lam and gamma, on faces and random matrices.",
    "components": "Three components of three faces behind blocks, by every model.",
    "as-printed": "RPCA and RPCAG by the printed algorithm, stopped by its own rule.",
    "directions": "First principal directions and singular values of occluded faces.",
}.items():
    _add_experiment(_name, _title)


@reproduce.command()
@takes_groups
def phase(
    running: Running,
    size: Annotated[
        int | None, typer.Option(min=20, help="Rows and columns. Default: 200.")
    ] = None,
    seeds: SeedsOption = None,
) -> None:
    """Where a known low-rank matrix is recovered, by rank and share of errors.

    Example: rpcag reproduce phase --size 400 --seeds 1,2,3
    """
    with mistakes():
        numbers = _numbers(seeds)
    _experiment("phase", running, size=size, seeds=numbers)


@reproduce.command()
@takes_groups
def faces(
    running: Running,
    subjects: Annotated[
        str | None, typer.Option(help="People at a time, e.g. 1,5.")
    ] = None,
    models: ModelsOption = None,
) -> None:
    """Faces behind blocks: the low-rank image of every model against the clean one.

    Example: rpcag reproduce faces --quick
    """
    with mistakes():
        numbers = _numbers(subjects, "--subjects")
    _experiment("faces", running, subjects=numbers, models=_names(models))


@reproduce.command()
@takes_groups
def video(
    running: Running,
    clips: Annotated[
        str | None, typer.Option(help="e.g. hall,lobby. Default: all six.")
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="Use every n-th frame, and those with masks.")
    ] = 1,
) -> None:
    """Moving objects in six videos: RPCAG, RPCA, OpenCV's MOG2 and KNN, the median.

    Example: rpcag reproduce video --quick
    """
    _experiment("video", running, every=every, clips=_names(clips))


def _experiment(name: str, running: OneProcess, **chosen: Any) -> None:
    """Plan, run and show one of the experiments beside the clustering."""
    from rpcag_study import Store
    from rpcag_study.store import key_of

    experiment = import_module(f"rpcag_study.experiments.{name.replace('-', '_')}")
    given = {key: value for key, value in chosen.items() if value is not None}
    with mistakes():
        tasks = experiment.plan(**((experiment.QUICK if running.quick else {}) | given))
        tasks[0].load(tasks[0].run)  # fails here if the data are missing
    done = _carry_out(name, tasks, running)
    with mistakes():
        wanted = {key_of(task.run.record()) for task in tasks}
        read = Store(running.store).read()
        tables = experiment.tables([r for r in read if key_of(r["run"]) in wanted])
    if running.json:
        print_json(done | {"tables": [_plain(table) for table in tables]})
    elif not running.quiet:
        for table in tables[:1] if running.quick else tables:
            console().print(_rich(table))


def _carry_out(name: str, tasks: list, running: OneProcess) -> dict[str, Any]:
    """Do what the store does not have yet, behind a progress bar."""
    from rpcag_study import Store, missing, run

    def title(record: dict) -> str:
        values = (record["run"].get(key) for key in SHOWN)
        return " ".join(str(value) for value in values if value is not None)

    quiet = running.quiet or running.json
    with mistakes():
        store = Store(running.store)
        todo = missing(tasks, store)
        kept = len(tasks) - len(todo)
        if not quiet:
            say(f"{len(tasks)} runs, {kept} of them in {running.store}")
        with Progress(
            *Progress.get_default_columns(),
            MofNCompleteColumn(),
            console=errors(),
            disable=quiet or not errors().is_terminal,
        ) as bar:
            job = bar.add_task(name, total=len(todo))

            def watch(record: dict) -> None:
                bar.update(job, advance=1, description=title(record))

            where: dict[str, Any] = {}
            if isinstance(running, Running):
                where = {"jobs": running.jobs, "dask": running.dask}
            failed = run(todo, store, watch=watch, **where)
    if failed:
        raise fail(
            f"{len(failed)} runs failed, the first {title(failed[0])}: "
            f"{failed[0]['error'].rstrip('.')}; start again to try them once more",
            INCOMPLETE,
        )
    counts = {"runs": len(tasks), "kept": kept}
    return {"experiment": name, **counts, "store": str(running.store)}


def report(
    store: StoreOption = STORE,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for every table (CSV) and figure (PNG)."
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            "--page",
            help="A short Markdown page with the main tables, such as page.md.",
        ),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="An HTML page with all results, such as all.html."),
    ] = None,
    recovery: Annotated[
        Path | None,
        typer.Option(
            "--recovery",
            help="A page on low-rank recovery, its pictures in images beside it.",
        ),
    ] = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Compare the stored results with the printed ones.

    Without options, prints the summary. The options write pages and files.

    Examples:
    rpcag report --store results.jsonl
    rpcag report --store results.jsonl -o report --page page.md
    rpcag report --store results.jsonl --html study.html
    """
    from rpcag_study import Store, report_files, summary
    from rpcag_study.html_report import report_page
    from rpcag_study.recovery_page import write_recovery
    from rpcag_study.report import Report

    with mistakes():
        if not Store(store).exists():
            raise fail(f"{store} is not there; rpcag reproduce clustering makes it")
        records = list(Store(store).read())
        if not records:
            raise fail(f"{store} has no results yet")
        for target, option in ((page, "--page"), (recovery, "--recovery")):
            if target is not None:
                report_files.check_page(target, option)
        if page is not None:
            report_files.check_pictures(page, [report_files.picture_of(page)])
        if output is not None:
            report_files.check_report(output)
        if html is not None:
            check_target(html, force=True)
        found = Report(records)
        tell = (lambda text: None) if quiet else note
        written: list[Path | str] = []
        if output is not None:  # first: it may refuse to overwrite a file
            count = len(report_files.write(found, records, output, tell))
            written.append(f"{count} files in {output}")
        if page is not None:
            written += report_files.write_reproduction(found, records, page)
        if html is not None:
            write_page(html, report_page(found, records))
            written.append(html)
        if recovery is not None:
            written += write_recovery(records, recovery, tell)
        every = report_files.tables_of(found, records).values()
        tables = [table for named in every for table in named.values()]
    if json:
        shown = [_plain(table) for table in tables]
        print_json({"tables": shown, "files": [str(path) for path in written]})
    elif written and not quiet:
        for path in written:
            say(f"wrote {path}")
    elif not quiet:
        for sentence in summary.sentences(found):
            say(sentence.replace("**", "") + "\n")
        if found.trials:
            few = summary.every_column(found)
            tables = [summary.model_means(found), summary.wins_and_losses(found)]
            tables = [few] if len(few.header) <= FEW + 1 else tables
        for table in tables:
            console().print(_rich(table))
        if found.trials:
            say("rpcag report -o FOLDER writes every table and figure")


def _plain(table) -> dict[str, Any]:
    """A table for JSON, cells as they are printed."""
    rows = [list(row) for row in table.rows]
    return {"title": table.title, "header": list(table.header), "rows": rows}


def _rich(table) -> RichTable:
    rich = RichTable(title=escape(table.title))
    for j, name in enumerate(table.header):
        rich.add_column(escape(name), justify="right" if j else "left")
    for i, row in enumerate(table.rows):
        rich.add_row(
            *(
                f"[bold]{c}[/bold]" if (i, j) in table.bold else c
                for j, c in enumerate(map(escape, row))
            )
        )
    return rich
