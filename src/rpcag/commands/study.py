"""``rpcag datasets``, ``rpcag reproduce`` and ``rpcag report``."""

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table as RichTable

from rpcag.commands.output import INCOMPLETE, console, fail, mistakes

reproduce = typer.Typer(
    help="Run the experiments of the paper; stop and go on at any time.",
    no_args_is_help=True,
)
STORE = Path("results.jsonl")
QUICK: dict[str, Any] = {
    "datasets": ["YALE", "USPS"],
    "corruptions": ["none", "occlusion25", "missing25"],
    "protocols": ["fair"],
    "seeds": [1],
}

StoreOption = Annotated[
    Path, typer.Option("--store", "-s", help="File of results; what it has is kept.")
]


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",")]


def datasets() -> None:
    """List the data sets: size, terms, and whether they are here.

    Example: rpcag datasets
    """
    from rpcag.datasets import list_datasets

    table = RichTable(title="Data sets (research use; see the terms)")
    for name in ("name", "kind", "n", "p", "classes", "here", "terms"):
        table.add_column(name, justify="right" if name in "np" else "left")
    for entry in list_datasets():
        table.add_row(
            entry.name,
            entry.kind,
            str(entry.n),
            str(entry.p),
            "-" if entry.classes is None else str(entry.classes),
            "yes" if entry.is_present else "no",
            entry.terms,
        )
    console().print(table)


@reproduce.command()
def clustering(
    store: StoreOption = STORE,
    protocol: Annotated[
        str | None,
        typer.Option(
            help="oracle (as printed: labels choose) or fair; both if not said."
        ),
    ] = None,
    datasets: Annotated[
        str | None, typer.Option(help="Names with commas between; all if not said.")
    ] = None,
    corruptions: Annotated[
        str | None, typer.Option(help="As in the tables, e.g. none,occlusion25.")
    ] = None,
    models: Annotated[str | None, typer.Option(help="e.g. RPCA,RPCAG.")] = None,
    seeds: Annotated[str | None, typer.Option(help="e.g. 1,2,3.")] = None,
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", min=1, help="Processes.")
    ] = os.cpu_count() or 1,
    dask: Annotated[
        str | None, typer.Option(help="Scheduler to run on, e.g. tcp://host:8786.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A taste: two sets, three corruptions.")
    ] = False,
) -> None:
    """Clustering errors of every model on every data set and corruption.

    Examples:
    rpcag reproduce clustering --quick
    rpcag reproduce clustering --datasets ORL,YALE --models RPCA,RPCAG --protocol fair
    """
    from rpcag.study import CORRUPTIONS, Store, Study, missing, run
    from rpcag.study.runs import PROTOCOLS

    with mistakes():
        chosen: dict[str, Any] = {
            "protocols": _names(protocol) or list(PROTOCOLS),
            "datasets": _names(datasets),
            "corruptions": _names(corruptions) or list(CORRUPTIONS),
            "models": _names(models),
            "seeds": None if seeds is None else [int(s) for s in seeds.split(",")],
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
        results = Store(store)
        todo = missing(tasks, results)
        out = console()
        out.print(
            f"{len(tasks)} runs, {len(tasks) - len(todo)} of them in {store}",
            highlight=False,
        )
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=out,
        ) as bar:
            job = bar.add_task("clustering", total=len(todo))

            def watch(record: dict) -> None:
                done = record["run"]
                text = f"{done['dataset']} {done['corruption']} {done['model']}"
                bar.update(job, advance=1, description=text)

            failed = run(todo, results, jobs=jobs, dask=dask, watch=watch)
        if failed:
            first = failed[0]
            name = " ".join(str(first["run"][k]) for k in ("dataset", "model"))
            raise fail(
                f"{len(failed)} runs failed, the first {name}: {first['error']}; "
                "start again to try them once more",
                INCOMPLETE,
            )
    if quick:
        report(store=store, output=None)


def report(
    store: StoreOption = STORE,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Folder for CSV, Markdown, LaTeX, figures."
        ),
    ] = None,
) -> None:
    """The tables of a study, each beside the printed one.

    Example: rpcag report --store results.jsonl -o report
    """
    from rpcag.study.page import all_tables, write

    with mistakes():
        if not store.exists():
            raise fail(f"{store} is not there; rpcag reproduce clustering makes it")
        from rpcag.study import Store
        from rpcag.study.report import Report

        found = Report(Store(store).read())
        if not found.trials:
            raise fail(f"{store} has no results yet")
        if output is None:
            for table in all_tables(found):
                console().print(_rich(table))
            return
        for path in write(found, output):
            console().print(f"wrote {path}", highlight=False)


def _rich(table) -> RichTable:
    rich = RichTable(title=table.title)
    for j, name in enumerate(table.header):
        rich.add_column(name, justify="right" if j else "left")
    for i, row in enumerate(table.rows):
        rich.add_row(
            *(
                f"[bold]{c}[/bold]" if (i, j) in table.bold else c
                for j, c in enumerate(row)
            )
        )
    return rich
