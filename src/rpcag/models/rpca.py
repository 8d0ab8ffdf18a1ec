"""Robust PCA, and Robust PCA on graphs: the same with one more term."""

import math
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rpcag.graphs.builder import GraphBuilder
from rpcag.graphs.inputs import is_dask
from rpcag.graphs.laplacian import check_kind, laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.threads import one_blas_thread_each
from rpcag.linalg.typical import observed_share, typical_size
from rpcag.losses import rescaled
from rpcag.models.checks import (
    check_auto_or_number,
    check_callback,
    check_checkpoint,
    check_iterations,
    check_number,
    check_observed,
    check_scale,
)
from rpcag.models.data_loss import (
    DataLoss,
    check_loss,
    check_sample_weight,
    loss_of,
    resolve_loss,
)
from rpcag.models.decomposition import DecompositionModel
from rpcag.models.diagnosis import warn_if_poor, warn_if_tied
from rpcag.models.feature_graph import (
    build_feature_graph,
    check_feature_graph,
    choose_gamma_features,
)
from rpcag.models.graph import ModelGraph, as_builder, trial_adjacency
from rpcag.models.hidden_entries import Spread, measure_spread
from rpcag.models.parts import connected_rows, random_rows
from rpcag.models.progress import Monitor, tell
from rpcag.models.rules import clustering_gamma, theory_lam
from rpcag.models.scaling import center_and_scale
from rpcag.models.table import About
from rpcag.models.trials import Build
from rpcag.models.weights import Choice, choose
from rpcag.solvers import Progress, Result
from rpcag.solvers.penalties import ExactPenalties
from rpcag.solvers.problem import Problem
from rpcag.solvers.projection import Subspace, project

# lam that goes with gamma="clustering", in units of the theory's: the more the graph
# smooths L, the less a small lam is needed. Mean clustering errors at 1, 2 and 4 are
# 30.6, 30.2 and 30.9 % on the study's sets, 34.8, 34.1 and 33.9 % on fresh images, with
# samples of unit length (benchmarks/clustering.py). The differences are about as large
# as their standard errors over sets. Larger values put fewer entries into S.
CLUSTERING_LAM = 2.0


