"""Decode a text file and find every cell of its table."""

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from rpcag.files.memory import check_fits
from rpcag.files.numbers import DECIMAL_COMMA, Numbers

# In this order, because commas may be decimal if another character is the delimiter.
DELIMITERS = ("\t", ";", "|", ",")
SPACE = " "  # as a delimiter, any run of blanks
BLANKS = [c for c in range(0x3001) if chr(c).isspace()]  # those of str.split
SAMPLE = 65536  # characters from which the delimiter is guessed
SEPARATOR = re.compile(r'"?sep=([^\w\s"]|[\t ])?"?', re.IGNORECASE)  # line 1 of Excel
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
# Bytes of memory for a byte of text: the text, its codes, and two positions per cell.
EXPANSION = 8


@dataclass(frozen=True, eq=False)
class Cells:
    """The rows of a text, with the start and end of every cell.

    Attributes
    ----------
    text, delimiter : str
    starts, ends : int ndarrays
        Positions of all cells, row by row; quotes and blanks around them included.
    first : int ndarray of length rows + 1
        Index in `starts` of the first cell of each row.
    lines : int ndarray of length rows
        Number of each row's last line in the file, from 1.
    """

    text: str
    delimiter: str
    starts: np.ndarray
    ends: np.ndarray
    first: np.ndarray
    lines: np.ndarray

    def __len__(self) -> int:
        return len(self.lines)

    @property
    def widths(self) -> np.ndarray:
        """Number of cells in each row."""
        return np.diff(self.first)

    def below(self, row: int) -> "Cells":
        """All rows from this one on."""
        begin = self.first[row]
        return Cells(
            self.text,
            self.delimiter,
            self.starts[begin:],
            self.ends[begin:],
            self.first[row:] - begin,
            self.lines[row:],
        )

    def row(self, i: int) -> list[str]:
        return self.words(slice(self.first[i], self.first[i + 1]))

    def rows(self, begin: int, end: int) -> list[str]:
        """The words of some rows, one row after the other."""
        cells = slice(self.first[begin], self.first[min(end, len(self))])
        if cells.start == cells.stop or self.delimiter == SPACE:
            return self.words(cells)
        # Faster than cell by cell, and the same unless there are quotes or blank lines.
        part = self.text[self.starts[cells.start] : self.ends[cells.stop - 1]]
        if '"' not in part:
            part = part.replace("\r\n", "\n").replace("\r", "\n")
            words = part.replace("\n", self.delimiter).split(self.delimiter)
            if len(words) == cells.stop - cells.start:
                return words
        return self.words(cells)

    def column(self, j: int) -> list[str]:
        """The words of a column; all rows have the same width."""
        return self.words(slice(j, None, int(self.first[1])))

    def words(self, cells: slice | np.ndarray) -> list[str]:
        return [unquoted(raw) for raw in self.raw(cells)]

    def raw(self, cells: slice | np.ndarray) -> list[str]:
        """Cells with their quotes and the blanks around them."""
        places = zip(
            self.starts[cells].tolist(), self.ends[cells].tolist(), strict=True
        )
        return [self.text[a:b] for a, b in places]


def decode(data: bytes, name: object) -> tuple[str, bytes, str, list[str]]:
    """The text of a file, its byte order mark, its encoding, and notes.

    Text is UTF-8, or the encoding of the mark. Other text is read as Windows-1252,
    which spreadsheets write and which includes the letters of Latin-1. Almost any bytes
    are valid in it, so a wrong byte in a file with UTF-8 characters is an error.
    """
    check_fits(EXPANSION * len(data), str(name))
    marks = (mark for mark in MARKS if data.startswith(mark))
    mark = next(marks, b"")
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
                f"{name} is marked as {codec[:6].upper()} but damaged ({error.reason});"
                " save it as UTF-8"
            ) from error
        place = len(mark) + error.start
    line, byte = data.count(b"\n", 0, place) + 1, data[place]
    if NOT_WESTERN.search(data):
        raise ValueError(
            f"{name}, line {line}: the byte 0x{byte:02x} is not UTF-8; correct it, or "
            "save the file as UTF-8"
        )
    note = (
        f"line {line} has the byte 0x{byte:02x}, which is not UTF-8: the file was read "
        "as Windows-1252 (Latin-1); if names look wrong, save it as UTF-8"
    )
    return data.decode("cp1252"), b"", "cp1252", [note]


