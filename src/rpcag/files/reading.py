"""Read a table from any file the command knows."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from rpcag.files import arrays, delimited
from rpcag.files.columns import to_table
from rpcag.files.decomposition import is_result
from rpcag.files.delimited import read_delimited
from rpcag.files.images import read_images
from rpcag.files.numbers import normal
from rpcag.files.parquet import read_parquet
from rpcag.files.table import Reading, Table


def _from_columns(read: Callable) -> Callable[[Path, Reading], Table]:
    def reader(path: Path, reading: Reading) -> Table:
        if reading.variable is not None:
            raise ValueError(f"--variable is for files of arrays, not for {path}")
        if reading.transpose and reading.labels is not None:
            raise ValueError(
                "--labels names a column, one class per row; with --transpose rows "
                "are features"
            )
        table = to_table(read(path, reading), reading, str(path))
        if reading.transpose:
            return replace(
                table,
                X=np.ascontiguousarray(table.X.T),
                samples=table.features,
                features=table.samples,
            )
        return table

    return reader


READERS: dict[str, Callable[[Path, Reading], Table]] = {
    **dict.fromkeys(delimited.SUFFIXES, _from_columns(read_delimited)),
    **dict.fromkeys((".parquet", ".pq"), _from_columns(read_parquet)),
    **dict.fromkeys(arrays.SUFFIXES, arrays.read_arrays),
}


def read_table(path: Path | str, reading: Reading | None = None) -> Table:
    """Samples in rows from a file of numbers, or from a folder of images.

    Parameters
    ----------
    path : path
        .csv, .tsv, .txt, .parquet, .npy, .npz, .mat, .h5, or a folder of images.
    reading : Reading, optional
        How, where the file does not tell.
    """
    path, reading = Path(path), reading or Reading()
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there")
    if is_result(path):
        raise ValueError(
            f"{path} is a decomposition already; rpcag explore shows it, rpcag cluster "
            "groups its samples"
        )
    if path.is_dir():
        reader: Callable[[Path, Reading], Table] = read_images
    else:
        suffix = path.suffix.lower()
        if suffix not in READERS:
            raise ValueError(
                f"{path}: no reader for {suffix or 'a file without a suffix'}; known "
                f"are {', '.join(READERS)} and folders of images"
            )
        if path.stat().st_size == 0:
            raise ValueError(f"{path} is empty")
        reader = READERS[suffix]
    return _finish(reader(path, reading), reading, path)


def _finish(table: Table, reading: Reading, path: Path) -> Table:
    """What holds for all formats: values that mean missing, infinities, images."""
    X = without_marks(table.X, reading.missing)
    check_values(path, X, table.samples, table.features)
    notes = list(table.notes)
    notes += note_on_empty(X, 0, "feature", table.features)
    notes += note_on_empty(X, 1, "sample", table.samples)
    shape = table.image_shape
    if reading.shape is not None and path.is_file():
        if min(reading.shape) < 1 or math.prod(reading.shape) != X.shape[1]:
            raise ValueError(
                f"--shape {'x'.join(map(str, reading.shape))} does not fit the "
                f"{X.shape[1]} features of {path}"
            )
        shape = reading.shape
    return replace(table, X=X, image_shape=shape, notes=notes)


def without_marks(X: np.ndarray, missing: Iterable[str]) -> np.ndarray:
    """X with NaN for numbers that stand for a missing value, such as -999."""
    marks = {normal(word) for word in missing}
    values = [float(mark) for mark in marks if _is_float(mark)]
    if any(np.isinf(values)):
        values += [np.inf, -np.inf]
    if values and np.isin(X, values).any():
        return np.where(np.isin(X, values), np.nan, X)
    return X


def check_values(
    source: object, X: np.ndarray, samples: Sequence[object], features: Sequence[str]
) -> None:
    """Refuse infinite values, and a table without any value."""
    if np.isinf(X).any():
        i, j = np.argwhere(np.isinf(X))[0]
        raise ValueError(
            f"{source} has infinite values, the first in sample {samples[i]!r}, "
            f"feature {features[j]!r}; --missing inf reads them as missing"
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


def _is_float(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
