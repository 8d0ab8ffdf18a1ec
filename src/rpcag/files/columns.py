"""Named columns of a file, and which of them are features, names and labels."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Literal, Protocol

import numpy as np

from rpcag.files.names import unique
from rpcag.files.numbers import Numbers, is_measure
from rpcag.files.table import Reading, Table

Role = Literal[
    "number", "time", "index", "identifier", "boolean", "text", "formula", "kept"
]
SHOWN = 8
# Rows that are checked for numbers with units and the like, and the share of them that
# must be such numbers. With a smaller share, names such as "5 mm" next to "steel" would
# be refused.
ROWS, SHARE = 1000, 0.9


class Format(Protocol):
    """Writes a file again with some cells changed."""

    def formatted(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray
    ) -> tuple[list[str], list[str], np.ndarray]:
        """Cells as they are in the file, as they will be, and the numbers then."""

    def write(self, file: IO[bytes], edits: "Edits") -> None:
        """Write the file with new cells."""


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
    values : ndarray
        The numbers that `after` says, which may be rounded.
    """

    rows: np.ndarray
    features: np.ndarray
    columns: np.ndarray
    before: list[str]
    after: list[str]
    values: np.ndarray


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
    format : Format
    numbers : dict
        Columns of numbers, NaN where missing.
    texts : dict
        Columns of words.
    moments : dict
        Seconds of those columns of `texts` that are dates or times.
    nested : dict
        Types of columns that hold several values in a cell, which are not read.
    roles : dict
        Roles of some columns, from the format or the user.
    index : str or None
        The column of `texts` that the format itself marks as names of rows.
    doubles : list of str
        Names that several columns of the file have; all but one got a number.
    guess : str
        Ends an error that may come from a wrong guess.
    """

    source: str
    names: list[str]
    n: int
    format: Format
    numbers: dict[str, np.ndarray] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    moments: dict[str, np.ndarray] = field(default_factory=dict)
    nested: dict[str, str] = field(default_factory=dict)
    roles: dict[str, Role] = field(default_factory=dict)
    index: str | None = None
    doubles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    decimal: str = "."
    guess: str = ""


def listed(names: Sequence[str]) -> str:
    """Some names, for an error."""
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    rest = len(names) - SHOWN
    return shown + (f" and {rest} more" if rest > 0 else "")


def check_names(
    source: object, names: Sequence[str], reading: Reading, notes: list[str]
) -> tuple[list[str], list[str]]:
    """Names without doubles, and the doubles; refuse options that name no column."""
    doubles = sorted(name for name, times in Counter(names).items() if times > 1)
    if doubles:
        for option in (reading.labels, reading.names, *reading.unread):
            if option in doubles:
                raise ValueError(f"{source} has several columns called {option!r}")
        notes.append(
            "some columns have the same name, such as "
            f"{doubles[0]!r}: a number was added"
        )
    found = unique(names)
    chosen = [("labels", reading.labels), ("names", reading.names)]
    chosen += [("drop", name) for name in reading.drop]
    chosen += [("keep", name) for name in reading.keep]
    given: dict[str, str] = {}
    known = set(found)
    for option, name in chosen:
        if name is None:
            continue
        if name not in known:
            raise ValueError(
                f"{option}={name!r}: {source} has no such column; it has "
                f"{listed(found)}"
            )
        if given.setdefault(name, option) != option:
            raise ValueError(f"{given[name]} and {option} both name {name!r}")
    return found, doubles


def to_table(columns: Columns, reading: Reading) -> Table:
    """Use numbers as features, and text as labels or names; other text is an error.

    Names are, in this order: the column that the user names, the column that the file
    marks as row names, the first column of text without repeated values. Columns of
    numbers with units and the like are not names, because data would be lost.
    """
    source, texts = columns.source, dict(columns.texts)
    for name, kind in columns.nested.items():
        raise ValueError(
            f"column {name!r} of {source} holds {kind}, not numbers; "
            f"drop={name!r} leaves it out"
        )
    numbers = Numbers(columns.decimal, reading.missing)
    labels = texts.pop(reading.labels) if reading.labels is not None else None
    names = None
    if reading.names is not None:
        names = texts.pop(reading.names)
    if columns.index is not None and columns.index in texts:
        marked = texts.pop(columns.index)
        names = marked if names is None else names
    if names is None:
        single = [
            name
            for name, words in texts.items()
            if len(set(words)) == len(words) and not are_measures(words, numbers)
        ]
        names = texts.pop(single[0]) if single else None
    for name, words in texts.items():
        if are_measures(words, numbers):
            raise ValueError(
                f"column {name!r} of {source} has numbers that are written as text, "
                f"such as {first_measure(words, numbers)!r}: write plain numbers to "
                f"use it; labels={name!r} keeps it as the class of the samples, "
                f"names={name!r} as their names, drop={name!r} leaves it out"
            )
    if texts:
        plural = "s" if len(texts) > 1 else ""
        are = "are" if len(texts) > 1 else "is"
        name = next(iter(texts))
        raise ValueError(
            f"column{plural} {listed(list(texts))} of {source} {are} text: "
            f"labels={name!r} keeps it as the class of the samples, names={name!r} as "
            f"their names, drop={name!r} leaves it out"
        )
    features = [k for k in columns.names if k in columns.numbers and k != columns.index]
    if not features:
        raise ValueError(f"{source} has no column of numbers{columns.guess}")
    X = np.empty((columns.n, len(features)))
    for j, name in enumerate(features):
        X[:, j] = columns.numbers[name]
    samples = names or [str(i) for i in range(columns.n)]
    return Table(X, samples, features, labels, notes=columns.notes)


def are_measures(words: Sequence[str], numbers: Numbers) -> bool:
    """Whether text is numbers with units, signs or thousands separators.

    Mostly plain numbers are identifiers that the format itself holds as text.
    """
    filled = [word for word in words[:ROWS] if not numbers.is_missing(word)]
    plain = sum(map(numbers.is_number, filled))
    return 2 * plain < len(filled) and (
        sum(map(is_measure, filled)) >= SHARE * len(filled)
    )


def first_measure(words: Sequence[str], numbers: Numbers) -> str:
    return next(w for w in words if is_measure(w) and not numbers.is_number(w))


def are_identifiers(values: np.ndarray) -> bool:
    """Whether whole numbers are so large that floats round them."""
    known = values[np.isfinite(values)]
    largest = np.abs(known).max(initial=0.0)
    return bool(2.0**53 < largest < 1e25 and (known == np.round(known)).all())
