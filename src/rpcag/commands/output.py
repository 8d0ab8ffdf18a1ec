"""Output and exit codes of the subcommands.

Results go to standard output, everything else (bars, notes, errors) to standard error,
so that ``--json`` can be piped.
"""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from rpcag.graphs.inputs import reason

# Parameters of the library that are options of the commands.
OPTIONS = (
    *("variable", "labels", "names", "drop", "missing", "shape", "color"),
    *("transpose", "delimiter", "decimal", "header", "time", "sheet", "graph"),
    *("model", "lam", "gamma", "scale", "tol", "max_iter", "checkpoint", "force"),
    *("size", "frames", "gray"),
)
# Not in names such as x/time=4.csv or 'lam=1'.
PARAMETER = re.compile(
    rf"(?<![\w./\\'\"-])({'|'.join(OPTIONS)})="
    r"(\((\w+), (\w+)\)|'[^']*'|\"[^\"]*\"|"
    r"(?:True|False|NAME|inf|[\d.:e+-]*\d)?(?=[.]?(?:[\s,;:)]|$)))"
)
# How scikit-learn begins messages on parameters.
OF_SKLEARN = re.compile(rf"^The '(alpha|{'|'.join(OPTIONS)})' parameter of \w+ must")
DONE, INCOMPLETE, MISTAKE, INTERRUPTED = 0, 1, 2, 130
EXIT_CODES = {
    DONE: "success",
    INCOMPLETE: "incomplete: results were written, and one line says what is missing",
    MISTAKE: "an error in the command or its input; nothing was written",
    INTERRUPTED: "stopped by Ctrl-C or SIGTERM; no file is half-written",
}
# Remedies for a fit that did not converge, by its status.
REMEDIES = {
    "max_iter": "Raise --max-iter or --tol",
    "stalled": "Raise --tol, since rounding allows no smaller gap",
    "numerical_error": "Use weights nearer to the defaults",
}


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal; 120 columns in a file."""
    width = None if Console(stderr=stderr).is_terminal else 120
    return Console(width=width, stderr=stderr)


def errors() -> Console:
    """Standard error, without line wrapping."""
    return Console(stderr=True, soft_wrap=True, markup=False, highlight=False)


def say(text: str) -> None:
    """Print a line on standard output verbatim, including brackets."""
    print(text)


def fail(message: str, code: int = MISTAKE) -> typer.Exit:
    """Print one line on standard error and return the exception to raise."""
    errors().print(f"rpcag: {one_line(message)}", style="red")
    return typer.Exit(code)


def note(message: str) -> None:
    """Print a note on standard error."""
    errors().print(f"note: {one_line(message)}", style="yellow")


def one_line(message: str) -> str:
    """The message with parameters as options, but files that the user named as such.

    >>> one_line("missing='ERR' reads it, header=False, shape=(2, 3), delimiter= sets")
    "--missing 'ERR' reads it, --no-header, --shape 2x3, --delimiter sets"
    >>> one_line("time=4.csv: use lam=0.2.")
    'time=4.csv: use --lam 0.2.'
    >>> one_line("The 'max_iter' parameter of RPCA must be an int.")
    '--max-iter must be an int.'
    """
    message = OF_SKLEARN.sub(_named, str(message))
    words = (w.partition("=")[2] if w[:1] == "-" else w for w in sys.argv[1:])
    names = [re.escape(word) for word in words if "=" in word]
    found = re.compile("|".join([*names, PARAMETER.pattern]))
    return " ".join(found.sub(_flag, message).split())


def _named(found: re.Match) -> str:
    return f"--{found[1].replace('_', '-')} must"


def _flag(found: re.Match) -> str:
    """A parameter of the library as an option of the command."""
    if found[1] is None:  # the name of a file
        return found[0]
    name, value = found[1].replace("_", "-"), found[2]
    if value in ("True", "False"):
        return f"--{name}" if value == "True" else f"--no-{name}"
    if found[3]:  # HEIGHTxWIDTH
        value = "x".join(side.upper() for side in (found[3], found[4]))
    return f"--{name} {value}".rstrip()


def report(
    facts: Any,
    *shown: str | Table,
    notes: Iterable[str] = (),
    quiet: bool = False,
    json: bool = False,
    stderr: bool = False,
) -> None:
    """Print a result: `facts` as JSON, or notes, lines and tables, or nothing."""
    if json:
        print_json(facts)
    elif not quiet:
        for message in notes:
            note(message)
        for part in shown:
            say(part) if isinstance(part, str) else console(stderr=stderr).print(part)


def summary(title: str, rows: Mapping[str, str | None]) -> Table:
    """A table of names and values, without values that are empty or None."""
    table = Table(Column(style="dim"), "", title=escape(title), show_header=False)
    for name, value in rows.items():
        if value:
            table.add_row(escape(name), escape(value))
    return table


def incomplete(status: str, gap: float | None, tol: float | None) -> typer.Exit:
    """Report that a fit did not converge, and return the exception to raise."""
    reached = ""
    if gap is not None:
        wanted = "" if tol is None else f", above --tol {tol:g}"
        reached = f" with a certified gap of {gap:.1e}{wanted}"
    return fail(
        f"the fit did not converge: it ended{reached} ({status}). "
        f"{REMEDIES.get(status, REMEDIES['max_iter'])}, or accept the result",
        INCOMPLETE,
    )


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
    except (typer.Exit, BrokenPipeError):  # printed already; the reader closed a pipe
        raise
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        raise fail(f"{where}{error.strerror or error}") from None
    except MemoryError as error:
        raise fail(f"not enough memory: {error}", INCOMPLETE) from None
    except ArithmeticError as error:
        raise fail(reason(error)) from None
    except (ImportError, ValueError, RuntimeError) as error:
        raise fail(str(error)) from None
