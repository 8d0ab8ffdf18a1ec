"""Files of arrays: NumPy's .npy and .npz."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rpcag.files.memory import NAME, check_fits
from rpcag.files.table import Reading, Table

SUFFIXES = (".npy", ".npz")
NUMBERS, SPARSE, OTHER, STRUCT = "numbers", "sparse numbers", "no numbers", "a struct"


@dataclass(frozen=True)
class Variable:
    """An array of a file whose values are not read yet; `kind` is as above."""

    shape: tuple[int, ...]
    kind: str
    read: Callable[[], Any]

    @property
    def is_matrix(self) -> bool:
        is_number = self.kind in (NUMBERS, SPARSE)
        return is_number and sum(side > 1 for side in self.shape) > 1

    def __str__(self) -> str:
        size = " x ".join(map(str, self.shape)) or "one value"
        return size if self.kind in (NUMBERS, SPARSE) else f"{size}, {self.kind}"


def dense_kind(dtype: np.dtype) -> str:
    """The kind of a variable of this type."""
    if dtype.names is not None:
        return STRUCT
    return NUMBERS if dtype.kind in "fiub" else OTHER


def read_arrays(path: Path, reading: Reading) -> Table:
    """Read the only matrix in the file, or the one that `variable` names.

    An array with three axes is a stack of images, one with four a stack of color
    images.
    """
    unused = ("drop", "delimiter", "decimal", "header")
    reading.refuse(unused, f"tables with columns, not for {path}")
    with variables(path) as found:
        name = choose(path, found, reading.variable)
        A = read_dense(path, name, found[name], copies=2 if reading.transpose else 1)
        if reading.transpose:
            A = np.moveaxis(A, -1, 0)
        n, shape = len(A), _image_shape(path, A.shape[1:], found.get("image_shape"))
        labels = _strings(path, found, "labels", reading.labels, n)
        names = _strings(path, found, "names", reading.names, n)
    X = np.ascontiguousarray(A.reshape(n, -1))
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    features = [str(j) for j in range(X.shape[1])]
    return Table(X, names or [str(i) for i in range(n)], features, labels, shape)


@contextmanager
def variables(path: Path) -> Iterator[dict[str, Variable]]:
    """All arrays of a file by name."""
    from rpcag.files import numpy_arrays

    if path.suffix.lower() == ".npy":
        yield {path.stem: numpy_arrays.npy_variable(path)}
        return
    with numpy_arrays.npz_variables(path) as found:
        yield found


def choose(path: Path, found: dict[str, Variable], name: str | None) -> str:
    """The variable to read; errors list all variables."""
    listed = ", ".join(f"{key} ({value})" for key, value in found.items()) or "nothing"
    if any(value.kind == STRUCT for value in found.values()):
        listed += "; save the field with the numbers on its own, as an array"
    matrices = [key for key, value in found.items() if value.is_matrix]
    if name is None and not matrices:
        raise ValueError(f"{path} has no matrix of numbers; it has {listed}")
    if name is None and len(matrices) > 1:
        raise ValueError(
            f"{path} has several matrices: {listed}; choose one with variable=NAME"
        )
    if name is not None and name not in matrices:
        told = f"not a matrix, but {found[name]}; " if name in found else ""
        raise ValueError(f"variable={name!r}: {told}{path} has {listed}")
    return name or matrices[0]


def read_dense(
    path: Path, name: str, variable: Variable, *, copies: int = 1
) -> np.ndarray:
    """The numbers of a variable as a dense array; an error if they exceed memory."""
    size = math.prod(variable.shape)
    rows = variable.shape[0] if variable.shape else 1
    names = NAME * (rows + size // max(rows, 1))
    check_fits(8 * copies * size + names, f"{path}: {name}")
    A = variable.read()
    if A.dtype.kind not in "fiub":
        raise ValueError(f"{path}: {name} holds {A.dtype} values, not real numbers")
    return A.toarray() if sparse.issparse(A) else A


def _image_shape(
    path: Path, sides: tuple[int, ...], given: Variable | None
) -> tuple[int, ...] | None:
    """From the axes, or from an array called image_shape."""
    if len(sides) == 2 or (len(sides) == 3 and sides[2] == 3):
        return sides
    if given is None or given.kind != NUMBERS or math.prod(given.shape) not in (2, 3):
        return None
    values = np.ravel(given.read()).tolist()
    if not all(1 <= side < 2**31 and side == int(side) for side in values):
        raise ValueError(
            f"{path}: image_shape must hold whole numbers of at least 1, got {values}; "
            "correct the array or delete it"
        )
    shape = tuple(int(side) for side in values)
    return shape if math.prod(shape) == math.prod(sides) else None


def _strings(
    path: Path, found: dict[str, Variable], option: str, name: str | None, n: int
) -> list[str] | None:
    """One string per sample, from an array of anything; `option` is for errors."""
    if name is None:
        return None
    where = f"{option}={name!r}: {path} has"
    if name not in found:
        raise ValueError(f"{where} {', '.join(found)}")
    variable = found[name]
    is_sparse = variable.kind == SPARSE
    A = read_dense(path, name, variable) if is_sparse else variable.read()
    if A.size != n:
        raise ValueError(
            f"{where} {A.size} values for {n} samples; if samples are columns, "
            "transpose=True"
        )
    return [_string(value) for value in A.ravel().tolist()]


def _string(value: Any) -> str:
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    if isinstance(value, float):
        if math.isnan(value):
            return ""
        value = int(value) if value.is_integer() else value
    return str(value).strip()
