"""A graph that gross errors do not choose."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rpcag.graphs.builder import GraphBuilder
from rpcag.graphs.neighbors import KNNGraph
from rpcag.models.rpca import RPCA

# Enough to tell neighbours.
TOL = 1e-2


class RobustGraph(GraphBuilder):
    """Nearest neighbours in the low-rank part of Robust PCA.

    Two samples with a gross error in the same feature are near each other in X, and a
    graph between such samples smooths the wrong ones together. Robust PCA takes the
    errors off first, and needs no graph for it; what it costs is one more fit. New rows
    are projected on the low-rank part likewise before they are connected.

    Parameters
    ----------
    n_neighbors : int, default=10

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.models import RobustGraph
    >>> X = np.repeat(np.random.default_rng(0).standard_normal((2, 12)), 10, axis=0)
    >>> X[0, 3] = X[15, 3] = 50.0  # alike, but not of one kind
    >>> float(RobustGraph(n_neighbors=5)(X)[0, 15])
    0.0
    """

    image_shape = None

    def __init__(self, n_neighbors=10):
        self.n_neighbors = n_neighbors

    def _build(self, rows):
        self._model = RPCA(tol=TOL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # enough for a graph
            self._model.fit(_with_nan(rows))
        self._graph = KNNGraph(self.n_neighbors)
        self._graph.fit(_seen(rows, self._model.low_rank_))
        # As large as X each, and new rows need neither.
        del self._model.low_rank_, self._model.sparse_
        return self._graph.adjacency_

    def _connect(self, rows):
        L = self._model.transform(_with_nan(rows)) @ self._model.components_
        return self._graph.connect(_seen(rows, L))


def _with_nan(rows) -> np.ndarray:
    X, mask = rows
    return X if mask is None else np.where(mask, X, np.nan)


def _seen(rows, L: np.ndarray) -> np.ndarray:
    """L, but nothing for rows that have no observed entry: they have no neighbours."""
    _, mask = rows
    if mask is None or mask.any(axis=1).all():
        return L
    return np.where(mask.any(axis=1)[:, None], L, np.nan)
