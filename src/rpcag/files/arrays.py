"""Files of arrays: NumPy's .npy and .npz, and sparse matrices of SciPy."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.lib.npyio import NpzFile
from scipy import sparse

from rpcag.files.readable import readable
from rpcag.files.table import Reading, Table
from rpcag.graphs.inputs import REAL
from rpcag.linalg.sparse_structure import check_structure

SUFFIXES = (".npy", ".npz")


def read_arrays(path: Path, reading: Reading) -> Table:
    """Read the only matrix in the file, or the one that `variable` names.

    Three axes are a stack of images, four a stack of color images.
    """
    found = load_arrays(path)
    A = choose(path, found, reading.variable)
    if sparse.issparse(A):
        with readable(path):
            A = A.toarray()
    if reading.transpose:
        A = np.moveaxis(A, -1, 0)
    n, sides = len(A), A.shape[1:]
    is_image = len(sides) == 2 or (len(sides) == 3 and sides[2] == 3)
    labels = _strings(path, found, "labels", reading.labels, n)
    names = _strings(path, found, "names", reading.names, n)
    X = np.ascontiguousarray(A.reshape(n, -1))
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    features = [str(j) for j in range(X.shape[1])]
    samples = names or [str(i) for i in range(n)]
    return Table(X, samples, features, labels, sides if is_image else None)


def load_arrays(path: Path) -> dict[str, Any]:
    """All arrays of a file by name; a single one has the name of the file.

    Arrays of Python objects are empty here, because to read them could run any code.
    """
    with readable(path, "NumPy"), path.open("rb") as file:
        if path.suffix.lower() == ".npy":
            return {path.stem: npy.read_array(file)}
        with NpzFile(file) as stored:
            if {"format", "shape", "data"} <= set(stored):
                return {path.stem: check_structure(sparse.load_npz(path), "it")}
            found = {}
            for name in stored:
                try:
                    found[name] = stored[name]
                except ValueError as error:
                    if "Object arrays" not in str(error):
                        raise
                    found[name] = np.empty(0, dtype=object)
            return found


def choose(path: Path, found: dict[str, Any], name: str | None = None) -> Any:
    """The only matrix, or the one of this name; errors list all arrays."""
    listed = ", ".join(f"{key} ({_shown(A)})" for key, A in found.items()) or "nothing"
    matrices = {key: A for key, A in found.items() if _is_matrix(A)}
    if name in matrices:
        return matrices[name]
    if name is not None:
        told = f"not a matrix, but {_shown(found[name])}; " if name in found else ""
        raise ValueError(f"variable={name!r}: {told}{path} has {listed}")
    if not matrices:
        raise ValueError(f"{path} has no matrix of numbers; it has {listed}")
    if len(matrices) > 1:
        raise ValueError(
            f"{path} has several matrices: {listed}; choose one with variable=NAME"
        )
    return next(iter(matrices.values()))


def _is_matrix(A: Any) -> bool:
    return A.dtype.kind in REAL and sum(side > 1 for side in A.shape) > 1


def _shown(A: Any) -> str:
    size = " x ".join(map(str, A.shape)) or "one value"
    return size if A.dtype.kind in REAL else f"{size}, no numbers"


def _strings(
    path: Path, found: dict[str, Any], option: str, name: str | None, n: int
) -> list[str] | None:
    """One string per sample, from an array of anything; `option` is for errors."""
    if name is None:
        return None
    if name not in found:
        raise ValueError(f"{option}={name!r}: {path} has {', '.join(found)}")
    values = np.ravel(found[name]).tolist()
    if len(values) != n:
        raise ValueError(
            f"{option}={name!r}: {path} has {len(values)} values for {n} samples; if "
            "samples are columns, transpose=True"
        )
    return list(map(_string, values))


def _string(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace").strip()
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value != value else str(value).strip()
