"""Read a table from any file of a supported format."""

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rpcag.files import arrays, excel, parquet, text
from rpcag.files.columns import Columns
from rpcag.files.decomposition import is_result
from rpcag.files.images import read_images
from rpcag.files.names import listed
from rpcag.files.numbers import PLAIN, Numbers, measure
from rpcag.files.table import Reading, Table

STREAM = Path("-")  # standard input or output
GZIP = ".gz"
SUFFIXES = {
    **dict.fromkeys(text.SUFFIXES, "text"),
    ".csv.gz": "text",
    **dict.fromkeys(parquet.SUFFIXES, "parquet"),
    **dict.fromkeys(excel.SUFFIXES, "excel"),
}
TABLES = ("text", "parquet", "excel")
# What takes an option, in words and as kinds of files; other options are for all.
TAKERS = {
    "variable": ("files of arrays", ("arrays",)),
    "color": ("a folder of images", ("images",)),
    "sheet": ("Excel workbooks", ("excel",)),
    "delimiter": ("tables of text", ("text",)),
    "decimal": ("tables of text", ("text",)),
    "header": ("text and Excel workbooks", ("text", "excel")),
    "drop": ("tables with columns", TABLES),
    "labels": ("files", (*TABLES, "arrays")),
    "names": ("files", (*TABLES, "arrays")),
    "transpose": ("files", (*TABLES, "arrays")),
}


def read_table(path: Path | str, reading: Reading | None = None) -> Table:
    """Samples in rows from a file of numbers, or from a folder of images."""
    path, reading = Path(path), reading or Reading()
    if is_result(path):
        raise ValueError(
            f"{path} is a decomposition already; pass the data, or see the result with "
            "rpcag explore"
        )
    kind = _kind_of_input(path, reading)
    if kind == "images":
        table = read_images(path, shape=reading.shape, color=reading.color)
    elif kind == "arrays":
        table = arrays.read_arrays(path, reading)
    else:
        table = to_table(read_columns(path, reading), reading)
    X = without_marks(table.X, reading.missing)
    check_values(path, X, table.samples, table.features)
    notes = list(table.notes)
    notes += note_on_empty(X, 0, "feature", table.features)
    notes += note_on_empty(X, 1, "sample", table.samples)
    shape = table.image_shape
    if reading.shape is not None and path.is_file():
        shape = reading.shape
        if min(shape) < 1 or math.prod(shape) != X.shape[1]:
            raise ValueError(
                f"{shape=} does not fit the {X.shape[1]} features of {path}"
            )
    return replace(table, X=X, image_shape=shape, notes=notes)


def read_columns(path: Path, reading: Reading) -> Columns:
    """The columns of a table of text, Parquet or Excel; "-" is standard input."""
    if path == STREAM and sys.stdin is None:
        raise ValueError("standard input is closed; name a file to read")
    if _kind_of_input(path, reading) == "images":
        raise IsADirectoryError(f"{path} is a folder; name a file with a table")
    kind = kind_of(path)  # refuses arrays
    if path == STREAM:
        return text.read_text("standard input", sys.stdin.buffer.read(), reading)
    if kind == "text":
        return text.read_text(str(path), path.read_bytes(), reading)
    read = excel.read_excel if kind == "excel" else parquet.read_parquet
    return read(path, reading)


def _kind_of_input(path: Path, reading: Reading) -> str:
    """What is in a file or folder; refuse options that it does not take."""
    if path != STREAM and not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    kind, what = "images", f"the folder {path}"
    if not path.is_dir():
        if path != STREAM and path.stat().st_size == 0:
            raise ValueError(f"{path} is empty")
        is_array = path.suffix.lower() in arrays.SUFFIXES
        kind, what = "arrays" if is_array else kind_of(path), str(path)
    for option, (takers, kinds) in TAKERS.items():
        if kind not in kinds and getattr(reading, option) != getattr(Reading, option):
            raise ValueError(f"{option}= is for {takers}, not for {what}")
    return kind


def kind_of(path: Path) -> str:
    """The format of a table, from the name of its file; a stream is text."""
    plain = Path(path.name.lower().removesuffix(GZIP))
    is_packed = plain.name != path.name.lower()
    if path == STREAM or (is_packed and not plain.suffix):
        return "text"
    kind = SUFFIXES.get(plain.suffix)
    if kind is None:
        raise ValueError(
            f"{path}: no reader for {path.suffix or 'a file without a suffix'}; tables "
            f"are {', '.join(SUFFIXES)}"
        )
    if is_packed and kind != "text":
        raise ValueError(f"{path}: only text is read or written compressed")
    return kind


