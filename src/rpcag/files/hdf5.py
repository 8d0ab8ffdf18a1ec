"""Arrays of HDF5 files, and of MATLAB 7.3 files, which are HDF5 with turned axes."""

import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.files.memory import available, check_fits
from rpcag.files.readable import need, readable
from rpcag.files.variable import Variable

SIGNATURE = b"\x89HDF\r\n\x1a\n"
MATLAB_NUMBERS = ("double", "single", "logical")
DEFLATE = 1032  # largest compression ratio of zlib
BLOCK = 1 << 20  # bytes decompressed at a time


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
            found[key] = Variable((), False, _never, elsewhere=True)

    with opened:
        with readable(path, kind):
            opened.visititems(add)  # does not follow links to other files
            opened.id.links.visit(note, info=True)
        yield found


def _variable(path: Path, file: Any, item: Any, is_matlab: bool) -> Variable:
    is_number = item.dtype.kind in "fiub" and item.shape is not None
    if is_matlab:
        kind = item.attrs.get("MATLAB_class", b"double").decode()
        is_number = is_number and (kind in MATLAB_NUMBERS or "int" in kind)
    elsewhere = _is_elsewhere(item)
    shape = item.shape or ()

    def read() -> np.ndarray:
        with readable(path, "MATLAB" if is_matlab else "HDF5"):
            return _matlab(file, item) if is_matlab else _values(item)

    return Variable(
        shape[::-1] if is_matlab else shape,
        is_number and not elsewhere,
        read,
        itemsize=4 if item.dtype == np.float32 else 8,
        elsewhere=elsewhere,
        is_struct=item.dtype.names is not None,
    )


def _is_elsewhere(item: Any) -> bool:
    """Whether the values of a dataset are in other files, external or virtual."""
    layout = item.id.get_create_plist()
    return bool(layout.get_external_count()) or item.is_virtual


def _never() -> Any:
    raise ValueError("it is stored in another file, which is not read")


def _matlab(file: Any, item: Any) -> np.ndarray:
    if item.dtype.kind == "O":  # references to cells of a cell array
        cells = [_stored(file[cell]) for cell in _stored(item).T.ravel()]
        return np.array(["".join(map(chr, cell.ravel())) for cell in cells])
    if item.attrs.get("MATLAB_class") == b"char":
        return np.array(["".join(map(chr, row)) for row in _stored(item).T])
    return _values(item).T


def _values(item: Any) -> np.ndarray:
    A = _stored(item)
    for mark in ("_FillValue", "missing_value"):  # as netCDF marks missing values
        if mark in item.attrs and A.dtype.kind in "fiu":
            missing = np.isin(A, item.attrs[mark])
            A = np.where(missing, np.nan, A.astype(np.result_type(A, np.float32)))
    return A


def _stored(item: Any) -> np.ndarray:
    if _is_elsewhere(item):
        _never()
    # HDF5 decompresses whole chunks, which may extend beyond the dataset.
    chunk = math.prod(item.chunks) * item.dtype.itemsize if item.chunks else 0
    check_fits(item.size * item.dtype.itemsize + 2 * chunk, item.name)
    if chunk and hasattr(item.id, "chunk_iter"):
        item.id.chunk_iter(lambda stored: _check_chunk(item, stored, chunk))
    return item[()]


def _check_chunk(item: Any, stored: Any, size: int) -> None:
    """Refuse a chunk that decompresses to more than its size.

    HDF5 would decompress all of it, however long. The check is cheap unless the result
    could exceed memory: compression hardly makes data longer, and zlib shortens data by
    a factor of at most DEFLATE.
    """
    is_longer = stored.size > size + size // 100 + 1024
    free = available()
    if not is_longer and free is not None and DEFLATE * stored.size > free:
        if item.compression != "gzip":
            return
        _, packed = item.id.read_direct_chunk(stored.chunk_offset)
        stream, total = zlib.decompressobj(), 0
        while packed and total <= 2 * size:
            total += len(stream.decompress(packed, BLOCK))
            packed = stream.unconsumed_tail
        is_longer = total > 2 * size
    if is_longer:
        raise ValueError(
            f"{item.name} holds more data than its shape allows; it is damaged"
        )
