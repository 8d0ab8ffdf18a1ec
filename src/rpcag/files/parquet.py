"""Parquet tables, read by pyarrow and written again with the same schema."""

import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import numpy as np

from rpcag.files.columns import Columns, check_names
from rpcag.files.memory import NAME, check_fits
from rpcag.files.number_style import NumberStyle
from rpcag.files.readable import need, readable
from rpcag.files.table import Reading

SUFFIXES = (".parquet", ".pq")
TEXT = ("string", "large_string", "string_view", "binary", "large_binary")
STYLED = 500  # numbers that tell how many decimals a column has
FLOATS = {"halffloat": np.float16, "float": np.float32}


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
                found.texts[name] = _words(types, column)
            if types.is_timestamp(kind) or types.is_date(kind):
                found.moments[name] = _seconds(column)
    return found


def read_whole(path: Path) -> Any:
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


class ParquetFormat:
    """Changes entries of an Arrow table."""

    def __init__(self, path: Path, table: Any) -> None:
        self.table = table
        parquet = need("pyarrow.parquet")
        with readable(path, "Parquet"), parquet.ParquetFile(path) as file:
            self.schema = file.schema_arrow
            self.options = _options(file)

    def words(self, rows: np.ndarray, columns: np.ndarray) -> list[str]:
        found = np.empty(len(rows), dtype=object)
        for j in np.unique(columns).tolist():
            here = columns == j
            found[here] = self.table.column(j).take(_indices(rows[here])).to_pylist()
        return ["" if word is None else str(word) for word in found]

    def formatted(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray
    ) -> tuple[list[str], np.ndarray]:
        written = values.astype(float)
        words = np.empty(len(rows), dtype=object)
        for j in np.unique(columns).tolist():
            here = columns == j
            written[here] = self._rounded(j, values[here])
            words[here] = self._shown(j, written[here])
        return words.tolist(), written

    def write(
        self,
        file: IO[bytes],
        rows: np.ndarray,
        columns: np.ndarray,
        after: Sequence[str],
        values: np.ndarray,
    ) -> None:
        arrow, parquet = need("pyarrow"), need("pyarrow.parquet")
        compute = need("pyarrow.compute")
        new = []
        for j, field in enumerate(self.schema):
            column = self.table.column(j)
            here = columns == j
            if here.any():
                mask = np.zeros(len(column), dtype=bool)
                mask[rows[here]] = True
                whole = column.combine_chunks()
                if isinstance(whole, arrow.ChunkedArray):
                    whole = arrow.concat_arrays(whole.chunks)
                entries = self._entries(j, values[here])
                column = compute.replace_with_mask(whole, arrow.array(mask), entries)
            elif column.type != field.type:  # text that was read as a dictionary
                check_fits(_decoded(arrow, compute, column), f"column {field.name!r}")
                column = column.cast(field.type)
            new.append(column)
        table = arrow.table(new, schema=self.schema)
        parquet.write_table(table, file, **self.options)

    def _rounded(self, j: int, values: np.ndarray) -> np.ndarray:
        """To what the type holds, and to as many decimals as the column has."""
        arrow = need("pyarrow")
        kind = self.schema.field(j).type
        if arrow.types.is_integer(kind):
            limits = np.iinfo(kind.to_pandas_dtype())
            return np.clip(np.round(values), float(limits.min), float(limits.max))
        if arrow.types.is_decimal(kind):
            return np.round(values, kind.scale)
        column = self.table.column(j)
        rows = np.arange(0, len(column), max(1, len(column) // STYLED))
        known = column.take(_indices(rows)).to_numpy()
        narrow = FLOATS.get(str(kind), np.float64)
        some = np.asarray(known, dtype=narrow)
        words = [np.format_float_positional(x) for x in some[np.isfinite(some)]]
        style = NumberStyle.learn(words)
        return np.array([float(style.write(x)) for x in values.tolist()])

    def _shown(self, j: int, values: np.ndarray) -> list[str]:
        kind = str(self.schema.field(j).type)
        if kind in FLOATS:  # as few digits as tell it from its neighbors
            narrow = values.astype(FLOATS[kind])
            return [np.format_float_positional(x, trim="0") for x in narrow]
        return [str(word) for word in self._entries(j, values).to_pylist()]

    def _entries(self, j: int, values: np.ndarray) -> Any:
        arrow = need("pyarrow")
        kind = self.schema.field(j).type
        if arrow.types.is_integer(kind):
            limits = np.iinfo(kind.to_pandas_dtype())
            # In double precision the limit of 64 bits is one too many.
            exact = [min(max(int(x), limits.min), limits.max) for x in values.tolist()]
            return arrow.array(exact, type=kind)
        if arrow.types.is_decimal(kind):
            decimals = [Decimal(f"{x:.{max(kind.scale, 0)}f}") for x in values.tolist()]
            return arrow.array(decimals, type=kind)
        narrow = FLOATS.get(str(kind), np.float64)
        return arrow.array(values.astype(narrow), type=kind)


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


def _words(types: Any, column: Any) -> list[str]:
    if not types.is_dictionary(column.type):
        return [_word(value) for value in column.to_pylist()]
    found: list[str] = []
    for chunk in column.chunks:
        words = [_word(value) for value in chunk.dictionary.to_pylist()]
        found += ["" if i is None else words[i] for i in chunk.indices.to_pylist()]
    return found


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


def _indices(rows: np.ndarray) -> Any:
    return need("pyarrow").array(rows)


def _decoded(arrow: Any, compute: Any, column: Any) -> float:
    """Bytes of a dictionary-encoded column when every entry is written out."""
    total = 0.0
    for chunk in column.chunks:
        if arrow.types.is_dictionary(chunk.type):
            lengths = compute.binary_length(chunk.dictionary)
            total += compute.sum(compute.take(lengths, chunk.indices)).as_py() or 0
    return total


def _options(file: Any) -> dict[str, Any]:
    """Compression, dictionaries and size of the row groups, as the file has them."""
    metadata = file.metadata
    if not metadata.num_row_groups:
        return {}
    group = metadata.row_group(0)
    chunks = [group.column(k) for k in range(group.num_columns)]
    packed = {c.path_in_schema: c.compression for c in chunks}
    known = {"UNCOMPRESSED": "NONE"}
    return {
        "compression": {k: known.get(v, v) for k, v in packed.items()},
        "use_dictionary": [c.path_in_schema for c in chunks if c.has_dictionary_page],
        "row_group_size": group.num_rows,
    }
