"""Read HDF5 files, and MATLAB 7.3 files, which are HDF5 with transposed axes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.files.memory import check_fits
from rpcag.files.readable import need, readable
from rpcag.files.variable import ELSEWHERE, NUMBERS, OTHER, Variable, dense_kind

SIGNATURE = b"\x89HDF\r\n\x1a\n"
MATLAB_NUMBERS = ("double", "single", "logical")


@contextmanager
def hdf5_variables(path: Path) -> Iterator[dict[str, Variable]]:
    """All arrays of a file by path."""
    is_matlab = path.suffix.lower() == ".mat"
    kind = "MATLAB" if is_matlab else "HDF5"
    h5py = need("h5py")
    with readable(path, kind):
        opened = h5py.File(path, "r")
    found: dict[str, Variable] = {}

    def add(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and not name.startswith("#"):
            found[name] = _variable(path, opened, item, is_matlab)

    def note(name: bytes, link: Any) -> None:
        if link.type == h5py.h5l.TYPE_EXTERNAL:
            key = name.decode(errors="backslashreplace")
            found[key] = Variable((), ELSEWHERE, _never)

    with opened:
        with readable(path, kind):
            opened.visititems(add)  # does not follow links to other files
            opened.id.links.visit(note, info=True)
        yield found


def _variable(path: Path, file: Any, item: Any, is_matlab: bool) -> Variable:
    kind = dense_kind(item.dtype)
    name = item.attrs.get("MATLAB_class", b"double").decode() if is_matlab else "double"
    if item.shape is None or not (name in MATLAB_NUMBERS or "int" in name):
        kind = OTHER if kind == NUMBERS else kind
    # The values may be in other files.
    if item.id.get_create_plist().get_external_count() or item.is_virtual:
        kind = ELSEWHERE
    shape = item.shape or ()

    def read() -> np.ndarray:
        with readable(path, "MATLAB" if is_matlab else "HDF5"):
            if kind == ELSEWHERE:
                _never()
            return _matlab(file, item) if is_matlab else _values(item)

    itemsize = 4 if item.dtype == np.float32 else 8
    return Variable(shape[::-1] if is_matlab else shape, kind, read, itemsize)


def _never() -> Any:
    raise ValueError("it is stored in another file, which is not read")


def _matlab(file: Any, item: Any) -> np.ndarray:
    if item.dtype.kind == "O":  # references to cells of a cell array
        cells = [file[cell][()] for cell in item[()].T.ravel()]
        return np.array(["".join(map(chr, cell.ravel())) for cell in cells])
    if item.attrs.get("MATLAB_class") == b"char":
        return np.array(["".join(map(chr, row)) for row in item[()].T])
    return _values(item).T


def _values(item: Any) -> np.ndarray:
    check_fits(item.nbytes, item.name)
    A = item[()]
    for mark in ("_FillValue", "missing_value"):  # as netCDF marks missing values
        if mark in item.attrs and A.dtype.kind in "fiu":
            missing = np.isin(A, item.attrs[mark])
            A = np.where(missing, np.nan, A.astype(np.result_type(A, np.float32)))
    return A
