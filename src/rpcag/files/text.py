"""Tables of text; the lines are kept, so that unchanged cells stay as they are."""

import csv
import gzip
import io
import itertools
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np

from rpcag.files.columns import Columns, Edits, File, columns_of_words
from rpcag.files.numbers import DECIMAL_COMMA, GROUPED, Numbers, sampled
from rpcag.files.readable import readable
from rpcag.files.table import Reading

SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".dat")
# In this order, because commas may be decimal if another character is the delimiter.
DELIMITERS = ("\t", ";", "|", ",")
SPACE = " "  # as a delimiter, any run of blanks
NAMED = {"tab": "\t", "\\t": "\t", "space": SPACE}
SAMPLE = 65536  # characters from which the delimiter is guessed
SEPARATOR = re.compile(r'"?sep=([^\w\s"]|[\t ])?"?\s*', re.IGNORECASE)  # of Excel
LINES = 1 << 15  # lines that are written at a time
LOOKED = 100  # words of a column that are searched for thousands separators
GZIP = b"\x1f\x8b"
BINARY = {b"PAR1": "Parquet", b"PK\x03\x04": "Excel"}
# Byte order marks. Longer ones come first: that of UTF-32 starts with that of UTF-16.
MARKS = {
    b"\xff\xfe\0\0": "utf-32-le",
    b"\0\0\xfe\xff": "utf-32-be",
    b"\xff\xfe": "utf-16-le",
    b"\xfe\xff": "utf-16-be",
    b"\xef\xbb\xbf": "utf-8",
}
# A UTF-8 character beyond ASCII, or a byte that Windows-1252 does not define.
NOT_WESTERN = re.compile(rb"[\xc2-\xf4][\x80-\xbf]|[\x81\x8d\x8f\x90\x9d]")


def read_text(source: str, data: bytes, reading: Reading) -> Columns:
    """The columns of a text file, perhaps compressed by gzip."""
    if reading.decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be . or , got {reading.decimal!r}")
    file = TextFile(source, data, reading.delimiter)
    decimal = reading.decimal or ("." if file.delimiter == "," else None)
    found = columns_of_words(file, reading, decimal)
    found.notes[:0] = file.notes
    if reading.decimal is None:
        _check_thousands(found, file)
    return found


