"""A nearest neighbor graph that is robust to gross errors."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rpcag.graphs.builder import GraphBuilder
from rpcag.graphs.distances import observed
from rpcag.graphs.neighbors import KNNGraph
from rpcag.graphs.options import COUNT
from rpcag.linalg.gram import factorize
from rpcag.models.messages import Stage

# Certified gap of Robust PCA. A smaller gap takes longer and hardly changes neighbors.
GRAPH_TOL, GRAPH_MAX_ITER = 1e-2, 1000
# Rows shorter than this share of the longest count as zero: their distances are equal.
SHORT = 1e-3


@dataclass(eq=False, repr=False)
class RobustGraph(GraphBuilder):
    """Nearest neighbors in the low-rank part of Robust PCA.

    Two samples with a gross error in the same feature are near each other in X, so a
    graph built from X would join them. Robust PCA removes the errors first, at the cost
    of one more fit. New rows are projected onto the low-rank part before they are
    connected.

    With L = P diag(s) V^T, a row is represented by h = P diag(s)^1/2. So directions
    with most of the variance, such as light in faces, do not dominate the distances.
    Distances are Euclidean between the pairs (h / ||h||, log ||h||), that is, relative
    to ||h||.

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

    _parameter_constraints: ClassVar = {"n_neighbors": [COUNT]}
    _stage: ClassVar[Stage | None] = None  # of a model's fit, until the graph is built

    n_neighbors: int = 7

    def _build(self, rows):
        """The graph of the rows; if a callback stops Robust PCA, of its current L."""
        from rpcag.models.rpca import RPCA  # models import this module

        self._model = RPCA(lam="theory", tol=GRAPH_TOL, max_iter=GRAPH_MAX_ITER)
        self._model._part_of = "RobustGraph"
        stage = self.__dict__.pop("_stage", None)
        if stage is not None:
            self._model.set_params(verbose=stage.verbose, callback=stage.watch)
            self._model._part_of = stage.title
        X = _with_nan(rows)
        self._model.fit(X).set_params(verbose=0, callback=None)
        # Each is as large as X, and none is needed for new rows.
        del self._model.low_rank_, self._model.sparse_, self._model.dual_
        values = self._represent(X, self._halfway(self._model.embedding_))
        self._graph = KNNGraph(self.n_neighbors).fit(values)
        return self._graph.adjacency_

    def _of_low_rank(self, X, L: np.ndarray):
        """The graph of X, from the L of Robust PCA with the theory's lam."""
        P, s, _ = factorize(L, None)
        values = self._represent(X, P.astype(np.float64) * np.sqrt(s))
        return KNNGraph(self.n_neighbors)._build(observed(values))

    def _represent(self, X: np.ndarray, h: np.ndarray) -> np.ndarray:
        self._short = SHORT * np.linalg.norm(h, axis=1).max()
        return self._relative(X, h)

    def _connect(self, rows):
        X = _with_nan(rows)
        h = self._halfway(self._model.transform(X))
        return self._graph.connect(self._relative(X, h))

    def _halfway(self, Z: np.ndarray) -> np.ndarray:
        """P diag(s)^1/2, from P diag(s)."""
        return Z.astype(np.float64) / np.sqrt(self._model.singular_values_)

    def _relative(self, X: np.ndarray, h: np.ndarray) -> np.ndarray:
        """Coordinates of the rows; NaN, so no neighbors, without observed entries."""
        # The map h -> (h / ||h||, log ||h||) divides all lengths around h by ||h||.
        sizes = np.maximum(np.linalg.norm(h, axis=1, keepdims=True), self._short)
        sizes[sizes == 0] = 1.0  # all rows are zero
        seen = ~np.isnan(X).all(axis=1, keepdims=True)
        return np.where(seen, np.hstack([h / sizes, np.log(sizes)]), np.nan)


def _with_nan(rows) -> np.ndarray:
    X, mask = rows
    return X if mask is None else np.where(mask, X, np.nan)
