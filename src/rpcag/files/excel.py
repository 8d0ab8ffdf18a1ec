"""Read Excel workbooks, and change the values of some cells only.

openpyxl reads the values. It is not used to write, because it would drop charts,
pictures and the results of formulas. Instead, the XML of the sheet is edited, and
everything else in the workbook is copied.

Columns with formulas do not change. Excel computes them again from repaired cells.
"""

import re
import zipfile
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from rpcag.files.columns import Columns, Edits, check_names, listed
from rpcag.files.header import CORNER, are_words, header_of
from rpcag.files.memory import check_fits
from rpcag.files.number_style import NumberStyle
from rpcag.files.numbers import Numbers, remedy_for
from rpcag.files.readable import need, readable
from rpcag.files.table import Reading

SUFFIXES = (".xlsx", ".xlsm")
HEAD = 1000  # rows that determine whether the first one is a header
STYLED = 500  # numbers that determine the decimals of a column
EXPANSION = 20  # bytes of memory for a byte of XML, about
ATTRIBUTE = rb'\s%b="([^"]*)"'
FORMULA = re.compile(rb'<(?:\w+:)?c\b[^>]*?\sr="([A-Z]+)\d+"[^>]*>\s*<(?:\w+:)?f[\s>/]')
# Attributes and content of a row and of a cell; %b is the prefix of the namespace.
ROW = rb"<%brow\b([^>]*?)(?:/>|>(.*?)</%brow>)"
CELL = rb"<%bc\b([^>]*?)(?:/>|>(.*?)</%bc>)"


def read_excel(path: Path, reading: Reading, sheet: str | None = None) -> Columns:
    """The table in the first sheet of a workbook, or in the one called `sheet`."""
    data, part, xml, rows = _read_sheet(path, sheet)
    filled = [i for i, row in enumerate(rows) if any(x is not None for x in row)]
    if not filled:
        raise ValueError(f"{path} is empty")
    top, rows = filled[0] + 1, rows[filled[0] : filled[-1] + 1]
    width = max(k + 1 for row in rows for k, x in enumerate(row) if x is not None)
    rows = [row[:width] + [None] * (width - len(row)) for row in rows]
    numbers = Numbers(".", reading.missing)
    notes: list[str] = []
    head = [list(map(_word, row)) for row in rows[: HEAD + 1]]
    names = header_of(path, head, reading, numbers, notes)
    letters = [_letters(j) for j in range(width)]
    if names is None:
        names = list(letters)
    else:
        top, rows = top + 1, rows[1:]
    if not rows:
        raise ValueError(f"{path} has a header but no rows")
    index = "row names" if names[0] in CORNER else None
    names[0] = index or names[0]
    unnamed = [j for j, name in enumerate(names) if not name]
    names = [name or f"column {letters[j]}" for j, name in enumerate(names)]
    names, doubles = check_names(path, names, reading, notes)
    columns = list(zip(*rows, strict=True))
    found = Columns(
        str(path),
        names,
        len(rows),
        ExcelFormat(path, data, part, xml, columns, top),
        roles=dict.fromkeys(reading.unread, "kept"),
        index=index,
        notes=notes,
        doubles=doubles,
    )
    formulas = {found.decode() for found in FORMULA.findall(xml)}
    for j, (name, values) in enumerate(zip(names, columns, strict=True)):
        if name in found.roles:
            continue
        if j in unnamed and all(value is None for value in values):
            found.roles[name] = "text"
            continue
        if letters[j] in formulas:
            found.roles[name] = "formula"
        is_asked = name in (reading.labels, reading.names)
        wrong = _sort(found, name, values, numbers, is_asked)
        if wrong is not None:
            word = _word(values[wrong])
            raise ValueError(
                f"{path}, cell {letters[j]}{top + wrong}, column {name!r}: {word!r} is "
                f"not a number; {remedy_for(word, name)}"
            )
    return found


