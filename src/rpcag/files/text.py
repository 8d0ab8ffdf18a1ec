"""Tables of text: CSV, TSV and similar formats.

If the file is ambiguous (is the first line a header?), the user has to decide. The
position of every cell is kept, so that unchanged cells are written back byte for byte.
"""

import gzip
import re
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import IO

import numpy as np

from rpcag.files.cells import SPACE, Cells, decode, guess_delimiter, split, unquoted
from rpcag.files.columns import Columns, Edits, are_identifiers, check_names
from rpcag.files.header import CORNER, are_words, header_of
from rpcag.files.memory import check_fits
from rpcag.files.names import original
from rpcag.files.number_style import NumberStyle
from rpcag.files.numbers import DECIMAL_COMMA, Numbers, is_grouped, remedy_for
from rpcag.files.readable import readable
from rpcag.files.table import Reading

SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".dat")
DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "space": SPACE}
BINARY = {b"PAR1": "Parquet", b"PK\x03\x04": "Excel"}
GZIP = b"\x1f\x8b"
BLOCK = 1 << 22  # bytes that are unpacked or written at a time
CELLS = 500_000  # that are held as words at a time
HEAD = 1000  # lines that determine which columns are text; fewer if they are long
HEAD_CELLS, FEWEST = 200_000, 50
STYLED = 500  # numbers that determine the format of a column
PLAIN = re.compile(r"[+\u2212-]?\d*\.\d*([eE][+-]?\d+)?")
SMALL = re.compile(r"[+\u2212-]?\d{1,3}")
GROUPED = re.compile(r"[+\u2212-]?[1-9]\d{0,2}[.,]\d{3}")
CELL = re.compile(r'(\s*)("?)(.*?)("?)(\s*)', re.DOTALL)


