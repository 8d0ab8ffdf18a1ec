"""Encode arrays as text in a page: with few bits per value, compressed, in base64."""

import base64
import zlib
from typing import Any

import numpy as np

Packed = dict[str, Any]


def exact(A: np.ndarray) -> Packed:
    """Encode in single precision."""
    return _packed("exact", np.asarray(A, dtype="<f4"), A.shape)


def levels(A: np.ndarray, *, by_column: bool = False) -> Packed:
    """Encode in 256 steps between the extremes of all values or of each column."""
    low, high = _ends(A, by_column)
    unit = np.where(high > low, (high - low) / 255, 1.0)
    codes = np.rint((A - low) / unit).astype(np.uint8)
    return _packed("levels", codes, A.shape, low=low.tolist(), unit=unit.tolist())


def signed(A: np.ndarray, *, by_column: bool = False) -> Packed:
    """Encode with signs, in steps that are finer near zero; zero stays zero.

    A code c in -127..127 means unit (c / 127)^3, so values down to a millionth of the
    largest have a relative error of a few percent or less.
    """
    low, high = _ends(A, by_column)
    unit = np.maximum(np.abs(low), np.abs(high))
    unit = np.where(unit > 0, unit, 1.0)
    codes = np.rint(127 * np.cbrt(A / unit)).astype(np.int8)
    return _packed("signed", codes, A.shape, unit=unit.tolist())


def mask(A: np.ndarray) -> Packed:
    """Zeros and ones, which compress well."""
    return _packed("mask", A.astype(np.uint8), A.shape)


def _ends(A: np.ndarray, by_column: bool) -> tuple[np.ndarray, np.ndarray]:
    axis = 0 if by_column else None
    return np.atleast_1d(A.min(axis=axis)), np.atleast_1d(A.max(axis=axis))


def _packed(kind: str, codes: np.ndarray, shape: tuple, **scales: list) -> Packed:
    data = base64.b64encode(zlib.compress(codes.tobytes(), 9)).decode("ascii")
    return {"kind": kind, "shape": list(shape), "data": data, **scales}
