"""Files of arrays: NumPy's .npy and .npz, MATLAB's .mat, HDF5.

MATLAB files up to version 7 are read by SciPy, later ones (which are HDF5 with the
axes turned round) and HDF5 by h5py.
"""

import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rpcag.files.extras import need
from rpcag.files.table import Reading, Table

SUFFIXES = (".npy", ".npz", ".mat", ".h5", ".hdf5")
HDF5 = b"\x89HDF\r\n\x1a\n"
MATLAB_NUMBERS = ("double", "single", "logical")


@dataclass(frozen=True)
class Variable:
    """An array of a file that is not read yet."""

    shape: tuple[int, ...]
    is_number: bool
    read: Callable[[], np.ndarray]

    @property
    def is_matrix(self) -> bool:
        return self.is_number and sum(side > 1 for side in self.shape) > 1

    def __str__(self) -> str:
        size = " x ".join(map(str, self.shape)) or "one value"
        return size if self.is_number else f"{size}, no numbers"


def read_arrays(path: Path, reading: Reading) -> Table:
    """The one matrix in the file, or the one that --variable names.

    An array of three axes is a stack of images, of four one of colour images.
    """
    for option in ("drop", "delimiter", "decimal", "header"):
        if getattr(reading, option) not in (None, ()):
            raise ValueError(f"--{option} is for tables with columns, not for {path}")
    with variables(path) as found:
        name = choose(path, found, reading.variable)
        A = found[name].read()
        if reading.transpose:
            A = np.moveaxis(A, -1, 0)
        n = len(A)
        shape = _image_shape(A, found)
        labels = _strings(path, found, reading.labels, "--labels", n)
        names = _strings(path, found, reading.names, "--names", n)
    X = np.ascontiguousarray(A.reshape(n, -1))
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return Table(
        X,
        names or [str(i) for i in range(n)],
        [str(j) for j in range(X.shape[1])],
        labels,
        shape,
    )


def choose(path: Path, found: dict[str, Variable], name: str | None) -> str:
    """The variable to take; an error lists what there is."""
    listed = ", ".join(f"{key} ({value})" for key, value in found.items()) or "nothing"
    if name is not None:
        if name not in found:
            raise ValueError(f"--variable {name}: {path} has {listed}")
        if not found[name].is_matrix:
            what = "a matrix" if found[name].is_number else "numbers"
            raise ValueError(
                f"--variable {name}: not {what}, but {found[name]}; {path} has {listed}"
            )
        return name
    matrices = [key for key, value in found.items() if value.is_matrix]
    if not matrices:
        raise ValueError(f"{path} has no matrix of numbers; it has {listed}")
    if len(matrices) > 1:
        raise ValueError(
            f"{path} has several matrices: {listed}; choose one with --variable NAME"
        )
    return matrices[0]


@contextmanager
def variables(path: Path) -> Iterator[dict[str, Variable]]:
    """All arrays of a file by name."""
    suffix = path.suffix.lower()
    opened: Any = None
    try:
        if suffix in (".npy", ".npz"):
            found = _numpy(path)
        else:
            with path.open("rb") as file:
                start = file.read(520)
            if suffix == ".mat" and HDF5 not in start:
                found = _matlab(path)
            else:
                opened = need("h5py").File(path, "r")
                found = _hdf5(opened, turned=suffix == ".mat")
    except (ImportError, MemoryError, FileNotFoundError, PermissionError):
        raise
    except Exception as error:  # every library has its own
        kind = {".npy": "NumPy", ".npz": "NumPy", ".mat": "MATLAB"}
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        if "Object arrays" in reason or "Python objects" in reason:
            reason = "it holds Python objects, not numbers"
        elif "allow_pickle" in reason:  # it takes anything for a pickle
            reason = "it is no file of NumPy"
        raise ValueError(
            f"{path} cannot be read as {kind.get(suffix, 'HDF5')}: {reason}"
        ) from error
    try:
        yield found
    finally:
        if opened is not None:
            opened.close()


