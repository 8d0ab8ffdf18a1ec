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
)
from rpcag.commands.group import EPILOG, OneLineGroup
from rpcag.commands.installed import add_installed


def _version(wanted: bool) -> None:
    if wanted:
        print(f"rpcag {rpcag.__version__}")
        raise typer.Exit


def _options(
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


def _make() -> typer.Typer:
    app = typer.Typer(
        help="Repair tables, separate videos, and split matrices by Robust PCA on "
        "graphs.",
        epilog=EPILOG,
        cls=OneLineGroup,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_options)
    for command in (
        repair.repair,
        decompose.decompose,
        cluster.cluster,
        explore.explore,
        background.background,
        demo.demo,
        models.models,
    ):
        app.command()(command)
    return app


def with_installed() -> typer.Typer:
    """The command with those that other installed packages add."""
    app = _make()
    add_installed(app)
    return app


app = _make()
