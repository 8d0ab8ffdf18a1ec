"""What the subcommands print with, and how they end on a user's mistake."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

# Exit codes: a mistake in the input; a run that could not do all it was asked to.
MISTAKE, INCOMPLETE = 2, 1


def console() -> Console:
    """As wide as the terminal; 120 columns in a file."""
    return Console(width=None if Console().is_terminal else 120)


def fail(message: str, code: int = MISTAKE) -> typer.Exit:
    """One line on standard error, and the exit to raise."""
    Console(stderr=True, soft_wrap=True).print(
        f"rpcag: {message}", style="red", markup=False, highlight=False
    )
    return typer.Exit(code)


@contextmanager
def mistakes() -> Iterator[None]:
    """Errors that a user can mend are one line, not a traceback."""
    try:
        yield
    except typer.Exit:  # a RuntimeError, and said already
        raise
    except ImportError as error:
        raise fail(f"{error}") from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise fail(f"{where}{error.strerror or error}") from None
    except (ValueError, RuntimeError) as error:
        raise fail(" ".join(str(error).split())) from None