class TextFile(File):
    """The rows of a text file, without blank lines, and comments at the top.

    Iterate once, for the words of each row. `begins` and `ends` have the lines of the
    rows up to there. When cells change, all other bytes stay the same.
    """

    def __init__(self, source: str, data: bytes, delimiter: str | None = None) -> None:
        self.source = source
        text, self.mark, self.codec, self.notes = decode(data, source)
        self.lines = io.StringIO(text, newline="").readlines()
        self.begins, self.ends = array("q"), array("q")
        if delimiter is None:
            delimiter = _guess_delimiter(self.lines)
            shown = {"\t": "tab", SPACE: "space"}.get(delimiter, repr(delimiter))
            self.guess = (
                f"; {shown} was taken for the delimiter; delimiter= sets another"
            )
        self.delimiter = NAMED.get(delimiter, delimiter)
        if len(self.delimiter) != 1 or self.delimiter in '\r\n"':
            raise ValueError(
                f"delimiter must be one character, tab or space, got {delimiter!r}"
            )

    def __iter__(self) -> Iterator[list[str]]:
        above = itertools.takewhile(_is_above, enumerate(self.lines))
        begin = end = top = len(list(above))
        rows = _split(self.lines[top:], self.delimiter, strict=True)
        try:
            for row in rows:
                end = top + rows.line_num if self.delimiter != SPACE else end + 1
                if len(row) > 1 or (row and row[0].strip()):
                    self.begins.append(begin)
                    self.ends.append(end)
                    yield row
                begin = end
        except csv.Error as error:
            raise ValueError(
                f"{self.source}, line {begin + 1}: the row cannot be split into cells "
                f"({error}); is a quote not closed?"
            ) from error

    def place(self, i: int, j: int) -> str:
        return f"line {self.ends[i]}"

    def cells(self, i: int) -> list[str]:
        return list(map(unquoted, self.split(self.above + i)[0]))

    def split(self, i: int) -> tuple[list[str], list[str]]:
        """The cells of a row as they are in the file, and what is behind each."""
        row = "".join(self.lines[self.begins[i] : self.ends[i]])
        if self.delimiter == SPACE:
            parts = re.split(r"(?<=\S)(\s+)", row)
            return parts[::2], [*parts[1::2], ""]
        body, mark = row.rstrip("\r\n"), re.escape(self.delimiter)
        if '"' in body:
            cell = rf' *"[^"]*(?:""[^"]*)*"|[^{mark}]*'
            cells = re.findall(rf"(?:\A|{mark})({cell})", body)
        else:
            cells = body.split(self.delimiter)
        return cells, [*[self.delimiter] * (len(cells) - 1), row[len(body) :]]

    def write(self, file: IO[bytes], edits: Edits) -> None:
        known = [self.split(self.above + i)[0] for i in sampled(self.n)]
        quoted = {}  # columns whose words are mostly quoted
        for j in set(edits.columns.tolist()):
            filled = [row[j] for row in known if row[j].strip()]
            quoted[j] = 2 * sum('"' in raw for raw in filled) > len(filled)
        lines = self.lines.copy()
        places = edits.rows.tolist(), edits.columns.tolist()
        cells = zip(*places, edits.after, strict=True)
        for i, changed in itertools.groupby(cells, itemgetter(0)):
            raws, behind = self.split(self.above + i)
            for _, j, word in changed:
                old = raws[j].strip()
                if raws[j] and not old:  # blanks
                    raws[j] = (raws[j][0] + word).rjust(len(raws[j]))
                    continue
                if quoted[j] or self.delimiter in word or old.startswith('"'):
                    word = f'"{word}"'
                raws[j] = raws[j].replace(old, word, 1) if old else word
            begin, end = self.begins[self.above + i], self.ends[self.above + i]
            row = "".join(itertools.chain(*zip(raws, behind, strict=True)))
            lines[begin:end] = [row, *[""] * (end - begin - 1)]
        file.write(self.mark)
        for k in range(0, len(lines), LINES):
            file.write("".join(lines[k : k + LINES]).encode(self.codec))


def _is_above(numbered: tuple[int, str]) -> bool:
    """Whether a line above the table is blank, a comment, or names the delimiter."""
    k, line = numbered
    is_comment = line.startswith("#") and not line.startswith("#N/A")
    is_separator = k == 0 and SEPARATOR.fullmatch(line) is not None
    return is_comment or is_separator or not line.strip()


def _split(lines: list[str], delimiter: str, *, strict: bool = False) -> Any:
    if delimiter == SPACE:
        return map(str.split, lines)
    return csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=strict)


def _guess_delimiter(lines: list[str]) -> str:
    """The delimiter that splits most lines into the same number of cells, above one.

    Among equals, the one that gives more numbers: a semicolon may occur in every name.
    """
    said = SEPARATOR.fullmatch(lines[0]) if lines else None
    if said and said[1]:
        return said[1]
    sizes = itertools.accumulate(map(len, lines), initial=0)
    sample = [
        line[:SAMPLE]
        for line, before in zip(lines, sizes, strict=False)
        if before < SAMPLE and not line.startswith("#")
    ]
    fits = {mark: _fit(_split(sample, mark)) for mark in (*DELIMITERS, SPACE)}
    best = max(DELIMITERS, key=lambda mark: fits[mark])
    share, numeric = fits[best]
    spaced, numeric_spaced = fits[SPACE]
    if spaced == 1 and share < 1 and numeric_spaced > numeric:
        return SPACE
    return best if share else SPACE if spaced else ","


def _fit(rows: Iterable[list[str]]) -> tuple[float, float]:
    """The share of lines with the most common number of cells above one; of numbers."""
    filled = [row for row in rows if row]
    counts = Counter(map(len, filled))
    width, times = counts.most_common(1)[0] if counts else (1, 0)
    if width == 1:
        # A table of one column, or lines of unequal length below a title.
        counts.pop(1, None)
        times = max(counts.values(), default=0)
    if not times:
        return 0.0, 0.0
    is_number = Numbers().is_number
    words = list(itertools.chain.from_iterable(filled))
    numeric = sum(is_number(w) or DECIMAL_COMMA.fullmatch(w) is not None for w in words)
    return times / len(filled), numeric / len(words)


