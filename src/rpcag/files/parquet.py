"""Parquet tables, read by pyarrow and written again with the same schema."""

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from rpcag.files.columns import Columns, Edits, File, columns_of
from rpcag.files.numbers import Numbers, number_style, sampled
from rpcag.files.readable import need, readable
from rpcag.files.table import Reading

SUFFIXES = (".parquet", ".pq")
NUMBERS = ("integer", "floating", "boolean", "decimal", "null")  # kinds of columns


def read_parquet(path: Path, reading: Reading) -> Columns:
    types = need("pyarrow").types
    table = read_whole(path)
    if table.num_rows == 0:
        raise ValueError(f"{path} has no rows")
    file = ParquetFile(path, table)
    file.n, file.rule = table.num_rows, Numbers(missing=reading.missing)
    found = columns_of(file, table.column_names, reading)
    tests = [getattr(types, f"is_{kind}") for kind in NUMBERS]
    found.index = _index_of(table, found.names)
    with readable(path, "Parquet"):
        for name, column in zip(found.names, table.columns, strict=True):
            kind = column.type
            if name in found.roles or types.is_nested(kind):
                continue
            is_name = name in (reading.labels, reading.names, found.index)
            if is_name or not any(test(kind) for test in tests):
                found.texts[name] = _words(column)
                continue
            values = column.cast("float64", safe=False)
            found.numbers[name] = np.array(values.to_numpy(), dtype=float)
            if types.is_boolean(kind) or types.is_null(kind):
                found.roles[name] = "boolean" if types.is_boolean(kind) else "text"
    return found


def _index_of(table: Any, names: list[str]) -> str | None:
    """The index of a pandas frame, if it was written as a column."""
    try:
        stored = table.schema.pandas_metadata["index_columns"]
        index = [name for name in stored if name in names]
    except (ValueError, TypeError, KeyError, RecursionError):  # no pandas, or damaged
        return None
    return index[0] if len(index) == 1 else None


def read_whole(path: Path) -> Any:
    """The table of a Parquet file."""
    parquet = need("pyarrow.parquet")
    with readable(path, "Parquet"), parquet.ParquetFile(path) as file:
        return file.read()


def _words(column: Any) -> list[str]:
    """Text as it is, and timestamps in ISO 8601."""
    return [word or "" for word in column.cast("string").to_pylist()]


class ParquetFile(File):
    """Changes entries of an Arrow table."""

    def __init__(self, path: Path, table: Any) -> None:
        self.source, self.path, self.table = str(path), path, table

    def words(self, rows: np.ndarray, columns: np.ndarray) -> list[str]:
        found = np.empty(len(rows), dtype=object)
        for j in np.unique(columns).tolist():
            here = columns == j
            found[here] = _words(self.table.column(j).take(rows[here]))
        return found.tolist()

    def style(self, column: int) -> Callable[[float], str]:
        """As many decimals as the type and the numbers of the column have."""
        arrow, entries = need("pyarrow"), self.table.column(column)
        kind = entries.type
        if arrow.types.is_integer(kind):
            limits = np.iinfo(kind.to_pandas_dtype())
            return lambda x: str(min(max(round(x), limits.min), limits.max))
        if arrow.types.is_decimal(kind):
            return lambda x: f"{x:.{max(kind.scale, 0)}f}"
        known = entries.take([*sampled(len(entries))]).drop_null().to_numpy()
        known = known[np.isfinite(known)]
        write = number_style(map(np.format_float_positional, known))
        return lambda x: str(float(write(x)))

    def write(self, file: IO[bytes], edits: Edits) -> None:
        arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
        replace = need("pyarrow.compute").replace_with_mask
        new, after = list(self.table.columns), np.array(edits.after, dtype=object)
        for j in np.unique(edits.columns).tolist():
            here, kind = edits.columns == j, new[j].type
            mask = np.zeros(self.table.num_rows, dtype=bool)
            mask[edits.rows[here]] = True
            entries = arrow.array(after[here]).cast(kind)
            whole = arrow.concat_arrays(new[j].chunks)
            new[j] = replace(whole, arrow.array(mask), entries)
        # Compression, dictionaries and size of the row groups are those of the file.
        with parquet.ParquetFile(self.path) as old:
            group = old.metadata.row_group(0)
        chunks = [group.column(k) for k in range(group.num_columns)]
        packed = {c.path_in_schema: c.compression for c in chunks}
        plain = {"UNCOMPRESSED": "NONE"}  # the writer has another name for it
        parquet.write_table(
            arrow.table(new, schema=self.table.schema),
            file,
            compression={name: plain.get(c, c) for name, c in packed.items()},
            use_dictionary=[c.path_in_schema for c in chunks if c.has_dictionary_page],
            row_group_size=group.num_rows,
        )
