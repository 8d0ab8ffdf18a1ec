"""Encode arrays as text in a page: with few bits per value, compressed, in base64."""

import base64
import zlib
from typing import Any

import numpy as np

Packed = dict[str, Any]


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
