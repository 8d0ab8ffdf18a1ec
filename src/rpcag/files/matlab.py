"""Read MATLAB files up to version 7.

A file is a sequence of elements. A tag before each element has its type and length. An
array is an element that contains others: flags with its class, dimensions, name and
values. It may be compressed as a whole. SciPy's compiled reader does not check types
and sizes, so a damaged file can end the process.
"""

import struct
import zlib
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rpcag.files.arrays import NUMBERS, OTHER, SPARSE, STRUCT, Variable
from rpcag.files.memory import check_fits
from rpcag.files.readable import readable
from rpcag.linalg.sparse_structure import check_structure

COMPRESSED = 15  # type of an element
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8"}
TYPES |= {12: "i8", 13: "u8", 16: "u1", 17: "u2", 18: "u4"}
CODECS = {4: "utf-16", 16: "utf-8", 17: "utf-16", 18: "utf-32"}
CELL, CHAR, COMPLEX = 1, 4, 1 << 11  # classes, and a flag
KINDS = {2: STRUCT, 5: SPARSE} | dict.fromkeys(range(6, 16), NUMBERS)  # of classes
HEAD = 4096  # bytes that surely have the name of an array


def matlab_variables(path: Path) -> dict[str, Variable]:
    """All arrays of a file by name."""
    with readable(path, "MATLAB"), path.open("rb") as file:
        start = file.read(128)
        if 0 in start[:4]:
            raise ValueError("it is of version 4; save it again with -v7")
        found: dict[str, Variable] = {}
        order = "<" if start[126:] == b"IM" else ">"
        check_fits(path.stat().st_size, str(path))
        while len(tag := file.read(8)) == 8:
            type_, length = struct.unpack(f"{order}II", tag)
            if type_ not in (14, COMPRESSED):
                raise ValueError("it is damaged")
            data = file.read(length)
            head = _elements(_unpacked(data, type_, order, HEAD), order)
            (_, flags), (_, sides), (_, name) = islice(head, 3)
            kind = KINDS.get(struct.unpack(f"{order}II", flags)[0] & 0xFF, OTHER)
            shape = tuple(np.frombuffer(sides, f"{order}i4").tolist())
            read = partial(_read, path, data, type_, order)
            found.setdefault(bytes(name).decode(), Variable(shape, kind, read))
        return {name: variable for name, variable in found.items() if name}


def _read(path: Path, data: bytes, type_: int, order: str) -> Any:
    with readable(path, "MATLAB"):
        return _array(_unpacked(data, type_, order), order)


def _unpacked(data: bytes, type_: int, order: str, most: int = 0) -> memoryview:
    """The content of an array element, or its beginning."""
    if type_ == COMPRESSED:
        unpack = zlib.decompressobj()
        _, length = struct.unpack(f"{order}II", unpack.decompress(data, 8))
        most = most or length
        check_fits(most, "an array")
        data = unpack.decompress(unpack.unconsumed_tail, most)
    return memoryview(data)


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Type and content of each element."""
    at = 0
    while at < len(data):
        type_, length = struct.unpack_from(f"{order}II", data, at)
        begin, room = at + 8, len(data)
        if type_ >> 16:  # a tag that contains its element, of up to 4 bytes
            type_, length, begin, room = type_ & 0xFFFF, type_ >> 16, at + 4, at + 8
        if begin + length > room:
            raise ValueError("it is cut off or damaged")
        yield type_, data[begin : begin + length]
        at = begin + length + -(begin + length) % 8


def _array(data: memoryview, order: str, *, in_cell: bool = False) -> Any:
    """Numbers, rows of text, or a cell array of these."""
    (_, flags), (_, sides), (_, named), *values = _elements(data, order)
    name = bytes(named).decode() or "a cell"
    flag = struct.unpack(f"{order}II", flags)[0]
    kind, shape = flag & 0xFF, tuple(np.frombuffer(sides, f"{order}i4").tolist())
    if kind == CELL and not in_cell:
        cells = np.empty(len(values), dtype=object)
        cells[:] = [_array(content, order, in_cell=True) for _, content in values]
        return cells
    if kind == CHAR:
        type_, content = values[0]
        text = bytes(content).decode(CODECS.get(type_, "latin-1"))
        rows = np.array(list(text), dtype=str).reshape(shape, order="F")
        return np.array(["".join(row) for row in rows])
    if kind not in KINDS or flag & COMPLEX:
        raise ValueError(f"{name} holds neither real numbers nor text")
    for type_, _ in values:
        if type_ not in TYPES:
            raise ValueError(f"{name} has values of the unknown type {type_}")
    parts = [np.frombuffer(content, order + TYPES[type_]) for type_, content in values]
    if KINDS[kind] == SPARSE:
        rows, starts, entries = parts
        return check_structure(sparse.csc_array((entries, rows, starts), shape), name)
    return parts[0].reshape(shape, order="F")
