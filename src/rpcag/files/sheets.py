"""Read a table to repair it, and write it again with the list of changed cells."""

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from rpcag.files.columns import Edits
from rpcag.files.matrices import write_rows
from rpcag.files.place import check_file
from rpcag.files.reading import GZIP, STREAM, kind_of, read_columns
from rpcag.files.sheet import Sheet, make_sheet
from rpcag.files.table import Reading
from rpcag.files.text import TextFormat

TABBED = (".tsv", ".tab")
HEADER = ["row", "column", "value", "replaced_by", "lower", "upper", "score", "why"]


def read_sheet(
    path: Path,
    reading: Reading | None = None,
    *,
    time: str | Literal[False] | None = None,
    sheet: str | None = None,
) -> Sheet:
    """Read a table of text, Parquet or Excel that can be written back.

    Parameters
    ----------
    path : path
        "-" reads text from standard input.
    reading : Reading, optional
        How to read it. `keep` names columns that must not change.
    time : str, False or None
        Column of timestamps. By default it is detected; False disables this.
    sheet : str, optional
        Sheet of an Excel workbook; by default, the first.
    """
    reading = reading or Reading()
    found = read_columns(Path(path), reading, sheet)
    return make_sheet(found, reading.missing, time)


def check_output(
    source: Path, output: Path, *, force: bool, what: str = "repaired table"
) -> None:
    """Refuse an output that is the input, exists, or cannot be written."""
    if output == STREAM:
        return
    if source != STREAM and output.exists() and output.samefile(source):
        raise ValueError(f"{output} is the input; choose another file for the {what}")
    example = f"{what.split()[-1]}{''.join(output.suffixes[-2:]) or '.csv'}"
    check_file(output, lambda path: True, what, force=force, example=example)


def check_format(source: Path, output: Path) -> None:
    """Refuse an output with another format than the input."""
    wanted = kind_of(source)
    if kind_of(output) == wanted:
        return
    kept = {"text": "text", "parquet": "Parquet", "excel": "Excel"}[wanted]
    example = ".csv" if wanted == "text" else source.suffix
    raise ValueError(
        f"{source} is {kept}, and the repaired table keeps the format: choose an "
        f"output such as repaired{example}, got {output}"
    )


def check_delimiter(source: Path, output: Path, sheet: Sheet) -> None:
    """Refuse tabs in a .csv file, and anything else in a .tsv file.

    An output with the suffix of the input is always accepted.
    """
    suffix = _suffix(output)
    if suffix == _suffix(source) or not isinstance(sheet.format, TextFormat):
        return
    delimiter = sheet.format.delimiter
    is_tab = delimiter == "\t"
    if suffix in ((".csv",) if is_tab else TABBED):
        shown = "tabs" if is_tab else repr(delimiter)
        raise ValueError(
            f"{sheet.name} has {shown} between fields, and the repaired table keeps "
            f"them: choose an output such as repaired{'.tsv' if is_tab else '.csv'}, "
            f"got {output}"
        )


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(GZIP)).suffix


def cells_path(output: Path) -> Path:
    """Path of the list of changed cells, next to the repaired table."""
    is_packed = output.suffix.lower() == GZIP
    name = Path(output.stem if is_packed else output.name)
    return output.with_name(f"{name.stem}.cells.csv")


@contextmanager
def opened(part: Path, target: Path) -> Iterator[IO[bytes]]:
    """A file to write the table to, compressed if the target's name says so."""
    with part.open("wb") as file:
        if target.suffix.lower() != GZIP:
            yield file
            return
        # No name and no time: the same table is the same file.
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
            yield packed  # type: ignore[misc]


def write_cells(path: Path, sheet: Sheet, edits: Edits, repaired: Any) -> None:
    """One line per changed cell; rows count from 1 below the header."""
    where = edits.rows, edits.features
    gaps = repaired.filled[where].tolist()
    columns = [
        (edits.rows + 1).tolist(),
        [sheet.features[j] for j in edits.features.tolist()],
        edits.before,
        map(_plain, edits.after),
        map(_short, repaired.lower[where].tolist()),
        map(_short, repaired.upper[where].tolist()),
        map(_short, repaired.scores[where].tolist()),
        ["gap" if is_gap else "error" for is_gap in gaps],
    ]
    write_rows(path, ",", HEADER, zip(*columns, strict=True))


def write_stream(sheet: Sheet, edits: Edits) -> None:
    """Write the table to standard output; write nothing if an error occurs."""
    file = BytesIO()
    sheet.write(file, edits)
    sys.stdout.buffer.write(file.getvalue())
    sys.stdout.buffer.flush()


def _plain(word: str) -> str:
    return word.replace(",", ".").replace("\u2212", "-")


def _short(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.6g}"
