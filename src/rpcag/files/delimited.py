"""Text files of numbers: CSV, TSV and their relatives.

Understood by Python's own `csv`, not by pandas, which fills lines that are too short
without a word, renames columns silently, and is not needed for anything else here.
What cannot be told from the file (is the first line a header?) is asked, not guessed.
"""

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from rpcag.files.columns import Columns, are_identifiers, check_chosen
from rpcag.files.content import Source
from rpcag.files.fast_text import read_large
from rpcag.files.names import original, unique
from rpcag.files.numbers import Numbers, is_grouped, remedy_for
from rpcag.files.table import Reading
from rpcag.files.thousands import first_ambiguous

SUFFIXES = (".csv", ".tsv", ".tab", ".txt", ".dat")
# In this order: commas may be decimal where something else divides.
DELIMITERS = ("\t", ";", "|", ",")
SPACE = " "
DELIMITER_NAMES = {"tab": "\t", "\\t": "\t", "space": SPACE}
SAMPLE = 65536  # characters from which the delimiter is guessed
CELLS = 500_000  # that are held as words at a time
HEAD = 1000  # lines that tell which columns are text; fewer where they are long
HEAD_CELLS, FEWEST = 200_000, 50
DECIMAL_COMMA = re.compile(r"\s*[+\u2212-]?\d*,\d+([eE][+-]?\d+)?\s*")
PLAIN = re.compile(r"[+\u2212-]?\d*\.\d*([eE][+-]?\d+)?")
WHOLE = re.compile(r"\s*\d{1,18}\s*")
SIGNED = re.compile(r"\s*[+\u2212-]?\d{1,18}\s*")
SEPARATOR = re.compile(r'"?sep=([^\w\s"]|[\t ])?"?', re.IGNORECASE)  # line 1 of Excel
CORNER = ("", "Unnamed: 0")  # above the index, as pandas writes it
# Fewest numbers in a first line that may be a header: if they are equally spaced, and
# if they only grow or only fall. Smaller, and ordinary data is asked about more often:
# 1 in 20000 random lines of 8 numbers is sorted.
SPACED, SORTED = 4, 8

UTF_8 = "utf-8-sig"  # with or without a byte order mark
WESTERN = "cp1252"
# A UTF-8 character beyond ASCII, or a byte that Windows-1252 does not define.
NOT_WESTERN = re.compile(rb"[\xc2-\xf4][\x80-\xbf]|[\x81\x8d\x8f\x90\x9d]")
# Longer marks first: the mark of UTF-32 begins with that of UTF-16.
MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}

Line = tuple[int, list[str]]  # its number in the file, its fields


@dataclass(frozen=True)
class Layout:
    """How a table is written as text.

    Attributes
    ----------
    encoding, delimiter : str
        Runs of blanks divide fields if the delimiter is SPACE.
    names : list of str
        One per column; numbers were added to those in `doubles`.
    first : int
        Line of the first row, counted from 1; its last one if it has several.
    numbers : Numbers
        How numbers and missing values are written.
    numeric : list of int
        Columns that were read as numbers.
    doubles : list of str
        Names in the header that several columns have.
    """

    encoding: str
    delimiter: str
    names: list[str]
    first: int
    numbers: Numbers
    numeric: list[int]
    doubles: list[str]


def read_delimited(path: Source, reading: Reading) -> Columns:
    """All columns; those that are mostly words, or that an option names, as text."""
    found, _ = read_with_layout(path, reading)
    found.notes.extend(_rounded(found.numbers, found.features))
    return found


def read_with_layout(path: Source, reading: Reading) -> tuple[Columns, Layout]:
    """The columns, and how they are written."""
    encoding = _encoding(path)
    try:
        with _table_of_text(path, encoding):
            return _read(path, reading, encoding)
    except UnicodeDecodeError:
        line, byte = _western(path)
    with _table_of_text(path, WESTERN):
        found, layout = _read(path, reading, WESTERN)
    found.notes.append(
        f"line {line} has the byte 0x{byte:02x}, which is not UTF-8: the file was read "
        "as Windows-1252 (Latin-1); if names look wrong, save it as UTF-8"
    )
    return found, layout


