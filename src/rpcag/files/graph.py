"""A graph between the samples from a file: an adjacency, or a list of edges."""

from pathlib import Path

import numpy as np
from scipy import sparse

from rpcag.files.arrays import SUFFIXES as ARRAYS
from rpcag.files.arrays import variables
from rpcag.files.cells import decode, guess_delimiter, split
from rpcag.files.numbers import Numbers
from rpcag.files.text import SUFFIXES
from rpcag.files.variable import choose, read_dense

Line = tuple[int, list[str]]  # its number in the file, its cells


def read_graph(path: Path | str, samples: list[str], variable: str | None = None):
    """Adjacency of the samples, dense or sparse as in the file.

    Parameters
    ----------
    path : path
        An adjacency as .npz (`scipy.sparse.save_npz`), .npy, .mat, .h5 or text; or
        edges as text, a line each: two samples, by name or by number from 0, and a
        weight, 1 if not given. An edge may be there in both directions.
    samples : list of str
        Names of the samples, in the order of the rows of X. Text with names of its own
        is brought into this order.
    variable : str, optional
        Of a file with several matrices.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"graph {path} is not there; graph= takes robust, knn, complete, chain or "
            "a file"
        )
    suffix = path.suffix.lower()
    if suffix in ARRAYS:
        return _adjacency(path, variable)
    if suffix not in SUFFIXES:
        raise ValueError(
            f"graph {path}: no reader for {suffix or 'a file without a suffix'}; known "
            f"are {', '.join(ARRAYS)} and {', '.join(SUFFIXES)}"
        )
    text, *_ = decode(path.read_bytes(), path)
    cells = split(text, guess_delimiter(text), path)
    lines = [(int(line), cells.row(i)) for i, line in enumerate(cells.lines)]
    if not lines:
        raise ValueError(f"graph {path} is empty")
    widths = {len(row) for _, row in lines}
    n = len(samples)
    if max(widths) in (n, n + 1) and len(lines) in (n, n + 1) and n > 3:
        return _dense(path, lines, samples)
    if widths <= {2, 3}:
        return _edges(path, lines, samples)
    if max(widths) in (n, n + 1) and len(lines) in (n, n + 1):
        return _dense(path, lines, samples)
    raise ValueError(
        f"graph {path} has {len(lines)} lines of {max(widths)} fields: neither edges "
        f"(two samples and a weight) nor an adjacency of {n} samples"
    )


def _adjacency(path: Path, variable: str | None):
    with variables(path) as found:
        name = choose(path, found, variable)
        if found[name].is_sparse:
            return found[name].read()
        A = read_dense(path, name, found[name], copies=2)
    return np.asarray(A, dtype=np.float64)


def _edges(path: Path, lines: list[Line], samples: list[str]):
    numbers = Numbers()
    place = {name: i for i, name in enumerate(samples)}
    ends = {row[k].strip() for _, row in lines for k in (0, 1)}
    first = [field.strip() for field in lines[0][1]]
    if not _is_edge(first, place, numbers):  # source, target, weight
        lines = lines[1:]
        ends = {row[k].strip() for _, row in lines for k in (0, 1)}
    # Places are counted from 0, unless the numbers are names.
    by_name = ends <= set(place) or not all(map(_is_place, ends))
    if by_name and len(place) < len(samples):
        raise ValueError(
            f"graph {path} names samples, but some samples have the same name; "
            "use their numbers, from 0"
        )
    found: dict[tuple[int, int], float] = {}
    for number, row in lines:
        where = f"graph {path}, line {number}"
        i, j = sorted(
            _vertex(end.strip(), place, by_name, len(samples), where) for end in row[:2]
        )
        weight = _weight(row, numbers, where)
        # An edge that is there twice has one weight, not the sum.
        if found.setdefault((i, j), weight) != weight:
            raise ValueError(
                f"{where}: the edge between {samples[i]!r} and {samples[j]!r} has "
                f"weight {found[i, j]:g} in one line and {weight:g} in another"
            )
    ends_of = np.array(list(found), dtype=int).reshape(-1, 2).T
    shape = (len(samples), len(samples))
    A = sparse.csr_array((list(found.values()), tuple(ends_of)), shape=shape)
    return sparse.csr_array(A + sparse.triu(A, 1).T)


def _weight(row: list[str], numbers: Numbers, where: str) -> float:
    if len(row) == 2:
        return 1.0
    try:
        weight = numbers.one(row[2])
    except ValueError:
        weight = np.nan
    if not np.isfinite(weight):
        raise ValueError(f"{where}: {row[2]!r} is not a weight")
    return weight


def _is_edge(row: list[str], place: dict[str, int], numbers: Numbers) -> bool:
    """Whether a line is an edge and not the names of columns."""
    if all(end in place or _is_place(end) for end in row[:2]):
        return True
    return len(row) == 3 and numbers.is_number(row[2])


def _is_place(word: str) -> bool:
    """Whether it is a vertex number; 18 digits are more than any graph has."""
    return word.isdecimal() and len(word) <= 18


def _vertex(name: str, place: dict[str, int], by_name: bool, n: int, where: str) -> int:
    if name in place if by_name else int(name) < n:
        return place[name] if by_name else int(name)
    if by_name:
        raise ValueError(
            f"{where}: {name!r} is neither the name of a sample nor a number from 0 to "
            f"{n - 1}"
        )
    hint = "; count from 0" if int(name) == n else ""
    raise ValueError(f"{where}: there is no sample {name}, the last is {n - 1}{hint}")


def _dense(path: Path, lines: list[Line], samples: list[str]) -> np.ndarray:
    """A square of numbers, with or without names above and at the left."""
    n, numbers = len(samples), Numbers()
    names = None
    if len(lines) == n + 1:
        names = [field.strip() for field in lines[0][1]][-n:]
        lines = lines[1:]
    A = np.empty((n, n))
    for k, (number, row) in enumerate(lines):
        if len(row) not in (n, n + 1):
            raise ValueError(
                f"graph {path}, line {number} has {len(row)} fields, not {n}"
            )
        try:
            A[k] = numbers.many(row[-n:])
        except ValueError:
            raise ValueError(
                f"graph {path}, line {number}: not all fields are numbers"
            ) from None
    if names is None or names == samples:
        return A
    place = {name: k for k, name in enumerate(names)}
    if set(place) != set(samples):
        return A  # names of another kind, such as 0, 1, 2, ...
    order = [place[name] for name in samples]
    return A[np.ix_(order, order)]
