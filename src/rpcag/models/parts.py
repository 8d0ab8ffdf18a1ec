"""Choose a subset of rows and features of large data for the choice of weights."""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from rpcag.models.hidden_entries import SEED

# Larger data are judged by a part of them: at most FEATURES, and rows for ENTRIES. They
# are at least ROWS, and a QUARTER of all as far as the features are not outnumbered by
# them twice: fewer rows hold less structure, and would choose a smaller lam.
FEATURES, ENTRIES, ROWS, QUARTER = 1500, 400_000, 400, 4
# Most rows for the sake of ENTRIES: the time for nearest neighbors grows quadratically.
LIMIT = 2000


def random_rows(shape: tuple[int, int]) -> np.ndarray:
    """Enough rows for the choice, drawn at random, ascending."""
    return some_of(shape[0], _enough_rows(shape))


def some_of(n: int, most: int) -> np.ndarray:
    """At most that many of the numbers below n, drawn at random, ascending."""
    if n <= most:
        return np.arange(n)
    return np.sort(np.random.default_rng(SEED).choice(n, most, replace=False))


def connected_rows(adjacency, shape: tuple[int, int]) -> np.ndarray:
    """Enough rows, with most of their neighbors: breadth first from random ones."""
    n, some = shape[0], _enough_rows(shape)
    if n <= some:
        return np.arange(n)
    rng = np.random.default_rng(SEED)
    graph = sparse.csr_array(adjacency)
    pieces, found = 8, np.zeros(n, bool)
    for start in rng.permutation(n):
        if found.sum() >= some:
            break
        if not found[start]:
            order = csgraph.breadth_first_order(graph, start, return_predecessors=False)
            order = order[~found[order]]
            found[order[: min(some // pieces + 1, some - int(found.sum()))]] = True
    return np.flatnonzero(found)


def _enough_rows(shape: tuple[int, int]) -> int:
    features = min(shape[1], FEATURES)
    share = min(shape[0] // QUARTER, 2 * features)
    return max(min(ENTRIES // features, LIMIT), ROWS, share)
