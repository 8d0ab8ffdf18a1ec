"""Read .npy and .npz files, with every size checked before memory is allocated.

`numpy.load` allocates whatever size the header of an array declares, and a small
archive may decompress to any amount of zeros.
"""

import copy
import io
import math
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from rpcag.files.memory import check_fits
from rpcag.files.readable import readable
from rpcag.files.variable import Variable
from rpcag.linalg.sparse_structure import check_structure

MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 10_000  # bytes, as in numpy.load
BLOCK = 1 << 20  # bytes that are read at a time
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # those that NumPy writes


@dataclass(frozen=True)
class Header:
    """The header of an array."""

    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype
    start: int  # bytes before the values

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(stream: IO[bytes], size: int) -> Header:
    """The header of an array; an error if `size` bytes are too few for the values."""
    start = _exactly(stream, 8)
    if start[:6] != MAGIC:
        raise ValueError("it is not an array of NumPy")
    version = (start[6], start[7])
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"it has the unknown version {version[0]}.{version[1]}")
    width = _exactly(stream, 2 if version == (1, 0) else 4)
    length = int.from_bytes(width, "little")
    if length > LONGEST_HEADER:
        raise ValueError(f"its header claims {length} bytes")
    text = io.BytesIO(width + _exactly(stream, length))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about files of Python 2
        if version == (1, 0):
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(text)
        else:
            shape, fortran, dtype = np.lib.format.read_array_header_2_0(text)
    header = Header(shape, fortran, dtype, 8 + len(width) + length)
    if any(side < 0 for side in shape):
        raise ValueError(f"its header claims the shape {shape}")
    if not dtype.hasobject and header.nbytes > size - header.start:
        raise ValueError(
            f"its header claims {header.nbytes} bytes of values, but there are "
            f"{size - header.start}: the file is cut off or damaged"
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
        return Variable.of(header.shape, header.dtype, read)


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
def _open_npz(path: Path) -> Iterator[dict[str, Variable]]:
    with readable(path, "NumPy"):
        if not zipfile.is_zipfile(path):
            raise ValueError("it is not an archive")
        archive = zipfile.ZipFile(path)
    with archive:
        found = {}
        with readable(path, "NumPy"):
            for info in archive.infolist():
                if info.filename.endswith(".npy"):
                    with open_member(archive, info) as (_, header):
                        read = _reader(archive, info, path)
                        found[info.filename.removesuffix(".npy")] = Variable.of(
                            header.shape, header.dtype, read
                        )
        yield found


def _sparse(path: Path, stored: dict[str, Variable]) -> Variable:
    """A sparse matrix as `scipy.sparse.save_npz` writes it."""
    with readable(path, "a sparse matrix"):
        if stored["shape"].shape != (2,) or stored["format"].shape:
            raise ValueError("it has no shape with two axes, or no format")
        shape = tuple(int(side) for side in stored["shape"].read())
        format = stored["format"].read().item()
        format = format.decode("ascii") if isinstance(format, bytes) else format
        if min(shape) < 0 or format not in ("csr", "csc", "bsr", "dia", "coo"):
            raise ValueError(f"it has the format {format!r} and the shape {shape}")

    def read() -> Any:
        parts = {"dia": ("offsets",), "coo": ("row", "col")}
        names = parts.get(format, ("indices", "indptr"))
        if "coords" in stored and format == "coo":
            names = ("coords",)
        with readable(path, "a sparse matrix"):
            data = stored["data"].read()
            index = tuple(stored[name].read() for name in names)
            content: Any = (data, *index)
            if format == "coo":
                content = (data, tuple(index[0]) if len(index) == 1 else index)
            made = getattr(sparse, f"{format}_array")(content, shape=shape)
            return check_structure(made, "it")

    return Variable(shape, stored["data"].is_number, read, is_sparse=True)


@contextmanager
def open_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo
) -> Iterator[tuple[IO[bytes], Header]]:
    """An array of an archive as a stream that starts after the header."""
    if info.compress_type not in METHODS or info.flag_bits & 1:
        raise ValueError(
            f"{info.filename} is encrypted, or its compression is unknown; write it "
            "with numpy.savez"
        )
    # zipfile stops at the size that the archive declares, even if more data follow.
    # With a size of one byte more, it reads on and checks the checksum at the true end.
    longer = copy.copy(info)
    longer.file_size = info.file_size + 1
    with archive.open(longer) as stream:
        header = read_header(stream, info.file_size)
        if not header.dtype.hasobject and header.nbytes < info.file_size - header.start:
            raise ValueError(f"{info.filename} is longer than its header claims")
        yield stream, header


def check_ended(stream: IO[bytes], name: str) -> None:
    """Refuse a member that is longer than its declared size."""
    if stream.read(1):
        raise ValueError(f"{name} holds more than the archive declares")


def _reader(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path
) -> Callable[[], np.ndarray]:
    def read() -> np.ndarray:
        with (
            readable(path, "NumPy"),
            open_member(archive, info) as (stream, header),
        ):
            if header.dtype.hasobject:
                raise ValueError(f"{info.filename} holds Python objects, not numbers")
            check_fits(header.nbytes, info.filename)
            values = np.empty(header.nbytes, dtype=np.uint8)
            for at in range(0, header.nbytes, BLOCK):
                part = values[at : at + BLOCK]
                part[:] = np.frombuffer(_exactly(stream, len(part)), dtype=np.uint8)
            check_ended(stream, info.filename)
            return np.ndarray(
                header.shape,
                header.dtype,
                values,
                order="F" if header.fortran else "C",
            )

    return read


def _exactly(stream: IO[bytes], count: int) -> bytes:
    parts, missing = [], count
    while missing and (part := stream.read(missing)):
        parts.append(part)
        missing -= len(part)
    if missing:
        raise ValueError("it is cut off")
    return b"".join(parts)
