"""MATLAB files up to version 7, checked before SciPy reads them.

SciPy's compiled reader does not check the types and sizes in a file: an unknown type
ends the process, and a cell array may declare any number of cells.

A file of version 5, which MATLAB 6 and 7 also write, is a sequence of elements. A tag
before each element has its type and length. An array is an element that contains
others: flags with its class, dimensions, name and values. It may be compressed as a
whole. Version 4 has neither nesting nor compression.
"""

import math
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from scipy import sparse

from rpcag.files.memory import check_fits
from rpcag.files.readable import readable
from rpcag.files.variable import Variable
from rpcag.linalg.sparse_structure import check_structure

HEADER = 128  # bytes before the first element
MATRIX, COMPRESSED = 14, 15
# Bytes per value, by type: integers and floating point, then characters.
SIZES = {1: 1, 2: 1, 3: 2, 4: 2, 5: 4, 6: 4, 7: 4, 9: 8, 12: 8, 13: 8}
SIZES |= {16: 1, 17: 2, 18: 4}
CELL, STRUCT, CHAR, SPARSE, OPAQUE = 1, 2, 4, 5, 17  # classes
NUMBERS = range(6, 16)  # double, single, and integers of 8 to 64 bits
BLOCK = 1 << 20


def matlab_variables(path: Path) -> dict[str, Variable]:
    """All arrays of a file by name."""
    with readable(path, "MATLAB"), path.open("rb") as file:
        start = file.read(HEADER)
        if 0 in start[:4]:
            return _version_4(path)
        found = {}
        for part in _parts(file, start):
            array = _array(part)
            found[array.name] = Variable(
                array.shape,
                array.kind in (SPARSE, *NUMBERS) and not array.is_complex,
                _reader(path, array.name),
                is_sparse=array.kind == SPARSE,
                is_struct=array.kind == STRUCT,
            )
        return {k: v for k, v in found.items() if k and not k.startswith("__")}


def _version_4(path: Path) -> dict[str, Variable]:
    from scipy.io import whosmat

    size = path.stat().st_size
    with path.open("rb") as file:
        listed = whosmat(file)
    found = {}
    for name, shape, kind in listed:
        shape = tuple(int(side) for side in shape)
        is_number = kind in ("double", "single", "sparse") or "int" in kind
        if kind != "sparse" and (min(shape) < 0 or math.prod(shape) > size):
            raise ValueError(
                f"{name} claims the shape {shape}, but the file is too short"
            )
        read = _reader(path, name)
        found[name] = Variable(shape, is_number, read, is_sparse=kind == "sparse")
    return found


def _reader(path: Path, name: str) -> Callable[[], Any]:
    def read() -> Any:
        from scipy.io import loadmat

        with readable(path, "MATLAB"), path.open("rb") as file:
            start = file.read(HEADER)
            if 0 not in start[:4]:
                for part in _parts(file, start):
                    _check_values(part, name)
            file.seek(0)
            A = loadmat(file, chars_as_strings=True, variable_names=[name])[name]
            return check_structure(A, name) if sparse.issparse(A) else A

    return read


class _Bytes(Protocol):
    def read(self, count: int, /) -> bytes: ...


@dataclass
class _Part:
    """The decompressed bytes of an element as a stream; `left` is how many remain."""

    stream: _Bytes
    order: Literal["little", "big"]
    left: int
    packed: bool = False
    total: int = 0

    def take(self, count: int) -> bytes:
        data = self.stream.read(count) if count <= self.left else b""
        if len(data) < count:
            raise ValueError("it is cut off or damaged")
        self.left -= count
        self.total += count
        return data

    def number(self, data: bytes) -> int:
        return int.from_bytes(data, self.order)

    def tag(self) -> tuple[int, int, bytes | None]:
        """Type, length and, for short elements that the tag contains, the content."""
        tag = self.take(8)
        first = self.number(tag[:4])
        if first >> 16:
            kind, length = first & 0xFFFF, first >> 16
            if length > 4:
                raise ValueError(f"a short element claims {length} bytes")
            return kind, length, tag[4 : 4 + length]
        return first, self.number(tag[4:]), None

    def small(self, most: int) -> bytes:
        """The content of an element of at most `most` bytes."""
        _, length, content = self.tag()
        if content is None:
            if length > most:
                raise ValueError(f"a part of a header claims {length} bytes")
            content = self.take(length)
            self.pad(length)
        return content

    def skip(self) -> tuple[int, int]:
        """Skip an element and return its type and length."""
        kind, length, content = self.tag()
        if kind not in SIZES:
            raise ValueError(f"values have the unknown type {kind}")
        if content is None:
            for at in range(0, length, BLOCK):
                self.take(min(BLOCK, length - at))
                if self.packed:  # the decompressed size is not known before
                    check_fits(self.total, "one of its arrays")
            self.pad(length)
        return kind, length

    def pad(self, length: int) -> None:
        """Elements start at multiples of 8 bytes; the last may lack the padding."""
        self.take(min(-length % 8, self.left))


