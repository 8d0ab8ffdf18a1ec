"""Choose and read an array in a file of arrays."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rpcag.files.memory import NAME, check_fits

NUMBERS, SPARSE = "numbers", "sparse numbers"
OTHER, STRUCT, ELSEWHERE = "no numbers", "a struct", "in another file"
SAVE_FIELD = "; save the field with the numbers on its own, as an array"


@dataclass(frozen=True)
class Variable:
    """An array of a file, dense or sparse, whose values are not read yet."""

    shape: tuple[int, ...]
    kind: str  # one of those below, or what it is instead
    read: Callable[[], Any]
    itemsize: int = 8  # in a table: 4 for single precision, else double precision

    @property
    def is_sparse(self) -> bool:
        return self.kind == SPARSE

    @property
    def is_number(self) -> bool:
        return self.kind in (NUMBERS, SPARSE)

    @property
    def is_matrix(self) -> bool:
        return self.is_number and sum(side > 1 for side in self.shape) > 1

    def __str__(self) -> str:
        if self.kind == ELSEWHERE:
            return self.kind
        size = " x ".join(map(str, self.shape)) or "one value"
        return size if self.is_number else f"{size}, {self.kind}"


def dense_kind(dtype: np.dtype) -> str:
    """The kind of a variable of this type."""
    if dtype.names is not None:
        return STRUCT
    return NUMBERS if dtype.kind in "fiub" else OTHER


def choose(path: Path, found: dict[str, Variable], name: str | None) -> str:
    """The variable to read; errors list all variables."""
    listed = ", ".join(f"{key} ({value})" for key, value in found.items()) or "nothing"
    if name is None:
        matrices = [key for key, value in found.items() if value.is_matrix]
        if not matrices:
            has_struct = any(value.kind == STRUCT for value in found.values())
            raise ValueError(
                f"{path} has no matrix of numbers; it has {listed}"
                f"{SAVE_FIELD if has_struct else ''}"
            )
        if len(matrices) > 1:
            raise ValueError(
                f"{path} has several matrices: {listed}; choose one with variable=NAME"
            )
        return matrices[0]
    if name not in found:
        raise ValueError(f"variable={name!r}: {path} has {listed}")
    if not found[name].is_matrix:
        what = "a matrix" if found[name].is_number else "numbers"
        raise ValueError(
            f"variable={name!r}: not {what}, but {found[name]}; {path} has {listed}"
            f"{SAVE_FIELD if found[name].kind == STRUCT else ''}"
        )
    return name


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


def read_strings(
    path: Path, found: dict[str, Variable], option: str, name: str | None, n: int
) -> list[str] | None:
    """One string per sample, from an array of anything; `option` is for errors."""
    if name is None:
        return None
    where = f"{option}={name!r}: {path} has"
    if name not in found:
        raise ValueError(f"{where} {', '.join(found)}")
    variable = found[name]
    is_number = variable.is_number
    A = read_dense(path, name, variable) if is_number else variable.read()
    values = A.ravel()
    if len(values) != n:
        raise ValueError(
            f"{where} {len(values)} values for {n} samples; if samples are columns, "
            "transpose=True"
        )
    return [_string(value) for value in values]


def _string(value: Any) -> str:
    if isinstance(value, np.ndarray):  # a cell of MATLAB
        value = value.ravel()[0] if value.size else ""
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace").strip()
    if isinstance(value, (float, np.floating)):
        if np.isnan(value):
            return ""
        return str(int(value)) if float(value).is_integer() else str(value)
    return str(value).strip()
