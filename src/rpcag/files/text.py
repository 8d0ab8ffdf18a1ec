"""Tables of text; the lines are kept, so that unchanged cells stay as they are."""

import csv
import io
import itertools
import re
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import IO, Any

import numpy as np

from rpcag.files.columns import Columns, Edits, columns_of_words
from rpcag.files.encoding import decode
from rpcag.files.numbers import DECIMAL_COMMA, Numbers, number_style, sampled
from rpcag.files.table import Reading

SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".dat")
# In this order, because commas may be decimal if another character is the delimiter.
DELIMITERS = ("\t", ";", "|", ",")
SPACE = " "  # as a delimiter, any run of blanks
NAMED = {"tab": "\t", "\\t": "\t", "space": SPACE}
SAMPLE = 65536  # characters from which the delimiter is guessed
SEPARATOR = re.compile(r'"?sep=([^\w\s"]|[\t ])?"?\s*', re.IGNORECASE)  # of Excel
LINES = 1 << 15  # lines that are written at a time
SMALL = re.compile(r"[+\u2212-]?\d{1,3}")
GROUPED = re.compile(r"[+\u2212-]?[1-9]\d{0,2}[.,]\d{3}")


def read_text(source: str, data: bytes, reading: Reading) -> Columns:
    """The columns of a text file, perhaps compressed by gzip."""
    if reading.decimal not in (None, ".", ","):
        raise ValueError(f"decimal must be . or , got {reading.decimal!r}")
    text, mark, codec, notes = decode(data, source)
    rows = TextRows(source, text, reading.delimiter)
    found = columns_of_words(
        *(source, rows, reading, lambda i, _: f"line {rows.ends[i]}"),
        decimal=reading.decimal or ("." if rows.delimiter == "," else None),
        guess=rows.guess,
    )
    found.notes[:0] = notes
    rows.begins, rows.ends = rows.begins[-found.n :], rows.ends[-found.n :]
    if reading.decimal is None:
        _check_thousands(found, rows)
    found.format = TextFormat(rows, found.rule, mark, codec)
    return found


class TextRows:
    """The rows of a text, without blank lines, and comments at the top.

    Iterate once, for the words of each row. `begins` and `ends` have the lines of the
    rows up to there.
    """

    def __init__(self, source: object, text: str, delimiter: str | None = None) -> None:
        self.source = source
        self.lines = io.StringIO(text, newline="").readlines()
        self.has_quotes = '"' in text
        self.begins: Sequence[int] = range(0)
        self.ends: Sequence[int] = range(0)
        self.guess = ""  # what errors say about a delimiter that was guessed
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
        lines = self.lines[top:]
        rows = _split(lines, self.delimiter, strict=True)
        longest = max(map(len, lines), default=0)
        is_plain = not self.has_quotes and longest < csv.field_size_limit()
        if is_plain and all(map(str.strip, lines)):  # faster: a row per line
            self.begins = range(top, len(self.lines))
            self.ends = range(top + 1, len(self.lines) + 1)
            yield from rows
            return
        self.begins, self.ends = begins, ends = array("q"), array("q")
        try:
            for row in rows:
                end = top + rows.line_num if self.delimiter != SPACE else end + 1
                if len(row) > 1 or (row and row[0].strip()):
                    begins.append(begin)
                    ends.append(end)
                    yield row
                begin = end
        except csv.Error as error:
            raise ValueError(
                f"{self.source}, line {begin + 1}: the row cannot be split into cells "
                f"({error}); is a quote not closed?"
            ) from error

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


