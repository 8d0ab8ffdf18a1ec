"""Excel workbooks in which only the values of some cells are changed.

openpyxl reads the values. It is not used to write: it would drop charts, pictures and
the results of formulas. The XML of the sheet is edited instead, and everything else in
the workbook is copied.

Columns with formulas are left alone. Excel computes them again from repaired cells.
"""

import re
import zipfile
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import IO, Any
from xml.etree import ElementTree

import numpy as np

from rpcag.files.columns import Columns, check_names, listed
from rpcag.files.header import CORNER, are_words, header_of
from rpcag.files.memory import check_fits
from rpcag.files.number_style import NumberStyle
from rpcag.files.numbers import Numbers, remedy_for
from rpcag.files.readable import need, readable
from rpcag.files.table import Reading

SUFFIXES = (".xlsx", ".xlsm")
HEAD = 1000  # rows that tell whether the first one is a header
STYLED = 500  # numbers that tell how many decimals a column has
EXPANSION = 20  # bytes of memory for a byte of XML, about
ATTRIBUTE = rb'\s%b="([^"]*)"'
FORMULA = re.compile(rb'<(?:\w+:)?c\b[^>]*?\sr="([A-Z]+)\d+"[^>]*>\s*<(?:\w+:)?f[\s>/]')
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def read_excel(path: Path, reading: Reading, sheet: str | None = None) -> Columns:
    """The table in the first sheet of a workbook, or in the one called `sheet`."""
    openpyxl = need("openpyxl")
    with readable(path, "Excel"):
        data = path.read_bytes()
        with zipfile.ZipFile(BytesIO(data)) as archive:
            check_fits(sum(info.file_size for info in archive.infolist()), str(path))
            part = _part(path, archive, sheet)
            check_fits(EXPANSION * archive.getinfo(part).file_size, str(path))
            xml = archive.read(part)
            if damaged := archive.testzip():
                raise ValueError(f"its part {damaged} is damaged")
        book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True)
        try:
            page = book.worksheets[0] if sheet is None else book[sheet]
            page.reset_dimensions()
            rows = [list(row) for row in page.iter_rows(values_only=True)]
        finally:
            book.close()
    top, rows = _trimmed(path, rows)
    numbers = Numbers(".", reading.missing)
    notes: list[str] = []
    head = [list(map(_word, row)) for row in rows[: HEAD + 1]]
    names = header_of(path, head, reading, numbers, notes)
    letters = [_letters(j) for j in range(len(rows[0]))]
    if names is None:
        names = letters
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
    asked = (reading.labels, reading.names)
    for j, (name, values) in enumerate(zip(names, columns, strict=True)):
        if name in found.roles:
            continue
        if j in unnamed and all(value is None for value in values):
            found.roles[name] = "text"
            continue
        place = f"{path}, cell {letters[j]}{{}}, column {name!r}"
        if letters[j] in formulas:
            found.roles[name] = "formula"
        _sort(found, name, values, numbers, name in asked, place, top)
    return found


def _sort(
    found: Columns,
    name: str,
    values: Sequence[Any],
    numbers: Numbers,
    is_asked: bool,
    place: str,
    top: int,
) -> None:
    """Put a column where it belongs; `place` is for errors."""
    words = [_word(value) for value in values]
    filled = [value for value in values if not numbers.is_missing(_word(value))]
    if filled and all(isinstance(value, (datetime, date)) for value in filled):
        found.moments[name] = np.array([_seconds(value) for value in values])
        found.texts[name] = words
        return
    if filled and all(isinstance(value, bool) for value in filled):
        found.roles[name] = "boolean"
    numbers = numbers.for_column(words)
    is_text = is_asked or name == found.index
    try:
        column = numbers.many(words)
    except ValueError:
        is_text = is_text or name in found.roles or are_words(words, numbers)
        if not is_text:
            i = next(i for i, word in enumerate(words) if not numbers.is_number(word))
            raise ValueError(
                f"{place.format(top + i)}: {words[i]!r} is not a number; "
                f"{remedy_for(words[i], name)}"
            ) from None
    else:
        if not is_asked:
            found.numbers[name] = np.array(column)
    if is_text:
        found.texts[name] = ["" if numbers.is_missing(w) else w for w in words]