def split(text: str, delimiter: str, name: object) -> Cells:
    """Split a text into rows, without blank lines, and comments at the top.

    A quote opens a cell only at its start, after optional spaces; elsewhere it is an
    ordinary character. A doubled quote inside quotes is one quote.
    """
    codes = _codes(text)
    is_break = (codes == ord("\r")) | (codes == ord("\n"))
    is_line_end = is_break.copy()
    is_line_end[:-1] &= (codes[:-1] != ord("\r")) | (codes[1:] != ord("\n"))
    line_ends = np.flatnonzero(is_line_end)
    if delimiter == SPACE:
        is_blank = np.concatenate([[True], np.isin(codes, BLANKS), [True]])
        edges = np.flatnonzero(is_blank[1:] != is_blank[:-1])
        starts, ends = edges[::2], edges[1::2]
        line = np.searchsorted(line_ends, starts)
        first = np.flatnonzero(np.diff(line, prepend=-1))
        first, lines = np.append(first, len(starts)), line[first] + 1
    else:
        ends = np.flatnonzero(is_break | (codes == ord(delimiter)))
        if '"' in text:
            edges = _quoted(text, delimiter, name)
            ends = ends[np.searchsorted(edges, ends, side="right") % 2 == 0]
        if len(codes) and not is_break[-1]:
            ends = np.append(ends, len(codes))
        starts = np.concatenate([[0], ends[:-1] + 1])[: len(ends)]
        last = np.flatnonzero(np.append(is_break, True)[ends])  # cells that end a row
        first = np.concatenate([[0], last + 1])
        # Of rows with one cell, those without a word: blank lines, and CR of CR LF.
        alone = last[np.diff(first) == 1]
        places = zip(starts[alone].tolist(), ends[alone].tolist(), strict=True)
        blank = alone[[not unquoted(text[a:b]) for a, b in places]]
        rows = ~np.isin(last, blank)
        lines = np.searchsorted(line_ends, ends[last[rows]]) + 1
        first = np.concatenate([[0], np.cumsum(np.diff(first)[rows])])
        starts, ends = np.delete(starts, blank), np.delete(ends, blank)
    return _without_top(Cells(text, delimiter, starts, ends, first, lines))


def guess_delimiter(text: str) -> str:
    """The delimiter that splits most lines into the same number of cells, above one.

    If several split all lines, the one that gives more numbers is used: a semicolon may
    occur in every name of a table with commas.
    """
    lines = text[:SAMPLE].splitlines()
    said = SEPARATOR.fullmatch(lines[0]) if lines else None
    if said and said[1]:
        return said[1]
    lines = [line for line in lines if not line.startswith("#")]
    if len(text) > SAMPLE and len(lines) > 1:
        lines.pop()  # may be cut
    best, most = ",", (0.0, 0.0)
    for delimiter in DELIMITERS:
        fits = _fit(csv.reader(lines, delimiter=delimiter, skipinitialspace=True))
        if fits > most:
            best, most = delimiter, fits
    if most[0] < 1:
        spaced, numeric = _fit(line.split() for line in lines)
        if spaced and (not most[0] or (spaced == 1 and numeric > most[1])):
            return SPACE
    return best


def unquoted(raw: str) -> str:
    """The word in a cell, without blanks around it."""
    word = raw.strip()
    if len(word) > 1 and word[0] == word[-1] == '"':
        word = word[1:-1].replace('""', '"').strip()
    return word


def _codes(text: str) -> np.ndarray:
    try:
        return np.frombuffer(text.encode("latin-1"), np.uint8)
    except UnicodeEncodeError:
        return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _quoted(text: str, delimiter: str, name: object) -> np.ndarray:
    """Edges of all quoted cells: start, end, start, end, ..."""
    mark = re.escape(delimiter)
    pattern = re.compile(
        rf'(?:\A|(?<=[{mark}\r\n])) *"([^"]*(?:""[^"]*)*"(?=[{mark}\r\n]|\Z))?'
    )
    edges: list[int] = []
    for found in pattern.finditer(text):
        if found[1] is None:
            line = len(re.findall(r"\r\n?|\n", text[: found.start()])) + 1
            raise ValueError(
                f"{name} is not a table of text: the cell that begins with a quote in "
                f"line {line} does not end with one; is a quote not closed?"
            )
        edges += found.span()
    return np.array(edges, dtype=np.int64)


def _without_top(cells: Cells) -> Cells:
    """Skip a line 1 that names the delimiter, and comments above the table."""
    top = 0
    if len(cells) and cells.lines[0] == 1:
        top = int(SEPARATOR.fullmatch(cells.delimiter.join(cells.row(0))) is not None)
    while top < len(cells):
        begin = cells.words(slice(cells.first[top], cells.first[top] + 1))[0]
        if not begin.startswith("#") or begin.startswith("#N/A"):
            break
        top += 1
    return cells.below(top) if top else cells


def _fit(rows: Iterable[list[str]]) -> tuple[float, float]:
    """The share of lines with the most common number of cells, and of numbers.

    Both are 0 if that is one cell.
    """
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
