"""A nearest neighbor graph that is robust to gross errors."""

from dataclasses import dataclass

import numpy as np

from rpcag.graphs.builder import GraphBuilder
from rpcag.graphs.distances import observed
from rpcag.graphs.neighbors import KNNGraph
from rpcag.linalg.gram import factorize
from rpcag.models.data_loss import DataLoss
from rpcag.models.progress import Monitor
from rpcag.models.rpca import RPCA
from rpcag.models.rules import resolve_lam
from rpcag.solvers.checkpoint import Checkpoint, Saved, array, number
from rpcag.solvers.problem import Problem

# Certified gap of Robust PCA. A smaller gap takes longer and hardly changes neighbors.
GRAPH_TOL, GRAPH_MAX_ITER = 1e-2, 1000
# Stands in for the solver's name in the checkpoint of a finished solve.
FINISHED = "finished"
# Its content: L = scores @ directions with its singular values, and positive numbers.
ARRAYS = ("_scores", "_spectrum", "_directions")
NUMBERS = ("lam_", "_size", "_spread")
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

    image_shape = None
    _monitor = Monitor("RobustGraph")

    n_neighbors: int = 7

    def _fit_watched(self, X, monitor: Monitor):
        """`fit` as a stage of a model's fit: with its log, callback and checkpoint.

        If the callback stops it, the graph is built from the current state of Robust
        PCA.
        """
        self._monitor = monitor
        try:
            return self.fit(X)
        finally:
            del self._monitor

    def _check(self, X) -> None:
        super()._check(X)
        KNNGraph(self.n_neighbors)._check(X)

    def _build(self, rows):
        self._model = _robust_pca(_with_nan(rows), self._monitor)
        self._stopped = self._model.status_ == "stopped"
        values = self._represent(rows, self._halfway(self._model.embedding_))
        self._graph = KNNGraph(self.n_neighbors).fit(values)
        return self._graph.adjacency_

    def _of_low_rank(self, X, L: np.ndarray):
        """The graph of X, from the L of Robust PCA with the theory's lam."""
        P, s, _ = factorize(L, None)
        rows = observed(np.asarray(X, dtype=np.float64))
        values = self._represent(rows, P.astype(np.float64) * np.sqrt(s))
        return KNNGraph(self.n_neighbors)._build(observed(values))

    def _represent(self, rows, h: np.ndarray) -> np.ndarray:
        self._short = SHORT * np.linalg.norm(h, axis=1).max()
        return _seen(rows, self._relative(h))

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


def _robust_pca(X: np.ndarray, monitor: Monitor) -> RPCA:
    """Robust PCA fitted to X, or restored from the checkpoint of a finished fit."""
    model = RPCA(
        lam="theory",
        tol=GRAPH_TOL,
        max_iter=GRAPH_MAX_ITER,
        verbose=monitor.verbose,
        callback=monitor.callback,
        checkpoint=monitor.checkpoint,
        checkpoint_seconds=monitor.checkpoint_seconds,
    )
    model._part_of = monitor.title
    saves = saved = None
    if monitor.checkpoint is not None:
        identity = Problem(X, resolve_lam(model.lam, X)).identity()
        saves = Checkpoint(monitor.checkpoint, identity, monitor.checkpoint_seconds)
        saved = saves.load()
    if saves is not None and saved is not None and saved[0]["solver"] == FINISHED:
        with saves.reading():
            _restore(model, X, *saved)
    else:
        model.fit(X)
        # Each is as large as X, and neither is needed for new rows.
        del model.low_rank_, model.sparse_, model.dual_
        if saves is not None and model.status_ != "stopped":
            saves.offer(lambda: _finished(model), now=True)
    return model.set_params(callback=None, checkpoint=None, verbose=0)


def _finished(model: RPCA) -> Saved:
    """The parts of Robust PCA that the graph and new rows need."""
    numbers = {name: getattr(model, name) for name in NUMBERS}
    numbers |= {"solver": FINISHED, "status": model.status_}
    return numbers, {name: getattr(model, name) for name in ARRAYS}


def _restore(model: RPCA, X: np.ndarray, numbers: dict, arrays: dict) -> None:
    """Check what `_finished` saved and restore the model from it."""
    rank = len(array(arrays, "_spectrum", (None,)))
    shapes = (len(X), rank), (rank,), (rank, X.shape[1])
    for name, shape in zip(ARRAYS, shapes, strict=True):
        setattr(model, name, array(arrays, name, shape))
    if not (model._spectrum > 0).all():
        raise ValueError("a singular value is not positive")
    for name in NUMBERS:
        setattr(model, name, number(numbers[name], above=0))
    if numbers["status"] not in ("converged", "max_iter", "stalled"):
        raise ValueError(f"{numbers['status']!r} is not a valid status")
    model.status_, model._loss = numbers["status"], DataLoss(lam=model.lam_)
    # Same memory order as after a fit, so that sums round the same way.
    model.embedding_ = model._scores.copy()
    model.components_ = model._directions.copy()
    model.singular_values_ = model._spectrum
    model.rank_ = model.n_components_ = model._n_features_out = rank
    model.n_features_in_ = X.shape[1]


def _with_nan(rows) -> np.ndarray:
    X, mask = rows
    return X if mask is None else np.where(mask, X, np.nan)


def _seen(rows, values: np.ndarray) -> np.ndarray:
    """Rows without observed entries get no neighbors."""
    _, mask = rows
    if mask is None or mask.any(axis=1).all():
        return values
    return np.where(mask.any(axis=1)[:, None], values, np.nan)