class ExcelFormat:
    """Changes cells in the XML of a sheet."""

    def __init__(
        self,
        path: Path,
        data: bytes,
        part: str,
        xml: bytes,
        columns: Sequence[Sequence[Any]],
        top: int,
    ) -> None:
        self.path, self.data, self.part, self.xml = path, data, part, xml
        self.columns, self.top = columns, top

    def words(self, rows: np.ndarray, columns: np.ndarray) -> list[str]:
        pairs = zip(rows.tolist(), columns.tolist(), strict=True)
        return [_word(self.columns[j][i]) for i, j in pairs]

    def formatted(
        self, rows: np.ndarray, columns: np.ndarray, values: np.ndarray
    ) -> tuple[list[str], np.ndarray]:
        styles = {}
        for j in np.unique(columns).tolist():
            step = max(1, len(self.columns[j]) // STYLED)
            known = [x for x in self.columns[j][::step] if isinstance(x, (int, float))]
            words = [np.format_float_positional(x, trim="-") for x in known]
            styles[j] = NumberStyle.learn(words)
        pairs = zip(columns.tolist(), values.tolist(), strict=True)
        texts = [styles[j].write(x) for j, x in pairs]
        return texts, np.array(texts, dtype=float)

    def write(
        self,
        file: IO[bytes],
        rows: np.ndarray,
        columns: np.ndarray,
        after: Sequence[str],
        values: np.ndarray,
    ) -> None:
        new: dict[int, dict[int, str]] = {}
        for i, j, word in zip(rows.tolist(), columns.tolist(), after, strict=True):
            new.setdefault(self.top + i, {})[j] = word
        stored = BytesIO(self.data)
        with zipfile.ZipFile(stored) as old, zipfile.ZipFile(file, "w") as made:
            formulas = new and any(
                FORMULA.search(old.read(name))
                for name in old.namelist()
                if name.startswith("xl/worksheets/")
            )
            for info in old.infolist():
                data = old.read(info)
                if info.filename == self.part and new:
                    data = b"".join(self._edited(new))
                if info.filename == "xl/workbook.xml" and formulas:
                    data = _recalculated(data)
                made.writestr(info, data)

    def _edited(self, new: dict[int, dict[int, str]]) -> Iterator[bytes]:
        """The XML of the sheet in pieces."""
        opened = re.search(rb"<((?:\w+:)?)sheetData\s*>", self.xml)
        if opened is None:
            raise ValueError(f"{self.path} has no rows")
        prefix = opened[1]
        ended = self.xml.index(b"</%bsheetData" % prefix, opened.end())
        row = re.compile(
            rb"<%brow\b([^>]*?)(?:/>|>(.*?)</%brow>)" % (prefix, prefix), re.DOTALL
        )
        styles = self._styles(prefix, {j for cells in new.values() for j in cells})
        wanted = sorted(new, reverse=True)
        yield self.xml[: opened.end()]
        at = opened.end()
        for found in row.finditer(self.xml, opened.end(), ended):
            number = int(_attribute(self.path, found[1], b"r"))
            yield self.xml[at : found.start()]
            at = found.end()
            while wanted and wanted[-1] < number:
                missing = wanted.pop()
                attributes = b' r="%d"' % missing
                yield _row(self.path, prefix, attributes, b"", missing, new, styles)
            if wanted and wanted[-1] == number:
                wanted.pop()
                cells = found[2] or b""
                yield _row(self.path, prefix, found[1], cells, number, new, styles)
            else:
                yield found[0]
        yield self.xml[at:ended]
        while wanted:
            missing = wanted.pop()
            attributes = b' r="%d"' % missing
            yield _row(self.path, prefix, attributes, b"", missing, new, styles)
        yield self.xml[ended:]

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


def _row(
    path: Path,
    prefix: bytes,
    attributes: bytes,
    inside: bytes,
    number: int,
    new: dict[int, dict[int, str]],
    styles: dict[int, bytes],
) -> bytes:
    """A row with some cells replaced or added, in the order of the columns."""
    cell = re.compile(
        rb"<%bc\b([^>]*?)(?:/>|>(.*?)</%bc>)" % (prefix, prefix), re.DOTALL
    )
    parts: dict[int, bytes] = {}
    for found in cell.finditer(inside):
        reference = _attribute(path, found[1], b"r")
        parts[_column(reference.rstrip(b"0123456789"))] = found[0]
    is_longer = False
    for j, word in new[number].items():
        if j in parts:
            old = cell.fullmatch(parts[j])
            kept = re.sub(ATTRIBUTE % b"t", b"", old[1] if old else b"")
        else:
            kept = b' r="%b%d"%b' % (_letters(j).encode(), number, styles.get(j, b""))
            is_longer = True
        values = (prefix, kept, prefix, word.encode(), prefix, prefix)
        parts[j] = b"<%bc%b><%bv>%b</%bv></%bc>" % values
    if is_longer:  # the columns that a row spans are optional, and may be wrong now
        attributes = re.sub(ATTRIBUTE % b"spans", b"", attributes)
    cells = b"".join(parts[j] for j in sorted(parts))
    return b"<%brow%b>%b</%brow>" % (prefix, attributes.rstrip(), cells, prefix)


def _attribute(path: Path, attributes: bytes, name: bytes) -> bytes:
    found = re.search(ATTRIBUTE % name, attributes)
    if found is None:
        raise ValueError(
            f"{path} has cells without references; open it in a spreadsheet program "
            "and save it again"
        )
    return found[1]


def _recalculated(book: bytes) -> bytes:
    """Ask Excel to compute all formulas when it opens the workbook."""
    wanted = b' fullCalcOnLoad="1"'
    found = re.search(rb"<(?:\w+:)?calcPr\b[^>]*?(?=/?>)", book)
    if found is not None:
        kept = re.sub(ATTRIBUTE % b"fullCalcOnLoad", b"", found[0]).rstrip()
        return book[: found.start()] + kept + wanted + book[found.end() :]
    for last in (b"definedNames", b"externalReferences", b"functionGroups", b"sheets"):
        ended = re.search(rb"</((?:\w+:)?)%b>" % last, book)
        if ended is not None:
            element = b"<%bcalcPr%b/>" % (ended[1], wanted)
            return book[: ended.end()] + element + book[ended.end() :]
    return book


def _part(path: Path, archive: zipfile.ZipFile, sheet: str | None) -> str:
    """The file of a sheet within the workbook."""
    book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    links = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {link.get("Id"): link for link in links}
    found: dict[str, str] = {}
    for element in book.iter():
        link = targets.get(element.get(RELATION))
        name = element.get("name")
        if link is None or name is None or not element.tag.endswith("}sheet"):
            continue
        if str(link.get("Type")).endswith("/worksheet"):
            target = str(link.get("Target"))
            place = PurePosixPath("/xl", target).relative_to("/")
            found[name] = place.as_posix()
    if not found:
        raise ValueError(f"{path} has no sheet with cells")
    if sheet is not None and sheet not in found:
        raise ValueError(
            f"{path} has no sheet called {sheet!r}; it has {listed(list(found))}"
        )
    return found[sheet] if sheet is not None else next(iter(found.values()))


def _trimmed(path: Path, rows: list[list[Any]]) -> tuple[int, list[list[Any]]]:
    """Rows of equal length from the first to the last with a value.

    Also returns the number of the first of them in the sheet.
    """
    filled = [i for i, row in enumerate(rows) if any(x is not None for x in row)]
    if not filled:
        raise ValueError(f"{path} is empty")
    rows = rows[filled[0] : filled[-1] + 1]
    width = max(k + 1 for row in rows for k, x in enumerate(row) if x is not None)
    rows = [row[:width] + [None] * (width - len(row)) for row in rows]
    return filled[0] + 1, rows


def _word(value: Any) -> str:
    return "" if value is None else str(value)


def _seconds(value: Any) -> float:
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).timestamp()
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
    return float("nan")


def _letters(column: int) -> str:
    """
    >>> _letters(0), _letters(25), _letters(26)
    ('A', 'Z', 'AA')
    """
    text, column = "", column + 1
    while column:
        column, rest = divmod(column - 1, 26)
        text = chr(65 + rest) + text
    return text


def _column(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + letter - 64
    return number - 1
