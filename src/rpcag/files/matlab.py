"""MATLAB files up to version 7, checked before SciPy reads them.

SciPy's compiled reader does not check the types and sizes in a file of version 5, which
MATLAB 6 and 7 also write: an unknown type ends the process.

Such a file is a sequence of elements. A tag before each element has its type and
length. An array is an element that contains others: flags with its class, dimensions,
name and values. It may be compressed as a whole.
"""

import math
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from scipy import io, sparse

from rpcag.files.arrays import NUMBERS, OTHER, SPARSE, STRUCT, Variable
from rpcag.files.memory import check_fits
from rpcag.files.readable import readable
from rpcag.linalg.sparse_structure import check_structure

HEADER = 128  # bytes before the first element
MATRIX, COMPRESSED = 14, 15
VALUES = {*range(1, 8), 9, 12, 13, 16, 17, 18}  # types of numbers and characters
CELL_CLASS, CHAR_CLASS, SPARSE_CLASS = 1, 4, 5
NUMBER_CLASSES = range(6, 16)  # double, single, and integers of 8 to 64 bits
# Kinds of variables by the names that SciPy has for classes.
KINDS = {"sparse": SPARSE, "struct": STRUCT}
KINDS |= dict.fromkeys(("double", "single", "logical"), NUMBERS)
KINDS |= {f"{sign}int{bits}": NUMBERS for sign in ("", "u") for bits in (8, 16, 32, 64)}


def matlab_variables(path: Path) -> dict[str, Variable]:
    """All arrays of a file by name."""
    found: dict[str, Variable] = {}
    with readable(path, "MATLAB"), path.open("rb") as file:
        for k, (name, shape, kind) in enumerate(io.whosmat(file)):
            if name and not name.startswith("__"):
                sides = tuple(int(side) for side in shape)
                variable = Variable(sides, KINDS.get(kind, OTHER), _read(path, name, k))
                found.setdefault(name, variable)
    return found


def _read(path: Path, name: str, number: int) -> Callable[[], Any]:
    def read() -> Any:
        with readable(path, "MATLAB"):
            _check_element(path, name, number)
            A = io.loadmat(path, chars_as_strings=True, variable_names=[name])[name]
            return check_structure(A, name) if sparse.issparse(A) else A

    return read


def _check_element(path: Path, name: str, number: int) -> None:
    """Raise an error if SciPy must not read this element of a file."""
    with path.open("rb") as file:
        start = file.read(HEADER)
        if 0 in start[:4]:  # version 4, which SciPy reads in Python
            return
        order = "<" if start[126:] == b"IM" else ">"
        for _ in range(number):
            file.seek(struct.unpack(f"{order}II", file.read(8))[1], 1)
        kind, length = struct.unpack(f"{order}II", file.read(8))
        check_fits(length, name)
        data = file.read(length)
    if kind == COMPRESSED:
        unpack = zlib.decompressobj()
        kind, length = struct.unpack(f"{order}II", unpack.decompress(data, 8))
        check_fits(length, name)
        data = unpack.decompress(unpack.unconsumed_tail, length)
    if kind != MATRIX or len(data) < length:
        raise ValueError("it is cut off or damaged")
    _check_array(memoryview(data), order, name, may_be_cell=True)


def _check_array(
    data: memoryview, order: str, name: str, *, may_be_cell: bool = False
) -> None:
    """Check the types in an array of numbers or text, or in a cell array of these."""
    (_, flags), (_, sides), _, *values = _elements(data, order)
    flag, _ = struct.unpack(f"{order}II", flags)
    kind, is_complex = flag & 0xFF, flag >> 11 & 1
    shape = struct.unpack(f"{order}{len(sides) // 4}I", sides)
    if kind == CELL_CLASS and may_be_cell:
        if len(values) != math.prod(shape) or {type_ for type_, _ in values} - {MATRIX}:
            raise ValueError(f"{name} claims the shape {shape} but has other cells")
        for _, content in values:
            if content:
                _check_array(content, order, f"a cell of {name}")
        return
    if kind not in (CHAR_CLASS, SPARSE_CLASS, *NUMBER_CLASSES):
        raise ValueError(f"{name} holds neither numbers nor text")
    for type_, _ in values:
        if type_ not in VALUES:
            raise ValueError(f"values of {name} have the unknown type {type_}")
    if len(values) != (3 if kind == SPARSE_CLASS else 1) + is_complex:
        raise ValueError(f"{name} is cut off or damaged")


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Type and content of each element."""
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from(f"{order}II", data, at)
        begin, room = at + 8, len(data)
        if kind >> 16:  # a tag that contains its element, of up to 4 bytes
            kind, length, begin, room = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        if begin + length > room:
            raise ValueError("it is cut off or damaged")
        yield kind, data[begin : begin + length]
        at = begin + length + -(begin + length) % 8