def to_table(columns: Columns, reading: Reading) -> Table:
    """Use numbers as features, and text as labels or names; other text is an error.

    Names are, in this order: the column that the user names, the column that the file
    marks as row names, the first column of text without repeated values.
    """
    source, texts, notes = columns.file.source, dict(columns.texts), [*columns.notes]
    for name in columns.names:
        if not any(name in x for x in (columns.numbers, texts, columns.roles)):
            raise ValueError(
                f"column {name!r} of {source} holds neither numbers nor text; "
                f"drop={name!r} leaves it out"
            )
    labels = None if reading.labels is None else texts.pop(reading.labels)
    names = None if reading.names is None else texts.pop(reading.names)
    marked = None if columns.index is None else texts.pop(columns.index, None)
    names = names or marked
    for name, words in texts.items():
        if names is None and len(set(words)) == len(words):
            names = texts.pop(name)
            word = measure(words)
            if word is not None:
                notes.append(
                    f"column {name!r} is text, such as {word!r}, and names the "
                    f"samples; {PLAIN} to use it as data"
                )
            break
    if texts:
        name = next(iter(texts))
        keep = (
            f"labels={name!r} keeps it as the class of the samples, names={name!r} as "
            f"their names, drop={name!r} leaves it out"
        )
        told = f"column {name!r} of {source} is"
        if len(texts) > 1:
            told = f"columns {listed(list(texts))} of {source} are"
        word = measure(texts[name])
        if word is not None:
            keep += f"; to use {word!r} as data, {PLAIN}"
        raise ValueError(f"{told} text: {keep}")
    if not columns.numbers:
        raise ValueError(f"{source} has no column of numbers{columns.file.guess}")
    features = [name for name in columns.names if name in columns.numbers]
    rounded = [name for name in features if are_identifiers(columns.numbers[name])]
    notes += [
        f"column {name!r} has whole numbers beyond 2^53, which are rounded; if they "
        f"are identifiers, names={name!r} keeps them"
        for name in rounded[:1]
    ]
    X = np.stack([columns.numbers[name] for name in features], axis=1)
    samples = names or [str(i) for i in range(columns.file.n)]
    if not reading.transpose:
        return Table(X, samples, features, labels, notes=notes)
    if labels is not None:
        raise ValueError(
            "labels= names a column; with transpose=True, columns are samples"
        )
    return Table(np.ascontiguousarray(X.T), features, samples, notes=notes)


def are_identifiers(values: np.ndarray) -> bool:
    """Whether whole numbers are so large that floats round them."""
    known = values[np.isfinite(values)]
    largest = np.abs(known).max(initial=0.0)
    return bool(2.0**53 < largest < 1e25 and (known == np.round(known)).all())


def without_marks(X: np.ndarray, missing: Iterable[str]) -> np.ndarray:
    """X with NaN for numbers that stand for a missing value, such as -999."""
    plain = Numbers()
    marks = [plain.one(word) for word in missing if plain.is_number(word)]
    if any(np.isinf(marks)):
        marks += [np.inf, -np.inf]
    if marks and np.isin(X, marks).any():
        return np.where(np.isin(X, marks), np.nan, X)
    return X


def check_values(
    source: object, X: np.ndarray, samples: Sequence[object], features: Sequence[str]
) -> None:
    """Refuse infinite values, and a table without any value."""
    if np.isinf(X).any():
        i, j = np.argwhere(np.isinf(X))[0]
        raise ValueError(
            f"{source} has infinite values, the first in sample {samples[i]!r}, "
            f"feature {features[j]!r}; missing=inf reads them as missing"
        )
    if np.isnan(X).all():
        raise ValueError(f"{source} has no value at all: everything is missing")


def note_on_empty(
    X: np.ndarray, axis: int, what: str, names: Sequence[object]
) -> list[str]:
    """A note if some rows or columns have no value."""
    empty = np.flatnonzero(np.isnan(X).all(axis=axis))
    if not len(empty):
        return []
    have = "s have" if len(empty) > 1 else " has"
    first = names[empty[0]]
    return [f"{len(empty)} {what}{have} no value at all, such as {first!r}"]
