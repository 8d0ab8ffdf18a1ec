"""Write a repaired table, and the list of its changed cells."""

import gzip
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from rpcag.atomic import explained
from rpcag.files.columns import Edits
from rpcag.files.names import write_rows
from rpcag.files.place import check_file
from rpcag.files.reading import GZIP, STREAM, kind_of
from rpcag.files.sheet import Sheet

HEADER = ["row", "column", "value", "replaced_by", "lower", "upper", "score", "why"]


def check_output(
    source: Path, output: Path, *, force: bool, what: str = "repaired table"
) -> None:
    """Refuse an output that is the input, exists, or cannot be written."""
    if output == STREAM:
        if sys.stdout is None:
            raise ValueError("standard output is closed; name a file to write")
        return
    found = output.resolve()
    if source != STREAM and found.exists() and found.samefile(source):
        raise ValueError(f"{output} is the input; choose another file for the {what}")
    example = f"{what.split()[-1]}{''.join(output.suffixes[-2:]) or '.csv'}"
    check_file(output, lambda path: True, what, force=force, example=example)


def check_format(source: Path, output: Path) -> None:
    """Refuse an output with another format than the input."""
    suffix = _suffix(source)
    is_same = output == STREAM or suffix in ("", _suffix(output))
    if kind_of(source) != kind_of(output) or not is_same:
        raise ValueError(
            f"the repaired table keeps the format of {source}: choose an output such "
            f"as repaired{suffix or '.csv'}, got {output}"
        )


def _suffix(path: Path) -> str:
    return Path(path.name.lower().removesuffix(GZIP)).suffix


def cells_path(output: Path) -> Path:
    """Path of the list of changed cells, next to the repaired table."""
    name = output.stem if output.suffix.lower() == GZIP else output.name
    return output.with_name(f"{Path(name).stem}.cells.csv")


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
    bounds = [repaired.lower, repaired.upper, repaired.scores]
    columns = [
        (edits.rows + 1).tolist(),
        [sheet.features[j] for j in edits.features.tolist()],
        edits.before,
        [word.replace(",", ".") for word in edits.after],
        *(["" if x != x else f"{x:.6g}" for x in A[where].tolist()] for A in bounds),
        np.where(repaired.filled[where], "gap", "error").tolist(),
    ]
    write_rows(path, HEADER, zip(*columns, strict=True))


def write_stream(sheet: Sheet, edits: Edits) -> None:
    """Write the table to standard output; write nothing if an error occurs."""
    file = BytesIO()
    sheet.file.write(file, edits)
    with explained("standard output"):
        sys.stdout.buffer.write(file.getvalue())
        sys.stdout.buffer.flush()