def rows_of(path: Source, delimiter: str | None) -> list[Line]:
    """Lines of fields, without blank lines and comments at the top."""
    encoding = _encoding(path)
    try:
        with _table_of_text(path, encoding):
            return list(_lines(path, delimiter, encoding))
    except UnicodeDecodeError:
        line, byte = _western(path)
    raise ValueError(_not_utf_8(path, line, byte))


@contextmanager
def _table_of_text(path: Source, encoding: str) -> Iterator[None]:
    """Make errors of `csv`, and of damaged UTF-16 or UTF-32, name the file."""
    try:
        yield
    except csv.Error as error:
        raise ValueError(
            f"{path} is not a table of text: {error}; is a quote not closed?"
        ) from error
    except UnicodeError as error:
        if encoding == UTF_8:
            raise
        reason = getattr(error, "reason", error)
        raise ValueError(
            f"{path} is marked as {encoding.upper()} but damaged ({reason}); save it "
            "as UTF-8"
        ) from error


def _encoding(path: Source) -> str:
    with path.open("rb") as file:
        start = file.read(4096)
    for mark, encoding in MARKS.items():
        if start.startswith(mark):
            return encoding
    if b"\0" in start:
        raise ValueError(
            f"{path} is not a text file, or is UTF-16 without a byte order mark; save "
            "it as UTF-8"
        )
    return UTF_8


def _western(path: Source) -> tuple[int, int]:
    """Line and value of the first byte that is not UTF-8, if the file is Windows-1252.

    Spreadsheets write Windows-1252, which includes the letters of Latin-1. But almost
    any bytes are valid in it. So a wrong byte in a file that also has UTF-8 characters
    is an error.
    """
    first, is_western = None, True
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.isascii():
                continue
            is_western = is_western and NOT_WESTERN.search(line) is None
            try:
                line.decode()
            except UnicodeDecodeError as error:
                first = first or (number, line[error.start])
            if first is not None and not is_western:
                raise ValueError(_not_utf_8(path, *first))
    assert first is not None  # a file that cannot be decoded has such a byte
    return first


def _not_utf_8(path: Source, line: int, byte: int) -> str:
    return (
        f"{path}, line {line}: the byte 0x{byte:02x} is not UTF-8; correct it, or save "
        "the file as UTF-8"
    )


def _lines(path: Source, delimiter: str | None, encoding: str) -> Iterator[Line]:
    if delimiter is None:
        delimiter = _guess_delimiter(path, encoding)
    with path.open(newline="", encoding=encoding) as file:
        reader: Iterator[list[str]]
        if delimiter == SPACE:
            numbered = ((i + 1, line.split()) for i, line in enumerate(file))
        else:
            reader = csv.reader(
                file, delimiter=delimiter, skipinitialspace=True, strict=True
            )
            # The number is that of the last line of a record.
            numbered = ((reader.line_num, row) for row in reader)
        top = True
        for number, row in numbered:
            if number == 1 and SEPARATOR.fullmatch(delimiter.join(row)):
                continue
            if not any(field.strip() for field in row) and len(row) < 2:
                continue
            if top and row[0].startswith("#") and not row[0].startswith("#N/A"):
                continue
            top = False
            yield number, row


def _guess_delimiter(path: Source, encoding: str) -> str:
    """What divides the most lines into the same number of fields, above one.

    Of several that divide all lines, the one that leaves more numbers: a semicolon may
    be in every name of a table with commas.
    """
    with path.open(newline="", encoding=encoding) as file:
        text = file.read(SAMPLE)
        whole = not file.read(1)
    lines = text.splitlines()
    said = SEPARATOR.fullmatch(lines[0]) if lines else None
    if said and said[1]:
        return said[1]
    lines = [line for line in lines if not line.startswith("#")]
    if not whole and len(lines) > 1:
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