@dataclass(frozen=True)
class _Array:
    name: str
    kind: int
    shape: tuple[int, ...]
    is_complex: bool


class _Inflated:
    """The content of a compressed element, decompressed as it is read."""

    def __init__(self, file: IO[bytes], length: int) -> None:
        self._file, self._left = file, length
        self._unpack = zlib.decompressobj()
        self._packed = b""

    def read(self, count: int, /) -> bytes:
        found = b""
        while len(found) < count and not self._unpack.eof:
            if not self._packed:
                self._packed = self._file.read(min(self._left, BLOCK))
                self._left -= len(self._packed)
                if not self._packed:
                    break
            found += self._unpack.decompress(self._packed, count - len(found))
            self._packed = self._unpack.unconsumed_tail
        return found


def _parts(file: IO[bytes], start: bytes) -> Iterator[_Part]:
    """The arrays of a file of version 5, each as a stream that starts after its tag."""
    marks: dict[bytes, Literal["little", "big"]] = {b"IM": "little", b"MI": "big"}
    if start[126:128] not in marks:
        raise ValueError("it is not a MATLAB file")
    order = marks[start[126:128]]
    while len(tag := file.read(8)) == 8:
        kind, length = (int.from_bytes(t, order) for t in (tag[:4], tag[4:]))
        end = file.tell() + length
        if kind == COMPRESSED:
            part = _Part(_Inflated(file, length), order, 8, packed=True)
            kind, inside, _ = part.tag()
            part.left = inside
        else:
            part = _Part(file, order, length)
        if kind != MATRIX:
            raise ValueError(f"it has an element of the unknown type {kind}")
        if part.left:
            yield part
        file.seek(end)


def _array(part: _Part) -> _Array:
    flags = part.small(8)
    flag = part.number(flags[:4])
    if flag & 0xFF == OPAQUE:  # an object, such as strings, which has no dimensions
        return _Array(part.small(4096).decode("latin-1"), OPAQUE, (), False)
    sides, name = part.small(4 * 32), part.small(4096)
    if len(flags) != 8 or len(sides) % 4 or len(sides) < 8:
        raise ValueError("the header of an array is damaged")
    shape = tuple(part.number(sides[k : k + 4]) for k in range(0, len(sides), 4))
    if max(shape) >= 2**31:
        raise ValueError(f"an array claims the shape {shape}")
    is_complex = bool(flag >> 8 & 8)
    return _Array(name.decode("latin-1"), flag & 0xFF, shape, is_complex)


def _check_values(part: _Part, wanted: str) -> None:
    array = _array(part)
    if array.name != wanted:
        return
    if array.kind != CELL:
        _check_flat(part, array)
        return
    if 8 * math.prod(array.shape) > part.left:
        raise ValueError(f"{wanted} claims more cells than there are")
    for _ in range(math.prod(array.shape)):
        kind, length, _ = part.tag()
        if kind != MATRIX or length > part.left:
            raise ValueError(f"a cell of {wanted} is damaged")
        end = part.left - length
        if length:
            _check_flat(part, _array(part))
        if part.left < end:
            raise ValueError(f"a cell of {wanted} is longer than it claims")
        part.take(part.left - end)


def _check_flat(part: _Part, array: _Array) -> None:
    """Check numbers, text or a sparse matrix: the shape must match the values."""
    if array.kind not in (CHAR, SPARSE, *NUMBERS):
        raise ValueError(f"{array.name or 'a cell'} holds neither numbers nor text")
    number = 3 if array.kind == SPARSE else 1
    for _ in range(number + array.is_complex):
        if array.kind == CHAR and not part.left:
            break
        kind, length = part.skip()
        if array.kind in NUMBERS and length != SIZES[kind] * math.prod(array.shape):
            raise ValueError(
                f"{array.name or 'a cell'} claims the shape {array.shape} but has "
                f"{length // SIZES[kind]} values"
            )
