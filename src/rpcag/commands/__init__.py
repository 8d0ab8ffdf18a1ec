"""The subcommands of ``rpcag`` (the extra ``rpcag[cli]``)."""

from typing import Annotated

import typer

import rpcag
from rpcag.commands import (
    background,
    cluster,
    decompose,
    demo,
    explore,
    models,
    repair,
    study,
)
from rpcag.commands.group import EPILOG, OneLineGroup

app = typer.Typer(
    help="Repair tables, separate videos, and split matrices by Robust PCA on graphs.",
    epilog=EPILOG,
    cls=OneLineGroup,
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
            "--version",
            callback=_version,
            is_eager=True,
            help="Show the version and exit.",
        ),
    ] = False,
) -> None:
    """Repair tables, separate videos, and split matrices by Robust PCA on graphs.

    Examples:
    rpcag repair sensors.csv -o repaired.csv
    rpcag decompose sensors.csv -o result
    rpcag cluster result -k 3
    rpcag decompose --help
    """


app.command()(repair.repair)
app.command()(decompose.decompose)
app.command()(cluster.cluster)
app.command()(explore.explore)
app.command()(background.background)
app.command()(demo.demo)
app.command()(models.models)
app.command()(study.datasets)
app.command()(study.report)
app.add_typer(study.reproduce, name="reproduce")
