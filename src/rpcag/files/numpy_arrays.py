"""Read .npy and .npz files, with every size checked before memory is allocated.

`numpy.load` allocates whatever size the header of an array declares, and a small
archive may decompress to any amount of zeros.
"""

import math
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from rpcag.files.arrays import NUMBERS, OTHER, SPARSE, Variable, dense_kind
from rpcag.files.memory import check_fits
from rpcag.files.readable import readable
from rpcag.linalg.sparse_structure import check_structure


class Header(NamedTuple):
    """The header of an array."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype


def read_header(stream: IO[bytes], size: int) -> Header:
    """The header of an array; an error if `size` bytes are too few for the values."""
    try:
        is_first = npy.read_magic(stream) == (1, 0)
    except ValueError:
        raise ValueError("it is not an array of NumPy") from None
    read = npy.read_array_header_1_0 if is_first else npy.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files of Python 2
        header = Header(*read(stream))
    if any(side < 0 for side in header.shape):
        raise ValueError(f"its header claims the shape {header.shape}")
    claimed, left = (
        math.prod(header.shape) * header.dtype.itemsize,
        size - stream.tell(),
    )
    if not header.dtype.hasobject and claimed > left:
        raise ValueError(
            f"its header claims {claimed} bytes of values, but there are {left}: the "
            "file is cut off or damaged"
        )
    return header


def npy_variable(path: Path) -> Variable:
    """The array of a .npy."""
    with readable(path, "NumPy"):
        return _variable(path, partial(path.open, "rb"), path.stat().st_size)


@contextmanager
def npz_variables(path: Path) -> Iterator[dict[str, Variable]]:
    """All arrays of a .npz by name, or the sparse matrix that SciPy wrote."""
    with readable(path, "NumPy"):
        archive = zipfile.ZipFile(path)
    with archive:
        with readable(path, "NumPy"):
            found = {
                info.filename.removesuffix(".npy"): _variable(
                    path, partial(archive.open, info), info.file_size
                )
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }
            if {"format", "shape", "data"} <= set(found):
                found = {path.stem: _sparse(path, found)}
        yield found


def read_npz(path: Path, names: tuple[str, ...] | None = None) -> dict[str, np.ndarray]:
    """The arrays of a .npz: all, or those among `names` that it has."""
    with npz_variables(path) as found:
        wanted = [name for name in found if names is None or name in names]
        return {name: found[name].read() for name in wanted}


def _variable(path: Path, opened: Callable[[], Any], size: int) -> Variable:
    """An array of so many bytes, in a file or in an archive."""
    with opened() as stream:
        header = read_header(stream, size)

    def read() -> np.ndarray:
        with readable(path, "NumPy"), opened() as stream:
            check_fits(size, "an array")
            return npy.read_array(stream, allow_pickle=False)

    is_object = header.dtype.hasobject
    kind = "Python objects" if is_object else dense_kind(header.dtype)
    return Variable(header.shape, kind, read)


def _sparse(path: Path, stored: dict[str, Variable]) -> Variable:
    """A sparse matrix as `scipy.sparse.save_npz` writes it."""
    shape = tuple(int(side) for side in stored["shape"].read())
    if len(shape) != 2 or min(shape) < 0:
        raise ValueError(f"it has the shape {shape}")

    def read() -> Any:
        with readable(path, "a sparse matrix"):
            check_fits(sum(8 * math.prod(part.shape) for part in stored.values()), "it")
            return check_structure(sparse.load_npz(path), "it")

    return Variable(shape, SPARSE if stored["data"].kind == NUMBERS else OTHER, read)
