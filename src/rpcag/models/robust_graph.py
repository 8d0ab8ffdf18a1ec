"""A graph that gross errors do not choose."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rpcag.graphs.builder import GraphBuilder
from rpcag.graphs.neighbors import KNNGraph
from rpcag.models.rpca import RPCA

# Enough to tell neighbours.
TOL = 1e-2
# Rows shorter than this share of the longest are as good as zero: all equally far.
SHORT = 1e-3


class RobustGraph(GraphBuilder):
    """Nearest neighbours in the low-rank part of Robust PCA.

    Two samples with a gross error in the same feature are near each other in X, and a
    graph between such samples smooths the wrong ones together. Robust PCA takes the
    errors off first, and needs no graph for it; what it costs is one more fit. New rows
    are projected on the low-rank part likewise before they are connected.

    With L = P diag(s) V^T, a row is seen as h = P diag(s)^1/2: its square is what the
    row has of the nuclear norm, and directions with most of the variance, such as light
    in faces, do not choose the neighbours alone. Distances are relative to ||h||, as
    Euclidean ones between the pairs (h / ||h||, log ||h||) are.

    Parameters
    ----------
    n_neighbors : int, default=7

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

    def __init__(self, n_neighbors=7):
        self.n_neighbors = n_neighbors

    def _build(self, rows):
        self._model = RPCA(tol=TOL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # enough for a graph
            self._model.fit(_with_nan(rows))
        # As large as X each, and new rows need neither.
        del self._model.low_rank_, self._model.sparse_
        h = self._halfway(self._model.embedding_)
        self._short = SHORT * np.linalg.norm(h, axis=1).max()
        self._graph = KNNGraph(self.n_neighbors).fit(_seen(rows, self._relative(h)))
        return self._graph.adjacency_

    def _connect(self, rows):
        h = self._halfway(self._model.transform(_with_nan(rows)))
        return self._graph.connect(_seen(rows, self._relative(h)))

    def _halfway(self, Z: np.ndarray) -> np.ndarray:
        """P diag(s)^1/2, from P diag(s)."""
        return Z.astype(np.float64) / np.sqrt(self._model.singular_values_)

    def _relative(self, h: np.ndarray) -> np.ndarray:
        # The map h -> (h / ||h||, log ||h||) divides all lengths around h by ||h||.
        sizes = np.maximum(np.linalg.norm(h, axis=1, keepdims=True), self._short)
        sizes[sizes == 0] = 1.0  # all rows are zero
        return np.hstack([h / sizes, np.log(sizes)])


def _with_nan(rows) -> np.ndarray:
    X, mask = rows
    return X if mask is None else np.where(mask, X, np.nan)


def _seen(rows, values: np.ndarray) -> np.ndarray:
    """Nothing for rows that have no observed entry: they have no neighbours."""
    _, mask = rows
    if mask is None or mask.any(axis=1).all():
        return values
    return np.where(mask.any(axis=1)[:, None], values, np.nan)
