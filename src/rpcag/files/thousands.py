"""Tell decimal marks from thousands separators."""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from rpcag.files.numbers import Numbers

SMALL = re.compile(r"[+\u2212-]?\d{1,3}")
GROUPED = re.compile(r"[+\u2212-]?[1-9]\d{0,2}[.,]\d{3}")


def first_ambiguous(
    values: np.ndarray,
    numeric: Sequence[int],
    lines: Iterable[tuple[int, list[str]]],
    numbers: Numbers,
) -> tuple[int, int, str, str] | None:
    """A number such as 1.234, if its mark may divide thousands as well.

    It may if the column has whole numbers of up to three digits besides, and if no
    number in the file can only be a decimal, such as 0.123 or 1.5.

    Parameters
    ----------
    values : ndarray of shape (n, k)
        The columns of numbers, read with the mark as a decimal one.
    numeric : sequence of k ints
        Where they are in the lines.
    lines : iterable of (int, list of str)
        Line numbers and fields.
    numbers : Numbers
        How the values were read.

    Returns
    -------
    line, column, word, small : or None
        The number, where it is, and a whole number of the same column.
    """
    suspects = []
    for j, x in zip(numeric, values.T, strict=True):
        known = np.abs(x[np.isfinite(x)])
        less, more = known[known < 1000], known[known >= 1000]
        is_fine = np.abs(1000 * less - np.round(1000 * less)) > 1e-6
        if (is_fine | ((less > 0) & (less < 1))).any() or (more % 1 != 0).any():
            return None  # four decimals or more, 0.123, 1234.5
        if len(less) == len(known) > 1:
            suspects.append(j)
    small: dict[int, str] = {}
    grouped: dict[int, tuple[int, str]] = {}
    for line, row in lines if suspects else ():
        for j in suspects:
            word = row[j].strip()
            if SMALL.fullmatch(word):
                small.setdefault(j, word)
            elif GROUPED.fullmatch(word):
                grouped.setdefault(j, (line, word))
            elif numbers.decimal in word and not numbers.is_missing(word):
                return None  # another number of decimals
    both = [j for j in suspects if j in small and j in grouped]
    if not both:
        return None
    return grouped[both[0]][0], both[0], grouped[both[0]][1], small[both[0]]
