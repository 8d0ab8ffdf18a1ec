"""The subcommands of ``rpcag`` (the extra ``rpcag[cli]``)."""

import inspect
import re
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated

import typer

import rpcag
from rpcag.commands import background, cluster, decompose, demo, explore, repair
from rpcag.commands.group import EPILOG, OneLineGroup
from rpcag.commands.output import note


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
    ):
        app.command(help=_help(command))(command)
    return app


def _help(command: Callable[..., None]) -> str:
    """The docstring with one line per paragraph, which the terminal wraps."""
    text, start, examples = (inspect.getdoc(command) or "").partition("\n\nExamples:")
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text) + start + examples


def with_installed() -> typer.Typer:
    """The command with those that other installed packages add; see `rpcag.plugins`.

    A package that fails to load is reported, and leaves the others usable.
    """
    app = _make()
    for entry in entry_points(group="rpcag.commands"):
        try:
            entry.load()(app)
        except Exception as error:
            note(
                f"{entry.name} adds no commands: {type(error).__name__}: {error}; "
                f"uninstall or update {re.split('[.:]', entry.value)[0]}"
            )
    return app


app = _make()
