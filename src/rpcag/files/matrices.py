"""Read and write a matrix with named rows and columns, in several formats."""

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from rpcag.files.arrays import REAL, load_arrays
from rpcag.files.names import escaped, unique
from rpcag.files.parquet import read_whole
from rpcag.files.readable import need

FORMATS = ("npy", "csv", "tsv", "parquet")
DELIMITERS = {"csv": ",", "tsv": "\t"}
ROW = "sample"  # name of the column of row names


def check_format(format: str) -> None:
    """Refuse a format that is unknown, or whose library is not installed."""
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    if format == "parquet":
        need("pyarrow.parquet")


def write_matrix(
    path: Path, A: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Write A in the format of the suffix; all but .npy have the names."""
    format = path.suffix[1:]
    if format == "npy":
        np.save(path, A)
    elif format in DELIMITERS:
        lines = ([row, *a.tolist()] for row, a in zip(rows, A, strict=True))
        write_rows(path, DELIMITERS[format], [ROW, *columns], lines)
    else:
        pa, parquet = need("pyarrow"), need("pyarrow.parquet")
        arrays = [pa.array(list(rows), pa.string()), *map(pa.array, A.T)]
        names = unique([ROW, *columns])  # else no reader takes the file
        parquet.write_table(pa.Table.from_arrays(arrays, names), path)


def write_rows(
    path: Path, delimiter: str, header: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Write text with a header; names are `escaped`, numbers written by `repr`."""
    options: Any = {"newline": "", "encoding": "utf-8", "errors": "backslashreplace"}
    with path.open("w", **options) as file:
        # With \r\n as terminator, `csv` quotes names that contain either character.
        lines: Any = SimpleNamespace(write=lambda row: file.write(row[:-2] + "\n"))
        writer = csv.writer(lines, delimiter=delimiter, lineterminator="\r\n")
        writer.writerow(escaped(header))
        writer.writerows(map(escaped, rows))


def read_matrix(path: Path) -> np.ndarray:
    """Read the matrix that `write_matrix` wrote."""
    format = path.suffix[1:]
    if format in DELIMITERS:
        with path.open(newline="", encoding="utf-8") as file:
            reader = csv.reader(file, delimiter=DELIMITERS[format])
            width = len(next(reader)) - 1
            rows = [np.array(row[1:], dtype=float) for row in reader]
        return np.array(rows, dtype=float).reshape(len(rows), width)
    if format == "parquet":
        table = read_whole(path)
        columns = [column.to_numpy() for column in table.columns[1:]]
        return np.array(columns).reshape(len(columns), table.num_rows).T.copy()
    A = load_arrays(path)[path.stem]
    if A.ndim != 2 or A.dtype.kind not in REAL:
        raise ValueError(f"it must be a matrix of numbers, got {A.dtype} of {A.shape}")
    return A
