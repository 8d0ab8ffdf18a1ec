"""``rpcag datasets``, ``rpcag reproduce`` and ``rpcag report``."""

import os
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
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
    print_json,
    say,
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

StoreOption = Annotated[
    Path, typer.Option("--store", "-s", help="File of results; what it has is kept.")
]
JobsOption = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Processes.")]
JOBS = os.cpu_count() or 1
DaskOption = Annotated[
    str | None, typer.Option(help="Scheduler to run on, e.g. tcp://host:8786.")
]
SeedsOption = Annotated[str | None, typer.Option(help="e.g. 1,2,3.")]
QuickOption = Annotated[
    bool, typer.Option("--quick", help="A small part, in about twenty seconds.")
]
# The fields of a run that the progress bar shows.
LABELS = {
    "clustering": ("dataset", "corruption", "model"),
    "timing": ("dataset", "images", "model"),
    "graph-quality": ("dataset", "knowledge", "seed"),
    "parameters": ("dataset", "images", "corruption", "rank", "errors"),
    "components": ("dataset", "graph", "mask", "model"),
    "directions": ("dataset", "model"),
    "as-printed": ("dataset", "corruption", "graph"),
    "phase": ("n", "signs", "rank", "errors", "graph"),
    "faces": ("dataset", "subjects", "mask", "model"),
    "video": ("clip", "model"),
}


def register(app: typer.Typer) -> None:
    """Add the commands to ``rpcag``; called through the entry point."""
    app.command()(datasets)
    app.command()(report)
    app.add_typer(reproduce, name="reproduce")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def _numbers(text: str | None, option: str = "--seeds") -> list[int] | None:
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
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
    rows = [
        [e.name, str(e.n), str(e.p), str(e.classes or "-"), _yes(e.is_present), e.terms]
        for e in list_datasets()
    ]
    header = ["name", "samples", "features", "classes", "present", "terms"]
    title = "Data sets (research use; see the terms)"
    console().print(_rich(Table(title, header, rows)))


def _yes(value: bool) -> str:
    return "yes" if value else "no"


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
            clustering(store=store, quick=True)
        else:
            print(context.get_help())


@reproduce.command()
def clustering(
    store: StoreOption = STORE,
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
    models: Annotated[str | None, typer.Option(help="e.g. RPCA,RPCAG.")] = None,
    seeds: SeedsOption = None,
    jobs: JobsOption = JOBS,
    dask: DaskOption = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Only two data sets and three corruptions.")
    ] = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Clustering errors of every model on every data set and corruption.

    Examples:
    rpcag reproduce clustering --quick
    rpcag reproduce clustering --datasets ORL,YALE --models RPCA,RPCAG --protocol fair
    """
    from rpcag_study import CORRUPTIONS, Store, Study
    from rpcag_study.plan import FRESH
    from rpcag_study.report import Report
    from rpcag_study.runs import PROTOCOLS
    from rpcag_study.summary import every_column

    with mistakes():
        chosen: dict[str, Any] = {
            "protocols": _names(protocol) or list(PROTOCOLS),
            "datasets": _names(datasets),
            "corruptions": _names(corruptions) or list(CORRUPTIONS),
            "models": _names(models),
            "seeds": _numbers(seeds),
        }
        if quick:
            given = {
                "protocols": protocol,
                "datasets": datasets,
                "corruptions": corruptions,
                "seeds": seeds,
            }
            chosen |= {k: v for k, v in QUICK.items() if given[k] is None}
        tasks = Study().plan(**chosen)
        if not tasks:
            raise ValueError(
                "nothing to run: blocks (occlusion) need images, NMF and GNMF no "
                "negative values; FRPCAG, MMMF and MHMF are not under the oracle, and "
                f"fresh has {', '.join(FRESH)} and the corruptions that means are "
                "taken over"
            )
    done = _carry_out("clustering", tasks, store, jobs, dask, quiet=quiet or json)
    if json:
        print_json(done)
    elif quick and not quiet:
        records = list(Store(store).read())
        console().print(_rich(every_column(Report(records))))


@reproduce.command()
def timing(
    store: StoreOption = STORE,
    quick: QuickOption = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Time and error of every model at n = 300, 600, 1200, in one process.

    Example: rpcag reproduce timing --quick
    """
    _experiment("timing", store, 1, None, quick, quiet, json)