def _fit(rows: Iterable[list[str]]) -> tuple[float, float]:
    """The share of lines with the most common number of fields, and of numbers.

    Both are 0 if that is one field.
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
    numeric = sum(
        is_number(field) or DECIMAL_COMMA.fullmatch(field) is not None
        for row in filled
        for field in row
    )
    return times / len(filled), numeric / sum(map(len, filled))


def _read(path: Source, reading: Reading, encoding: str) -> tuple[Columns, Layout]:
    delimiter = reading.delimiter
    if delimiter is not None:
        delimiter = DELIMITER_NAMES.get(delimiter, delimiter)
        if len(delimiter) != 1:
            raise ValueError(
                f"--delimiter must be one character, tab or space, got {delimiter!r}"
            )
        guess = ""
    else:
        delimiter = _guess_delimiter(path, encoding)
        shown = {"\t": "tab", SPACE: "space"}.get(delimiter, repr(delimiter))
        guess = f"; {shown} was taken for the delimiter; --delimiter sets another"
    lines = _lines(path, delimiter, encoding)
    head = list(itertools.islice(lines, 1))
    if not head:
        raise ValueError(f"{path} is empty")
    most = min(HEAD, max(FEWEST, HEAD_CELLS // len(head[0][1])))
    head += itertools.islice(lines, most)
    is_all = len(head) <= most
    notes: list[str] = []
    below = [row for _, row in head[1:] or head]
    numbers = Numbers(_decimal(reading, below, delimiter), reading.missing)
    names = header_of(path, head, reading, numbers, notes)
    if names is not None:
        names = [original(name) for name in names]
        head = head[1:]
        if not head:
            raise ValueError(f"{path} has a header but no rows")
    index = None
    if names is None:
        names = [str(j) for j in range(len(head[0][1]))]
    else:
        names = _complete(names, head)
        if names[0] in CORNER:
            names[0] = index = "row names"
        names = [name or f"column {j + 1}" for j, name in enumerate(names)]
    doubles = sorted(name for name, times in Counter(names).items() if times > 1)
    if doubles:
        for option in (reading.labels, reading.names, *reading.unread):
            if option in doubles:
                raise ValueError(f"{path} has several columns called {option!r}")
        notes.append(
            "some columns have the same name, such as "
            f"{doubles[0]!r}: a number was added"
        )
    names = unique(names)
    check_chosen(str(path), names, reading)
    words = _Words(path, names, head, reading, delimiter, index, guess)
    found = None
    if encoding == UTF_8 and not is_all:
        found = words.read_fast(head, delimiter, notes)
    found = found or words.read(itertools.chain(head, lines), notes)

    def again() -> Iterator[Line]:
        all_lines = _lines(path, delimiter, encoding)
        return (line for line in all_lines if line[0] >= head[0][0])

    words.check_truth(found.numbers, again())
    if reading.decimal is None:
        words.check_thousands(found.numbers, again())
    return found, Layout(
        encoding,
        delimiter,
        names,
        head[0][0],
        words.numbers,
        words.numeric,
        doubles,
    )


def _decimal(reading: Reading, rows: list[list[str]], delimiter: str) -> str:
    """A comma if a number has one and it does not divide fields."""
    if reading.decimal is None:
        commas = delimiter != "," and any(
            "," in word and DECIMAL_COMMA.fullmatch(word)
            for row in rows
            for word in row
        )
        return "," if commas else "."
    if reading.decimal not in (".", ","):
        raise ValueError(f"--decimal must be . or , got {reading.decimal!r}")
    return reading.decimal


def header_of(
    path: Source,
    head: list[Line],
    reading: Reading,
    numbers: Numbers,
    notes: list[str],
) -> list[str] | None:
    """The names of the columns, or None where the first line is data already.

    It is a header if it has words only, or an empty field above names of rows or above
    0, 1, 2, ...; data if it has numbers only. Words beside whole numbers that grow
    (years, wavelengths) are a header, beside other numbers data. Numbers that only look
    like a header are not guessed at.
    """
    first = [field.strip() for field in head[0][1]]
    if reading.header is not None:
        return first if reading.header else None
    filled = [field for field in first if not numbers.is_missing(field)]
    values = [field for field in filled if numbers.is_number(field)]
    is_words = len(values) < len(filled)
    if not filled or (is_words and not values):
        return first
    others = [row for _, row in head[1:]]
    if first[0] in CORNER and _are_row_names([row[0] for row in others], numbers):
        return first
    whole = [int(field) for field in values if WHOLE.fullmatch(field)]
    grows = _grows(values)
    if is_words:
        if grows and len(whole) > 1 and not (others and _grows(others[0][1:])):
            return first
        if len(whole) < len(values) and not _may_name(first, others, numbers):
            return None
    elif grows and whole == list(range(len(whole))) and not first[0]:
        return first  # as pandas writes, with an index
    elif grows and len(whole) > 2:
        if whole == list(range(len(whole))):  # as pandas writes, without one
            notes.append(
                "the first line, 0, 1, 2, ..., was taken for the names of the columns; "
                "--no-header reads it as data"
            )
            return first
        # Names of columns (wavelengths), perhaps, if what is below is not whole.
        if not others or any(all(map(WHOLE.fullmatch, row)) for row in others):
            return None
    elif not _may_name(first, others, numbers):
        return None
    raise ValueError(
        f"{path}: the first line ({', '.join(first[:4])}, ...) may be names of columns "
        "or data; say --header or --no-header"
    )


def _grows(words: list[str]) -> bool:
    """Whole numbers, each larger than the one before."""
    if not all(map(WHOLE.fullmatch, words)):
        return False
    return all(a < b for a, b in itertools.pairwise(map(int, words)))


def _are_row_names(words: list[str], numbers: Numbers) -> bool:
    """Mostly words, or a count from 0."""
    words = [word.strip() for word in words]
    if len(words) > 1 and words == list(map(str, range(len(words)))):
        return True
    return are_words(words, numbers)


def are_words(words: Iterable[str], numbers: Numbers) -> bool:
    """Mostly: one that is not a number among numbers is a mistake."""
    filled = [word for word in words if not numbers.is_missing(word)]
    return 2 * sum(map(numbers.is_number, filled)) < len(filled)


def _may_name(first: list[str], others: list[list[str]], numbers: Numbers) -> bool:
    """Whether numbers in `first` are like an axis (wavelengths, times), none below.

    The first field may be the name of the rows, or empty.
    """
    if not numbers.is_number(first[0]) or numbers.is_missing(first[0]):
        first, others = first[1:], [row[1:] for row in others]
    if not others or not all(map(numbers.is_number, first)):
        return False
    if all(map(SIGNED.fullmatch, first)) and any(
        all(map(SIGNED.fullmatch, row)) for row in others
    ):
        return False
    axis = numbers.many(first)
    rows = ([numbers.one(w) for w in row if numbers.is_number(w)] for row in others)
    if len(axis) >= SPACED and _is_spaced(axis):
        return not any(map(_is_spaced, rows))
    return len(axis) >= SORTED and _is_sorted(axis) and not any(map(_is_sorted, rows))


def _is_sorted(values: list[float]) -> bool:
    steps = [b - a for a, b in itertools.pairwise(values)]
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)


def _is_spaced(values: list[float]) -> bool:
    steps = np.diff(values)
    return _is_sorted(values) and bool(np.allclose(steps, steps[:1], rtol=1e-6, atol=0))


def _complete(names: list[str], head: list[Line]) -> list[str]:
    """One name per field where the header has one less than all lines below."""
    widths = {len(row) for _, row in head}
    if widths == {len(names) + 1}:
        at_end = all(not row[-1] for _, row in head)
        return [*names, ""] if at_end else ["", *names]
    return list(names)


class _Words:
    """Turns lines of words into columns of numbers and of text."""

    def __init__(self, path, names, head, reading, delimiter, index, guess) -> None:
        self.path, self.names, self.index = path, names, index
        self.guess = guess  # how the delimiter was found, for errors
        asked = {reading.labels, reading.names, index} - {None}
        dropped = set(reading.unread)
        self.check(head)
        rows = [row for _, row in head]
        fields = list(zip(*rows, strict=True))
        decimal = _decimal(reading, rows, delimiter)
        self.numbers = Numbers(decimal, reading.missing)
        self.rules = [self.numbers.for_column(words) for words in fields]
        self.text: list[int] = []
        self.numeric: list[int] = []
        for j, name in enumerate(names):
            if name in dropped:
                continue
            is_text = name in asked or self.is_text(j, fields[j])
            (self.text if is_text else self.numeric).append(j)
        # The column behind a delimiter that ends every line.
        if self.numeric and names[-1] == f"column {len(names)}":
            last = self.numeric[-1]
            if last == len(names) - 1 and not any(fields[last]):
                self.numeric.pop()

    def check(self, lines: list[Line]) -> None:
        for number, row in lines:
            if len(row) != len(self.names):
                fields = "1 field" if len(row) == 1 else f"{len(row)} fields"
                raise ValueError(
                    f"{self.path}, line {number} has {fields} but the first line has "
                    f"{len(self.names)}{self.guess}"
                )

    def is_text(self, j: int, words) -> bool:
        try:
            self.rules[j].many(words)
        except ValueError:
            return are_words(words, self.rules[j])
        return False

    def read(self, lines: Iterator[Line], notes: list[str]) -> Columns:
        texts: dict[str, list[str]] = {self.names[j]: [] for j in self.text}
        parts = []
        size = max(1, CELLS // len(self.names))
        while block := list(itertools.islice(lines, size)):
            self.check(block)
            fields = list(zip(*(row for _, row in block), strict=True))
            for j in self.text:
                texts[self.names[j]] += [word.strip() for word in fields[j]]
            part = np.empty((len(block), len(self.numeric)))
            for k, j in enumerate(self.numeric):
                try:
                    part[:, k] = self.rules[j].many(fields[j])
                except ValueError:
                    self.blame(block, j)
            parts.append(part)
        return self.columns(np.concatenate(parts), texts, notes)

    def read_fast(self, head: list[Line], delimiter: str, notes: list[str]):
        """The same, or None where that is not certain."""
        found = read_large(
            self.path,
            len(self.names),
            head[0][0],
            self.numeric,
            self.text,
            delimiter,
            self.numbers,
        )
        if found is None:
            return None
        values, texts = found
        n = min(len(head), FEWEST)
        known = self.read(iter(head[:n]), [])
        named = {self.names[j]: words for j, words in texts.items()}
        if not np.array_equal(values[:n], known.numbers, equal_nan=True) or any(
            named[name][:n] != words for name, words in known.texts.items()
        ):
            return None
        return self.columns(values, named, notes)

    def columns(
        self, values: np.ndarray, texts: dict[str, list[str]], notes: list[str]
    ) -> Columns:
        texts = {name: [original(w) for w in words] for name, words in texts.items()}
        features = [self.names[j] for j in self.numeric]
        return Columns(
            *(values, features, texts, self.index, notes),
            decimal=self.numbers.decimal,
            guess=self.guess,
        )

    def check_truth(self, values: np.ndarray, lines: Iterable[Line]) -> None:
        """Refuse true and false in columns where other numbers come later."""
        mixed = []
        for j, x in zip(self.numeric, values.T, strict=True):
            if self.rules[j].truth and (np.isfinite(x) & (x != 0) & (x != 1)).any():
                self.rules[j] = self.numbers.without_truth
                mixed.append(j)
        for line in lines if mixed else ():
            for j in mixed:
                self.blame([line], j)

    def check_thousands(self, values: np.ndarray, lines: Iterable[Line]) -> None:
        doubt = first_ambiguous(values, self.numeric, lines, self.numbers)
        if doubt is None:
            return
        line, j, word, small = doubt
        mark = self.numbers.decimal
        whole = word.replace(mark, "")
        raise ValueError(
            f"{self.path}, line {line}, column {self.names[j]!r}: {word!r} may be a "
            f"decimal or {whole}, beside {small!r}; --decimal {mark} reads decimals; "
            f"if {mark!r} divides thousands, write the numbers without it"
        )

    def blame(self, block: list[Line], j: int) -> None:
        for number, row in block:
            if not self.rules[j].is_number(row[j]):
                word, name = row[j].strip(), self.names[j]
                if DECIMAL_COMMA.fullmatch(word) and self.numbers.decimal == ".":
                    remedy = "--decimal , reads decimal commas"
                    if is_grouped(word):
                        remedy += "; if ',' divides thousands, write numbers without it"
                elif self.numbers.decimal == "," and PLAIN.fullmatch(word):
                    remedy = "others have decimal commas; --decimal says which it is"
                else:
                    remedy = remedy_for(word, name)
                raise ValueError(
                    f"{self.path}, line {number}, column {name!r}: {word!r} is not a "
                    f"number; {remedy}"
                )


def _rounded(values: np.ndarray, features: list[str]) -> list[str]:
    """A note on whole numbers that no float holds: identifiers, most likely."""
    for name, column in zip(features, values.T, strict=True):
        if are_identifiers(column):
            return [
                f"column {name!r} has whole numbers beyond 2^53, which are rounded; if "
                f"they are identifiers, --names {name!r}"
            ]
    return []
