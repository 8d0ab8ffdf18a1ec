"""Robust PCA on graphs: Robust PCA with one or two smoothness terms."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpcag.graphs.laplacian import laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.models.checks import auto_or
from rpcag.models.data_loss import DataLoss, resolve_loss
from rpcag.models.feature_graph import build_feature_graph, choose_gamma_features
from rpcag.models.graph import as_builder, compares_rows, trial_adjacency
from rpcag.models.messages import Stage
from rpcag.models.parts import random_rows
from rpcag.models.rpca import RPCA
from rpcag.models.trials import Build


@dataclass(eq=False, repr=False, kw_only=True)
class RPCAG(RPCA):
    """Robust PCA on graphs: low-rank plus sparse, smooth between similar samples.

    minimize ||L||_* + lam ||M o (X - L)||_1 + gamma tr(L^T Phi L) over L,   S = X - L

    Phi is the Laplacian of a graph between the rows of X, and M is one where X is
    observed and zero where it is NaN. `gap_` bounds how far the objective at L is above
    the optimum of this convex problem. `explained_` and `score` measure how well the
    model fits the data.

    The default weights predict missing entries. If you cluster the embedding, use
    ``RPCAG(k, gamma="clustering")`` and `rpcag.clustering.cluster_embedding`.

    Parameters
    ----------
    n_components, lam
        As in `RPCA`.
    gamma : float, "auto" or "clustering", default="auto"
        Weight of the smoothness; 0 gives Robust PCA. "auto" chooses the weight that
        predicts hidden entries best, and 0 if the graph does not help; then no graph is
        built, and `adjacency_` is None unless a matrix or "chain" was given.
        "clustering" is larger: use it if you cluster the embedding. It is
        4 / sqrt(max(n_samples, n_features)) divided by the typical size of an entry
        (the median absolute value of the entries that are not zero, over 0.6745), times
        the share of entries that are observed. With it, ``lam="auto"`` is twice
        ``lam="theory"``.
    graph : "robust", "knn", "complete", "chain", builder or adjacency, default="robust"
        "robust" is `rpcag.models.RobustGraph()`: nearest neighbors in the low-rank part
        of Robust PCA, which gross errors do not mislead; it costs one more fit. "knn"
        is `rpcag.graphs.KNNGraph()`: nearest neighbors in X, for clean data and errors
        that are marked by NaN. "complete" is the graph of the paper,
        `rpcag.graphs.CompleteGraph()`. "chain" is `rpcag.graphs.Chain()`, for rows in
        time order. You can also pass any builder of `rpcag.graphs`, a function from X
        to an adjacency, or a symmetric dense or sparse adjacency.
    laplacian : {"normalized", "combinatorial"}, default="normalized"
        I - D^-1/2 A D^-1/2, or D - A, of the adjacency A with degrees D.
    feature_graph : None, "knn", "chain", "grid", builder or adjacency, default=None
        A second graph, between features: L is also smooth between features that are
        joined. "grid" joins each pixel to the four next to it; pass `image_shape`.
        "knn" joins features that are alike in X. The fit is slower on large data.
    gamma_features : float or "auto", default="auto"
        Weight of gamma_features tr(L Phi_f L^T). "auto" chooses the weight that
        predicts hidden entries best, after `lam` and `gamma`, and 0 if the graph does
        not help. A ``lam="auto"`` is then chosen again.
    image_shape : tuple, optional
        Shape of the images in the rows of X, (height, width) or (height, width,
        channels), for ``feature_graph="grid"``.
    scale, loss, noise, tol, max_iter, warm_start, verbose, callback, checkpoint
        As in `RPCA`.
    checkpoint_seconds
        As in `RPCA`.

    Attributes
    ----------
    gamma_ : float
    gamma_features_ : float
        0 without a graph between features.
    adjacency_, laplacian_ : csr_array or ndarray of shape (n_samples, n_samples)
    feature_adjacency_, feature_laplacian_ : of shape (n_features, n_features), or None
    **others**
        As in `RPCA`.

    References
    ----------
    Shahid, Kalofolias, Bresson, Bronstein, Vandergheynst, "Robust Principal Component
    Analysis on Graphs", ICCV 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag import RPCAG
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.standard_normal((2, 30)), 20, axis=0)
    >>> X[rng.random(X.shape) < 0.1] = np.nan
    >>> model = RPCAG(2).fit(X)
    >>> model.gap_ <= 1e-3, model.embedding_.shape
    (True, (40, 2))
    """

    _parameter_constraints = RPCA._parameter_constraints | {
        "gamma": auto_or("clustering"),
        "gamma_features": auto_or(),
    }

    gamma: Any = "auto"
    graph: Any = "robust"
    laplacian: str = "normalized"
    feature_graph: Any = None
    gamma_features: float | str = "auto"
    image_shape: tuple[int, ...] | None = None

    def _fit(self, X, weight=None) -> None:
        loss = resolve_loss(self, X)
        lam, gamma = self._parameters(X, loss)
        stage, stopped = Stage(self, "graph"), False
        graph = self._graph_without_values(X, stage)
        features = self._build_features(X)
        if lam is None or gamma is None:
            rows = random_rows(X.shape) if graph is None else graph.some(X.shape)
            build = self.trial_graph(rows)
            choice, stopped = self._choose(X, lam, gamma, rows=rows, build=build)
            lam, gamma = choice.lam, choice.gamma
        if graph is None and gamma > 0:
            graph = self._build_graph(X, stage)
        self.gamma_, shifted = gamma, None
        if graph is not None:
            shifted = ShiftedLaplacian(graph.laplacian, null=graph.null)
            # Not saved if the graph was stopped: a later fit will have another graph.
            stopped = stopped or stage.is_stopped
        loss = loss or DataLoss(lam=lam)
        if features is not None and self.gamma_features == "auto":
            is_free = self.weights_ is not None and self.lam == "auto" and loss.is_plain
            given = X, loss, (gamma, shifted), features
            self.gamma_features_, c = choose_gamma_features(*given, is_free)
            loss = replace(loss, lam=c * loss.lam)
        loss = replace(loss, weight=weight)
        problem = loss.problem(X, gamma, shifted, self.gamma_features_, features)
        result = self._solve(problem, save=not stopped)
        self._name(X, result, loss)

    def _graph_without_values(self, X, stage: Stage):
        """The graph, if it does not depend on the values of X; None otherwise.

        Only a builder that compares rows can make a graph of some of them. It waits:
        the weights may be chosen such that no graph is needed.
        """
        self._graphs, self.adjacency_, self.laplacian_ = [], None, None
        builder = as_builder(self.graph)
        if builder is not None:
            builder._validate_params()  # even if no graph will be built
        return None if compares_rows(builder) else self._build_graph(X, stage)

    def _build_features(self, X) -> ShiftedLaplacian | None:
        """The Laplacian between features, if there is a graph."""
        self.gamma_features_ = 0.0
        if self.gamma_features != "auto":
            self.gamma_features_ = float(self.gamma_features)
        self.feature_adjacency_ = self.feature_laplacian_ = None
        if self.feature_graph is None:
            return None
        graph = build_feature_graph(self, X)
        self.feature_adjacency_ = graph.adjacency
        self.feature_laplacian_ = graph.laplacian
        return ShiftedLaplacian(graph.laplacian, null=graph.null)

    def trial_graph(self, rows=slice(None)) -> Build:
        """Function that builds the Laplacian of X, or of some rows, for the weights.

        Only a builder that compares rows uses the entries, some of which are hidden.
        """
        builder: Any = as_builder(self.graph)
        given = None if compares_rows(builder) else self.adjacency_[rows][:, rows]

        def build(Y, L) -> ShiftedLaplacian:
            A = trial_adjacency(builder, Y, L) if given is None else given
            return ShiftedLaplacian(laplacian(A, self.laplacian))

        return build

    def _check_options(self) -> None:
        super()._check_options()
        if self.feature_graph is None and self.gamma_features not in ("auto", 0):
            raise ValueError(
                f"gamma_features={self.gamma_features!r} needs a graph between "
                "features: pass feature_graph, such as 'knn' or 'grid'"
            )

    def _row_penalty(self, dtype, unit):
        """A graph between features adds gamma z V Phi V^T z^T.

        Its matrix and diag(1/s) are diagonal together in another basis.
        """
        V, quadratic, turn = super()._row_penalty(dtype, unit)
        gamma, Phi = self.gamma_features_, self.feature_laplacian_
        if gamma == 0 or not self.rank_:
            return V, quadratic, turn
        V = V.astype(np.float64)
        rough = V @ np.asarray(Phi @ V.T)
        matrix = np.diag(quadratic.astype(np.float64))
        matrix += gamma * float(unit) * (rough + rough.T)
        values, turn = np.linalg.eigh(matrix)
        return (turn.T @ V).astype(dtype), values.astype(dtype), turn
