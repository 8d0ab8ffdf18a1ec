"""Parquet tables, read by pyarrow and written again with the same schema."""

import json
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import numpy as np

from rpcag.files.columns import Columns, Edits, check_names
from rpcag.files.memory import NAME, check_fits
from rpcag.files.number_style import NumberStyle
from rpcag.files.readable import need, readable
from rpcag.files.table import Reading

SUFFIXES = (".parquet", ".pq")
STYLED = 500  # numbers that determine the decimals of a column


def read_parquet(path: Path, reading: Reading) -> Columns:
    types = need("pyarrow").types
    table = read_whole(path)
    if table.num_rows == 0:
        raise ValueError(f"{path} has no rows")
    notes: list[str] = []
    names, doubles = check_names(path, table.column_names, reading, notes)
    found = Columns(
        str(path),
        names,
        table.num_rows,
        ParquetFormat(path, table),
        roles=dict.fromkeys(reading.unread, "kept"),
        index=_index_of(table, names),
        doubles=doubles,
        notes=notes,
    )
    with readable(path, "Parquet"):
        for name, column in zip(names, table.columns, strict=True):
            kind = column.type
            if name in found.roles:
                continue
            is_number = _is_number(types, kind)
            if is_number and name not in (reading.labels, reading.names):
                found.numbers[name] = _numbers(column)
                if types.is_boolean(kind) or types.is_null(kind):
                    found.roles[name] = "boolean" if types.is_boolean(kind) else "text"
            if types.is_nested(kind):
                found.nested[name] = str(kind)
            elif name not in found.numbers or name == found.index:
                found.texts[name] = [_word(value) for value in column.to_pylist()]
            if types.is_timestamp(kind) or types.is_date(kind):
                found.moments[name] = _seconds(column)
    return found


def read_whole(path: Path) -> Any:
    """The table of a Parquet file; an error if it does not fit into memory."""
    parquet = need("pyarrow.parquet")
    with readable(path, "Parquet"), parquet.ParquetFile(path) as file:
        rows, columns = file.metadata.num_rows, len(file.schema_arrow)
        if rows < 0:
            raise ValueError("it claims a negative size")
        # The Arrow table, its copy in double precision, and a name for every row.
        check_fits(
            2 * 8 * rows * columns + NAME * rows,
            f"{path}, {rows} rows of {columns} columns,",
        )
        return file.read()


class ParquetFormat:
    """Changes entries of an Arrow table."""

    def __init__(self, path: Path, table: Any) -> None:
        self.path, self.table = path, table

    def formatted(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray
    ) -> tuple[list[str], list[str], np.ndarray]:
        written = values.astype(float)
        before, after = np.empty((2, len(rows)), dtype=object)
        for j in np.unique(columns).tolist():
            here = columns == j
            old = self.table.column(j).take(rows[here]).to_pylist()
            before[here] = [_word(entry) for entry in old]
            entries = self._entries(j, values[here])
            written[here] = np.array(entries.to_pylist(), dtype=float)
            if need("pyarrow").types.is_floating(entries.type):
                floats = entries.to_numpy()
                after[here] = [np.format_float_positional(x, trim="0") for x in floats]
            else:
                after[here] = [str(entry) for entry in entries.to_pylist()]
        return before.tolist(), after.tolist(), written

    def write(self, file: IO[bytes], edits: Edits) -> None:
        arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
        new = []
        for j, column in enumerate(self.table.columns):
            here = edits.columns == j
            if here.any():
                mask = np.zeros(len(column), dtype=bool)
                mask[edits.rows[here]] = True
                entries = self._entries(j, edits.values[here])
                whole = arrow.concat_arrays(column.chunks)
                replace = need("pyarrow.compute").replace_with_mask
                column = replace(whole, arrow.array(mask), entries)
            new.append(column)
        table = arrow.table(new, schema=self.table.schema)
        parquet.write_table(table, file, **_options(self.path))

    def _entries(self, j: int, values: np.ndarray) -> Any:
        """Values in the type of the column, with as many decimals as it has."""
        arrow = need("pyarrow")
        column = self.table.column(j)
        kind = column.type
        if arrow.types.is_integer(kind):
            limits = np.iinfo(kind.to_pandas_dtype())
            new = [min(max(round(x), limits.min), limits.max) for x in values.tolist()]
            return arrow.array(new, type=kind)
        if arrow.types.is_decimal(kind):
            rounded = [round(x, kind.scale) for x in values.tolist()]
            decimals = [Decimal(f"{x:.{max(kind.scale, 0)}f}") for x in rounded]
            return arrow.array(decimals, type=kind)
        known = column.take(np.arange(0, len(column), max(1, len(column) // STYLED)))
        some = known.drop_null().to_numpy()
        words = [np.format_float_positional(x) for x in some[np.isfinite(some)]]
        style = NumberStyle.learn(words)
        new = [float(style.write(x)) for x in values.tolist()]
        return arrow.array(np.array(new, dtype=some.dtype), type=kind)


def _index_of(table: Any, names: list[str]) -> str | None:
    """The index of a pandas frame, if it was written as a column."""
    try:
        metadata = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}"))
        columns = [name for name in metadata["index_columns"] if name in names]
    except (ValueError, TypeError, KeyError, RecursionError):  # no pandas, or damaged
        return None
    return columns[0] if len(columns) == 1 else None


def _is_number(types: Any, kind: Any) -> bool:
    return (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
        or types.is_null(kind)
    )


def _word(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    return "" if value is None else str(value)


def _numbers(column: Any) -> np.ndarray:
    values = column.cast(need("pyarrow").float64(), safe=False)
    return np.array(values.to_numpy(), dtype=float)


def _seconds(column: Any) -> np.ndarray:
    arrow = need("pyarrow")
    zone = getattr(column.type, "tz", None)
    moments = column.cast(arrow.timestamp("us", tz=zone), safe=False)
    return _numbers(moments.cast(arrow.int64())) / 1e6


def _options(path: Path) -> dict[str, Any]:
    """Compression, dictionaries and size of the row groups, as the file has them."""
    with need("pyarrow.parquet").ParquetFile(path) as file:
        group = file.metadata.row_group(0)
    chunks = [group.column(k) for k in range(group.num_columns)]
    packed = {c.path_in_schema: c.compression for c in chunks}
    known = {"UNCOMPRESSED": "NONE"}
    return {
        "compression": {k: known.get(v, v) for k, v in packed.items()},
        "use_dictionary": [c.path_in_schema for c in chunks if c.has_dictionary_page],
        "row_group_size": group.num_rows,
    }
