"""Named columns of numbers and of text, and which of them are what."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from rpcag.files.numbers import HEXADECIMAL, Numbers, is_measure
from rpcag.files.table import Reading, Table

SHOWN = 8
# Rows that tell whether text is numbers with units and the like, and the share of them
# that has to be. If it were less, names such as "5 mm" beside "steel" would be refused.
ROWS, SHARE = 1000, 0.9


@dataclass(frozen=True)
class Columns:
    """What a text or Parquet file has.

    `index` is the column of `texts` that the format itself marks as names of rows.
    `guess` ends an error that may come from a wrong guess.
    """

    numbers: np.ndarray  # (n, k)
    features: list[str]  # k
    texts: dict[str, list[str]]
    index: str | None = None
    notes: list[str] = field(default_factory=list)
    decimal: str = "."
    guess: str = ""


def listed(names: Sequence[str]) -> str:
    """Some names, for an error."""
    shown = ", ".join(repr(name) for name in names[:SHOWN])
    rest = len(names) - SHOWN
    return shown + (f" and {rest} more" if rest > 0 else "")


def check_chosen(source: str, names: Sequence[str], reading: Reading) -> None:
    """Refuse options that name columns which are not there, or one column twice."""
    chosen = [("--labels", reading.labels), ("--names", reading.names)]
    chosen += [("--drop", name) for name in reading.drop]
    chosen += [("--keep", name) for name in reading.keep]
    given: dict[str, str] = {}
    for option, name in chosen:
        if name is None:
            continue
        if name not in names:
            raise ValueError(
                f"{option} {name}: {source} has no such column; it has {listed(names)}"
            )
        if given.setdefault(name, option) != option:
            raise ValueError(f"{given[name]} and {option} both name {name!r}")


def to_table(columns: Columns, reading: Reading, source: str) -> Table:
    """Numbers are features; text is labels or names, or an error.

    Names are, in this order: what --names says, what the file itself marks as names of
    rows, the first column of text that has no value twice and is not numbers with
    units and the like, which would be data that is lost.
    """
    texts = dict(columns.texts)
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
            word = next(w for w in words if is_measure(w) and not numbers.is_number(w))
            raise ValueError(
                f"column {name!r} of {source} has numbers that are written as text, "
                f"such as {word!r}: write plain numbers to use it; --labels {name!r} "
                f"keeps it as the class of the samples, --names {name!r} as their "
                f"names, --drop {name!r} leaves it out"
            )
    if texts:
        plural = "s" if len(texts) > 1 else ""
        are = "are" if len(texts) > 1 else "is"
        name = next(iter(texts))
        raise ValueError(
            f"column{plural} {listed(list(texts))} of {source} {are} text: "
            f"--labels {name!r} keeps it as the class of the samples, --names "
            f"{name!r} as their names, --drop {name!r} leaves it out"
        )
    n, p = columns.numbers.shape
    if p == 0:
        raise ValueError(f"{source} has no column of numbers{columns.guess}")
    return Table(
        columns.numbers,
        names or [str(i) for i in range(n)],
        columns.features,
        labels,
        notes=columns.notes,
    )


def are_measures(words: Sequence[str], numbers: Numbers) -> bool:
    """Whether text is numbers with units, signs or thousands separators.

    Mostly plain numbers are identifiers that the format itself holds as text.
    """
    filled = [word for word in words[:ROWS] if not numbers.is_missing(word)]
    plain = sum(map(numbers.is_number, filled))
    return 2 * plain < len(filled) and (
        sum(map(is_measure, filled)) >= SHARE * len(filled)
    )


def are_hexadecimal(words: Sequence[str], numbers: Numbers) -> bool:
    """Whether text is numbers such as 0x1F."""
    filled = [word for word in words[:ROWS] if not numbers.is_missing(word)]
    return bool(filled) and all(HEXADECIMAL.fullmatch(word) for word in filled)


def are_identifiers(values: np.ndarray) -> bool:
    """Whether whole numbers are so large that no float holds all of them."""
    known = values[np.isfinite(values)]
    largest = np.abs(known).max(initial=0.0)
    return bool(2.0**53 < largest < 1e25 and (known == np.round(known)).all())
