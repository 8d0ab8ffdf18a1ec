"""Files of arrays: NumPy's .npy and .npz, MATLAB's .mat, HDF5.

MATLAB files up to version 7 are read by SciPy, later ones (which are HDF5 with the
axes turned round) and HDF5 by h5py.
"""

import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rpcag.files.extras import need
from rpcag.files.matlab import matlab_arrays
from rpcag.files.memory import NAME, available, check_fits
from rpcag.files.numpy_arrays import StoredArray, open_npz, read_header
from rpcag.files.readable import readable
from rpcag.files.table import Reading, Table
from rpcag.linalg.sparse_structure import check_structure

SUFFIXES = (".npy", ".npz", ".mat", ".h5", ".hdf5")
HDF5 = b"\x89HDF\r\n\x1a\n"
SAVE_FIELD = "; save the field with the numbers on its own, as an array"
MATLAB_NUMBERS = ("double", "single", "logical")
DEFLATE = 1032  # largest compression ratio of zlib
BLOCK = 1 << 20  # bytes decompressed at a time


@dataclass(frozen=True)
class Variable:
    """An array of a file, dense or sparse, whose values are not read yet."""

    shape: tuple[int, ...]
    is_number: bool
    read: Callable[[], Any]
    itemsize: int = 8  # in a table: 4 for single precision, else double precision
    elsewhere: bool = False  # stored in another file, which is never read
    is_sparse: bool = False
    is_struct: bool = False  # records with named fields

    @property
    def is_matrix(self) -> bool:
        return self.is_number and sum(side > 1 for side in self.shape) > 1

    def __str__(self) -> str:
        size = " x ".join(map(str, self.shape)) or "one value"
        if self.elsewhere:
            return "in another file"
        if self.is_struct:
            return f"{size}, a struct"
        return size if self.is_number else f"{size}, no numbers"


def read_arrays(path: Path, reading: Reading) -> Table:
    """The one matrix in the file, or the one that `variable` names.

    An array of three axes is a stack of images, of four one of color images.
    """
    for option in ("drop", "delimiter", "decimal", "header"):
        if getattr(reading, option) not in (None, ()):
            raise ValueError(f"{option}= is for tables with columns, not for {path}")
    with variables(path) as found:
        name = choose(path, found, reading.variable)
        A = read_dense(path, name, found[name], copies=2 if reading.transpose else 1)
        if reading.transpose:
            A = np.moveaxis(A, -1, 0)
        n = len(A)
        shape = _image_shape(path, A, found)
        labels = _strings(path, found, reading.labels, "labels", n)
        names = _strings(path, found, reading.names, "names", n)
    X = np.ascontiguousarray(A.reshape(n, -1))
    if X.dtype not in (np.float32, np.float64):
        check_fits(8 * X.size, f"{path}: {name} in double precision")
        X = X.astype(np.float64)
    return Table(
        X,
        names or [str(i) for i in range(n)],
        [str(j) for j in range(X.shape[1])],
        labels,
        shape,
    )


