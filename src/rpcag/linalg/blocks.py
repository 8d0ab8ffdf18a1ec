"""Walk over large arrays in pieces that stay in the processor's cache."""

from collections.abc import Iterator
from typing import Any

import numpy as np

# 8192 doubles are 64 KiB: a dozen such pieces fit in a second-level cache, so
# a chain of element-wise operations reads main memory once instead of once per step.
# (And OpenBLAS does not yet wake a second thread for a dot product of this length.)
BLOCK = 8192
# Columns taken at a time where a matrix multiplies an array as large as the data.
COLUMNS = 256


def blocks(first: np.ndarray, *others: np.ndarray | None) -> Iterator[tuple[Any, ...]]:
    """Matching flat pieces (views) of C-contiguous arrays; None stays None."""
    flat = [None if a is None else a.reshape(-1) for a in (first, *others)]
    for start in range(0, first.size, BLOCK):
        yield tuple(None if a is None else a[start : start + BLOCK] for a in flat)


def column_blocks(width: int) -> Iterator[slice]:
    """Slices that cover `width` columns."""
    for start in range(0, width, COLUMNS):
        yield slice(start, min(start + COLUMNS, width))


def inner(A: np.ndarray, B: np.ndarray) -> float:
    """<A, B>, the blocks' sums added in double precision."""
    return sum(float(np.dot(a, b)) for a, b in blocks(A, B))