class RPCA(DecompositionModel):
    """Robust PCA: a low-rank matrix plus a sparse one.

    minimize ||L||_* + lam ||M o (X - L)||_1 over L,   S = X - L

    M is one where X is observed and zero where it is NaN. `gap_` bounds how far the
    objective at L is above the optimum of this problem. `explained_` and `score`
    measure how well the model fits the data.

    Parameters
    ----------
    n_components : int, optional
        Maximum number of components of the embedding. By default the rank of L. L
        itself is not cut.
    lam : float, "auto" or "theory", default="auto"
        Weight of the sparse part. Smaller values move more of X into it. "auto" hides
        some of the entries and chooses the weight that predicts them best. "theory" is
        1 / sqrt(max(n_samples, n_features)), divided by the square root of the share of
        entries that are observed. It suits data that are exactly low-rank except for
        gross errors.
    scale : {None, "robust", "standard"}, default=None
        Center and scale every feature first, ignoring NaN: by a clipped mean and
        quantiles ("robust"), or by the mean and the standard deviation ("standard").
        Use it if features have different units; "robust" withstands gross errors.
        Constant features are only centered. Graphs are built from the scaled data.
    loss : {"entries", "rows", "both"}, default="entries"
        What may be wrong: single entries (the l1 norm), whole samples (the sum of the
        norms of the rows of S), or both at once. For "rows", `lam` is the weight of a
        sample; use it if a few samples do not belong to the others. With another loss
        than "entries", or with noise, ``lam="auto"`` is a rule and not a search.
    noise : None, "auto" or float, default=None
        Standard deviation of dense noise N in X = L + S + N, in the unit of X (of the
        scaled X if `scale` is given). The objective then also has
        ||X - L - S||_F^2 / (2 mu), with mu a little above the norm of the noise, so
        that S is sparse and L has the rank of the signal. "auto" estimates the level.
        Use it for measured data; without it, noise ends up in S and in L.
    tol : float, default=1e-3
        Certified relative duality gap at which to stop.
    max_iter : int, default=1000
        Maximum number of iterations.
    warm_start : bool, default=False
        Start the next `fit` on data of the same shape where this one ended.
    verbose : int, default=0
        Log a line for every certificate, to the logger ``rpcag`` (docs/ecosystem.md).
    callback : callable, optional
        Called after every iteration with a `rpcag.solvers.Progress`; a true value
        stops the fit. While weights are chosen its ``stage`` is "weights"; a true value
        there ends the choice, and the best weights so far are used.
    checkpoint : path, optional
        A file to which the state is saved at regular intervals. A fit that was killed
        continues from it to the same answer. A fit that converged removes it. The
        choice of weights is not saved but repeated.
    checkpoint_seconds : float, default=60
        Seconds between two saves.

    Attributes
    ----------
    low_rank_, sparse_ : ndarray of shape (n_samples, n_features)
        L and S. Without noise X = L + S where X is observed. S is 0 where X is missing.
    center_, scale_ : ndarray of shape (n_features,) or None
        Center and scale of every feature, None if `scale` is None. The objective, its
        bound, the graph, `embedding_` and `components_` are those of
        ``(X - center_) / scale_``. `low_rank_` and `sparse_` are in the unit of X.
    embedding_ : ndarray of shape (n_samples, n_components)
        Left singular vectors of L times its singular values.
    components_ : ndarray of shape (n_components, n_features)
        Right singular vectors of L, as orthonormal rows.
    singular_values_ : ndarray of shape (n_components,)
    n_components_ : int
    rank_ : int
        Rank of L.
    lam_ : float
    lam_rows_ : float or None
        Weight of a sample, if `loss` is "both".
    noise_ : float
        Standard deviation of the noise, 0 without. N is ``X - low_rank_ - sparse_``.
    mu_ : float or None
        The noise costs ``||N||_F^2 / (2 mu_)``.
    dual_ : DualPoint or None
        The point that proves `lower_bound_`. If X has more than a million entries, it
        is that of the last certificate, which may prove a little less
        (docs/certificate.md).
    solver_ : {"factored", "exact", "factored, exact"}
        Iterates of the solver: L as thin factors, as a full matrix, or first the one
        and then the other (docs/solver.md).
    weights_ : Choice or None
        If a weight was "auto": the chosen weights, every candidate with its error at
        the hidden entries (`trials`), and how many entries were hidden.
    explained_ : float or None
        If a weight was "auto": the share of the spread of hidden entries that the model
        predicts, 1 for all and 0 for no more than the median or mean of the feature, as
        measured by `score`. None where the weights are given or follow a rule, or
        where X has too few entries to hide some.
    objective_, lower_bound_, gap_ : float
        Objective at L, a certified lower bound of the optimum, and their relative
        difference.
    n_iter_ : int
    status_ : {"converged", "max_iter", "stopped", "stalled", "numerical_error"}
        After "numerical_error" there is no certificate, because rounding errors put a
        lower bound above the objective: `lower_bound_` is 0 and `gap_` is 1.
    history_ : dict of ndarray
        One entry per certificate: ``n_iter``, ``objective``, ``lower_bound``, ``gap``,
        ``primal_residual``, ``dual_residual``, ``rank``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the columns of X, if it has any.

    References
    ----------
    Candès, Li, Ma, Wright, "Robust Principal Component Analysis?", JACM 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag import RPCA
    >>> X = np.outer(np.ones(20), np.arange(1.0, 11.0))
    >>> X[3, 4] = 50.0
    >>> model = RPCA(tol=1e-6).fit(X)
    >>> model.rank_, round(float(model.sparse_[3, 4]), 2)
    (1, 45.0)
    """

    _about = About(convex=True, factors=False, solution="ADMM, certified gap")

    def __init__(
        self,
        n_components=None,
        *,
        lam="auto",
        scale=None,
        loss="entries",
        noise=None,
        tol=1e-3,
        max_iter=1000,
        warm_start=False,
        verbose=0,
        callback=None,
        checkpoint=None,
        checkpoint_seconds=60.0,
    ):
        self.n_components = n_components
        self.lam = lam
        self.scale = scale
        self.loss = loss
        self.noise = noise
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.verbose = verbose
        self.callback = callback
        self.checkpoint = checkpoint
        self.checkpoint_seconds = checkpoint_seconds

    def fit(self, X, y=None, *, sample_weight=None):
        """Decompose X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing entry. For a Dask array or data frame the work is done
            where its chunks are, and the matrices of the answer are Dask arrays.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How much the loss of every sample counts, by default 1. Samples of weight 0
            are treated as missing. Weights are not normalized, and neither the rules
            for lam nor the graph take them into account.
        """
        if is_dask(X):
            check_options(self)
            self._fit_dask(X, sample_weight)
            return self
        X = self._validate(X, reset=True)
        check_options(self)
        check_observed(X)
        weight = check_sample_weight(sample_weight, len(X))
        with one_blas_thread_each():
            self._fit(self._learn_scale(X), weight)
        return self

    def transform(self, X, *, adjacency=None):
        """Embedding of new rows, robust to gross errors and missing entries in them.

        Every row x is split into z V in the learned subspace, smooth toward its
        neighbors among the rows the model was fitted on, and a sparse rest:

            minimize  loss of m o (x - z V) + z diag(1/s) z^T / 2
                      + gamma (smoothness of z on the edges to the fitted rows)

        The second term is what the nuclear norm asks of one row (see
        `rpcag.solvers.projection.project`). The result l = z V is bounded, whatever the
        outliers and edge weights are: ||m o l||_1 <= 2 ||m o x||_1, or ||l|| is at most
        sqrt(2) times the norm of the longest neighbor.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            NaN marks a missing entry.
        adjacency : array or sparse array of shape (n_new, n_samples), optional
            Weights between the new rows and those of `fit`. By default the builder of
            the graph makes them; for a precomputed graph there are none.

        Returns
        -------
        ndarray of shape (n_new, n_components)
            A Dask array with the same chunks of rows if X is a Dask array or data
            frame.
        """
        check_is_fitted(self, "components_")
        if is_dask(X):
            return _distributed().transform(self, X, adjacency)
        X = self._validate(X, reset=False)
        return self._transform(X, adjacency)

    def _embed_rows(self, X, adjacency):
        curvature, pull = self._ties(X, adjacency)
        # In units of the typical size, as wide as the model or the rows are.
        dtype = np.result_type(X, self._directions)
        limits = np.finfo(dtype)
        size = min(max(self._scale, float(limits.smallest_subnormal)), limits.max / 4)
        scale = dtype.type(2.0 ** math.floor(math.log2(size)))  # a power of two: exact
        scaled = X.astype(dtype) / scale
        observed = None
        if np.isnan(X).any():
            observed = ~np.isnan(X)
            scaled[~observed] = 0
        stated = self._stated or DataLoss(lam=self.lam_)
        multiplier = stated.multiplier(X.shape[1])
        subspace, turn = self._subspace(dtype, scale)
        pull = pull if turn is None else pull @ turn
        Z, unfinished = project(
            scaled,
            observed,
            subspace,
            rescaled(stated.build(), float(scale)),
            curvature * float(scale),
            pull,
            penalty=ExactPenalties.FIRST * multiplier * float(scale) / self._spread,
        )
        self._warn_unfinished(unfinished)
        Z = Z if turn is None else (Z @ turn.T).astype(Z.dtype)
        return Z[:, : self.n_components_] * scale

    def _subspace(self, dtype, scale) -> tuple[Subspace, np.ndarray | None]:
        """Directions and singular values, in units of `scale`.

        A graph between features adds gamma z V Phi V^T z^T. Its matrix and diag(1/s)
        are diagonal together in another basis; the second result turns to it.
        """
        V = self._directions.astype(dtype, copy=False)
        s = self._spectrum.astype(dtype, copy=False) / scale
        gamma = getattr(self, "gamma_features_", 0.0)
        if gamma == 0 or not len(s):
            return Subspace(V, s), None
        wide = V.astype(np.float64)
        rough = wide @ np.asarray(self.feature_laplacian_ @ wide.T)
        quadratic = np.diag(1 / s.astype(np.float64))
        quadratic += 2 * gamma * float(scale) * (rough + rough.T) / 2
        values, turn = np.linalg.eigh(quadratic)
        turned = (turn.T @ wide).astype(dtype)
        return Subspace(turned, (1 / values).astype(dtype)), turn

    def _check_adjacency(self, X, adjacency):
        if adjacency is not None and not hasattr(self, "_graph"):
            raise ValueError(
                f"adjacency is for models with a graph; {type(self).__name__} has none"
            )
        return super()._check_adjacency(X, adjacency)

    def _fit(self, X, weight=None):
        self._forget_choice()
        self._state_loss(X, weight)
        lam, _ = resolve_weights(self._lam_stated(), 0.0, X)
        stopped = False
        if lam is None:
            choice, stopped = self._choose(X, None, 0.0)
            lam = choice.lam
        result = self._solve(self._problem(X, lam), save=not stopped)
        self._name(X, result)
        warn_if_tied(self, X)

    # The loss of the last fit, None for the l1 norm, and the weights of its samples.
    _stated: DataLoss | None = None
    _weight: np.ndarray | None = None

    def _state_loss(self, X, weight) -> None:
        self._weight = weight
        self._stated = resolve_loss(self, X)

    def _lam_stated(self):
        """The option `lam`; where the loss has a rule of its own, its number."""
        return self.lam if self._stated is None else self._stated.lam

    def _problem(self, X, lam: float, gamma: float = 0.0, shifted=None) -> Problem:
        """The problem of the stated loss; sets `lam_` and what belongs to it."""
        self._name_loss(lam)
        stated, weight = self._stated or DataLoss(lam=lam), self._weight
        second: dict[str, Any] = {
            "features": getattr(self, "_features", None),
            "gamma_features": getattr(self, "gamma_features_", 0.0),
        }
        if stated.is_plain and weight is None:
            return Problem(X, lam, gamma, shifted, **second)
        if weight is not None and not weight.all():
            X = np.where(weight[:, None] > 0, X, X.dtype.type(np.nan))
            check_observed(X)
            weight = np.where(weight > 0, weight, 1.0)
        typical = stated.multiplier(X.shape[1])
        loss = stated.build(weight)
        return Problem(X, typical, gamma, shifted, loss=loss, **second)

    def _name_loss(self, lam: float) -> None:
        stated = self._stated or DataLoss(lam=lam)
        self.lam_ = lam
        self.lam_rows_ = stated.lam_rows or None
        self.noise_, self.mu_ = stated.sigma, stated.mu or None

    def _sparse_part(self, R):
        stated, weight = self._stated, self._weight
        if weight is not None and not weight.all():
            R[weight == 0] = 0  # they are missing, and have no S
            weight = np.where(weight > 0, weight, 1.0)
        if stated is None:
            return R
        return stated.sparse_part(R, weight).astype(R.dtype, copy=False)

    def _fit_dask(self, X, sample_weight=None):
        if self.loss != "entries":
            raise ValueError(
                f"loss={self.loss!r} needs whole samples in one place, got a Dask "
                "array; use loss='entries', or pass X.compute()"
            )
        if getattr(self, "feature_graph", None) is not None:
            raise ValueError(
                "feature_graph needs X in memory, got a Dask array; use "
                "feature_graph=None, or pass X.compute()"
            )
        if self.noise == "auto":
            raise ValueError(
                "noise='auto' needs X in memory, got a Dask array; pass a number, such "
                "as noise_ of a fit to some rows: X[:1000].compute()"
            )
        for name in ("warm_start", "checkpoint"):
            if getattr(self, name):
                raise ValueError(
                    f"{name} is for arrays in memory, got "
                    f"{getattr(self, name)!r} and a Dask array"
                )
        distributed = _distributed()
        X = distributed.by_features(X)
        X = self._learn_scale_on_dask(X)
        graph = self._graph_on_dask(X)
        sizes = distributed.measure(X)
        self._weight = check_sample_weight(sample_weight, X.shape[0])
        if self._weight is not None and not self._weight.all():
            raise ValueError(
                "sample_weight must be positive for a Dask array; drop the samples of "
                "weight 0"
            )
        self._stated = loss_of(self, X.shape, sizes[2])
        split = distributed.fit(
            X,
            sizes=sizes,
            lam=self._lam_stated(),
            gamma=getattr(self, "gamma", 0.0),
            stated=self._stated,
            weight=self._weight,
            factors=self._factors_on_dask(X, graph),
            graph=graph,
            tol=float(self.tol),
            max_iter=self.max_iter,
            callback=self._watch(),
        )
        self._warn(split.result)
        self.n_features_in_ = X.shape[1]
        self._name_loss(split.lam)
        self._scale, self._spread = split.size, split.spread
        if graph is not None:
            self.gamma_, self._graph = split.gamma, graph
            self.adjacency_, self.laplacian_ = graph.adjacency, graph.laplacian
        self._name_parts(split.low_rank, split.sparse, split.factors, split.result)

    def _learn_scale_on_dask(self, X):
        """`_learn_scale` of an array with all rows in every chunk."""
        by_feature = _distributed().by_feature
        self.center_ = self.scale_ = None
        if self.scale is not None:
            self.center_, self.scale_ = by_feature(
                center_and_scale, X, self.scale, rows=2
            )
            X = self._scaled(X).persist()
        self._spread_of_features = Spread(*by_feature(measure_spread, X, rows=4))
        return X

    def _factors_on_dask(self, X, graph) -> tuple[float, float]:
        """What lam and gamma are multiplied by, where they are words.

        Where one is "auto" they are chosen on some rows, which are loaded.
        """
        self._forget_choice()
        gamma, stated = getattr(self, "gamma", 0.0), self._lam_stated()
        if stated == "auto" and gamma == "clustering":
            return CLUSTERING_LAM, 1.0
        if "auto" not in (stated, gamma):
            return 1.0, 1.0
        rows = random_rows(X.shape)
        options: dict = {"shape": X.shape}
        if graph is not None:
            rows = connected_rows(graph.adjacency, X.shape)
            A = graph.adjacency[rows][:, rows]
            options["build"] = lambda Y, L: self._shifted(A, Y)
        Y = np.ascontiguousarray(X[rows].compute())
        lam, gamma = resolve_weights(stated, gamma, Y)
        if stated == "theory":
            lam = theory_lam(X.shape, observed_share(Y) or 1.0)
        choice, _ = self._choose(Y, lam, gamma, **options)
        return choice.factors[0] if lam is None else 1.0, choice.factors[1]

    def _graph_on_dask(self, X):
        return None

    def _solve(self, problem: Problem, save: bool) -> Result:
        start = getattr(self, "_state", None) if self.warm_start else None
        if start is not None and not 0.5 < problem.scale / self._scale < 2:
            start = None  # data in another unit
        result = problem.solve(
            tol=float(self.tol),
            max_iter=self.max_iter,
            start=start,
            callback=self._watch(),
            checkpoint=self.checkpoint if save else None,
            checkpoint_seconds=self.checkpoint_seconds,
            keep_checkpoint=self._part_of is not None,
        )
        self._state = result.state if self.warm_start else None
        self._scale, self._spread = problem.scale, problem.spread
        self._warn(result)
        return replace(result, state=None)  # four arrays like X

    def _forget_choice(self) -> None:
        self.weights_: Choice | None = None
        self.explained_: float | None = None

    def _choose(self, X, lam, gamma, **graph) -> tuple[Choice, bool]:
        """Choose the weights that are None; sets `weights_` and `explained_`.

        Returns also whether the callback stopped it. Then the fit is not saved, because
        a later fit will have other weights.
        """
        monitor, stopped = Monitor.of(self, "weights"), False

        def watch(progress: Progress) -> bool:
            nonlocal stopped
            stop = bool(monitor.callback and monitor.callback(progress))
            stopped = stopped or stop
            return stop

        choice = choose(X, lam=lam, gamma=gamma, callback=watch, **graph)
        known = not math.isnan(choice.explained)
        self.weights_, self.explained_ = choice, choice.explained if known else None
        reason = "too few entries to hide some"
        if known:
            reason = (
                f"best of {len(choice.trials['lam'])} pairs, predicts "
                f"{choice.explained:.0%} of the spread of {choice.n_hidden} hidden "
                "entries"
            )
        weights = f"lam {choice.lam:.3g}, gamma {choice.gamma:.3g}"
        tell(self.verbose, f"{monitor.title}: {weights}; {reason}")
        warn_if_poor(self, X, choice)
        return choice, stopped

    def _ties(self, X, adjacency):
        """Curvature and pull of the smoothness toward the fitted rows: none."""
        return np.zeros(len(X)), np.zeros((len(X), self.rank_))


