"""Columns of a Parquet file, read by pyarrow; null is missing."""

import json
from pathlib import Path

import numpy as np

from rpcag.files.columns import Columns, check_chosen
from rpcag.files.extras import need
from rpcag.files.table import Reading


def read_parquet(path: Path, reading: Reading) -> Columns:
    parquet = need("pyarrow.parquet")
    arrow = need("pyarrow")
    try:
        table = parquet.read_table(path)
    except arrow.ArrowException as error:
        raise ValueError(f"{path} cannot be read as Parquet: {error}") from error
    if table.num_rows == 0:
        raise ValueError(f"{path} has no rows")
    names = table.column_names
    index = _index(table, names)
    check_chosen(str(path), names, reading)
    asked = {reading.labels, reading.names, index}
    numbers, features, texts = [], [], {}
    for name in names:
        if name in reading.drop:
            continue
        column = table[name]
        if name in asked or not _is_number(arrow.types, column.type):
            texts[name] = _text(arrow, column, name, path)
        else:
            values = column.cast(arrow.float64(), safe=False)
            numbers.append(values.to_numpy(zero_copy_only=False))
            features.append(name)
    X = np.array(numbers, dtype=float).reshape(len(features), table.num_rows).T
    return Columns(np.ascontiguousarray(X), features, texts, index)


def _index(table, names: list[str]) -> str | None:
    """The index of a pandas frame, if it was written as a column."""
    metadata = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
    columns = [name for name in metadata.get("index_columns", []) if name in names]
    return columns[0] if len(columns) == 1 else None


def _is_number(types, kind) -> bool:
    return (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )


def _text(arrow, column, name: str, path: Path) -> list[str]:
    if arrow.types.is_nested(column.type):
        raise ValueError(
            f"column {name!r} of {path} holds {column.type}, not numbers; "
            f"--drop {name!r} leaves it out"
        )
    return ["" if value is None else str(value) for value in column.to_pylist()]
