"""Reduce large data to the size of a page."""

from dataclasses import dataclass

import numpy as np

from rpcag.files.decomposition import Decomposition

# Bytes of both matrices before compression; in base64 a page is a third larger, so
# with all else it stays below 13 MB and is mostly far smaller.
MATRIX_BYTES = 9_000_000
SAMPLES = 4000
MOST_FEATURES = 5000  # of a table: no screen has more
# Images are shrunk, and features left out, down to these before samples are left out.
PIXELS, FEATURES = 48 * 48, 2000


@dataclass(frozen=True)
class Extract:
    """The part of a decomposition that is shown, and how it was reduced."""

    rows: np.ndarray  # indices of samples
    low_rank: np.ndarray
    sparse: np.ndarray
    missing: np.ndarray | None
    features: list[str]
    image_shape: tuple[int, ...] | None
    exact: bool  # in single precision; else in 8 bits
    notes: list[str]


def extract(whole: Decomposition, limit: int = MATRIX_BYTES) -> Extract:
    """Choose evenly spaced samples and features, and shrink images, to fit `limit`.

    Tables are kept in single precision if they fit so; images are always in 8 bits.
    """
    n, p = whole.low_rank.shape
    notes = []
    table = whole.image_shape is None
    rows = spread(n, SAMPLES)
    by = 1
    columns = spread(p, MOST_FEATURES) if table else np.arange(p)
    exact = table and 8 * len(rows) * len(columns) <= limit
    if whole.image_shape is not None:
        area = whole.image_shape[0] * whole.image_shape[1]
        while 2 * len(rows) * p / by**2 > limit and area / by**2 > PIXELS:
            by += 1
        size = int(np.prod(shrunk_shape(whole.image_shape, by)))
    else:
        if not exact:
            room = max(FEATURES, limit // (2 * len(rows)))
            columns = spread(p, min(room, MOST_FEATURES))
        size = len(columns)
    if not exact:
        rows = rows[spread(len(rows), max(limit // (2 * size), 1))]
    if len(rows) < n:
        notes.append(f"{len(rows):,} of {n:,} samples, evenly drawn, are shown.")
    if len(columns) < p:
        notes.append(f"{len(columns):,} of {p:,} features, evenly drawn, are shown.")
    if by > 1:
        notes.append(f"Images are shown at 1/{by} of their width and height.")
    if table and not exact:
        notes.append("Values are rounded to 8 bits for display.")

    def part(A: np.ndarray) -> np.ndarray:
        A = A[rows] if len(columns) == p else A[np.ix_(rows, columns)]
        if by > 1 and whole.image_shape is not None:
            A = shrink(A, whole.image_shape, by)
        return A

    missing = None if whole.missing is None else part(whole.missing) > 0.5
    return Extract(
        rows,
        part(whole.low_rank),
        part(whole.sparse),
        missing,
        [whole.features[j] for j in columns],
        None if whole.image_shape is None else shrunk_shape(whole.image_shape, by),
        exact,
        notes,
    )


def spread(count: int, most: int) -> np.ndarray:
    """At most so many of the numbers 0 ... count - 1, evenly drawn, ends included."""
    if count <= most:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, most).round().astype(int))


def shrink(A: np.ndarray, image_shape: tuple[int, ...], by: int) -> np.ndarray:
    """Means of blocks of `by` x `by` pixels; a rest at the border is cut off."""
    height, width, *channels = shrunk_shape(image_shape, by)
    images = A.reshape(len(A), *image_shape)[:, : by * height, : by * width]
    blocks = images.reshape(len(A), height, by, width, by, *channels)
    return blocks.mean(axis=(2, 4)).reshape(len(A), -1)


def shrunk_shape(image_shape: tuple[int, ...], by: int) -> tuple[int, ...]:
    height, width, *channels = image_shape
    return (height // by, width // by, *channels)