def _add_experiment(name: str, title: str) -> None:
    """A command for an experiment without options of its own."""

    def command(
        store: StoreOption = STORE,
        jobs: JobsOption = JOBS,
        dask: DaskOption = None,
        quick: QuickOption = False,
        quiet: Quiet = False,
        json: Json = False,
    ) -> None:
        _experiment(name, store, jobs, dask, quick, quiet, json)

    command.__doc__ = f"{title}\n\nExample: rpcag reproduce {name} --quick"
    reproduce.command(name)(command)


for _name, _title in {
    "graph-quality": "Errors on YALE with 35 % missing, by knowledge of the mask.",
    "parameters": "Errors of RPCAG over lam and gamma, on faces and random matrices.",
    "components": "Three components of three faces behind blocks, by every model.",
    "as-printed": "RPCA and RPCAG by the printed algorithm, stopped by its own rule.",
    "directions": "First principal directions and singular values of occluded faces.",
}.items():
    _add_experiment(_name, _title)


@reproduce.command()
def phase(
    store: StoreOption = STORE,
    size: Annotated[
        int | None, typer.Option(min=20, help="Rows and columns. Default: 200.")
    ] = None,
    seeds: SeedsOption = None,
    jobs: JobsOption = JOBS,
    dask: DaskOption = None,
    quick: QuickOption = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Where a known low-rank matrix is recovered, by rank and share of errors.

    Example: rpcag reproduce phase --size 400 --seeds 1,2,3
    """
    with mistakes():
        chosen = {"size": size, "seeds": _numbers(seeds)}
    _experiment("phase", store, jobs, dask, quick, quiet, json, **chosen)


@reproduce.command()
def faces(
    store: StoreOption = STORE,
    subjects: Annotated[
        str | None, typer.Option(help="People at a time, e.g. 1,5.")
    ] = None,
    models: Annotated[str | None, typer.Option(help="e.g. RPCA,RPCAG.")] = None,
    jobs: JobsOption = JOBS,
    dask: DaskOption = None,
    quick: QuickOption = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Faces behind blocks: the low-rank image of every model against the clean one.

    Example: rpcag reproduce faces --quick
    """
    with mistakes():
        chosen = {
            "subjects": _numbers(subjects, "--subjects"),
            "models": _names(models),
        }
    _experiment("faces", store, jobs, dask, quick, quiet, json, **chosen)


@reproduce.command()
def video(
    store: StoreOption = STORE,
    clips: Annotated[
        str | None, typer.Option(help="e.g. hall,lobby. Default: all six.")
    ] = None,
    every: Annotated[
        int, typer.Option(min=1, help="Use every n-th frame, and those with masks.")
    ] = 1,
    jobs: JobsOption = JOBS,
    dask: DaskOption = None,
    quick: QuickOption = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Moving objects in six videos: RPCAG, RPCA, OpenCV's MOG2 and KNN, the median.

    Example: rpcag reproduce video --quick
    """
    chosen = {"every": every, "clips": _names(clips)}
    _experiment("video", store, jobs, dask, quick, quiet, json, **chosen)


def _experiment(
    name: str,
    store: Path,
    jobs: int,
    dask: str | None,
    quick: bool,
    quiet: bool,
    json: bool,
    **chosen: Any,
) -> None:
    """Plan, run and show one of the experiments beside the clustering."""
    from rpcag_study import Store
    from rpcag_study.store import key_of

    experiment = import_module(f"rpcag_study.experiments.{name.replace('-', '_')}")
    given = {key: value for key, value in chosen.items() if value is not None}
    with mistakes():
        tasks = experiment.plan(**((experiment.QUICK if quick else {}) | given))
        tasks[0].load(tasks[0].run)  # fails here if the data are missing
    done = _carry_out(name, tasks, store, jobs, dask, quiet=quiet or json)
    with mistakes():
        wanted = {key_of(task.run.record()) for task in tasks}
        records = [r for r in Store(store).read() if key_of(r["run"]) in wanted]
        tables = list(experiment.tables(records))
    if json:
        print_json(done | {"tables": [_plain(table) for table in tables]})
    elif not quiet:
        for table in tables[:1] if quick else tables:
            console().print(_rich(table))


def _carry_out(
    name: str,
    tasks: list,
    store: Path,
    jobs: int,
    dask: str | None,
    *,
    quiet: bool,
) -> dict[str, Any]:
    """Do what the store does not have yet, behind a progress bar."""
    from rpcag_study import Store, missing, run

    def title(record: dict) -> str:
        values = (record["run"].get(key) for key in LABELS[name])
        return " ".join(str(value) for value in values if value is not None)

    with mistakes():
        results = Store(store)
        todo = missing(tasks, results)
        if not quiet:
            say(f"{len(tasks)} runs, {len(tasks) - len(todo)} of them in {store}")
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=errors(),
            disable=quiet or not errors().is_terminal,
        ) as bar:
            job = bar.add_task(name, total=len(todo))

            def watch(record: dict) -> None:
                bar.update(job, advance=1, description=title(record))

            failed = run(todo, results, jobs=jobs, dask=dask, watch=watch)
    if failed:
        first = failed[0]
        raise fail(
            f"{len(failed)} runs failed, the first {title(first)}: "
            f"{first['error'].rstrip('.')}; "
            "start again to try them once more",
            INCOMPLETE,
        )
    kept = len(tasks) - len(todo)
    return {"experiment": name, "runs": len(tasks), "kept": kept, "store": str(store)}


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
        typer.Option("--page", help="One Markdown page with everything, e.g. all.md."),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option("--html", help="One page to look at in a browser, e.g. all.html."),
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
    rpcag report --store results.jsonl -o report --page all.md
    rpcag report --store results.jsonl --html study.html
    """
    from rpcag_study import Store
    from rpcag_study.html_report import report_page
    from rpcag_study.recovery_page import write_recovery
    from rpcag_study.report import Report
    from rpcag_study.report_files import (
        all_tables,
        check_page,
        check_pictures,
        check_report,
        picture_of,
        write,
        write_reproduction,
    )
    from rpcag_study.summary import (
        every_column,
        model_means,
        sentences,
        wins_and_losses,
    )

    with mistakes():
        if not Store(store).exists():
            raise fail(f"{store} is not there; rpcag reproduce clustering makes it")
        records = list(Store(store).read())
        if not records:
            raise fail(f"{store} has no results yet")
        for target, option in ((page, "--page"), (recovery, "--recovery")):
            if target is not None:
                check_page(target, option)
        if page is not None:
            check_pictures(page, [picture_of(page)])
        if output is not None:
            check_report(output)
        if html is not None:
            check_target(html, force=True)
        found = Report(records)
        tell = (lambda text: None) if quiet else note
        written: list[Path | str] = []
        if output is not None:  # first: it may refuse to overwrite a file
            count = len(write(found, records, output, tell))
            written.append(f"{count} files in {output}")
        if page is not None:
            written += write_reproduction(found, records, page)
        if html is not None:
            write_page(html, report_page(found, records))
            written.append(html)
        if recovery is not None:
            written += write_recovery(records, recovery, tell)
        tables = list(all_tables(found, records))
    if json:
        shown = [_plain(table) for table in tables]
        print_json({"tables": shown, "files": [str(path) for path in written]})
    elif written and not quiet:
        for path in written:
            say(f"wrote {path}")
    elif not quiet:
        for sentence in sentences(found):
            say(sentence.replace("**", "") + "\n")
        few = every_column(found)
        if found.trials and len(few.header) <= FEW + 1:
            tables = [few]
        elif found.trials:
            tables = [model_means(found), wins_and_losses(found)]
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