def _variable(A) -> Variable:
    """Of an array in memory, sparse or not."""
    if sparse.issparse(A):
        return Variable(A.shape, A.dtype.kind in "fiub", A.toarray)
    return Variable(A.shape, A.dtype.kind in "fiub", lambda: A)


def _numpy(path: Path) -> dict[str, Variable]:
    if path.suffix.lower() == ".npy":
        return {path.stem: _variable(np.load(path, allow_pickle=False, mmap_mode="r"))}
    if not zipfile.is_zipfile(path):
        raise ValueError("it is not an archive")
    with np.load(path, allow_pickle=False) as file:
        if {"format", "shape", "data"} <= set(file.files):
            return {path.stem: _variable(sparse.load_npz(path))}
        return {name: _variable(file[name]) for name in file.files}


def _matlab(path: Path) -> dict[str, Variable]:
    from scipy.io import loadmat

    content = loadmat(path, chars_as_strings=True)
    return {
        name: _variable(A)
        for name, A in content.items()
        if not name.startswith("__")
        and (isinstance(A, np.ndarray) or hasattr(A, "nnz"))
    }


def _hdf5(file, turned: bool) -> dict[str, Variable]:
    h5py = need("h5py")
    found = {}

    def add(name, item):
        if not isinstance(item, h5py.Dataset) or name.startswith("#"):
            return
        is_number = item.dtype.kind in "fiub"
        kind = item.attrs.get("MATLAB_class", b"double").decode() if turned else ""
        if turned and kind not in MATLAB_NUMBERS and "int" not in kind:
            is_number = False
        shape = item.shape[::-1] if turned else item.shape
        found[name] = Variable(shape, is_number, lambda: _values(file, item, turned))

    file.visititems(add)
    return found


def _values(file, item, turned: bool) -> np.ndarray:
    if turned and item.dtype.kind == "O":  # references to the cells of a cell array
        cells = [file[reference][()] for reference in item[()].T.ravel()]
        return np.array(["".join(map(chr, cell.ravel())) for cell in cells])
    if turned and item.attrs.get("MATLAB_class") == b"char":
        return np.array(["".join(map(chr, row)) for row in item[()].T])
    A = item[()]
    # As netCDF marks what is missing.
    for mark in ("_FillValue", "missing_value"):
        if mark in item.attrs and A.dtype.kind in "fiu":
            missing = np.isin(A, item.attrs[mark])
            A = np.where(missing, np.nan, A.astype(np.result_type(A, np.float32)))
    return A.T if turned else A


def _image_shape(A: np.ndarray, found: dict[str, Variable]) -> tuple[int, ...] | None:
    """From the axes, or from an array called image_shape."""
    sides = A.shape[1:]
    if len(sides) == 2 or (len(sides) == 3 and sides[-1] == 3):
        return sides
    if "image_shape" in found and found["image_shape"].is_number:
        given = tuple(np.ravel(found["image_shape"].read()).astype(int).tolist())
        if len(given) in (2, 3) and np.prod(given) == np.prod(sides):
            return given
    return None


def _strings(
    path: Path, found: dict[str, Variable], name: str | None, option: str, n: int
) -> list[str] | None:
    """One string per sample, from an array of anything."""
    if name is None:
        return None
    if name not in found:
        raise ValueError(f"{option} {name}: {path} has {', '.join(found)}")
    values = found[name].read().ravel()
    if len(values) != n:
        raise ValueError(
            f"{option} {name}: {len(values)} values for {n} samples; if samples are "
            "columns, --transpose"
        )
    return [_string(value) for value in values]


def _string(value) -> str:
    if isinstance(value, np.ndarray):  # a cell of MATLAB
        value = value.ravel()[0] if value.size else ""
    if isinstance(value, bytes):
        return value.decode(errors="replace").strip()
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return ""
        return str(int(value)) if value == int(value) else str(value)
    return str(value).strip()
