"""Large text files by pyarrow, where that is installed: ten times as fast.

It decides nothing. Delimiter, names and kinds of the columns come from the first lines,
read by Python's `csv`, and whatever pyarrow refuses or reads otherwise than there is
left to `csv`, which says what is wrong and where.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rpcag.files.content import Source, size_of
from rpcag.files.numbers import Numbers

LARGE = 1_000_000  # bytes; below, to import pyarrow takes longer than to read
BLOCK = 1 << 24  # bytes that are parsed at a time; a line has to fit


def read_large(
    path: Source,
    width: int,
    first: int,
    numeric: Sequence[int],
    text: Sequence[int],
    delimiter: str,
    numbers: Numbers,
) -> tuple[np.ndarray, dict[int, list[str]]] | None:
    """Columns of numbers and of text from line `first` on, or None."""
    if size_of(path) < LARGE or not numeric or not delimiter.strip(" "):
        return None
    try:
        import pyarrow
        from pyarrow import csv
    except ImportError:
        return None
    if not _quotes_are_plain(path, delimiter):
        return None
    names = [str(j) for j in range(width)]
    kinds = {str(j): pyarrow.float64() for j in numeric}
    kinds |= {str(j): pyarrow.string() for j in text}
    options = {
        "read_options": csv.ReadOptions(
            column_names=names, skip_rows=first - 1, block_size=BLOCK
        ),
        "parse_options": csv.ParseOptions(delimiter=delimiter),
        "convert_options": csv.ConvertOptions(
            column_types=kinds,
            include_columns=list(kinds),
            null_values=spellings(numbers.missing),
            strings_can_be_null=False,
            decimal_point=numbers.decimal,
        ),
    }
    try:
        with path.open("rb") as file:
            found = csv.read_csv(file, **options)
    except pyarrow.ArrowException:
        return None
    X = np.empty((found.num_rows, len(numeric)))
    for k, j in enumerate(numeric):
        X[:, k] = found[str(j)].to_numpy()
    texts = {j: _stripped(found[str(j)]) for j in text}
    return X, texts


def spellings(words: Iterable[str]) -> list[str]:
    """As files have them; a word in another case is left to `csv`.

    >>> spellings(["na"])
    [' NA', ' Na', ' NaN', ' na', 'NA', 'Na', 'NaN', 'na']
    """
    cases = {f(w) for w in words for f in (str, str.upper, str.capitalize)} | {"NaN"}
    return sorted(cases | {f" {word}" for word in cases})


def _stripped(column: Any) -> list[str]:
    return [word.strip() for word in column.to_pylist()]


def _quotes_are_plain(path: Source, delimiter: str) -> bool:
    """Whether quotes are only around whole fields without quotes or line breaks."""
    field = re.escape(delimiter.encode())
    plain = re.compile(rb'(?<![^\r\n%b])"[^"\r\n]*"(?![^\r\n%b])' % (field, field))
    with path.open("rb") as file:
        return not any(b'"' in line and b'"' in plain.sub(b"", line) for line in file)
