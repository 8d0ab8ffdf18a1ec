"""Read Excel workbooks, and change the values of some cells only, with openpyxl."""

import re
import zipfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from copy import copy
from pathlib import Path
from typing import IO, Any
from warnings import catch_warnings

from rpcag.files.columns import Columns, Edits, File, columns_of_words
from rpcag.files.names import listed
from rpcag.files.readable import need, readable
from rpcag.files.table import Reading

SUFFIXES = (".xlsx", ".xlsm")
# Parts that openpyxl drops or changes, and extensions of a sheet, such as sparklines.
DRAWN = (
    *("xl/drawings/", "xl/charts/", "xl/media/", "xl/slicers/", "xl/ctrlProps/"),
    *("xl/threadedComments/", "customXml/"),
)
EXTENSIONS = b"<extLst"
MERGED = re.compile(rb'<(?:\w+:)?mergeCell\b[^>]*\sref="([A-Z0-9:]+)"')


def read_excel(path: Path, reading: Reading) -> Columns:
    """The table in a sheet of a workbook; columns with formulas do not change."""
    utils = need("openpyxl.utils")
    with readable(path, "Excel"):
        with _opened(path, reading.sheet, data_only=True) as page:
            title, part_of_page = page.title, page._worksheet_path
            rows = [["" if x is None else str(x) for x in row] for row in page.values]
        with _opened(path, title) as page:
            cells = (cell for row in page.iter_rows() for cell in row)
            formulas = {cell.column - 1 for cell in cells if cell.data_type == "f"}
        with zipfile.ZipFile(path) as archive:
            parts, xml = archive.namelist(), archive.read(part_of_page)
    filled = [i for i, row in enumerate(rows) if any(row)]
    if not filled:
        raise ValueError(f"{path} is empty")
    top, rows = filled[0] + 1, rows[filled[0] : filled[-1] + 1]
    width = max(k + 1 for row in rows for k, word in enumerate(row) if word)
    rows = [row[:width] + [""] * (width - len(row)) for row in rows]
    file = ExcelFile(path, title, rows, top)
    found = columns_of_words(file, reading, decimal=".")
    for j in formulas & set(range(width)):
        if found.names[j] in found.numbers:
            found.roles[found.names[j]] = "formula"
    for ref in map(bytes.decode, MERGED.findall(xml)):
        left, _, right, bottom = utils.range_boundaries(ref)
        names = found.names[left - 1 : right]
        # Only the first of merged cells has a value.
        if bottom >= top + file.above and any(name in found.numbers for name in names):
            raise ValueError(
                f"{path} has merged cells among its numbers, {ref}; unmerge them, or "
                f"leave the column alone with drop={names[0]!r}"
            )
    if formulas:
        found.losses.append(
            "the repaired workbook has formulas but not their results; open it in a "
            "spreadsheet program and save it to compute them"
        )
    if EXTENSIONS in xml or any(part.startswith(DRAWN) for part in parts):
        found.losses.append(
            "charts, pictures, sparklines and comments may change or be missing; to "
            "keep them, copy the repaired columns into the original"
        )
    return found


@contextmanager
def _opened(path: Path, sheet: str | None, *, data_only: bool = False) -> Iterator[Any]:
    """A sheet to read row by row."""
    load = need("openpyxl").load_workbook
    with (
        catch_warnings(action="ignore"),  # about parts that are not read
        closing(load(path, read_only=True, data_only=data_only)) as book,
    ):
        pages = {page.title: page for page in book.worksheets}
        title = next(iter(pages), None) if sheet is None else sheet
        if title not in pages:
            found = listed(list(pages)) or "none"
            raise ValueError(f"{path} has no sheet called {title!r}; it has {found}")
        page = pages[title]
        page.reset_dimensions()  # they may be wrong
        yield page


class ExcelFile(File):
    """Changes cells of a sheet, whose words are `rows` from the line `top` on."""

    def __init__(self, path: Path, title: str, rows: list[list[str]], top: int) -> None:
        self.source, self.path, self.title = str(path), path, title
        self.rows, self.top = rows, top

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self.rows)

    def place(self, i: int, j: int) -> str:
        letters = need("openpyxl.utils").get_column_letter(j + 1)
        return f"cell {letters}{self.top + i}"

    def cells(self, i: int) -> list[str]:
        return self.rows[self.above + i]

    def write(self, file: IO[bytes], edits: Edits) -> None:
        has_macros = self.path.suffix.lower() == ".xlsm"
        with readable(self.path, "Excel"), catch_warnings(action="ignore"):
            book = need("openpyxl").load_workbook(
                self.path, keep_vba=has_macros, rich_text=True
            )
        page, top = book[self.title], self.top + self.above
        places = edits.rows.tolist(), edits.columns.tolist()
        for i, j, word in zip(*places, edits.after, strict=True):
            cell = page.cell(top + i, j + 1)
            number = float(word)
            cell.value = int(number) if number.is_integer() else number
            if not cell.has_style:  # a cell that was not stored
                k = next(k for k in range(self.n) if self.cells(k)[j])
                cell._style = copy(page.cell(top + k, j + 1)._style)
        book.save(file)
