"""Named columns of a file: numbers, or text."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import IO, Literal, Protocol

import numpy as np

from rpcag.files.header import CORNER, has_header
from rpcag.files.names import listed, original, unique
from rpcag.files.numbers import DECIMAL_COMMA, Numbers
from rpcag.files.table import Reading

Role = Literal[
    "number", "time", "index", "identifier", "boolean", "text", "formula", "kept"
]
ONE_COLUMN = ("labels", "names", "time")  # options that name a column
HEAD = 1000  # rows that determine which columns are text; fewer if they are long
HEAD_CELLS, FEWEST = 200_000, 50
# Number of words and rows that are converted at a time. With more than 700 rows, the
# garbage collector runs so often that narrow tables take twice the time.
CELLS, ROWS = 500_000, 500
Row = Sequence[str]
Place = Callable[[int, int], str]  # of a row and a column, in words


@dataclass(frozen=True, eq=False)
class Edits:
    """Cells that change, row by row."""

    rows: np.ndarray  # of the cells in `Sheet.X`
    features: np.ndarray  # their columns in `Sheet.X`
    columns: np.ndarray  # their columns in the file
    before: list[str]  # the cells as they are in the file
    after: list[str]


class Format(Protocol):
    """Writes a file again with some cells changed."""

    def words(self, rows: np.ndarray, columns: np.ndarray) -> list[str]:
        """Cells as they are in the file."""

    def style(self, column: int) -> Callable[[float], str]:
        """A function that writes numbers like those of a column."""

    def write(self, file: IO[bytes], edits: Edits) -> None:
        """Write the file with new cells."""


@dataclass
class Columns:
    """The columns of a table of text, Parquet or Excel."""

    source: str  # the file, for messages
    names: list[str]  # of all columns in their order, without doubles
    n: int = 0  # rows
    numbers: dict[str, np.ndarray] = field(default_factory=dict)  # NaN where missing
    texts: dict[str, list[str]] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)  # from the format or the user
    index: str | None = None  # the text that the format marks as names of rows
    doubles: list[str] = field(default_factory=list)  # names of several columns
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)  # notes on writing the file again
    rule: Numbers = field(default_factory=Numbers)  # how words were read
    guess: str = ""  # ends an error that may come from a wrong guess
    format: Format = field(init=False)

    def measures(self) -> dict[str, str]:
        """Columns of text that are numbers with units, each with one of its words."""
        found = {name: self.rule.measure(words) for name, words in self.texts.items()}
        return {name: word for name, word in found.items() if word is not None}


def columns_of(source: str, names: Sequence[str], reading: Reading) -> Columns:
    """Columns without values; refuse options that name no column."""
    doubles = sorted(name for name, times in Counter(names).items() if times > 1)
    found, given = unique(names), dict[str, str]()
    known = set(found)
    chosen = [(option, getattr(reading, option)) for option in ONE_COLUMN]
    chosen += [("drop", name) for name in reading.drop]
    chosen += [("keep", name) for name in reading.keep]
    for option, name in chosen:
        if name in (None, False):
            continue
        if name in doubles:
            raise ValueError(
                f"{option}={name!r}: {source} has several columns called {name!r}; "
                "rename them"
            )
        if name not in known:
            raise ValueError(
                f"{option}={name!r}: {source} has no such column; it has "
                f"{listed(found)}"
            )
        if given.setdefault(name, option) != option:
            raise ValueError(f"{given[name]} and {option} both name {name!r}")
    notes = [
        f"some columns have the same name, such as {name!r}: a number was added"
        for name in doubles[:1]
    ]
    columns = Columns(source, found, doubles=doubles, notes=notes)
    columns.roles = dict.fromkeys((*reading.drop, *reading.keep), "kept")
    columns.rule = Numbers(missing=reading.missing)
    return columns


def columns_of_words(
    source: str,
    rows: Iterable[Row],
    reading: Reading,
    place: Place,
    *,
    decimal: str | None = None,
    guess: str = "",
) -> Columns:
    """Read columns from rows of words; the first row may have their names.

    Columns that are mostly words, or that an option names, are text. `place` says where
    the cell of a row and a column is in the file. By default, the decimal mark is a
    comma if as many numbers have a comma as have a point.
    """
    remaining = iter(rows)
    head = list(islice(remaining, 1))
    if not head:
        raise ValueError(f"{source} is empty")
    head += islice(remaining, min(HEAD, max(FEWEST, HEAD_CELLS // len(head[0]))))
    numbers = Numbers(decimal or _decimal(head[1:] or head), reading.missing)
    notes: list[str] = []
    header = reading.header
    if header is None:
        header = has_header(source, head, numbers, notes)
    names = [str(j) for j in range(len(head[0]))]
    if header:
        names = [original(name.strip()) for name in head.pop(0)]
        if not head:
            raise ValueError(f"{source} has a header but no rows")
        if {len(row) for row in head} == {len(names) + 1}:  # one has no name
            is_last = not any(row[-1] for row in head)
            names = [*names, ""] if is_last else ["", *names]
    index = "row names" if names[0] in CORNER else None
    shown = [name or f"column {j + 1}" for j, name in enumerate(names)]
    found = columns_of(source, [index or shown[0], *shown[1:]], reading)
    found.notes += notes
    found.index, found.rule, found.guess = index, numbers, guess

    above = int(header)  # rows before the block
    _check_widths(found, head, above, place)
    rules: dict[str, Numbers] = {}  # how to read each column of numbers
    for j, words in enumerate(zip(*head, strict=True)):
        name, rule = found.names[j], numbers.for_column(words)
        if name in (reading.labels, reading.names, index):
            found.texts[name] = []
        elif name in found.roles:
            continue
        elif not names[j] and not any(words):
            found.roles[name] = "text"
        elif rule.are_words(words):
            found.texts[name] = []
        else:
            rules[name] = rule
    parts: dict[str, list[np.ndarray]] = {name: [] for name in rules}
    size = max(1, min(ROWS, CELLS // len(names)))
    for block in chain([head], iter(lambda: list(islice(remaining, size)), [])):
        _check_widths(found, block, above, place)
        for j, words in enumerate(zip(*block, strict=True)):
            name = found.names[j]
            if name in found.texts:
                found.texts[name] += [original(word.strip()) for word in words]
            elif name in rules:
                try:
                    parts[name].append(np.array(rules[name].many(words)))
                except ValueError:
                    are_numbers = [rules[name].is_number(word) for word in words]
                    i = are_numbers.index(False)
                    # The decimal mark was guessed from the head.
                    cells = [*_cells(head, int(header)), *_cells(block, above)]
                    others = (
                        f"{word!r} in {place(*cell)}"
                        for *cell, word in cells
                        if numbers.has_mark(word)
                    )
                    told = rules[name].complaint(words[i], name, next(others, None))
                    raise ValueError(
                        f"{source}, {place(above + i, j)}, column {name!r}: {told}"
                    ) from None
        above += len(block)
    found.n = above - header
    found.numbers = {name: np.concatenate(values) for name, values in parts.items()}
    found.roles |= {name: "boolean" for name, rule in rules.items() if rule.truth}
    return found


def _cells(rows: Sequence[Row], begin: int) -> Iterable[tuple[int, int, str]]:
    """Row, column and word of every cell."""
    return (
        (i, j, word) for i, row in enumerate(rows, begin) for j, word in enumerate(row)
    )


def _decimal(rows: Iterable[Row]) -> str:
    """The mark of most decimals: a single one of another kind is a mistake."""
    words, is_number = list(chain.from_iterable(rows)), Numbers().is_number
    commas = sum(DECIMAL_COMMA.fullmatch(w) is not None for w in words if "," in w)
    points = sum(is_number(w) for w in words if commas and "." in w)
    return "," if commas and points <= commas else "."


def _check_widths(
    found: Columns, rows: Sequence[Row], above: int, place: Place
) -> None:
    if set(map(len, rows)) == {len(found.names)}:  # faster
        return
    for i, row in enumerate(rows, above):
        if len(row) != len(found.names):
            fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
            raise ValueError(
                f"{found.source}, {place(i, 0)} has {fields} but the first line has "
                f"{len(found.names)}{found.guess}"
            )
