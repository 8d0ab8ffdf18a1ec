"""Named columns of a file: numbers, or text."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import IO, Literal, Protocol

import numpy as np

from rpcag.files.header import CORNER, header_of
from rpcag.files.names import listed, original, unique
from rpcag.files.numbers import DECIMAL_COMMA, Numbers
from rpcag.files.table import Reading

Role = Literal[
    "number", "time", "index", "identifier", "boolean", "text", "formula", "kept"
]
HEAD = 1000  # rows that determine which columns are text; fewer if they are long
HEAD_CELLS, FEWEST = 200_000, 50
CELLS = 500_000  # that are held as words at a time
Row = Sequence[str]


@dataclass(frozen=True, eq=False)
class Edits:
    """Cells that change, row by row.

    Attributes
    ----------
    rows, features : int ndarrays
        Where the cells are in `Sheet.X`.
    columns : int ndarray
        The columns of the file that they are in.
    before, after : list of str
        The cells as they are in the file, and as they will be.
    """

    rows: np.ndarray
    features: np.ndarray
    columns: np.ndarray
    before: list[str]
    after: list[str]


class Format(Protocol):
    """Writes a file again with some cells changed."""

    def formatted(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray
    ) -> tuple[list[str], list[str]]:
        """Cells as they are in the file, and as they will be."""

    def write(self, file: IO[bytes], edits: Edits) -> None:
        """Write the file with new cells."""


@dataclass
class Columns:
    """The columns of a table of text, Parquet or Excel.

    Attributes
    ----------
    source : str
        The file, for messages.
    names : list of str
        All columns in their order, without doubles.
    n : int
        Number of rows.
    numbers : dict
        Columns of numbers, NaN where missing.
    texts : dict
        Columns of words.
    roles : dict
        Roles of some columns, from the format or the user.
    index : str or None
        The column of `texts` that the format itself marks as names of rows.
    doubles : list of str
        Names that several columns of the file have; all but one got a number.
    guess : str
        Ends an error that may come from a wrong guess.
    losses : list of str
        Notes on what is lost when the file is written again.
    """

    source: str
    names: list[str]
    n: int = 0
    numbers: dict[str, np.ndarray] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    index: str | None = None
    doubles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    decimal: str = "."
    guess: str = ""
    losses: list[str] = field(default_factory=list)
    format: Format = field(init=False)


def columns_of(
    source: str, names: Sequence[str], reading: Reading, notes: list[str]
) -> Columns:
    """Columns without values; refuse options that name no column."""
    doubles = sorted(name for name, times in Counter(names).items() if times > 1)
    found = unique(names)
    known, given = set(found), dict[str, str]()
    chosen = [("labels", reading.labels), ("names", reading.names)]
    chosen += [("drop", name) for name in reading.drop]
    chosen += [("keep", name) for name in reading.keep]
    for option, name in chosen:
        if name is None:
            continue
        if name in doubles:
            raise ValueError(f"{source} has several columns called {name!r}")
        if name not in known:
            raise ValueError(
                f"{option}={name!r}: {source} has no such column; it has "
                f"{listed(found)}"
            )
        if given.setdefault(name, option) != option:
            raise ValueError(f"{given[name]} and {option} both name {name!r}")
    if doubles:
        notes.append(
            "some columns have the same name, such as "
            f"{doubles[0]!r}: a number was added"
        )
    kept: dict[str, Role] = dict.fromkeys((*reading.drop, *reading.keep), "kept")
    return Columns(source, found, roles=kept, doubles=doubles, notes=notes)


def columns_of_words(
    source: str,
    rows: Iterable[Row],
    reading: Reading,
    place: Callable[[int, int], str],
    *,
    decimal: str | None = None,
    guess: str = "",
) -> Columns:
    """Read columns from rows of words; the first row may have their names.

    Columns that are mostly words, or that an option names, are text. `place` says where
    the cell of a row and a column is in the file. By default, the decimal mark is a
    comma if a number has one.
    """
    remaining = iter(rows)
    first = next(remaining, None)
    if first is None:
        raise ValueError(f"{source} is empty")
    most = min(HEAD, max(FEWEST, HEAD_CELLS // len(first)))
    head = [first, *islice(remaining, most)]
    decimal = decimal or _decimal(head[1:] or head)
    numbers = Numbers(decimal, reading.missing)
    notes: list[str] = []
    names, index = header_of(source, head, reading.header, numbers, notes), None
    above = 0 if names is None else 1
    head = head[above:]
    if not head:
        raise ValueError(f"{source} has a header but no rows")
    if names is None:
        names = [str(j) for j in range(len(first))]
    else:
        names = _complete([original(name) for name in names], head)
        if names[0] in CORNER:
            names[0] = index = "row names"
    unnamed = {j for j, name in enumerate(names) if not name}
    names = [name or f"column {j + 1}" for j, name in enumerate(names)]
    found = columns_of(source, names, reading, notes)
    found.index, found.decimal, found.guess = index, decimal, guess

    def check_widths(block: Sequence[Row]) -> None:
        for i, row in enumerate(block, above + found.n):
            if len(row) != len(names):
                fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
                raise ValueError(
                    f"{source}, {place(i, 0)} has {fields} but the first line has "
                    f"{len(names)}{guess}"
                )

    def values_of(j: int, words: Sequence[str], rule: Numbers) -> list[float]:
        try:
            return rule.many(words)
        except ValueError:
            i = next(i for i, word in enumerate(words) if not rule.is_number(word))
            where, name = place(above + found.n + i, j), found.names[j]
            raise ValueError(
                f"{source}, {where}, column {name!r}: {words[i]!r} is not a number; "
                f"{rule.remedy(words[i], name)}"
            ) from None

    check_widths(head)
    text: dict[int, list[str]] = {}
    rules: dict[int, Numbers] = {}  # how to read each column of numbers
    for j, words in enumerate(zip(*head, strict=True)):
        name, rule = found.names[j], numbers.for_column(words)
        if name in (reading.labels, reading.names, index):
            text[j] = []
        elif name in found.roles:
            continue
        elif j in unnamed and not any(words):
            found.roles[name] = "text"
        elif rule.are_words(words):
            text[j] = []
        else:
            rules[j] = rule
    parts: dict[int, list[np.ndarray]] = {j: [] for j in rules}
    size = max(1, CELLS // len(names))
    for block in chain([head], iter(lambda: list(islice(remaining, size)), [])):
        check_widths(block)
        columns = list(zip(*block, strict=True))
        for j, column in text.items():
            column += [original(word.strip()) for word in columns[j]]
        for j, rule in rules.items():
            parts[j].append(np.array(values_of(j, columns[j], rule)))
        found.n += len(block)
    found.texts = {found.names[j]: column for j, column in text.items()}
    for j, rule in rules.items():
        x = found.numbers[found.names[j]] = np.concatenate(parts[j])
        if rule.truth:
            found.roles[found.names[j]] = "boolean"
            if not np.isin(x[np.isfinite(x)], (0, 1)).all():  # numbers below true
                found.n = 0
                plain = Numbers(decimal, reading.missing, truth=False)
                values_of(j, [row[j] for row in head], plain)
    return found


def _decimal(rows: Iterable[Row]) -> str:
    words = (word for row in rows for word in row if "," in word)
    return "," if any(map(DECIMAL_COMMA.fullmatch, words)) else "."


def _complete(names: list[str], head: Sequence[Row]) -> list[str]:
    """Add a name if the header has one less than all lines below."""
    if {len(row) for row in head} == {len(names) + 1}:
        at_end = all(not row[-1] for row in head)
        return [*names, ""] if at_end else ["", *names]
    return names
