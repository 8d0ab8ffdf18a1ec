"""Output and exit codes of the subcommands.

Results go to standard output, everything else (bars, notes, errors) to standard error,
so that ``--json`` can be piped.
"""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console

from rpcag.graphs.inputs import reason

# Parameters of the library that are options of the commands.
OPTIONS = (
    *("variable", "labels", "names", "drop", "keep", "missing", "shape", "color"),
    *("transpose", "delimiter", "decimal", "header", "time", "sheet", "graph"),
    *("model", "lam", "gamma", "scale", "tol", "max_iter", "checkpoint", "force"),
    *("size", "frames", "gray"),
)
PARAMETER = re.compile(
    rf"(?<![\w.])({'|'.join(OPTIONS)})="
    r"(\((\w+), (\w+)\)|'[^']*'|\"[^\"]*\"|(?:[^\s,;:)'(]|:(?=\d))*)"
)
DONE, INCOMPLETE, MISTAKE, INTERRUPTED = 0, 1, 2, 130
EXIT_CODES = {
    DONE: "success",
    INCOMPLETE: "incomplete: results were written, and one line says what is missing",
    MISTAKE: "an error in the command or its input; nothing was written",
    INTERRUPTED: "stopped by Ctrl-C or SIGTERM; no file is half-written",
}


def console(*, stderr: bool = False) -> Console:
    """As wide as the terminal; 120 columns in a file."""
    width = None if Console(stderr=stderr).is_terminal else 120
    return Console(width=width, stderr=stderr)


def errors() -> Console:
    """Standard error; one line stays one line."""
    return Console(stderr=True, soft_wrap=True, markup=False, highlight=False)


def say(text: str) -> None:
    """A line on standard output as it is, also with brackets in it."""
    print(text)


def fail(message: str, code: int = MISTAKE) -> typer.Exit:
    """Print one line on standard error and return the exception to raise."""
    errors().print(f"rpcag: {one_line(message)}", style="red")
    return typer.Exit(code)


def note(message: str) -> None:
    """Print a note on standard error."""
    errors().print(f"note: {one_line(message)}", style="yellow")


def one_line(message: str) -> str:
    return " ".join(PARAMETER.sub(_flag, str(message)).split())


def _flag(found: re.Match) -> str:
    """A parameter of the library as an option of the command.

    >>> one_line("missing='ERR' reads it, header=False, shape=(2, 3), delimiter= sets")
    "--missing 'ERR' reads it, --no-header, --shape 2x3, --delimiter sets"
    """
    name, value = found[1].replace("_", "-"), found[2]
    if value in ("True", "False"):
        return f"--{name}" if value == "True" else f"--no-{name}"
    if found[3]:  # HEIGHTxWIDTH
        value = "x".join(side.upper() for side in (found[3], found[4]))
    return f"--{name} {value}".rstrip()


def print_json(value: Any) -> None:
    """Print a JSON value on standard output."""
    encoding = getattr(sys.stdout, "encoding", None) or "ascii"
    all_characters = encoding.lower().replace("-", "").startswith("utf")
    print(json.dumps(value, indent=1, ensure_ascii=not all_characters))


@contextmanager
def mistakes() -> Iterator[None]:
    """Print errors that a user can fix as one line, without a traceback."""
    try:
        yield
    except typer.Exit:  # a RuntimeError, and said already
        raise
    except ImportError as error:
        raise fail(f"{error}") from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise fail(f"{where}{error.strerror or error}") from None
    except MemoryError as error:
        raise fail(f"not enough memory: {error}", INCOMPLETE) from None
    except ArithmeticError as error:
        raise fail(reason(error)) from None
    except (ValueError, RuntimeError) as error:
        raise fail(f"{error}") from None
