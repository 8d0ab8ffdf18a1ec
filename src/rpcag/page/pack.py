"""Encode arrays as text in a page: with few bits per value, compressed, in base64."""

import base64
import zlib
from typing import Any

import numpy as np

Packed = dict[str, Any]


def exact(A: np.ndarray) -> Packed:
    """Encode in single precision."""
    return _packed("exact", np.asarray(A, dtype="<f4"), A.shape)


def levels(A: np.ndarray) -> Packed:
    """Encode in 256 steps between the extremes."""
    low, high = float(A.min()), float(A.max())
    unit = (high - low) / 255 or 1.0
    codes = np.rint((A - low) / unit).astype(np.uint8)
    return _packed("levels", codes, A.shape, low=low, unit=unit)


def signed(A: np.ndarray) -> Packed:
    """Encode with signs, in steps that are finer near zero; zero stays zero.

    A code c in -127..127 means unit (c / 127)^3, so values down to a millionth of the
    largest have a relative error of a few percent or less.
    """
    unit = float(np.abs(A).max()) or 1.0
    codes = np.rint(127 * np.cbrt(A / unit)).astype(np.int8)
    return _packed("signed", codes, A.shape, unit=unit)


def mask(A: np.ndarray) -> Packed:
    """Zeros and ones, which compress well."""
    return _packed("mask", A.astype(np.uint8), A.shape)


def _packed(kind: str, codes: np.ndarray, shape: tuple, **scale: float) -> Packed:
    data = base64.b64encode(zlib.compress(codes.tobytes(), 9)).decode("ascii")
    return {"kind": kind, "shape": list(shape), "data": data, **scale}
