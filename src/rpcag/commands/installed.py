"""Commands that other installed packages add to ``rpcag``; see `rpcag.plugins`."""

from importlib.metadata import EntryPoint, entry_points

import typer

from rpcag.commands.output import note

GROUP = "rpcag.commands"


def add_installed(app: typer.Typer) -> None:
    """Let every package of the entry point group add its commands."""
    for entry in entry_points(group=GROUP):
        _add(app, entry)


def _add(app: typer.Typer, entry: EntryPoint) -> None:
    """A package that fails to load is reported, and leaves the others usable."""
    try:
        entry.load()(app)
    except Exception as error:
        note(
            f"{entry.name} adds no commands: {type(error).__name__}: {error}; "
            f"uninstall or update {entry.value.partition('.')[0].partition(':')[0]}"
        )
