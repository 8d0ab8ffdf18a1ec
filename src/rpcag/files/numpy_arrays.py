"""Read .npy and .npz files, with every size checked before memory is allocated.

`numpy.load` allocates whatever size the header of an array declares, and a small
archive may decompress to any amount of zeros.
"""

import math
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from rpcag.files.memory import check_fits
from rpcag.files.readable import readable
from rpcag.files.variable import OTHER, SPARSE, Variable, dense_kind
from rpcag.linalg.sparse_structure import check_structure


@dataclass(frozen=True)
class Header:
    """The header of an array."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def variable(self, read: Callable[[], np.ndarray]) -> Variable:
        itemsize = 4 if self.dtype == np.float32 else 8
        return Variable(self.shape, dense_kind(self.dtype), read, itemsize)


def read_header(stream: IO[bytes], size: int) -> Header:
    """The header of an array; an error if `size` bytes are too few for the values."""
    try:
        version = npy.read_magic(stream)
    except ValueError:
        raise ValueError("it is not an array of NumPy") from None
    is_first = version == (1, 0)
    read = npy.read_array_header_1_0 if is_first else npy.read_array_header_2_0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files of Python 2
        header = Header(*read(stream))
    if any(side < 0 for side in header.shape):
        raise ValueError(f"its header claims the shape {header.shape}")
    left = size - stream.tell()
    if not header.dtype.hasobject and header.nbytes > left:
        raise ValueError(
            f"its header claims {header.nbytes} bytes of values, but there are {left}: "
            "the file is cut off or damaged"
        )
    return header


def npy_variable(path: Path) -> Variable:
    """The array of a .npy."""

    def read() -> np.ndarray:
        with readable(path, "NumPy"):
            if not header.nbytes:  # an empty file part cannot be mapped
                return np.empty(header.shape, header.dtype)
            return np.load(path, allow_pickle=False, mmap_mode="r")

    with readable(path, "NumPy"), path.open("rb") as file:
        header = read_header(file, path.stat().st_size)
        if header.dtype.hasobject:
            raise ValueError("it holds Python objects, not numbers")
        return header.variable(read)


@contextmanager
def npz_variables(path: Path) -> Iterator[dict[str, Variable]]:
    """All arrays of a .npz by name, or the sparse matrix that SciPy wrote."""
    with _open_npz(path) as found:
        if {"format", "shape", "data"} <= set(found):
            found = {path.stem: _sparse(path, found)}
        yield found


def read_npz(path: Path, names: tuple[str, ...] | None = None) -> dict[str, np.ndarray]:
    """The arrays of a .npz: all, or those among `names` that it has."""
    with _open_npz(path) as found:
        wanted = [name for name in found if names is None or name in names]
        return {name: found[name].read() for name in wanted}


@contextmanager
def open_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo
) -> Iterator[tuple[IO[bytes], Header]]:
    """An array of an archive as a stream that starts after the header."""
    with archive.open(info) as stream:
        yield stream, read_header(stream, info.file_size)


@contextmanager
def _open_npz(path: Path) -> Iterator[dict[str, Variable]]:
    with readable(path, "NumPy"):
        archive = zipfile.ZipFile(path)
    with archive:
        with readable(path, "NumPy"):
            found = {
                info.filename.removesuffix(".npy"): _member(path, archive, info)
                for info in archive.infolist()
                if info.filename.endswith(".npy")
            }
        yield found


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Variable:
    def read() -> np.ndarray:
        with readable(path, "NumPy"):
            if header.dtype.hasobject:
                raise ValueError(f"{info.filename} holds Python objects, not numbers")
            check_fits(header.nbytes, info.filename)
            with archive.open(info) as stream:
                return npy.read_array(stream, allow_pickle=False)

    with open_member(archive, info) as (_, header):
        return header.variable(read)


def _sparse(path: Path, stored: dict[str, Variable]) -> Variable:
    """A sparse matrix as `scipy.sparse.save_npz` writes it."""
    with readable(path, "a sparse matrix"):
        shape = tuple(int(side) for side in stored["shape"].read())
        if len(shape) != 2 or min(shape) < 0:
            raise ValueError(f"it has the shape {shape}")

    def read() -> Any:
        with readable(path, "a sparse matrix"):
            needed = sum(8 * math.prod(part.shape) for part in stored.values())
            check_fits(needed, "it")
            return check_structure(sparse.load_npz(path), "it")

    return Variable(shape, SPARSE if stored["data"].is_number else OTHER, read)
