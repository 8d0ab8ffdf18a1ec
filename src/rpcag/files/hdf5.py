"""Read HDF5 files, and MATLAB 7.3 files, which are HDF5 with transposed axes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.files.arrays import OTHER, Variable, dense_kind
from rpcag.files.memory import check_fits
from rpcag.files.readable import need, readable


@contextmanager
def hdf5_variables(path: Path) -> Iterator[dict[str, Variable]]:
    """All arrays of a file by path. Links to other files are not followed."""
    is_matlab = path.suffix.lower() == ".mat"
    kind = "MATLAB" if is_matlab else "HDF5"
    h5py = need("h5py")
    found: dict[str, Variable] = {}

    def add(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith("#"):
            found[name] = _variable(path, item, is_matlab)

    with readable(path, kind):
        opened = h5py.File(path, "r")
    with opened:
        with readable(path, kind):
            opened.visititems(add)
        yield found


def _variable(path: Path, item: Any, is_matlab: bool) -> Variable:
    shape = item.shape or ()
    kind = dense_kind(item.dtype) if item.shape is not None else OTHER
    is_text = is_matlab and item.attrs.get("MATLAB_class") == b"char"
    is_elsewhere = item.external or item.is_virtual
    if is_elsewhere:
        kind = "in another file, which is not read"

    def read() -> np.ndarray:
        with readable(path, "MATLAB" if is_matlab else "HDF5"):
            if is_elsewhere:
                raise ValueError(f"{item.name} is {kind}")
            check_fits(item.nbytes, item.name)
            A = item[()].T if is_matlab else _filled(item)
            if is_matlab and A.dtype.kind == "O":  # a cell array: references to text
                cells = [item.file[cell][()].ravel() for cell in A.ravel()]
                return np.array(["".join(map(chr, cell)) for cell in cells])
            return np.array(["".join(map(chr, row)) for row in A]) if is_text else A

    return Variable(
        shape[::-1] if is_matlab else shape, OTHER if is_text else kind, read
    )


def _filled(item: Any) -> np.ndarray:
    """The values; NaN where netCDF marks missing ones."""
    A = item[()]
    for mark in ("_FillValue", "missing_value"):
        if mark in item.attrs and A.dtype.kind in "fiu":
            A = np.where(np.isin(A, item.attrs[mark]), np.nan, A)
    return A
