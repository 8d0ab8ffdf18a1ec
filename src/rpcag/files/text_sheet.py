"""Text tables that are written again to the byte, but for changed cells."""

import gzip
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Literal

import numpy as np

from rpcag.files.content import Content
from rpcag.files.delimited import MARKS, UTF_8, Layout, read_with_layout
from rpcag.files.memory import check_fits
from rpcag.files.number_style import NumberStyle
from rpcag.files.readable import readable
from rpcag.files.sheet import Found, Sheet, make_sheet
from rpcag.files.spans import locate
from rpcag.files.table import Reading

GZIP = b"\x1f\x8b"
BOM = b"\xef\xbb\xbf"
BINARY = {b"PAR1": "Parquet", b"PK\x03\x04": "Excel"}
STYLED = 500  # numbers that tell how a column is written
BLOCK = 1 << 22
CELL = re.compile(r'(\s*)("?)(.*?)("?)(\s*)', re.DOTALL)
ENDIAN = {"utf-16": ("utf-16-le", "utf-16-be"), "utf-32": ("utf-32-le", "utf-32-be")}


def read_text_sheet(
    content: Content, reading: Reading, time: str | Literal[False] | None = None
) -> Sheet:
    """A table from the bytes of a text file, perhaps compressed by gzip."""
    content = _unpacked(content)
    for mark, kind in BINARY.items():
        if content.data.startswith(mark):
            raise ValueError(f"{content} is not text but {kind}; name it as a file")
    check_fits(4 * len(content.data), str(content))
    columns, layout = read_with_layout(content, reading)
    if not layout.delimiter.isascii():
        raise ValueError(
            f"--delimiter must be an ASCII character, got {layout.delimiter!r}"
        )
    named = zip(columns.features, columns.numbers.T, strict=True)
    found = Found(
        content.name,
        layout.names,
        len(columns.numbers) or len(next(iter(columns.texts.values()), [])),
        numbers=dict(named),
        texts=columns.texts,
        fixed=dict.fromkeys(reading.unread, "kept"),
        index=columns.index,
        notes=columns.notes,
        guess=columns.guess,
        doubles=layout.doubles,
    )
    format = TextFormat(content, layout, found.n)
    for name, x in found.numbers.items():
        if format.is_truth(layout.names.index(name), x):
            found.fixed[name] = "boolean"
    decimal = layout.numbers.decimal
    return make_sheet(
        found, format, missing=reading.missing, decimal=decimal, time=time
    )


def read_bytes(path: Path) -> Content:
    return Content(str(path), path.read_bytes())


def _unpacked(content: Content) -> Content:
    if not content.data.startswith(GZIP):
        return content
    parts, size = [], 0
    with (
        readable(Path(content.name), "gzip"),
        content.open("rb") as packed,
        gzip.open(packed) as file,
    ):
        while part := file.read(BLOCK):
            parts.append(part)
            size += len(part)
            check_fits(len(part) + size, content.name)
    return Content(content.name, b"".join(parts))


