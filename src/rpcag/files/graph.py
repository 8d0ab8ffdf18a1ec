"""Read a graph between samples from a file: an adjacency, or a list of edges."""

from pathlib import Path

import numpy as np
from scipy import sparse

from rpcag.files.arrays import SUFFIXES as ARRAYS
from rpcag.files.arrays import choose, load_arrays
from rpcag.files.encoding import decode
from rpcag.files.numbers import Numbers
from rpcag.files.reading import read_table
from rpcag.files.table import Reading
from rpcag.files.text import SUFFIXES, TextRows

Line = tuple[int, list[str]]  # its number in the file, its cells


def read_graph(path: Path | str, samples: list[str], variable: str | None = None):
    """Read the adjacency of the samples, dense or sparse as in the file.

    Parameters
    ----------
    path : path
        An adjacency as .npz (`scipy.sparse.save_npz`), .npy or text; or
        edges as text, one per line: two samples, by name or by number from 0, and a
        weight (default: 1). An edge may be listed in both directions.
    samples : list of str
        Names of the samples, in the order of the rows of X. Text with names of its own
        is brought into this order.
    variable : str, optional
        Name of the matrix, if the file has several.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"graph {path} does not exist; graph= takes robust, knn, complete, chain "
            "or a file"
        )
    suffix = path.suffix.lower()
    if suffix in ARRAYS:
        found = load_arrays(path)
        A = found[choose(path, found, variable)]
        return A if sparse.issparse(A) else np.asarray(A, dtype=np.float64)
    if suffix not in SUFFIXES:
        raise ValueError(
            f"graph {path}: no reader for {suffix or 'a file without a suffix'}; known "
            f"are {', '.join(ARRAYS)} and {', '.join(SUFFIXES)}"
        )
    text, *_ = decode(path.read_bytes(), path)
    rows = TextRows(path, text)
    words = [[word.strip() for word in row] for row in rows]
    n, widths = len(samples), {len(row) for row in words}
    if not words:
        raise ValueError(f"graph {path} is empty")
    if widths <= {2, 3}:
        return _edges(
            f"graph {path}", list(zip(rows.ends, words, strict=True)), samples
        )
    if max(widths) in (n, n + 1) and len(words) in (n, n + 1):
        return _dense(path, samples, header=len(words) == n + 1)
    raise ValueError(
        f"graph {path} has {len(words)} lines of {max(widths)} fields: neither edges "
        f"(two samples and a weight) nor an adjacency of {n} samples"
    )


def _dense(path: Path, samples: list[str], *, header: bool) -> np.ndarray:
    """A square of numbers, with or without names above and at the left."""
    table = read_table(path, Reading(header=header))
    n = len(samples)
    A, names = table.X[:, -n:], table.features[-n:]
    if set(names) != set(samples):
        return A  # names of another kind, such as 0, 1, 2, ...
    order = [names.index(name) for name in samples]
    return A[np.ix_(order, order)]


def _edges(source: str, lines: list[Line], samples: list[str]):
    n = len(samples)
    by_name = {name: i for i, name in enumerate(samples)}
    by_number = {str(i): i for i in range(n)}
    *ends, last = (*lines[0][1], "")[:3]
    is_edge = all(end in by_name or end.isdecimal() for end in ends)
    if not is_edge and not (last and _is_weight([last])):
        lines = lines[1:]  # source, target, weight
    # Samples are counted from 0, unless the numbers are names.
    found_ends = {end for _, row in lines for end in row[:2]}
    is_named = found_ends <= by_name.keys()
    is_numbered = not is_named and all(map(str.isdecimal, found_ends))
    if not is_numbered and len(by_name) < n:
        raise ValueError(
            f"{source} names samples, but some samples have the same name; use their "
            "numbers, from 0"
        )
    place = by_number if is_numbered else by_name
    found: dict[tuple[int, int], float] = {}
    for number, row in lines:
        where = f"{source}, line {number}"
        for end in row[:2]:
            if end not in place:
                hint = "; count from 0" if end == str(n) else ""
                raise ValueError(
                    f"{where}: {end!r} is neither the name of a sample nor a number "
                    f"from 0 to {n - 1}{hint}"
                )
        if not _is_weight(row[2:]):
            raise ValueError(f"{where}: {row[2]!r} is not a weight")
        i, j = sorted(place[end] for end in row[:2])
        weight = Numbers().one(row[2]) if row[2:] else 1.0
        # An edge that is there twice has one weight, not the sum.
        if found.setdefault((i, j), weight) != weight:
            raise ValueError(
                f"{where}: the edge between {samples[i]!r} and {samples[j]!r} has "
                f"weight {found[i, j]:g} in one line and {weight:g} in another"
            )
    pairs = np.array(list(found), dtype=int).reshape(-1, 2).T
    A = sparse.csr_array((list(found.values()), tuple(pairs)), shape=(n, n))
    return sparse.csr_array(A + sparse.triu(A, 1).T)


def _is_weight(words: list[str]) -> bool:
    """Whether the word behind an edge, if there is one, is a finite number."""
    return all(Numbers().is_number(w) and np.isfinite(Numbers().one(w)) for w in words)
