"""Columns of a Parquet file, read by pyarrow; null is missing."""

import json
from pathlib import Path

import numpy as np

from rpcag.files.columns import Columns, check_chosen
from rpcag.files.extras import need
from rpcag.files.memory import NAME, check_fits
from rpcag.files.names import unique
from rpcag.files.readable import readable
from rpcag.files.table import Reading

TEXT = ("string", "large_string", "string_view", "binary", "large_binary")


def read_parquet(path: Path, reading: Reading) -> Columns:
    arrow = need("pyarrow")
    table = read_whole(path)
    if table.num_rows == 0:
        raise ValueError(f"{path} has no rows")
    names = unique(table.column_names)
    index = index_of(table, names)
    check_chosen(str(path), names, reading)
    asked = {reading.labels, reading.names, index}
    numbers, features, texts = [], [], {}
    for name, column in zip(names, table.columns, strict=True):
        if name in reading.drop:
            continue
        if name in asked or not is_number(arrow.types, column.type):
            texts[name] = text_of(arrow, column, name, path)
        else:
            numbers.append(column)
            features.append(name)
    X = np.empty((table.num_rows, len(features)))
    with readable(path, "Parquet"):
        for k, column in enumerate(numbers):
            values = column.cast(arrow.float64(), safe=False)
            X[:, k] = values.to_numpy(zero_copy_only=False)
    return Columns(X, features, texts, index)


def read_whole(path: Path):
    """The table of a Parquet file; an error if it does not fit into memory.

    Text stays dictionary-encoded as in the file, where a repeated word is stored once.
    Decoded, a few bytes could become any number of long words.
    """
    parquet = need("pyarrow.parquet")
    with readable(path, "Parquet"):
        with parquet.ParquetFile(path) as file:
            schema, rows = file.schema_arrow, file.metadata.num_rows
            stored = sum(
                file.metadata.row_group(k).total_byte_size
                for k in range(file.metadata.num_row_groups)
            )
        if rows < 0 or stored < 0:
            raise ValueError("it claims a negative size")
        # The Arrow table, its copy in double precision, and a name for every row.
        check_fits(
            max(stored, 8 * rows * len(schema)) + 8 * rows * len(schema) + NAME * rows,
            f"{path}, {rows} rows of {len(schema)} columns,",
        )
        words = [field.name for field in schema if str(field.type) in TEXT]
        with parquet.ParquetFile(path, read_dictionary=words) as file:
            return file.read()


def index_of(table, names: list[str]) -> str | None:
    """The index of a pandas frame, if it was written as a column."""
    try:
        metadata = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
        columns = [name for name in metadata["index_columns"] if name in names]
    except (ValueError, TypeError, KeyError, RecursionError):  # no pandas, or damaged
        return None
    return columns[0] if len(columns) == 1 else None


def is_number(types, kind) -> bool:
    return (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )


def text_of(arrow, column, name: str, path: Path) -> list[str]:
    if arrow.types.is_nested(column.type):
        raise ValueError(
            f"column {name!r} of {path} holds {column.type}, not numbers; "
            f"--drop {name!r} leaves it out"
        )
    with readable(path, "Parquet"):
        if not arrow.types.is_dictionary(column.type):
            return [_word(value) for value in column.to_pylist()]
        found: list[str] = []
        for chunk in column.chunks:
            words = [_word(value) for value in chunk.dictionary.to_pylist()]
            found += ["" if i is None else words[i] for i in chunk.indices.to_pylist()]
        return found


def _word(value) -> str:
    if isinstance(value, bytes):
        return value.decode()
    return "" if value is None else str(value)
