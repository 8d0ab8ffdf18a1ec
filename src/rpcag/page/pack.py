"""Put arrays into a page: reduced to its size, in few bits per value, compressed."""

import base64
import math
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpcag.files.decomposition import Decomposition

Packed = dict[str, Any]
# Bytes of both matrices before compression; in base64 a page is a third larger, so
# with all else it stays below 13 MB and is mostly far smaller.
MATRIX_BYTES = 9_000_000
SAMPLES = 4000
FEATURES = 2000  # of a table; no screen has more
PIXELS = 48 * 48  # images are shrunk to this before samples are left out


def exact(A: np.ndarray) -> Packed:
    """Encode in single precision; what is beyond it is infinite."""
    return _packed("exact", A, "<f4")


def levels(A: np.ndarray) -> Packed:
    """Encode in 256 steps between the extremes."""
    low, high = float(A.min()), float(A.max())
    unit = (high - low) / 255 or 1.0
    return _packed("levels", np.rint((A - low) / unit), "u1", low=low, unit=unit)


def signed(A: np.ndarray) -> Packed:
    """Encode with signs, in steps that are finer near zero; zero stays zero.

    A code c in -127..127 means unit (c / 127)^3, so values down to a millionth of the
    largest have a relative error of a few percent or less.
    """
    unit = float(np.abs(A).max()) or 1.0
    return _packed("signed", np.rint(127 * np.cbrt(A / unit)), "i1", unit=unit)


def mask(A: np.ndarray) -> Packed:
    """Zeros and ones, which compress well."""
    return _packed("mask", A, "u1")


def _packed(kind: str, codes: np.ndarray, dtype: str, **scale: float) -> Packed:
    with np.errstate(over="ignore"):
        codes = codes.astype(dtype)
    data = base64.b64encode(zlib.compress(codes.tobytes(), 9)).decode()
    return {"kind": kind, "shape": list(codes.shape), "data": data, **scale}


def check_size(limit: float, *arrays: np.ndarray) -> None:
    """Refuse values that the page cannot compute with."""
    largest = np.max([np.abs(A).max(initial=0.0) for A in arrays])
    if not largest <= limit:
        raise ValueError(
            f"there are values of {largest:.1e}, and a page holds none beyond "
            f"{limit:.0e}; use another unit"
        )


@dataclass(frozen=True)
class Extract:
    """The part of a decomposition that is shown, and how it was reduced."""

    rows: np.ndarray  # indices of samples
    low_rank: np.ndarray
    sparse: np.ndarray
    missing: np.ndarray | None
    features: list[str]
    image_shape: tuple[int, ...] | None
    notes: list[str]


def extract(whole: Decomposition, limit: int = MATRIX_BYTES) -> Extract:
    """Choose evenly spaced samples and features, and shrink images, to fit `limit`.

    A pixel takes one byte (`rpcag.page.pack`), and a value of a table takes four.
    """
    n, p = whole.low_rank.shape
    shape, by = whole.image_shape, 1
    columns = np.arange(p) if shape else spread(p, FEATURES)
    size = 2 * p if shape else 8 * len(columns)  # bytes of a sample
    if shape:
        while min(n, SAMPLES) * size > limit and shape[0] * shape[1] > PIXELS * by**2:
            by += 1
            size = 2 * math.prod(shrunk_shape(shape, by))
    rows = spread(n, min(SAMPLES, max(limit // max(size, 1), 1)))
    notes = [
        f"{len(kept):,} of {total:,} {what}, evenly drawn, are shown."
        for kept, total, what in ((rows, n, "samples"), (columns, p, "features"))
        if len(kept) < total
    ]
    if by > 1:
        notes.append(f"Images are shown at 1/{by} of their width and height.")

    def part(A: np.ndarray) -> np.ndarray:
        A = A[np.ix_(rows, columns)]
        return shrink(A, shape, by) if shape and by > 1 else A

    return Extract(
        rows,
        part(whole.low_rank),
        part(whole.sparse),
        None if whole.missing is None else part(whole.missing) > 0.5,
        [whole.features[j] for j in columns],
        shape and shrunk_shape(shape, by),
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
