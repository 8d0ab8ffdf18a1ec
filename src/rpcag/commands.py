"""The subcommands of ``rpcag`` (the extra ``rpcag[cli]``)."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import rpcag

app = typer.Typer(
    help="Robust PCA on graphs: low-rank, smooth and sparse parts of a matrix.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"rpcag {rpcag.__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Tell it and exit."
        ),
    ] = False,
) -> None:
    """Robust PCA on graphs: low-rank, smooth and sparse parts of a matrix."""


@app.command()
def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the pictures.")
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Where the blocks fall.", min=0)] = 0,
) -> None:
    """Take blocks off scikit-learn's digits and cluster what is left.

    Example: rpcag demo -o pictures
    """
    console = _console()
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        console.print(f"rpcag: cannot write to {output}: {error.strerror}", style="red")
        raise typer.Exit(2) from None
    from rpcag.demo import run, save_pictures

    with console.status("1797 digits, a quarter of each behind a block ..."):
        found = run(random_state=seed)
    table = Table(title="1797 digits, 25 % of each behind a block")
    table.add_column("model")
    table.add_column("clustering error", justify="right")
    table.add_column("seconds", justify="right")
    table.add_column("certified gap", justify="right")
    for row in found.rows:
        table.add_row(
            row.model,
            f"{100 * row.error:.1f} %",
            f"{row.seconds:.1f}",
            "-" if row.gap is None else f"{row.gap:.1e}",
        )
    console.print(table)
    console.print(
        "clustering error: digits outside the class matched to their cluster\n"
        "certified gap: the objective is at most this share above the best, proven\n"
        "4 lam: four times the automatic weight of the sparse part",
        style="dim",
    )
    try:
        written = save_pictures(found, output)
    except ImportError as error:
        console.print(
            f"rpcag: no pictures, {error.name} is missing; pip install 'rpcag[plots]'"
        )
        return
    except OSError as error:
        console.print(f"rpcag: cannot write to {output}: {error.strerror}", style="red")
        raise typer.Exit(2) from None
    for path in written:
        console.print(f"wrote {path}")


@app.command()
def models() -> None:
    """List every model: what it minimises, with which graphs, and how.

    Example: rpcag models
    """
    table = Table(title="Models of rpcag (samples in rows)", show_lines=True)
    for name in ("model", "problem", "parameters", "graph", "convex", "solved by"):
        table.add_column(name)
    for row in rpcag.list_models():
        problem = escape(f"min {row.problem}")
        if row.constraints:
            problem += f"\n[dim]{escape(row.constraints)}[/dim]"
        table.add_row(
            f"[bold]{row.model}[/bold]",
            problem,
            row.parameters.replace(", ", "\n"),
            row.graph,
            "yes" if row.convex else "no",
            row.solution,
        )
    _console().print(table)


def _console() -> Console:
    return Console(width=None if Console().is_terminal else 120)