def _read_sheet(
    path: Path, sheet: str | None
) -> tuple[bytes, str, bytes, list[list[Any]]]:
    """The workbook, and of its sheet the name in the archive, the XML, and all rows."""
    openpyxl = need("openpyxl")
    with readable(path, "Excel"):
        data = path.read_bytes()
        with zipfile.ZipFile(BytesIO(data)) as archive:
            sizes = {info.filename: info.file_size for info in archive.infolist()}
            check_fits(sum(sizes.values()), str(path))
            if damaged := archive.testzip():
                raise ValueError(f"its part {damaged} is damaged")
            book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True)
            pages = {page.title: page for page in book.worksheets}
            if not pages:
                raise ValueError(f"{path} has no sheet with cells")
            if sheet is not None and sheet not in pages:
                raise ValueError(
                    f"{path} has no sheet called {sheet!r}; it has "
                    f"{listed(list(pages))}"
                )
            page = pages[sheet or next(iter(pages))]
            part = page._worksheet_path
            check_fits(EXPANSION * sizes[part], str(path))
            xml = archive.read(part)
        try:
            page.reset_dimensions()
            rows = [list(row) for row in page.iter_rows(values_only=True)]
        finally:
            book.close()
    return data, part, xml, rows


def _sort(
    found: Columns, name: str, values: Sequence[Any], numbers: Numbers, is_asked: bool
) -> int | None:
    """Store a column by its kind; return the row of a value that cannot be read."""
    words = [_word(value) for value in values]
    filled = [value for value in values if not numbers.is_missing(_word(value))]
    if filled and all(isinstance(value, datetime) for value in filled):
        found.moments[name] = np.array([_seconds(value) for value in values])
        found.texts[name] = words
        return None
    if filled and all(isinstance(value, bool) for value in filled):
        found.roles[name] = "boolean"
    numbers = numbers.for_column(words)
    is_text = is_asked or name == found.index
    try:
        column = numbers.many(words)
    except ValueError:
        is_text = is_text or name in found.roles or are_words(words, numbers)
        if not is_text:
            return next(
                i for i, word in enumerate(words) if not numbers.is_number(word)
            )
    else:
        if not is_asked:
            found.numbers[name] = np.array(column)
    if is_text:
        found.texts[name] = ["" if numbers.is_missing(w) else w for w in words]
    return None


