"""Named columns of a file: numbers, or text."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import IO, Literal

import numpy as np

from rpcag.files.names import listed, original, unique
from rpcag.files.numbers import DECIMAL_COMMA, Numbers, number_style, sampled
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
WHOLE = re.compile(r"\d{1,18}")
CORNER = ("", "Unnamed: 0")  # above the index, as pandas writes it
# Minimum count of sorted whole numbers, and of sorted decimals, that may be a header.
# With smaller values, the user is asked about ordinary data more often: 1 in 360 random
# lines of 6 numbers is sorted.
WHOLES, DECIMALS = 3, 6


@dataclass(frozen=True, eq=False)
class Edits:
    """Cells that change, row by row."""

    rows: np.ndarray  # of the cells in `Sheet.X`
    features: np.ndarray  # their columns in `Sheet.X`
    columns: np.ndarray  # their columns in the file
    before: list[str]  # the cells as they are in the file
    after: list[str]


class File:
    """A file that can be written again with some cells changed; here one of words."""

    source: str  # its name, for messages
    guess = ""  # ends an error that may come from a wrong guess
    # Known when it is read: how words are read, and the rows above and in the table.
    rule = Numbers()
    above, n = 0, 0

    def __iter__(self) -> Iterator[list[str]]:
        """The words of every row."""
        raise NotImplementedError

    def place(self, i: int, j: int) -> str:
        """Where a cell is; rows are counted from the first one that was read."""
        raise NotImplementedError

    def cells(self, i: int) -> list[str]:
        """The words of a row of the table."""
        raise NotImplementedError

    def write(self, file: IO[bytes], edits: Edits) -> None:
        """Write the file with new cells."""
        raise NotImplementedError

    def words(self, rows: np.ndarray, columns: np.ndarray) -> list[str]:
        """Cells of the table as they are in the file."""
        found, places = [], zip(rows.tolist(), columns.tolist(), strict=True)
        for i, group in groupby(places, itemgetter(0)):
            words = self.cells(i)
            found += [words[j] for _, j in group]
        return found

    def style(self, column: int) -> Callable[[float], str]:
        """A function that writes numbers like those of a column."""
        words = (row[column] for row in self._sample)
        known = (word for word in words if not self.rule.is_missing(word))
        return number_style(known, self.rule.decimal)

    @cached_property
    def _sample(self) -> list[list[str]]:
        return [self.cells(i) for i in sampled(self.n)]


@dataclass
class Columns:
    """The columns of a table of text, Parquet or Excel."""

    file: File
    names: list[str]  # of all columns in their order, without doubles
    numbers: dict[str, np.ndarray] = field(default_factory=dict)  # NaN where missing
    texts: dict[str, list[str]] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)  # from the format or the user
    index: str | None = None  # the text that the format marks as names of rows
    doubles: list[str] = field(default_factory=list)  # names of several columns
    notes: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)  # notes on writing the file again


def columns_of(file: File, names: Sequence[str], reading: Reading) -> Columns:
    """Columns without values; refuse options that name no column."""
    source = file.source
    doubles = sorted(name for name, times in Counter(names).items() if times > 1)
    found, given = unique(names), dict[str, str]()
    known = set(found)
    chosen = [(option, getattr(reading, option)) for option in ONE_COLUMN]
    chosen += [("drop", name) for name in reading.drop]
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
    roles: dict[str, Role] = dict.fromkeys(reading.drop, "kept")
    return Columns(file, found, roles=roles, doubles=doubles, notes=notes)


def columns_of_words(
    file: File, reading: Reading, decimal: str | None = None
) -> Columns:
    """Read columns from rows of words; the first row may have their names.

    Columns that are mostly words, or that an option names, are text. By default, the
    decimal mark is a comma if as many numbers have a comma as have a point.
    """
    source = file.source
    remaining = iter(file)
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
    found = columns_of(file, [index or shown[0], *shown[1:]], reading)
    found.index, found.notes = index, found.notes + notes
    file.rule, file.above = numbers, int(header)

    parts: dict[str, list[np.ndarray]] = {}  # the columns of numbers
    # Numbers with the other decimal mark are a mistake, not text.
    other = Numbers("." if numbers.decimal == "," else ",", reading.missing)
    for j, words in enumerate(zip(*head, strict=False)):
        name = found.names[j]
        if name in (reading.labels, reading.names, index):
            found.texts[name] = []
        elif name in found.roles:
            continue
        elif not names[j] and not any(words):
            found.roles[name] = "text"
        elif numbers.are_words(words) and other.are_words(words):
            found.texts[name] = []
        else:
            parts[name] = []
    size = max(1, min(ROWS, CELLS // len(names)))
    above = file.above  # rows before the block
    for block in chain([head], iter(lambda: list(islice(remaining, size)), [])):
        for i, row in enumerate(block, above):
            if len(row) != len(names):
                fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
                raise ValueError(
                    f"{source}, {file.place(i, 0)} has {fields} but the first line has "
                    f"{len(names)}{file.guess}"
                )
        for j, words in enumerate(zip(*block, strict=True)):
            name = found.names[j]
            if name in found.texts:
                found.texts[name] += [original(word.strip()) for word in words]
            elif name in parts:
                try:
                    parts[name].append(np.array(numbers.many(words)))
                except ValueError:
                    are_numbers = [numbers.is_number(word) for word in words]
                    i = are_numbers.index(False)
                    told = numbers.complaint(words[i], name)
                    raise ValueError(
                        f"{source}, {file.place(above + i, j)}, column {name!r}: {told}"
                    ) from None
        above += len(block)
    file.n = above - file.above
    found.numbers = {name: np.concatenate(values) for name, values in parts.items()}
    return found


def _decimal(rows: Iterable[Row]) -> str:
    """The mark of most decimals: a single one of another kind is a mistake."""
    words, is_number = list(chain.from_iterable(rows)), Numbers().is_number
    commas = sum(DECIMAL_COMMA.fullmatch(w) is not None for w in words if "," in w)
    points = sum(is_number(w) for w in words if commas and "." in w)
    return "," if commas and points <= commas else "."


def has_header(
    source: object, head: Sequence[Sequence[str]], numbers: Numbers, notes: list[str]
) -> bool:
    """Whether the first line has the names of the columns.

    Words are a header, and so is anything beside an empty field above row names. Other
    numbers are data, unless they are like an axis (years, wavelengths): they are sorted
    and the lines below are not. An axis of whole numbers after a word is a header, and
    so is 0, 1, 2, ...; in other cases an error asks the user.
    """
    first, *others = ([field.strip() for field in row] for row in head)
    filled = [field for field in first if not numbers.is_missing(field)]
    values = [field for field in filled if numbers.is_number(field)]
    left = [row[0] for row in others]
    has_row_names = numbers.are_words(left) or (len(left) > 1 and _is_count(left))
    if not values or (first[0] in CORNER and has_row_names):
        return True
    begin = 0 if first[0] == values[0] else 1  # after the name of the rows
    axis, rows = first[begin:], [row[begin:] for row in others]
    has_words = len(values) < len(filled)
    if _is_count(axis):  # as pandas writes
        if not first[0]:
            return True
        if not has_words and len(axis) >= WHOLES:
            notes.append(
                "the first line, 0, 1, 2, ..., was taken for the names of the columns; "
                "header=False reads it as data"
            )
            return True
    is_axis, are_whole = _is_sorted(values, numbers), _are_whole(values)
    if are_whole and has_words:
        is_alone = axis == values and not (rows and _are_whole(rows[0]))
        if is_axis and is_alone and len(axis) > 1:
            return True
    else:
        is_like = _are_whole if are_whole else partial(_is_sorted, numbers=numbers)
        least = WHOLES if are_whole else DECIMALS
        if not is_axis or len(axis) < least or not rows or any(map(is_like, rows)):
            return False
    raise ValueError(
        f"{source}: the first line ({', '.join(first[:4])}, ...) may be names of "
        "columns or data; pass header=True or header=False"
    )


def _is_count(words: list[str]) -> bool:
    return words == list(map(str, range(len(words))))


def _are_whole(words: Sequence[str]) -> bool:
    return all(map(WHOLE.fullmatch, words))


def _is_sorted(words: Sequence[str], numbers: Numbers) -> bool:
    values = [numbers.one(word) for word in words if numbers.is_number(word)]
    steps = np.diff([value for value in values if value == value])
    return bool((steps > 0).all() or (steps < 0).all())