def _check_thousands(found: Columns, rows: TextRows) -> None:
    """Refuse a number such as 1.234 whose mark may divide thousands as well.

    It may if the column has whole numbers of up to three digits besides, and if no
    number in the file can only be a decimal, such as 0.123 or 1.5.
    """
    mark, suspects = found.rule.decimal, []
    for j, name in enumerate(found.names):
        x = found.numbers.get(name, np.empty(0))
        known = np.abs(x[np.isfinite(x)])
        fraction = known[known % 1 != 0]
        is_fine = np.round(fraction, 3) != fraction
        if (is_fine | (fraction < 1) | (fraction > 1000)).any():
            return  # four decimals or more, 0.123, 1234.5
        if len(known) > 1 and (known < 1000).all():
            suspects.append(j)
    grouped: dict[int, tuple[int, str]] = {}
    small: dict[int, str] = {}
    for i in range(found.n) if suspects else ():
        raws, _ = rows.split(i)
        for j in suspects:
            word = unquoted(raws[j])
            if GROUPED.fullmatch(word):
                grouped.setdefault(j, (i, word))
            elif SMALL.fullmatch(word):
                small.setdefault(j, word)
            elif mark in word and not found.rule.is_missing(word):
                return  # another number of decimals
    for j in grouped.keys() & small.keys():
        i, word = grouped[j]
        raise ValueError(
            f"{found.source}, line {rows.ends[i]}, column {found.names[j]!r}: {word!r} "
            f"may be a decimal or {word.replace(mark, '')}, beside {small[j]!r}; "
            f"decimal={mark!r} reads decimals; if {mark!r} divides thousands, write "
            "the numbers without it"
        )


@dataclass
class TextFormat:
    """Changes cells of a text; all other bytes stay the same."""

    rows: TextRows
    numbers: Numbers
    mark: bytes  # of the byte order
    codec: str

    def words(self, rows: np.ndarray, columns: np.ndarray) -> list[str]:
        found = []
        places = zip(rows.tolist(), columns.tolist(), strict=True)
        for i, cells in itertools.groupby(places, itemgetter(0)):
            raws, _ = self.rows.split(i)
            found += [unquoted(raws[j]) for _, j in cells]
        return found

    def style(self, column: int) -> Callable[[float], str]:
        return number_style(map(unquoted, self._known(column)), self.numbers.decimal)

    def write(self, file: IO[bytes], edits: Edits) -> None:
        quoted = {}  # columns whose numbers are mostly quoted
        for j in set(edits.columns.tolist()):
            known = self._known(j)
            quoted[j] = 2 * sum('"' in raw for raw in known) > len(known)
        lines = self.rows.lines.copy()
        places = edits.rows.tolist(), edits.columns.tolist()
        cells = zip(*places, edits.after, strict=True)
        for i, changed in itertools.groupby(cells, itemgetter(0)):
            raws, behind = self.rows.split(i)
            for _, j, word in changed:
                raws[j] = self._field(raws[j], word, quoted[j])
            begin, end = self.rows.begins[i], self.rows.ends[i]
            row = "".join(itertools.chain(*zip(raws, behind, strict=True)))
            lines[begin:end] = [row, *[""] * (end - begin - 1)]
        file.write(self.mark)
        for k in range(0, len(lines), LINES):
            file.write("".join(lines[k : k + LINES]).encode(self.codec))

    @cached_property
    def _sample(self) -> list[list[str]]:
        """Cells of some rows."""
        return [self.rows.split(i)[0] for i in sampled(len(self.rows.ends))]

    def _known(self, column: int) -> list[str]:
        """Some numbers of a column, as they are in the file."""
        rule = self.numbers
        pairs = [(row[column], unquoted(row[column])) for row in self._sample]
        return [raw for raw, w in pairs if rule.is_number(w) and not rule.is_missing(w)]

    def _field(self, raw: str, word: str, is_quoted: bool) -> str:
        """A word in the place of a cell, with its quotes and blanks."""
        old = raw.strip()
        if raw and not old:
            return (raw[0] + word).rjust(len(raw))
        if is_quoted or self.rows.delimiter in word or old.startswith('"'):
            word = f'"{word}"'
        return raw.replace(old, word, 1) if old else word


def unquoted(raw: str) -> str:
    """The word in a cell, without blanks around it."""
    word = raw.strip()
    if len(word) > 1 and word[0] == word[-1] == '"':
        word = word[1:-1].replace('""', '"').strip()
    return word