def _check_thousands(found: Columns, file: TextFile) -> None:
    """Refuse a column of 950 and 1.020 whose mark may divide thousands.

    Read as decimals, the large values would look like wrong ones. A file with any
    number that can only be a decimal, such as 0.5 or 12.25, has no such column.
    """
    mark, suspects = file.rule.decimal, dict[str, str]()
    for j, name in enumerate(found.names):
        x = np.abs(found.numbers.get(name, np.empty(0)))
        x = np.where(np.isfinite(x), x, np.nan)
        is_part = x % 1 > 0
        parts = x[is_part]
        is_long = abs(1000 * parts - np.round(1000 * parts)) > 1e-3
        if (is_long | (parts < 1) | (parts >= 1000)).any():
            return
        # Only these may be written with fewer than three decimals.
        is_short = is_part & (abs(100 * x - np.round(100 * x)) < 1e-3)
        if not all(map(GROUPED.fullmatch, _words(file, j, is_short))):
            return
        if not is_part.any() or np.nanmax(x) >= 1000:
            continue
        if any(mark not in word for word in _words(file, j, x % 1 == 0)):
            suspects[name] = next(_words(file, j, is_part))
    for name, word in suspects.items():
        raise ValueError(
            f"column {name!r} of {file.source}: {word!r} may be a decimal or "
            f"{word.replace(mark, '')}; decimal={mark!r} reads decimals; if {mark!r} "
            "divides thousands, write the numbers without it"
        )


def _words(file: TextFile, column: int, where: np.ndarray) -> Iterator[str]:
    """Words of a column in the first of these rows."""
    rows = np.flatnonzero(where)[:LOOKED].tolist()
    return (file.cells(i)[column] for i in rows)


def unquoted(raw: str) -> str:
    """The word in a cell, without blanks around it."""
    word = raw.strip()
    if len(word) > 1 and word[0] == word[-1] == '"':
        word = word[1:-1].replace('""', '"').strip()
    return word


def decode(data: bytes, name: str) -> tuple[str, bytes, str, list[str]]:
    """The text of a file, its byte order mark, its encoding, and notes.

    The file may be compressed by gzip. Text is UTF-8, or the encoding of the mark.
    Other text is read as Windows-1252, which spreadsheets write. Almost any bytes are
    valid in it, so a wrong byte in a file with UTF-8 characters is an error.
    """
    if data.startswith(GZIP):
        with readable(Path(name), "gzip"):
            data = gzip.decompress(data)
    for start, kind in BINARY.items():
        if data.startswith(start):
            raise ValueError(f"{name} is not text but {kind}; name it as a file")
    mark = next((mark for mark in MARKS if data.startswith(mark)), b"")
    codec = MARKS.get(mark, "utf-8")
    if codec == "utf-8" and b"\0" in data[:4096]:
        raise ValueError(
            f"{name} is not a text file, or is UTF-16 without a byte order mark; save "
            "it as UTF-8"
        )
    try:
        return data[len(mark) :].decode(codec), mark, codec, []
    except UnicodeDecodeError as error:
        if codec != "utf-8":
            raise ValueError(
                f"{name} is marked as {codec[:6].upper()} but damaged; save it as UTF-8"
            ) from error
        place = len(mark) + error.start
    line, byte = data.count(b"\n", 0, place) + 1, f"byte 0x{data[place]:02x}"
    if NOT_WESTERN.search(data):
        raise ValueError(
            f"{name}, line {line}: the {byte} is not UTF-8; correct it, or save the "
            "file as UTF-8"
        )
    note = (
        f"line {line} has the {byte}, which is not UTF-8: the file was read as "
        "Windows-1252 (Latin-1); if names look wrong, save it as UTF-8"
    )
    return data.decode("cp1252"), b"", "cp1252", [note]
