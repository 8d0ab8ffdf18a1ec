"""Detect whether the first line of a table has column names."""

import re
from collections.abc import Sequence

import numpy as np

from rpcag.files.numbers import Numbers

WHOLE = re.compile(r"\d{1,18}")
CORNER = ("", "Unnamed: 0")  # above the index, as pandas writes it
# Minimum count of sorted whole numbers, and of sorted decimals, that may be a header.
# With smaller values, the user is asked about ordinary data more often: 1 in 360 random
# lines of 6 numbers is sorted.
WHOLES, DECIMALS = 3, 6


def has_header(
    source: object, head: Sequence[Sequence[str]], numbers: Numbers, notes: list[str]
) -> bool:
    """Whether the first line has the names of the columns.

    Words are a header, and so is anything beside an empty field above row names. Other
    numbers are data, unless they are like an axis (years, wavelengths): they are sorted
    and the lines below are not. An axis of whole numbers after a word is a header, and
    so is 0, 1, 2, ...; in other cases an error asks the user.
    """
    first, *others = ([field.strip() for field in row] for row in head)
    filled = [field for field in first if not numbers.is_missing(field)]
    values = [field for field in filled if numbers.is_number(field)]
    left = [row[0] for row in others]
    has_row_names = numbers.are_words(left) or (len(left) > 1 and _is_count(left))
    if not values or (first[0] in CORNER and has_row_names):
        return True
    begin = 0 if first[0] == values[0] else 1  # after the name of the rows
    axis, rows = first[begin:], [row[begin:] for row in others]
    has_words = len(values) < len(filled)
    if _is_count(axis):  # as pandas writes
        if not first[0]:
            return True
        if not has_words and len(axis) >= WHOLES:
            notes.append(
                "the first line, 0, 1, 2, ..., was taken for the names of the columns; "
                "header=False reads it as data"
            )
            return True
    is_axis, are_whole = _is_sorted(values, numbers), _are_whole(values)
    if are_whole and has_words:
        is_alone = axis == values and not (rows and _are_whole(rows[0]))
        if is_axis and is_alone and len(axis) > 1:
            return True
    else:
        if are_whole:
            below = any(map(_are_whole, rows))
        else:
            below = any(_is_sorted(row, numbers) for row in rows)
        is_long = len(axis) >= (WHOLES if are_whole else DECIMALS)
        if not (is_axis and is_long and rows) or below:
            return False
    raise ValueError(
        f"{source}: the first line ({', '.join(first[:4])}, ...) may be names of "
        "columns or data; pass header=True or header=False"
    )


def _is_count(words: list[str]) -> bool:
    return words == list(map(str, range(len(words))))


def _are_whole(words: Sequence[str]) -> bool:
    return all(map(WHOLE.fullmatch, words))


def _is_sorted(words: Sequence[str], numbers: Numbers) -> bool:
    values = [numbers.one(word) for word in words if numbers.is_number(word)]
    steps = np.diff([value for value in values if value == value])
    return bool((steps > 0).all() or (steps < 0).all())
