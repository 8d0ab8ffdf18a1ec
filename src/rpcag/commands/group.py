"""Print usage errors and interrupts of all subcommands as one line."""

import os
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from rpcag.commands.output import (
    DONE,
    EXIT_CODES,
    INCOMPLETE,
    INTERRUPTED,
    MISTAKE,
    fail,
)

# Typer's own copy of click, or click itself, whichever this version has.
_ClickException = typer.BadParameter.__mro__[2]
EPILOG = "Exit codes: " + "; ".join(
    f"{code} {meaning}" for code, meaning in EXIT_CODES.items()
)

STUDY = ("datasets", "report", "reproduce")  # commands of the package rpcag-study


class OneLineGroup(TyperGroup):
    """Print usage errors and interrupts as one line."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in STUDY and args[0] not in self.commands:
            raise fail(
                f"rpcag {args[0]} needs another package: pip install rpcag-study, or "
                "pip install ./study in a checkout"
            )
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, typer.Abort):
            raise fail("stopped", INTERRUPTED) from None

    def main(self, *args: Any, **options: Any) -> Any:
        try:
            code = super().main(*args, **options | {"standalone_mode": False})
            if sys.stdout is not None:  # closed by >&-
                sys.stdout.flush()
        except _ClickException as error:  # type: ignore[misc]
            code = self._usage(error)
        except (OSError, SystemExit) as error:
            cause = error if isinstance(error, OSError) else error.__context__
            code = DONE
            if not isinstance(cause, BrokenPipeError):  # rpcag --help | head
                if isinstance(error, SystemExit) or error.filename is not None:
                    raise
                told = error.strerror or error  # rpcag --help > /dev/full
                fail(f"standard output could not be written: {told}")
                code = INCOMPLETE
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115
        sys.exit(code if isinstance(code, int) else 0)

    def _usage(self, error: Any) -> int:
        context = getattr(error, "ctx", None)
        if type(error).__name__ == "NoArgsIsHelpError":
            print(error.format_message())
            return MISTAKE
        where = context.command_path if context is not None else "rpcag"
        text = error.format_message().strip().rstrip(".")
        if hasattr(error.__cause__, "errors"):  # Pydantic's, in Typer since 0.29
            text += f", got {error.__cause__.errors()[0]['input']!r}"
        fail(f"{text[:1].lower()}{text[1:]}; {where} --help shows how")
        return MISTAKE
