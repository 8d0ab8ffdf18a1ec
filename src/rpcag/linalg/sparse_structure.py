"""Refuse sparse matrices whose index arrays point outside the matrix."""

from itertools import chain

import numpy as np
from scipy import sparse


def check_structure(A, name: str):
    """Return the sparse matrix A, or raise a ValueError that says what is malformed.

    SciPy checks little of this, and its compiled routines nothing: a column index that
    is too large reads or writes outside of the arrays. `name` is for errors.
    """
    if len(A.shape) != 2:
        raise ValueError(f"{name} must have two axes, got shape {A.shape}")
    try:
        _check(A)
    except (ValueError, TypeError, IndexError) as error:
        raise ValueError(
            f"{name} is a malformed sparse matrix of shape {A.shape} in the format "
            f"{A.format}: {error}; build it again from rows, columns and values"
        ) from error
    return A


def _check(A) -> None:
    """Build A again from its arrays, without copies: then SciPy checks them."""
    if A.format in ("csr", "csc", "bsr"):
        _check_integers(A.indices, A.indptr)
        if (A.indptr[1:] < A.indptr[:-1]).any():  # SciPy's differences may overflow
            raise ValueError("indptr must not decrease")
        again = type(A)((A.data, A.indices, A.indptr), shape=A.shape)
        again.check_format(full_check=True)
    elif A.format == "coo":
        _check_integers(A.row, A.col)
        type(A)((A.data, (A.row, A.col)), shape=A.shape)
    elif A.format == "dia":
        _check_integers(A.offsets)
        type(A)((A.data, A.offsets), shape=A.shape)
    elif A.format == "lil":
        lengths = [len(row) for row in A.rows]
        if lengths != [len(row) for row in A.data] or len(lengths) != A.shape[0]:
            raise ValueError("lists of indices and of values must have equal lengths")
        columns = np.fromiter(chain.from_iterable(A.rows), np.int64)
        rows = np.repeat(np.arange(len(lengths)), lengths)
        sparse.coo_array((columns, (rows, columns)), shape=A.shape)
    else:  # "dok"
        A.tocoo()


def _check_integers(*arrays) -> None:
    for array in arrays:
        if not isinstance(array, np.ndarray) or array.dtype.kind != "i":
            raise ValueError("indices must be arrays of integers")
