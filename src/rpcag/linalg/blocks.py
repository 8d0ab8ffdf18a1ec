"""Iterate over large arrays in pieces that stay in the processor's cache."""

from collections.abc import Iterator

import numpy as np

# 8192 doubles are 64 KiB: a dozen such pieces fit in a second-level cache, so that a
# chain of element-wise operations reads main memory once.
BLOCK = 8192
# Columns at a time where a matrix multiplies an array as large as the data: at most
# this many, and fewer of long ones.
COLUMNS = 256
PIECE = 2**15
# Entries of a piece of whole rows, for products with thin matrices in between.
ROWS = 2**17


def blocks(*arrays: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    """Matching flat pieces (views) of C-contiguous arrays of one shape."""
    flat = [array.reshape(-1) for array in arrays]
    for start in range(0, flat[0].size, BLOCK):
        yield tuple(array[start : start + BLOCK] for array in flat)


def column_blocks(
    shape: tuple[int, ...], piece: int = PIECE, most: int = COLUMNS
) -> list[slice]:
    """Slices that cover the columns of an array of this shape."""
    height, width = shape
    return _slices(width, max(8, min(most, piece // max(height, 1))))


def row_blocks(shape: tuple[int, ...], piece: int | None = None) -> list[slice]:
    """Slices that cover the rows of an array.

    Of about `piece` entries; by default tall enough for fast products.
    """
    height, width = shape
    least, piece = (64, ROWS) if piece is None else (1, piece)
    return _slices(height, max(least, piece // max(width, 1)))


def _slices(length: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, length)) for i in range(0, length, step)]