class TextFormat:
    """Changes fields in the bytes of a text file."""

    def __init__(self, content: Content, layout: Layout, rows: int) -> None:
        self.name, self.layout, self.rows = content.name, layout, rows
        self.mark, self.codec = _mark(content.data, layout.encoding)
        # Delimiters and line breaks are single bytes in UTF-8 and in Windows-1252.
        self.inner = "utf-8" if layout.encoding != "cp1252" else "cp1252"
        self.data = content.data[len(self.mark) :]
        if self.codec != self.inner:
            self.data = self.data.decode(self.codec).encode(self.inner)
        self._styles: dict[int, tuple[NumberStyle, bool]] = {}

    @cached_property
    def spans(self) -> tuple[np.ndarray, np.ndarray]:
        try:
            return locate(self.data, self.layout, self.rows)
        except ValueError as error:
            raise ValueError(f"{self.name}: {error}") from None

    def words(self, rows: np.ndarray, columns: np.ndarray) -> list[str]:
        return [_unquoted(raw) for raw in self._raw(rows, columns)]

    def is_truth(self, column: int, x: np.ndarray) -> bool:
        """Whether values 0 and 1 are written as words."""
        known = np.flatnonzero(np.isfinite(x))
        if not len(known) or not np.isin(x[known], (0, 1)).all():
            return False
        some = known[:1]
        return self.words(some, np.full(1, column))[0].isalpha()

    def formatted(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray
    ) -> tuple[list[str], np.ndarray]:
        styles = {j: self._style(int(j))[0] for j in np.unique(columns).tolist()}
        pairs = zip(columns.tolist(), values.tolist(), strict=True)
        words = [styles[j].write(x) for j, x in pairs]
        return words, np.array(self.layout.numbers.many(words), dtype=float)

    def write(
        self,
        file: IO[bytes],
        rows: np.ndarray,
        columns: np.ndarray,
        after: Sequence[str],
        values: np.ndarray,
    ) -> None:
        file.write(self.mark)
        begin = 0
        parts: list[bytes] = []
        if len(rows):
            starts = self.spans[0][rows, columns].tolist()
            ends = self.spans[1][rows, columns].tolist()
            raws = self._raw(rows, columns)
            places = zip(starts, ends, columns.tolist(), raws, after, strict=True)
            size = 0
            for start, end, j, raw, word in places:
                new = self._field(raw, word, self._style(j)[1]).encode(self.inner)
                parts += (self.data[begin:start], new)
                size += start - begin + len(new)
                begin = end
                if size > BLOCK:
                    file.write(self._encoded(b"".join(parts)))
                    parts, size = [], 0
        file.write(self._encoded(b"".join([*parts, self.data[begin:]])))

    def _encoded(self, part: bytes) -> bytes:
        if self.codec == self.inner:
            return part
        return part.decode(self.inner).encode(self.codec)

    def _raw(self, rows: np.ndarray, columns: np.ndarray) -> list[str]:
        """Fields with their quotes and the blanks around them."""
        if not len(rows):
            return []
        places = zip(
            self.spans[0][rows, columns].tolist(),
            self.spans[1][rows, columns].tolist(),
            strict=True,
        )
        return [self.data[a:b].decode(self.inner) for a, b in places]

    def _style(self, column: int) -> tuple[NumberStyle, bool]:
        """How numbers of the column are written, and whether most are quoted."""
        if column not in self._styles:
            step = max(1, self.rows // (2 * STYLED))
            rows = np.arange(0, self.rows, step)
            raws = self._raw(rows, np.full(len(rows), column))
            words = [(raw, _unquoted(raw)) for raw in raws]
            numbers = self.layout.numbers
            known = [pair for pair in words if not numbers.is_missing(pair[1])]
            known = [pair for pair in known if numbers.is_number(pair[1])]
            style = NumberStyle.learn((word for _, word in known), numbers.decimal)
            quoted = sum(raw.lstrip().startswith('"') for raw, _ in known)
            self._styles[column] = style, 2 * quoted > len(known)
        return self._styles[column]

    def _field(self, raw: str, word: str, is_quoted: bool) -> str:
        """A word in the place of a field, with its quotes and blanks."""
        if not raw:
            before, quote, after = "", "", ""
        elif raw.isspace():
            return (raw[0] + word).rjust(len(raw))
        else:
            found = CELL.fullmatch(raw)
            assert found is not None  # any text matches
            before, quote, _, _, after = found.groups()
        if is_quoted or self.layout.delimiter in word:
            quote = '"'
        return f"{before}{quote}{word}{quote}{after}"


def _mark(data: bytes, encoding: str) -> tuple[bytes, str]:
    """The byte order mark, and the encoding of what follows it."""
    if encoding == UTF_8:
        return (BOM if data.startswith(BOM) else b""), "utf-8"
    if encoding not in ENDIAN:
        return b"", encoding
    mark = next(m for m in MARKS if data.startswith(m))
    little, big = ENDIAN[encoding]
    return mark, little if mark.startswith(b"\xff\xfe") else big


def _unquoted(raw: str) -> str:
    word = raw.strip()
    if len(word) > 1 and word[0] == word[-1] == '"':
        word = word[1:-1].replace('""', '"').strip()
    return word