def read_text(source: str, data: bytes, reading: Reading) -> Columns:
    """The columns of a text file, perhaps compressed by gzip.

    Columns that are mostly words, or that an option names, are text.
    """
    data = _unpacked(source, data)
    for mark, kind in BINARY.items():
        if data.startswith(mark):
            raise ValueError(f"{source} is not text but {kind}; name it as a file")
    text, mark, codec, notes = decode(data, source)
    del data
    delimiter, guess = _delimiter(text, reading)
    cells = split(text, delimiter, source)
    if not len(cells):
        raise ValueError(f"{source} is empty")
    most = min(HEAD, max(FEWEST, HEAD_CELLS // int(cells.widths[0])))
    head = [cells.row(i) for i in range(min(most + 1, len(cells)))]
    decimal = _decimal(reading, head[1:] or head, delimiter)
    numbers = Numbers(decimal, reading.missing)
    names = header_of(source, head, reading, numbers, notes)
    index = None
    if names is None:
        names = [str(j) for j in range(len(head[0]))]
    else:
        cells, head = cells.below(1), head[1:]
        if not len(cells):
            raise ValueError(f"{source} has a header but no rows")
        names = _complete([original(name) for name in names], head)
        if names[0] in CORNER:
            names[0] = index = "row names"
    ends_empty = names[-1] == ""
    names = [name or f"column {j + 1}" for j, name in enumerate(names)]
    names, doubles = check_names(source, names, reading, notes)
    _check_widths(source, cells, len(names), guess)
    numbers = Numbers(_decimal(reading, head, delimiter), reading.missing)
    found = Columns(
        source,
        names,
        len(cells),
        TextFormat(cells, numbers, mark, codec),
        roles=dict.fromkeys(reading.unread, "kept"),
        index=index,
        doubles=doubles,
        notes=notes,
        decimal=numbers.decimal,
        guess=guess,
    )
    asked = {reading.labels, reading.names, index}
    _read_cells(found, cells, head, numbers, asked, ends_empty=ends_empty)
    if reading.decimal is None:
        _check_thousands(found, cells, numbers)
    return found


def _unpacked(source: str, data: bytes) -> bytes:
    if not data.startswith(GZIP):
        return data
    parts, size = [], 0
    with readable(Path(source), "gzip"), gzip.open(BytesIO(data)) as file:
        while part := file.read(BLOCK):
            parts.append(part)
            size += len(part)
            check_fits(len(part) + size, source)
    return b"".join(parts)


def _delimiter(text: str, reading: Reading) -> tuple[str, str]:
    """The delimiter, and what errors say about a guess."""
    if reading.delimiter is None:
        found = guess_delimiter(text)
        shown = {"\t": "tab", SPACE: "space"}.get(found, repr(found))
        return found, f"; {shown} was taken for the delimiter; delimiter= sets another"
    found = DELIMITER_NAMES.get(reading.delimiter, reading.delimiter)
    if len(found) != 1 or found in '\r\n"':
        raise ValueError(
            f"delimiter must be one character, tab or space, got {reading.delimiter!r}"
        )
    return found, ""


def _decimal(reading: Reading, rows: list[list[str]], delimiter: str) -> str:
    """A comma, if a number has one and it is not the delimiter."""
    if reading.decimal is None:
        commas = delimiter != "," and any(
            "," in word and DECIMAL_COMMA.fullmatch(word)
            for row in rows
            for word in row
        )
        return "," if commas else "."
    if reading.decimal not in (".", ","):
        raise ValueError(f"decimal must be . or , got {reading.decimal!r}")
    return reading.decimal


def _complete(names: list[str], head: list[list[str]]) -> list[str]:
    """Add a name if the header has one less than all lines below."""
    if {len(row) for row in head} == {len(names) + 1}:
        at_end = all(not row[-1] for row in head)
        return [*names, ""] if at_end else ["", *names]
    return names


def _check_widths(source: str, cells: Cells, width: int, guess: str) -> None:
    wrong = np.flatnonzero(cells.widths != width)
    if len(wrong):
        count = int(cells.widths[wrong[0]])
        fields = "1 field" if count == 1 else f"{count} fields"
        raise ValueError(
            f"{source}, line {cells.lines[wrong[0]]} has {fields} but the first line "
            f"has {width}{guess}"
        )


def _read_cells(
    found: Columns,
    cells: Cells,
    head: list[list[str]],
    numbers: Numbers,
    asked: set[str | None],
    *,
    ends_empty: bool,
) -> None:
    """Read all columns; those that are mostly words in `head`, or `asked`, are text."""
    text: dict[int, list[str]] = {}
    rules: dict[int, Numbers] = {}  # how to read each column of numbers
    for j, some in enumerate(zip(*head, strict=True)):
        name, rule = found.names[j], numbers.for_column(some)
        if name in asked or (name not in found.roles and _is_text(some, rule)):
            text[j] = []
        elif name not in found.roles:
            rules[j] = rule
    # The column behind a delimiter that ends every line.
    last = len(found.names) - 1
    if ends_empty and not any(row[last] for row in head):
        rules.pop(last, None)
    X = np.empty((found.n, len(rules)), order="F")
    width = len(found.names)
    size = max(1, CELLS // width)
    for begin in range(0, found.n, size):
        words = cells.rows(begin, begin + size)
        for j, column in text.items():
            column += [original(word.strip()) for word in words[j::width]]
        for k, (j, rule) in enumerate(rules.items()):
            try:
                X[begin : begin + size, k] = rule.many(words[j::width])
            except ValueError:
                _blame(found, cells, j, rule)
    found.texts = {found.names[j]: column for j, column in text.items()}
    for x, (j, rule) in zip(X.T, rules.items(), strict=True):
        found.numbers[found.names[j]] = x
        known = x[np.isfinite(x)]
        if rule.truth and len(known):
            if not np.isin(known, (0, 1)).all():  # numbers below true and false
                _blame(found, cells, j, numbers.for_column("2"))
            found.roles[found.names[j]] = "boolean"


def _blame(found: Columns, cells: Cells, j: int, numbers: Numbers) -> None:
    """Raise an error for the first word of a column that is not a number."""
    for i, word in enumerate(cells.column(j)):
        if numbers.is_number(word):
            continue
        if DECIMAL_COMMA.fullmatch(word) and numbers.decimal == ".":
            remedy = "decimal=',' reads decimal commas"
            if is_grouped(word):
                remedy += "; if ',' divides thousands, write numbers without it"
        elif numbers.decimal == "," and PLAIN.fullmatch(word):
            remedy = "others have decimal commas; decimal= says which it is"
        else:
            remedy = remedy_for(word, found.names[j])
        place = _place(found, cells, i, j)
        raise ValueError(f"{place}: {word!r} is not a number; {remedy}")


def _place(found: Columns, cells: Cells, i: int, j: int) -> str:
    return f"{found.source}, line {cells.lines[i]}, column {found.names[j]!r}"


def _check_thousands(found: Columns, cells: Cells, numbers: Numbers) -> None:
    """Refuse a number such as 1.234 whose mark may divide thousands as well.

    It may if the column has whole numbers of up to three digits besides, and if no
    number in the file can only be a decimal, such as 0.123 or 1.5.
    """
    mark, suspects = numbers.decimal, []
    for name, x in found.numbers.items():
        known = np.abs(x[np.isfinite(x)])
        less, more = known[known < 1000], known[known >= 1000]
        is_fine = np.abs(1000 * less - np.round(1000 * less)) > 1e-6
        if (is_fine | ((less > 0) & (less < 1))).any() or (more % 1 != 0).any():
            return  # four decimals or more, 0.123, 1234.5
        if len(less) == len(known) > 1:
            suspects.append(found.names.index(name))
    doubts = []
    for j in suspects:
        words = cells.column(j)
        others = (w for w in words if mark in w and not GROUPED.fullmatch(w))
        if not all(map(numbers.is_missing, others)):
            return  # another number of decimals
        small = [word for word in words if SMALL.fullmatch(word)]
        grouped = [i for i, word in enumerate(words) if GROUPED.fullmatch(word)]
        if small and grouped:
            doubts.append((grouped[0], j, words[grouped[0]], small[0]))
    for i, j, word, whole in doubts:
        raise ValueError(
            f"{_place(found, cells, i, j)}: {word!r} may be a decimal or "
            f"{word.replace(mark, '')}, beside {whole!r}; decimal={mark!r} reads "
            f"decimals; if {mark!r} divides thousands, write the numbers without it"
        )


def _is_text(words: Sequence[str], numbers: Numbers) -> bool:
    try:
        numbers.many(words)
    except ValueError:
        return are_words(words, numbers)
    return False


def note_on_rounded(columns: Columns) -> list[str]:
    """A note on whole numbers that floats round, which are probably identifiers."""
    for name, values in columns.numbers.items():
        if are_identifiers(values):
            return [
                f"column {name!r} has whole numbers beyond 2^53, which are rounded; if "
                f"they are identifiers, names={name!r} keeps them"
            ]
    return []


class TextFormat:
    """Changes cells of a text; all other bytes stay the same."""

    def __init__(self, cells: Cells, numbers: Numbers, mark: bytes, codec: str) -> None:
        self.cells, self.numbers, self.mark, self.codec = cells, numbers, mark, codec
        self.width = int(cells.first[1])
        self._styles: dict[int, tuple[NumberStyle, bool]] = {}

    @property
    def delimiter(self) -> str:
        return self.cells.delimiter

    def formatted(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray
    ) -> tuple[list[str], list[str], np.ndarray]:
        before = self.cells.words(rows * self.width + columns)
        pairs = zip(columns.tolist(), values.tolist(), strict=True)
        after = [self._style(j)[0].write(x) for j, x in pairs]
        return before, after, np.array(self.numbers.many(after), dtype=float)

    def write(self, file: IO[bytes], edits: Edits) -> None:
        file.write(self.mark)
        text, at = self.cells.text, edits.rows * self.width + edits.columns
        begin = 0
        parts: list[str] = []
        places = zip(
            self.cells.starts[at].tolist(),
            self.cells.ends[at].tolist(),
            edits.columns.tolist(),
            edits.after,
            strict=True,
        )
        for start, end, j, word in places:
            new = self._field(text[start:end], word, self._style(j)[1])
            parts += (text[begin:start], new)
            begin = end
            if len(parts) > BLOCK // 100:
                file.write("".join(parts).encode(self.codec))
                parts = []
        file.write("".join(parts).encode(self.codec))
        file.write(text[begin:].encode(self.codec))

    def _style(self, column: int) -> tuple[NumberStyle, bool]:
        """Format of the numbers of the column, and whether most are quoted."""
        if column not in self._styles:
            step = max(1, len(self.cells) // (2 * STYLED))
            raws = self.cells.raw(slice(column, None, step * self.width))
            words = [(raw, unquoted(raw)) for raw in raws]
            known = [
                (raw, word)
                for raw, word in words
                if self.numbers.is_number(word) and not self.numbers.is_missing(word)
            ]
            style = NumberStyle.learn((word for _, word in known), self.numbers.decimal)
            quoted = sum(raw.lstrip().startswith('"') for raw, _ in known)
            self._styles[column] = style, 2 * quoted > len(known)
        return self._styles[column]

    def _field(self, raw: str, word: str, is_quoted: bool) -> str:
        """A word in the place of a cell, with its quotes and blanks."""
        if raw and raw.isspace():
            return (raw[0] + word).rjust(len(raw))
        found = CELL.fullmatch(raw)
        assert found is not None  # any text matches
        before, quote, _, _, after = found.groups()
        if is_quoted or self.delimiter in word:
            quote = '"'
        return f"{before}{quote}{word}{quote}{after}"
