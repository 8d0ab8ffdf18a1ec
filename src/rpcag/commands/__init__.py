"""The subcommands of ``rpcag`` (the extra ``rpcag[cli]``)."""

import inspect
import os
import re
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import rpcag
from rpcag.commands import background, cluster, decompose, demo, explore, output, repair

# Typer's own copy of click, or click itself, whichever this version has.
_ClickException = typer.BadParameter.__mro__[2]
EPILOG = "Exit codes: " + "; ".join(
    f"{code} {meaning}" for code, meaning in output.EXIT_CODES.items()
)
STUDY = ("datasets", "report", "reproduce")  # commands of the package rpcag-study


class OneLineGroup(TyperGroup):
    """Print usage errors and interrupts as one line."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in STUDY and args[0] not in self.commands:
            raise output.fail(
                f"rpcag {args[0]} needs another package: pip install rpcag-study, or "
                "pip install ./study in a checkout"
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, typer.Abort):
            raise output.fail("stopped", output.INTERRUPTED) from None

    def main(self, *args: Any, **options: Any) -> Any:
        try:
            code = super().main(*args, **options | {"standalone_mode": False})
            if sys.stdout is not None:  # closed by >&-
                sys.stdout.flush()
        except _ClickException as error:  # type: ignore[misc]
            code = self._usage(error)
        except (OSError, SystemExit) as error:
            cause = error if isinstance(error, OSError) else error.__context__
            code = output.DONE
            if not isinstance(cause, BrokenPipeError):  # rpcag --help | head
                if isinstance(error, SystemExit) or error.filename is not None:
                    raise
                told = error.strerror or error  # rpcag --help > /dev/full
                output.fail(f"standard output could not be written: {told}")
                code = output.INCOMPLETE
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        sys.exit(code if isinstance(code, int) else 0)

    def _usage(self, error: Any) -> int:
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
            return output.MISTAKE
        where = context.command_path if context is not None else "rpcag"
        text = error.format_message().strip().rstrip(".")
        if hasattr(error.__cause__, "errors"):  # Pydantic's, in Typer since 0.29
            text += f", got {error.__cause__.errors()[0]['input']!r}"
        output.fail(f"{text[:1].lower()}{text[1:]}; {where} --help shows how")
        return output.MISTAKE


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
    rpcag cluster sensors.csv -k 3
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
            output.note(
                f"{entry.name} adds no commands: {type(error).__name__}: {error}; "
                f"uninstall or update {re.split('[.:]', entry.value)[0]}"
            )
    return app


app = _make()
