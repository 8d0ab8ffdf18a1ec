"""Refuse sparse matrices whose index arrays point outside the matrix."""

import numpy as np


def check_structure(A, name: str):
    """Return the sparse matrix A, or raise a ValueError that says what is malformed.

    SciPy checks little of this when a matrix is created, and nothing when its arrays
    are assigned. Its compiled routines do not check the arrays either: a column index
    that is too large reads or writes outside of them. The check takes one pass.

    Parameters
    ----------
    A : sparse array or matrix, in any format of SciPy
    name : str
        Name of the matrix in errors.
    """
    if len(A.shape) != 2:
        raise ValueError(f"{name} must have two axes, got shape {A.shape}")
    reason = _CHECKS[A.format](A)
    if reason:
        raise ValueError(
            f"{name} is a malformed sparse matrix of shape {A.shape} in the format "
            f"{A.format}: {reason}; build it again from rows, columns and values"
        )
    return A


def _compressed(A) -> str:
    """CSR, CSC and BSR: lines `indptr[i]` to `indptr[i + 1]` of indices and data."""
    rows, columns = A.shape
    data, blocks = np.asarray(A.data), (1, 1)
    if A.format == "bsr":
        if data.ndim != 3:
            return f"data must have 3 axes, not {data.ndim}"
        blocks = data.shape[1:]
        if 0 in blocks or rows % blocks[0] or columns % blocks[1]:
            return f"blocks of {blocks} do not divide the shape"
    elif data.ndim != 1:
        return f"data must have 1 axis, not {data.ndim}"
    lines, across = rows // blocks[0], columns // blocks[1]
    if A.format == "csc":
        lines, across = across, lines
    indptr, indices = A.indptr, A.indices
    reason = _integers("indptr", indptr) or _integers("indices", indices)
    if reason:
        return reason
    if len(indptr) != lines + 1:
        return f"indptr must have {lines + 1} entries, not {len(indptr)}"
    if indptr[0] != 0:
        return f"indptr must start at 0, not {indptr[0]}"
    # Compared, because differences can overflow.
    if (indptr[1:] < indptr[:-1]).any():
        return "indptr must not decrease"
    stored = int(indptr[-1])  # SciPy may leave unused room at the end of the arrays
    if stored > min(len(indices), len(data)):
        return (
            f"indptr ends at {stored}, but there are {len(indices)} indices and "
            f"{len(data)} values"
        )
    return _within("indices", indices[:stored], across)


def _coordinates(A) -> str:
    data, coords = np.asarray(A.data), (A.row, A.col)
    if data.ndim != 1:
        return f"data must have 1 axis, not {data.ndim}"
    for what, index, length in zip(("row", "col"), coords, A.shape, strict=True):
        reason = _integers(what, index)
        if not reason and len(index) != len(data):
            reason = f"{what} has {len(index)} entries for {len(data)} values"
        reason = reason or _within(what, index, length)
        if reason:
            return reason
    return ""


def _diagonals(A) -> str:
    data = np.asarray(A.data)
    reason = _integers("offsets", A.offsets)
    if reason:
        return reason
    if data.ndim != 2 or len(data) != len(A.offsets):
        return f"data of shape {data.shape} do not fit {len(A.offsets)} offsets"
    if len(np.unique(A.offsets)) != len(A.offsets):
        return "offsets must differ"
    return ""


def _lists(A) -> str:
    rows, columns = A.shape
    if len(A.rows) != rows or len(A.data) != rows:
        return f"there must be {rows} lists, not {len(A.rows)} and {len(A.data)}"
    for i, (places, values) in enumerate(zip(A.rows, A.data, strict=True)):
        if len(places) != len(values):
            return f"row {i} has {len(places)} indices for {len(values)} values"
        if places:
            reason = _integers("rows", np.asarray(places))
            reason = reason or _within("rows", np.asarray(places), columns)
            if reason:
                return reason
    return ""


def _keys(A) -> str:
    keys = np.asarray(list(A.keys()))
    if not len(keys):
        return ""
    if keys.ndim != 2 or keys.dtype.kind not in "iu":
        return "keys must be pairs of integers"
    return _within("rows", keys[:, 0], A.shape[0]) or _within(
        "columns", keys[:, 1], A.shape[1]
    )


_CHECKS = {
    **dict.fromkeys(("csr", "csc", "bsr"), _compressed),
    "coo": _coordinates,
    "dia": _diagonals,
    "lil": _lists,
    "dok": _keys,
}


def _integers(what: str, index) -> str:
    if not isinstance(index, np.ndarray) or index.ndim != 1:
        return f"{what} must be an array with 1 axis"
    if index.dtype.kind != "i":
        return f"{what} must hold integers, not {index.dtype}"
    return ""


def _within(what: str, index: np.ndarray, length: int) -> str:
    if not index.size:
        return ""
    low, high = int(index.min()), int(index.max())
    if low < 0 or high >= length:
        wrong = low if low < 0 else high
        return f"{what} has {wrong}, which is not between 0 and {length - 1}"
    return ""