@dataclass
class ExcelFormat:
    """Changes cells in the XML of a sheet."""

    path: Path
    data: bytes
    part: str
    xml: bytes
    columns: Sequence[Sequence[Any]]
    top: int  # number of the first row

    def formatted(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray
    ) -> tuple[list[str], list[str], np.ndarray]:
        styles = {}
        for j in np.unique(columns).tolist():
            step = max(1, len(self.columns[j]) // STYLED)
            known = [x for x in self.columns[j][::step] if isinstance(x, (int, float))]
            words = [np.format_float_positional(x, trim="-") for x in known]
            styles[j] = NumberStyle.learn(words)
        cells = list(zip(rows.tolist(), columns.tolist(), values.tolist(), strict=True))
        before = [_word(self.columns[j][i]) for i, j, _ in cells]
        after = [styles[j].write(x) for _, j, x in cells]
        return before, after, np.array(after, dtype=float)

    def write(self, file: IO[bytes], edits: Edits) -> None:
        new: dict[int, dict[int, str]] = {}
        places = zip(edits.rows.tolist(), edits.columns.tolist(), strict=True)
        for (i, j), word in zip(places, edits.after, strict=True):
            new.setdefault(self.top + i, {})[j] = word
        stored = BytesIO(self.data)
        with zipfile.ZipFile(stored) as old, zipfile.ZipFile(file, "w") as made:
            for info in old.infolist():
                data = old.read(info)
                if info.filename == self.part and new:
                    data = b"".join(self._edited(new))
                if info.filename == "xl/workbook.xml" and new:
                    data = _recalculated(data)
                made.writestr(info, data)

    def _edited(self, new: dict[int, dict[int, str]]) -> Iterator[bytes]:
        """The XML of the sheet in pieces."""
        opened = re.search(rb"<((?:\w+:)?)sheetData\s*>", self.xml)
        if opened is None:
            raise ValueError(f"{self.path} has no rows")
        prefix = opened[1]
        ended = self.xml.index(b"</%bsheetData" % prefix, opened.end())
        styles = self._styles(prefix, {j for cells in new.values() for j in cells})

        def row(number: int, attributes: bytes, cells: bytes) -> bytes:
            return self._row(prefix, number, attributes, cells, new[number], styles)

        wanted = deque(sorted(new))
        yield self.xml[: opened.end()]
        at = opened.end()
        pattern = re.compile(ROW % (prefix, prefix), re.DOTALL)
        for found in pattern.finditer(self.xml, opened.end(), ended):
            number = int(self._attribute(found[1], b"r"))
            yield self.xml[at : found.start()]
            at = found.end()
            while wanted and wanted[0] < number:  # rows that the sheet does not store
                missing = wanted.popleft()
                yield row(missing, b' r="%d"' % missing, b"")
            if wanted and wanted[0] == number:
                yield row(wanted.popleft(), found[1], found[2] or b"")
            else:
                yield found[0]
        yield self.xml[at:ended]
        for number in wanted:
            yield row(number, b' r="%d"' % number, b"")
        yield self.xml[ended:]

    def _row(
        self,
        prefix: bytes,
        number: int,
        attributes: bytes,
        cells: bytes,
        new: dict[int, str],
        styles: dict[int, bytes],
    ) -> bytes:
        """A row with some cells replaced or added, in the order of the columns."""
        parts: dict[
            int, tuple[bytes, bytes]
        ] = {}  # attributes of a cell, and all of it
        for found in re.finditer(CELL % (prefix, prefix), cells, re.DOTALL):
            reference = self._attribute(found[1], b"r").decode()
            parts[_column(reference.rstrip("0123456789"))] = found[1], found[0]
        if not set(new) <= set(parts):
            # The columns that a row spans are optional, and may be wrong now.
            attributes = re.sub(ATTRIBUTE % b"spans", b"", attributes)
        for j, word in new.items():
            place = b' r="%b%d"%b' % (_letters(j).encode(), number, styles.get(j, b""))
            kept = re.sub(ATTRIBUTE % b"t", b"", parts.get(j, (place,))[0])
            values = (prefix, kept, prefix, word.encode(), prefix, prefix)
            parts[j] = kept, b"<%bc%b><%bv>%b</%bv></%bc>" % values
        inside = b"".join(parts[j][1] for j in sorted(parts))
        return b"<%brow%b>%b</%brow>" % (prefix, attributes.rstrip(), inside, prefix)

    def _styles(self, prefix: bytes, columns: set[int]) -> dict[int, bytes]:
        """The style of a number of each column, for cells that are not there yet."""
        found = {}
        for j in columns:
            known = [i for i, x in enumerate(self.columns[j]) if x is not None]
            if not known:
                continue
            i = known[len(known) // 2]  # the first may be emphasized
            reference = f"{_letters(j)}{self.top + i}".encode()
            pattern = rb'<%bc\b[^>]*?\sr="%b"[^>]*>' % (prefix, reference)
            cell = re.search(pattern, self.xml)
            style = re.search(ATTRIBUTE % b"s", cell[0]) if cell else None
            if style:
                found[j] = b' s="%b"' % style[1]
        return found

    def _attribute(self, attributes: bytes, name: bytes) -> bytes:
        found = re.search(ATTRIBUTE % name, attributes)
        if found is None:
            raise ValueError(
                f"{self.path} has cells without references; open it in a spreadsheet "
                "program and save it again"
            )
        return found[1]


def _recalculated(book: bytes) -> bytes:
    """Ask Excel to compute all formulas when it opens the workbook."""
    found = re.search(rb"<(?:\w+:)?calcPr\b[^>]*?(?=/?>)", book)
    if found is None:
        return book
    kept = re.sub(ATTRIBUTE % b"fullCalcOnLoad", b"", found[0]).rstrip()
    return book.replace(found[0], kept + b' fullCalcOnLoad="1"', 1)


def _word(value: Any) -> str:
    return "" if value is None else str(value)


def _seconds(value: Any) -> float:
    is_moment = isinstance(value, datetime)
    return value.replace(tzinfo=UTC).timestamp() if is_moment else float("nan")


def _letters(column: int) -> str:
    return need("openpyxl.utils").get_column_letter(column + 1)


def _column(letters: str) -> int:
    return need("openpyxl.utils").column_index_from_string(letters) - 1
