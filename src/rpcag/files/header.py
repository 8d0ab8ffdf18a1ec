"""Detect whether the first line of a table has column names."""

import itertools
import re
from collections.abc import Sequence

import numpy as np

from rpcag.files.numbers import Numbers

WHOLE = re.compile(r"\d{1,18}")
SIGNED = re.compile(r"[+\u2212-]?\d{1,18}")
CORNER = ("", "Unnamed: 0")  # above the index, as pandas writes it
# Minimum count of numbers in a first line that may be a header: if they are equally
# spaced, and if they only increase or only decrease. With smaller values, the user is
# asked about ordinary data more often: 1 in 20000 random lines of 8 numbers is sorted.
SPACED, SORTED = 4, 8


def header_of(
    source: object,
    head: Sequence[Sequence[str]],
    given: bool | None,
    numbers: Numbers,
    notes: list[str],
) -> list[str] | None:
    """The names of the columns, or None if the first line is data.

    The line is a header if it has only words, or an empty field above row names or
    above 0, 1, 2, ...; it is data if it has only numbers. Words with increasing whole
    numbers (years, wavelengths) are a header; words with other numbers are data. If
    numbers may be a header, the user has to decide.
    """
    first, *others = ([field.strip() for field in row] for row in head)
    if given is not None:
        return first if given else None
    filled = [field for field in first if not numbers.is_missing(field)]
    values = [field for field in filled if numbers.is_number(field)]
    is_words = len(values) < len(filled)
    if not filled or (is_words and not values):
        return first
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
                "header=False reads it as data"
            )
            return first
        # Names of columns (wavelengths), perhaps, if what is below is not whole.
        if not others or any(all(map(WHOLE.fullmatch, row)) for row in others):
            return None
    elif not _may_name(first, others, numbers):
        return None
    raise ValueError(
        f"{source}: the first line ({', '.join(first[:4])}, ...) may be names of "
        "columns or data; pass header=True or header=False"
    )


def _grows(words: Sequence[str]) -> bool:
    """Whole numbers, each larger than the one before."""
    if not all(map(WHOLE.fullmatch, words)):
        return False
    return all(a < b for a, b in itertools.pairwise(map(int, words)))


def _are_row_names(words: list[str], numbers: Numbers) -> bool:
    """Mostly words, or a count from 0."""
    is_count = len(words) > 1 and words == list(map(str, range(len(words))))
    return is_count or numbers.are_words(words)


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
    steps = np.diff(values)
    return bool((steps > 0).all() or (steps < 0).all())


def _is_spaced(values: list[float]) -> bool:
    steps = np.diff(values)
    return _is_sorted(values) and bool(np.allclose(steps, steps[:1], rtol=1e-6, atol=0))
