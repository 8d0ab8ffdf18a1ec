"""Files of arrays: NumPy's .npy and .npz, MATLAB's .mat, HDF5."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from rpcag.files.hdf5 import SIGNATURE, hdf5_variables
from rpcag.files.matlab import matlab_variables
from rpcag.files.memory import check_fits
from rpcag.files.numpy_arrays import npy_variable, npz_variables
from rpcag.files.table import Reading, Table
from rpcag.files.variable import Variable, choose, read_dense, read_strings

SUFFIXES = (".npy", ".npz", ".mat", ".h5", ".hdf5")


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
        n = len(A)
        shape = _image_shape(path, A, found)
        labels = read_strings(path, found, "labels", reading.labels, n)
        names = read_strings(path, found, "names", reading.names, n)
    X = np.ascontiguousarray(A.reshape(n, -1))
    if X.dtype not in (np.float32, np.float64):
        check_fits(8 * X.size, f"{path}: {name} in double precision")
        X = X.astype(np.float64)
    features = [str(j) for j in range(X.shape[1])]
    return Table(X, names or [str(i) for i in range(n)], features, labels, shape)


@contextmanager
def variables(path: Path) -> Iterator[dict[str, Variable]]:
    """All arrays of a file by name."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        yield {path.stem: npy_variable(path)}
        return
    if suffix == ".npz":
        with npz_variables(path) as found:
            yield found
        return
    with path.open("rb") as file:
        is_hdf5 = suffix != ".mat" or SIGNATURE in file.read(520)
    if is_hdf5:
        with hdf5_variables(path) as found:
            yield found
    else:
        yield matlab_variables(path)


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