def read_dense(
    path: Path, name: str, variable: Variable, *, copies: int = 1
) -> np.ndarray:
    """The numbers of a variable as a dense array; an error if they exceed memory."""
    size = math.prod(variable.shape)
    rows = variable.shape[0] if variable.shape else 1
    names = NAME * (rows + size // max(rows, 1))
    check_fits(copies * variable.itemsize * size + names, f"{path}: {name}")
    A = variable.read()
    if A.dtype.kind not in "fiub":
        raise ValueError(f"{path}: {name} holds {A.dtype} values, not real numbers")
    return A.toarray() if sparse.issparse(A) else A


def choose(path: Path, found: dict[str, Variable], name: str | None) -> str:
    """The variable to take; an error lists what there is."""
    listed = ", ".join(f"{key} ({value})" for key, value in found.items()) or "nothing"
    if name is not None:
        if name not in found:
            raise ValueError(f"variable={name!r}: {path} has {listed}")
        if found[name].elsewhere:
            raise ValueError(
                f"variable={name!r}: {path} stores it in another file, and only "
                "one file is read; copy the values into this file"
            )
        if not found[name].is_matrix:
            what = "a matrix" if found[name].is_number else "numbers"
            raise ValueError(
                f"variable={name!r}: not {what}, but {found[name]}; {path} has {listed}"
                f"{SAVE_FIELD if found[name].is_struct else ''}"
            )
        return name
    matrices = [key for key, value in found.items() if value.is_matrix]
    if not matrices:
        remedy = SAVE_FIELD if any(v.is_struct for v in found.values()) else ""
        raise ValueError(f"{path} has no matrix of numbers; it has {listed}{remedy}")
    if len(matrices) > 1:
        raise ValueError(
            f"{path} has several matrices: {listed}; choose one with variable=NAME"
        )
    return matrices[0]


@contextmanager
def variables(path: Path) -> Iterator[dict[str, Variable]]:
    """All arrays of a file by name."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        yield {path.stem: _npy(path)}
        return
    if suffix == ".npz":
        with open_npz(path) as stored:
            yield _npz(path, stored)
        return
    with path.open("rb") as file:
        start = file.read(520)
    if suffix == ".mat" and HDF5 not in start:
        yield {
            name: Variable(
                A.shape,
                A.is_number,
                A.read,
                is_sparse=A.is_sparse,
                is_struct=A.is_struct,
            )
            for name, A in matlab_arrays(path).items()
        }
        return
    kind = "MATLAB" if suffix == ".mat" else "HDF5"
    with readable(path, kind):
        opened = need("h5py").File(path, "r")
    with opened:
        with readable(path, kind):
            found = _hdf5(path, opened, turned=suffix == ".mat")
        yield found


def _npy(path: Path) -> Variable:
    def read() -> np.ndarray:
        with readable(path, "NumPy"):
            if not header.nbytes:  # an empty file part cannot be mapped
                return np.empty(header.shape, header.dtype)
            return np.load(path, allow_pickle=False, mmap_mode="r")

    with readable(path, "NumPy"), path.open("rb") as file:
        header = read_header(file, path.stat().st_size)
        if header.dtype.hasobject:
            raise ValueError("it holds Python objects, not numbers")
        return _stored(StoredArray(header, read))


def _npz(path: Path, stored: dict[str, StoredArray]) -> dict[str, Variable]:
    if {"format", "shape", "data"} <= set(stored):
        return {path.stem: _sparse_npz(path, stored)}
    return {name: _stored(array) for name, array in stored.items()}


def _stored(array: StoredArray) -> Variable:
    dtype = array.header.dtype
    itemsize = 4 if dtype == np.float32 else 8
    return Variable(
        array.header.shape,
        dtype.kind in "fiub",
        array.read,
        itemsize,
        is_struct=dtype.names is not None,
    )


def _sparse_npz(path: Path, stored: dict[str, StoredArray]) -> Variable:
    """A sparse matrix as `scipy.sparse.save_npz` writes it."""
    with readable(path, "a sparse matrix"):
        if stored["shape"].header.shape != (2,) or stored["format"].header.shape:
            raise ValueError("it has no shape with two axes, or no format")
        shape = tuple(int(side) for side in stored["shape"].read())
        format = stored["format"].read().item()
        format = format.decode("ascii") if isinstance(format, bytes) else format
        if min(shape) < 0 or format not in ("csr", "csc", "bsr", "dia", "coo"):
            raise ValueError(f"it has the format {format!r} and the shape {shape}")

    def read():
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

    is_number = stored["data"].header.dtype.kind in "fiub"
    return Variable(shape, is_number, read, is_sparse=True)


def _hdf5(path: Path, file, turned: bool) -> dict[str, Variable]:
    h5py = need("h5py")
    found: dict[str, Variable] = {}

    def add(name: str, item) -> None:
        if not isinstance(item, h5py.Dataset) or name.startswith("#"):
            return
        is_number = item.dtype.kind in "fiub" and item.shape is not None
        kind = item.attrs.get("MATLAB_class", b"double").decode() if turned else ""
        if turned and kind not in MATLAB_NUMBERS and "int" not in kind:
            is_number = False
        elsewhere = _is_elsewhere(item)
        shape = item.shape or ()
        found[name] = Variable(
            shape[::-1] if turned else shape,
            is_number and not elsewhere,
            lambda: _values(path, file, item, turned),
            4 if item.dtype == np.float32 else 8,
            elsewhere,
            is_struct=item.dtype.names is not None,
        )

    def note(name: bytes, link) -> None:
        if link.type == h5py.h5l.TYPE_EXTERNAL:
            key = name.decode(errors="backslashreplace")
            found[key] = Variable((), False, _never, elsewhere=True)

    file.visititems(add)  # does not follow links to other files
    file.id.links.visit(note, info=True)
    return found


def _is_elsewhere(item) -> bool:
    """Whether the values of a dataset are in other files, external or virtual."""
    layout = item.id.get_create_plist()
    return bool(layout.get_external_count()) or item.is_virtual


def _never() -> Any:
    raise ValueError("it is stored in another file, which is not read")


def _values(path: Path, file, item, turned: bool) -> np.ndarray:
    with readable(path, "MATLAB" if turned else "HDF5"):
        if turned and item.dtype.kind == "O":  # references to cells of a cell array
            cells = [_read_item(file[cell]) for cell in _read_item(item).T.ravel()]
            return np.array(["".join(map(chr, cell.ravel())) for cell in cells])
        A = _read_item(item)
        if turned and item.attrs.get("MATLAB_class") == b"char":
            return np.array(["".join(map(chr, row)) for row in A.T])
        # netCDF marks missing values this way.
        for mark in ("_FillValue", "missing_value"):
            if mark in item.attrs and A.dtype.kind in "fiu":
                missing = np.isin(A, item.attrs[mark])
                A = np.where(missing, np.nan, A.astype(np.result_type(A, np.float32)))
        return A.T if turned else A


def _read_item(item) -> np.ndarray:
    if _is_elsewhere(item):
        _never()
    # HDF5 decompresses whole chunks, which may extend beyond the dataset.
    chunk = math.prod(item.chunks) * item.dtype.itemsize if item.chunks else 0
    check_fits(item.size * item.dtype.itemsize + 2 * chunk, item.name)
    if chunk and hasattr(item.id, "chunk_iter"):
        item.id.chunk_iter(lambda stored: _check_chunk(item, stored, chunk))
    return item[()]


def _check_chunk(item, stored, size: int) -> None:
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


def _image_shape(
    path: Path, A: np.ndarray, found: dict[str, Variable]
) -> tuple[int, ...] | None:
    """From the axes, or from an array called image_shape."""
    sides = A.shape[1:]
    if len(sides) == 2 or (len(sides) == 3 and sides[-1] == 3):
        return sides
    given = found.get("image_shape")
    if given is None or not given.is_number or math.prod(given.shape) not in (2, 3):
        return None
    values = np.ravel(read_dense(path, "image_shape", given)).tolist()
    if not all(1 <= side < 2**31 and side == int(side) for side in values):
        raise ValueError(
            f"{path}: image_shape must hold whole numbers of at least 1, got {values}; "
            "correct the array or delete it"
        )
    shape = tuple(int(side) for side in values)
    return shape if math.prod(shape) == math.prod(sides) else None


def _strings(
    path: Path, found: dict[str, Variable], name: str | None, option: str, n: int
) -> list[str] | None:
    """One string per sample, from an array of anything."""
    if name is None:
        return None
    if name not in found:
        raise ValueError(f"{option}={name!r}: {path} has {', '.join(found)}")
    variable = found[name]
    is_number = variable.is_number
    A = read_dense(path, name, variable) if is_number else variable.read()
    values = A.ravel()
    if len(values) != n:
        raise ValueError(
            f"{option}={name!r}: {path} has {len(values)} values for {n} samples; if "
            "samples are columns, transpose=True"
        )
    words = []
    for i, value in enumerate(values):
        try:
            words.append(_string(value))
        except OverflowError:
            raise ValueError(
                f"{option}={name!r}: {path} has {value} for sample {i}; use NaN for an "
                "unknown value"
            ) from None
        except UnicodeDecodeError:
            raise ValueError(
                f"{option}={name!r}: {path} has {value!r} for sample {i}, which is not "
                "valid UTF-8 text; correct it"
            ) from None
    return words


def _string(value) -> str:
    if isinstance(value, np.ndarray):  # a cell of MATLAB
        value = value.ravel()[0] if value.size else ""
    if isinstance(value, bytes):
        return value.decode().strip()
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return ""
        return str(int(value)) if value == int(value) else str(value)
    return str(value).strip()