class RPCAG(RPCA):
    """Robust PCA on graphs: low-rank plus sparse, smooth between similar samples.

    minimize ||L||_* + lam ||M o (X - L)||_1 + gamma tr(L^T Phi L) over L,   S = X - L

    Phi is the Laplacian of a graph between the rows of X. M is one where X is observed
    and zero where it is NaN. The problem is convex, and `gap_` bounds how far the
    objective at L is above its optimum. `explained_` and `score` measure how well
    the model fits the data.

    The default weights predict missing entries. If you cluster the embedding, use
    ``RPCAG(k, gamma="clustering")`` and `rpcag.clustering.cluster_embedding`.

    Parameters
    ----------
    n_components : int, optional
        Maximum number of components of the embedding. By default the rank of L. L
        itself is not cut.
    lam : float, "auto" or "theory", default="auto"
        Weight of the sparse part. Smaller values move more of X into it. "auto" hides
        some of the entries and chooses the weight that predicts them best. "theory" is
        1 / sqrt(max(n_samples, n_features)), divided by the square root of the share of
        entries that are observed. It suits data that are exactly low-rank except for
        gross errors.
    gamma : float, "auto" or "clustering", default="auto"
        Weight of the smoothness; 0 gives Robust PCA. "auto" chooses the weight that
        predicts hidden entries best, and 0 if the graph does not help; then no graph is
        built, and `adjacency_` is None unless a matrix or "chain" was given.
        "clustering" is larger: use it if you cluster the embedding. It is
        4 / sqrt(max(n_samples, n_features)) divided by the typical size of an entry
        (the median size of those that are not zero, as a deviation), times the share of
        entries that are observed. With it, ``lam="auto"`` is twice the weight of the
        theory.
    graph : "robust", "knn", "complete", "chain", builder or adjacency, default="robust"
        "robust" is `rpcag.models.RobustGraph()`: seven nearest neighbors in
        the low-rank part of Robust PCA, which gross errors do not mislead; it costs one
        more fit. "knn" is `rpcag.graphs.KNNGraph()`: nearest neighbors in X, for clean
        data and errors that are marked by NaN. "complete" is the graph of the paper,
        `rpcag.graphs.CompleteGraph()`. "chain" is `rpcag.graphs.Chain()`: each row and
        the rows before and after it, for rows in time order. Any builder of
        `rpcag.graphs`, any function from X to an adjacency, a symmetric adjacency,
        dense or sparse, or a graph of NetworkX, igraph or PyGSP.
    laplacian : {"normalized", "combinatorial"}, default="normalized"
        I - D^-1/2 A D^-1/2, or D - A, of the adjacency A with degrees D.
    feature_graph : None, "knn", "grid", builder or adjacency, default=None
        A second graph, between features: L is also smooth between features that are
        joined. "grid" joins each pixel to the four next to it; pass `image_shape`.
        "knn" joins features that are alike in X. The solver then uses
        full matrices, which is slower on large data.
    gamma_features : float or "auto", default="auto"
        Weight of gamma_features tr(L Phi_f L^T). "auto" chooses the weight that
        predicts hidden entries best, after `lam` and `gamma`, and 0 if the graph does
        not help. A ``lam="auto"`` is then chosen again.
    image_shape : tuple, optional
        Height and width of the images that are the rows of X, and perhaps the number of
        channels, for ``feature_graph="grid"``.
    scale : {None, "robust", "standard"}, default=None
        Center and scale every feature first, ignoring NaN: by a clipped mean and
        quantiles ("robust"), or by the mean and the standard deviation ("standard").
        Use it if features have different units; "robust" withstands gross errors.
        Constant features are only centered. Graphs are built from the scaled data.
    loss : {"entries", "rows", "both"}, default="entries"
        What may be wrong: single entries (the l1 norm), whole samples (the sum of the
        norms of the rows of S), or both at once. For "rows", `lam` is the weight of a
        sample; use it if a few samples do not belong to the others. With another loss
        than "entries", or with noise, ``lam="auto"`` is a rule and not a search.
    noise : None, "auto" or float, default=None
        Standard deviation of dense noise N in X = L + S + N, in the unit of X (of the
        scaled X if `scale` is given). The objective then also has
        ||X - L - S||_F^2 / (2 mu), with mu a little above the norm of the noise, so
        that S is sparse and L has the rank of the signal. "auto" estimates the level.
        Use it for measured data; without it, noise ends up in S and in L.
    tol : float, default=1e-3
        Certified relative duality gap at which to stop.
    max_iter : int, default=1000
        Maximum number of iterations.
    warm_start : bool, default=False
        Start the next `fit` on data of the same shape where this one ended.
    verbose : int, default=0
        Log a line for every certificate, to the logger ``rpcag`` (docs/ecosystem.md).
    callback : callable, optional
        Called after every iteration with a `rpcag.solvers.Progress`; a true value
        stops the fit. It is also called with ``stage="weights"`` while weights are
        chosen, and with ``stage="graph"`` for a robust graph. A true value there ends
        that stage only: the best weights so far are used, and the graph is built from
        the current state. The fit then starts; it stops after one iteration if the
        callback again returns true.
    checkpoint : path, optional
        A file to which the state is saved at regular intervals. A fit that was killed
        continues from it to the same answer. A fit that converged removes it. The
        choice of weights is not saved but repeated. The Robust PCA of a robust graph is
        saved next to it, in ``fit.graph.npz`` for ``fit.npz``, and is not repeated once
        it has finished.
    checkpoint_seconds : float, default=60
        Seconds between two saves.

    Attributes
    ----------
    low_rank_, sparse_ : ndarray of shape (n_samples, n_features)
        L and S. Without noise X = L + S where X is observed. S is 0 where X is missing.
    center_, scale_ : ndarray of shape (n_features,) or None
        Center and scale of every feature, None if `scale` is None. The objective, its
        bound, the graph, `embedding_` and `components_` are those of
        ``(X - center_) / scale_``. `low_rank_` and `sparse_` are in the unit of X.
    embedding_ : ndarray of shape (n_samples, n_components)
        Left singular vectors of L times its singular values.
    components_ : ndarray of shape (n_components, n_features)
        Right singular vectors of L, as orthonormal rows.
    singular_values_ : ndarray of shape (n_components,)
    n_components_ : int
    rank_ : int
        Rank of L.
    adjacency_, laplacian_ : csr_array or ndarray of shape (n_samples, n_samples)
    feature_adjacency_, feature_laplacian_ : of shape (n_features, n_features), or None
    gamma_features_ : float
        0 without a graph between features.
    lam_, gamma_ : float
    lam_rows_, noise_, mu_, dual_, solver_
        As in `RPCA`.
    weights_ : Choice or None
    explained_ : float or None
        As in `RPCA`.
    objective_, lower_bound_, gap_ : float
        Objective at L, a certified lower bound of the optimum, and their relative
        difference.
    n_iter_ : int
    status_ : {"converged", "max_iter", "stopped", "stalled", "numerical_error"}
        After "numerical_error" there is no certificate, because rounding errors put a
        lower bound above the objective: `lower_bound_` is 0 and `gap_` is 1.
    history_ : dict of ndarray
        One entry per certificate: ``n_iter``, ``objective``, ``lower_bound``, ``gap``,
        ``primal_residual``, ``dual_residual``, ``rank``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Names of the columns of X, if it has any.

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

    def __init__(
        self,
        n_components=None,
        *,
        lam="auto",
        gamma="auto",
        graph="robust",
        laplacian="normalized",
        feature_graph=None,
        gamma_features="auto",
        image_shape=None,
        scale=None,
        loss="entries",
        noise=None,
        tol=1e-3,
        max_iter=1000,
        warm_start=False,
        verbose=0,
        callback=None,
        checkpoint=None,
        checkpoint_seconds=60.0,
    ):
        super().__init__(
            n_components,
            lam=lam,
            scale=scale,
            loss=loss,
            noise=noise,
            tol=tol,
            max_iter=max_iter,
            warm_start=warm_start,
            verbose=verbose,
            callback=callback,
            checkpoint=checkpoint,
            checkpoint_seconds=checkpoint_seconds,
        )
        self.gamma = gamma
        self.graph = graph
        self.laplacian = laplacian
        self.feature_graph = feature_graph
        self.gamma_features = gamma_features
        self.image_shape = image_shape

    def _fit(self, X, weight=None):
        self._state_loss(X, weight)
        lam, gamma = self._parameters(X)
        self._forget_choice()
        monitor = Monitor.of(self, "graph")
        graph, stopped, builder = None, False, self._builder(X)
        # Only a builder that compares rows can make a graph of some of them. It waits:
        # the weights may be chosen such that no graph is needed.
        if builder is None or builder.by_order:
            graph = self._model_graph(X, monitor)
        if lam is None or gamma is None:
            options = self._trial_graph(X, graph)
            choice, stopped = self._choose(X, lam, gamma, **options)
            lam, gamma = choice.lam, choice.gamma
        if gamma == 0 and graph is None:
            self._fit_without_graph(X, lam, save=not stopped)
            return
        if graph is None:
            graph = self._model_graph(X, monitor)
        shifted = ShiftedLaplacian(graph.laplacian, X.shape[1], null=graph.null)
        # Not saved if the graph was stopped: a later fit will have another graph.
        save = not (stopped or graph.stopped)
        lam = self._choose_features(X, lam, gamma, shifted)
        result = self._solve(self._problem(X, lam, gamma, shifted), save)
        if graph.is_watched and result.status == "converged":
            monitor.forget()
        self.gamma_ = gamma
        self._graph = graph
        self.adjacency_, self.laplacian_ = graph.adjacency, graph.laplacian
        self._name(X, result)
        warn_if_tied(self, X)

    def _fit_without_graph(self, X, lam: float, save: bool) -> None:
        """Robust PCA: the graph has no weight, so none is built."""
        lam = self._choose_features(X, lam, 0.0, None)
        result = self._solve(self._problem(X, lam), save)
        self.gamma_ = 0.0
        self._graph = self.adjacency_ = self.laplacian_ = None
        self._name(X, result)
        warn_if_tied(self, X)

    def _choose_features(self, X, lam: float, gamma: float, shifted) -> float:
        """Build the graph between features, if one is asked for, and weigh it.

        Returns lam, which is chosen again with the graph if it was chosen before.
        """
        self._features: ShiftedLaplacian | None = None
        self.feature_adjacency_ = self.feature_laplacian_ = None
        self.gamma_features_ = 0.0
        if self.feature_graph is None:
            return lam
        graph = build_feature_graph(self, X)
        self.feature_adjacency_ = graph.adjacency
        self.feature_laplacian_ = graph.laplacian
        self._features = ShiftedLaplacian(graph.laplacian, len(X), null=graph.null)
        if not isinstance(self.gamma_features, str):
            self.gamma_features_ = float(self.gamma_features)
            return lam

        def state(Y, gamma_features: float, c: float, is_part: bool) -> Problem:
            self.gamma_features_ = gamma_features
            if is_part:
                return self._problem(Y, c * lam)
            return self._problem(Y, c * lam, gamma, shifted)

        weight, self._weight = self._weight, None
        free = self.weights_ is not None and self._lam_stated() == "auto"
        self.gamma_features_, c = choose_gamma_features(X, self._features, state, free)
        self._weight = weight
        return c * lam

    def _builder(self, X) -> GraphBuilder | None:
        """What builds the graph; its options are checked even if none is built."""
        builder = as_builder(self.graph)
        if builder is not None:
            builder._check(X)
        return builder

    def _model_graph(self, X, monitor: Monitor) -> ModelGraph:
        return ModelGraph(
            self.graph, X, self.laplacian, labels=self._sample_names, monitor=monitor
        )

    def _trial_graph(self, X, graph: ModelGraph | None) -> dict:
        """How `choose` gets the graph of the rows at which it looks."""
        if graph is not None:
            rows = connected_rows(graph.adjacency, X.shape)
            A = graph.adjacency[rows][:, rows]
            return {"rows": rows, "build": lambda Y, L: self._shifted(A, Y)}
        builder = as_builder(self.graph)
        assert builder is not None
        return {"build": lambda Y, L: self._shifted(trial_adjacency(builder, Y, L), Y)}

    def trial_graph(self, X) -> Build:
        """What makes the Laplacian of all rows of X in which entries are hidden.

        A graph that does not depend on the entries is that of the model.
        """
        builder = as_builder(self.graph)
        if builder is None or builder.by_order:
            return lambda Y, L: self._shifted(self.adjacency_, Y)
        return self._trial_graph(X, None)["build"]

    def _shifted(self, adjacency, Y) -> ShiftedLaplacian:
        return ShiftedLaplacian(laplacian(adjacency, self.laplacian), Y.shape[1])

    def _parameters(self, X):
        """lam and gamma; None where they are to be chosen."""
        return resolve_weights(self._lam_stated(), self.gamma, X)

    def _graph_on_dask(self, X):
        nothing = np.zeros((X.shape[0], 1))
        builder = as_builder(self.graph)
        if builder is not None and builder.by_order:
            return ModelGraph(builder(nothing), nothing, self.laplacian)
        if isinstance(self.graph, (str, BaseEstimator)) or callable(self.graph):
            raise ValueError(
                f"graph={self.graph!r} would need all features of X in one place; for "
                "a Dask array give 'chain' if its rows are in time order, or an "
                "adjacency of shape (n_samples, n_samples), such as "
                "rpcag.graphs.KNNGraph()(some features of X)"
            )
        return ModelGraph(self.graph, nothing, self.laplacian)

    def _ties(self, X, adjacency):
        ties = None
        if self._graph is not None:
            ties = self._graph.ties(X, adjacency, np.asarray(self._scores))
        if ties is None:
            return super()._ties(X, adjacency)
        curvature, pull = ties
        return 2 * self.gamma_ * curvature, 2 * self.gamma_ * pull


def _distributed():
    try:
        from rpcag.models import distributed
    except ImportError as error:
        raise ImportError(
            "a Dask array needs Dask's array and distributed parts: "
            "pip install 'rpcag[dask]'"
        ) from error
    return distributed


def check_options(model) -> None:
    """Refuse options of the wrong kind or range, by name."""
    if model.n_components is not None:
        check_number(model, "n_components", Integral, at_least=1)
    for name, rule in (("lam", "theory"), ("gamma", "clustering")):
        if hasattr(model, name):
            check_auto_or_number(model, name, rule)
    if hasattr(model, "laplacian"):  # also where no graph will be built
        check_kind(model.laplacian)
    if getattr(model, "lam", "auto") == 0:
        raise ValueError("lam must be positive, got 0: the best L would be zero")
    check_scale(model)
    check_loss(model)
    if hasattr(model, "feature_graph"):
        check_feature_graph(model)
    check_iterations(model)
    check_callback(model)
    check_checkpoint(model)


def resolve_weights(lam, gamma, X: np.ndarray) -> tuple[float | None, float | None]:
    """lam and gamma as numbers; None where they are to be chosen from the data.

    With gamma="clustering", lam="auto" is `CLUSTERING_LAM` times that of the theory.
    """
    if lam == "auto" and gamma == "clustering":
        lam = CLUSTERING_LAM * resolve_lam("theory", X)
    return (
        None if lam == "auto" else resolve_lam(lam, X),
        None if gamma == "auto" else resolve_gamma(gamma, X),
    )


def resolve_lam(lam, X: np.ndarray) -> float:
    """The rule of Candès et al. for "theory", or the number given."""
    if not isinstance(lam, str):
        return float(lam)
    return theory_lam(X.shape, observed_share(X))


def resolve_gamma(gamma, X: np.ndarray) -> float:
    """The rule measured on the paper's data for "clustering", or the number given."""
    if not isinstance(gamma, str):
        return float(gamma)
    return clustering_gamma(X.shape, typical_size(X), observed_share(X))
