"""Names of rows and columns, and text files that have them."""

import csv
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# Text that spreadsheets compute instead of showing: a sign and at least one character.
FORMULA = re.compile(r"'*[=+\-@\t\r\n](?s:.)")
NUMBER = re.compile(r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?")


def escaped(cells: Sequence[Any]) -> list[Any]:
    """Escape the cells of a line that a spreadsheet would run as formulas.

    Text that begins with = + - @, a tab or a line break, also behind quotes, gets a
    leading quote. Numbers, also as text, are unchanged.

    Examples
    --------
    >>> from rpcag.files.names import escaped
    >>> escaped(["=1+1", "-5", "-", "x=1", -5.0])
    ["'=1+1", '-5', '-', 'x=1', -5.0]
    """
    return [
        f"'{cell}"
        if isinstance(cell, str) and FORMULA.match(cell) and not NUMBER.fullmatch(cell)
        else cell
        for cell in cells
    ]


def original(name: str) -> str:
    """Undo `escaped`."""
    return name[1:] if name[:1] == "'" and FORMULA.match(name) else name


def listed(names: Sequence[str], most: int = 8, show: Any = repr) -> str:
    """The first names, and how many more there are."""
    more = len(names) - most
    shown = ", ".join(map(show, names[:most]))
    return shown + (f" and {more} more" if more > 0 else "")


def unique(names: Sequence[str]) -> list[str]:
    """Make names unique by appending "(2)", "(3)", ... to repeated ones."""
    taken, found = set(names), dict[str, None]()
    counts = defaultdict[str, Iterator[int]](lambda: count(2))
    for name in names:
        if name in found:
            numbered = (f"{name} ({k})" for k in counts[name])
            name = next(other for other in numbered if other not in taken)
        found[name] = None
    return list(found)


def write_rows(
    path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write CSV with a header; names are `escaped`, numbers written by `repr`."""
    options: Any = {"newline": "", "encoding": "utf-8", "errors": "backslashreplace"}
    with path.open("w", **options) as file:
        # With \r\n as terminator, `csv` quotes names that contain either character.
        lines: Any = SimpleNamespace(write=lambda row: file.write(row[:-2] + "\n"))
        writer = csv.writer(lines, lineterminator="\r\n")
        writer.writerow(escaped(header))
        writer.writerows(map(escaped, rows))
