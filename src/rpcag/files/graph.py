"""Read a graph between samples from a file: an adjacency, or a list of edges."""

from pathlib import Path

import numpy as np
from scipy import sparse

from rpcag.files.arrays import SUFFIXES as ARRAYS
from rpcag.files.arrays import choose, load_arrays
from rpcag.files.numbers import Numbers
from rpcag.files.text import SUFFIXES, TextFile


def read_graph(path: Path | str, samples: list[str]):
    """Read the adjacency of the samples, dense or sparse as in the file.

    The file is an adjacency as .npz or .npy; or edges as text, one per line: two
    samples, by name or by number from 0, and a weight (default: 1).
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no file {path}; graph= takes robust, knn, complete, chain or a file"
        )
    suffix, known = path.suffix.lower(), ", ".join((*ARRAYS, *SUFFIXES))
    if suffix in ARRAYS:
        A = choose(path, load_arrays(path))
        return A if sparse.issparse(A) else np.asarray(A, dtype=np.float64)
    if suffix not in SUFFIXES:
        raise ValueError(
            f"graph {path}: no reader for {suffix or 'this name'}; known are {known}"
        )
    rows = TextFile(str(path), path.read_bytes())
    words = [[word.strip() for word in row] for row in rows]
    if not words:
        raise ValueError(f"graph {path} is empty")
    lines = dict(zip(rows.ends, words, strict=True))
    for line, row in lines.items():
        if len(row) not in (2, 3):
            raise ValueError(
                f"graph {path}, line {line} has {len(row)} fields: an edge has two "
                "samples and perhaps a weight; save an adjacency as .npy or .npz"
            )
    return _edges(path, lines, samples)


def _edges(path: Path, lines: dict[int, list[str]], samples: list[str]):
    """The adjacency of edges, by the number of their line."""
    n = len(samples)
    place = {name: i for i, name in enumerate(samples)}
    begin, first = next(iter(lines.items()))
    is_edge = all(end in place or end.isdecimal() for end in first[:2])
    if not is_edge and (len(first) == 2 or _weight(first) is None):
        del lines[begin]  # source, target, weight
    # Samples are counted from 0, unless the numbers are names.
    ends = {end for row in lines.values() for end in row[:2]}
    if not ends <= place.keys() and all(map(str.isdecimal, ends)):
        place = {str(i): i for i in range(n)}
    if len(place) < n:
        raise ValueError(
            f"graph {path}: some samples have the same name; use numbers, from 0"
        )
    edges: dict[tuple[int, int], float] = {}
    for line, row in lines.items():
        where, weight = f"graph {path}, line {line}", _weight(row)
        for end in row[:2]:
            if end not in place:
                hint = "; count from 0" if end == str(n) else ""
                raise ValueError(
                    f"{where}: {end!r} is neither the name of a sample nor a number "
                    f"from 0 to {n - 1}{hint}"
                )
        if weight is None:
            raise ValueError(f"{where}: {row[2]!r} is not a weight")
        i, j = sorted(place[end] for end in row[:2])
        # An edge that is there twice has one weight, not the sum.
        if edges.setdefault((i, j), weight) != weight:
            raise ValueError(
                f"{where}: the edge between {samples[i]!r} and {samples[j]!r} has "
                f"weight {edges[i, j]:g} in one line and {weight:g} in another"
            )
    pairs = np.array(list(edges), dtype=int).reshape(-1, 2).T
    A = sparse.csr_array((list(edges.values()), tuple(pairs)), shape=(n, n))
    return sparse.csr_array(A + sparse.triu(A, 1).T)


def _weight(row: list[str]) -> float | None:
    """The weight of an edge, or None if it is not a finite number."""
    try:
        weight = Numbers().one(row[2]) if len(row) > 2 else 1.0
    except ValueError:
        return None
    return weight if np.isfinite(weight) else None
