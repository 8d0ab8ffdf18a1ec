"""Robust PCA: a low-rank matrix plus a sparse one."""

import math
import os
from dataclasses import KW_ONLY, dataclass, replace

import numpy as np
from scipy import linalg
from sklearn.utils._param_validation import StrOptions

from rpcag.graphs.inputs import is_dask
from rpcag.graphs.options import NUMBER, POSITIVE
from rpcag.linalg.threads import one_blas_thread_each
from rpcag.linalg.typical import typical_size
from rpcag.losses import rescaled
from rpcag.models.checks import check_checkpoint, check_observed
from rpcag.models.data_loss import KINDS, DataLoss, check_sample_weight, resolve_loss
from rpcag.models.decomposition import DecompositionModel
from rpcag.models.diagnosis import warn_if_offset
from rpcag.models.messages import Callback, Stage
from rpcag.models.rules import resolve_weights
from rpcag.models.weights import Choice, choose
from rpcag.solvers import Result
from rpcag.solvers.penalties import ExactPenalties
from rpcag.solvers.problem import Problem
from rpcag.solvers.projection import project


@dataclass(eq=False, repr=False)
class RPCA(DecompositionModel):
    """Robust PCA: a low-rank matrix plus a sparse one.

    minimize ||L||_* + lam ||M o (X - L)||_1 over L,   S = X - L

    M is one where X is observed and zero where it is NaN. `gap_` bounds how far the
    objective at L is above the optimum of this problem. `explained_` and `score`
    measure how well the model fits the data.

    Parameters
    ----------
    n_components : int, optional
        Maximum number of components of the embedding, by default the rank of L. It
        does not limit the rank of L.
    lam : float, "auto" or "theory", default="auto"
        Weight of the sparse part. Smaller values move more of X into it. "auto" hides
        some of the entries and chooses the weight that predicts them best. "theory" is
        1 / sqrt(max(n_samples, n_features) * share of observed entries); it suits data
        that are exactly low-rank except for gross errors.
    scale : {None, "robust", "standard"}, default=None
        Center and scale every feature first, by a clipped mean and quantiles
        ("robust"), or by the mean and the standard deviation ("standard"). Use it if
        features have different units; "robust" withstands gross errors. Constant
        features are only centered. Graphs are built from the scaled data.
    loss : {"entries", "rows", "both"}, default="entries"
        What may be wrong: single entries (the l1 norm), whole samples (the sum of the
        norms of the rows of S), or both at once. For "rows", `lam` is the weight of a
        sample; use it if a few samples do not belong to the others. If `loss` is not
        "entries", or `noise` is given, ``lam="auto"`` is a rule and not a search.
    noise : None, "auto" or float, default=None
        Standard deviation of dense noise N in X = L + S + N, in the unit of X (of the
        scaled X if `scale` is given). The objective then also has ||N||_F^2 / (2 mu),
        with mu a little above the norm of the noise. "auto" estimates the level. Use it
        for measured data; without it, noise ends up in S and in L.
    tol : float, default=1e-3
        Certified relative duality gap at which to stop.
    max_iter : int, default=1000
        Maximum number of iterations.
    warm_start : bool, default=False
        Start the next `fit` on data of the same shape where this one ended.
    verbose : int, default=0
        Log a line for every certificate, if not 0, to the logger ``rpcag``
        (docs/ecosystem.md).
    callback : callable, optional
        Called after every iteration with a `rpcag.solvers.Progress`; a true value
        stops the fit. While weights are chosen or a robust graph is built, its
        ``stage`` is "weights" or "graph". A true value there only ends that stage: the
        best weights so far are used, or a graph of the current state.
    checkpoint : path, optional
        A file to which the state is saved at regular intervals. A fit that was killed
        continues from it to the same result, after it has repeated the choice of
        weights and the graph. A fit that converges removes it.
    checkpoint_seconds : float, default=60
        Seconds between two saves.

    Attributes
    ----------
    low_rank_, sparse_ : ndarray of shape (n_samples, n_features)
        L and S. Without noise X = L + S where X is observed. S is 0 where X is missing.
    center_, scale_ : ndarray of shape (n_features,) or None
        Center and scale of every feature, None if `scale` is None. All attributes but
        `low_rank_` and `sparse_` are those of ``(X - center_) / scale_``.
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
        Standard deviation of the noise, or 0. N is ``X - low_rank_ - sparse_``.
    mu_ : float or None
        The noise costs ``||N||_F^2 / (2 mu_)``.
    dual_ : DualPoint or None
        The point that proves `lower_bound_` (docs/certificate.md). If X has more than a
        million entries, it is that of the last certificate, which may prove a bit less.
    solver_ : {"factored", "exact", "factored, exact"}
        How the solver represents L: as thin factors ("factored"), as a full matrix
        ("exact"), or first as one and then as the other (docs/solver.md).
    weights_ : Choice or None
        If a weight was "auto": the chosen weights, every candidate with its error at
        the hidden entries (`trials`), and how many entries were hidden.
    explained_ : float or None
        If a weight was "auto": the share of the spread of hidden entries that the model
        predicts, as measured by `score`. 1 is a perfect prediction, and 0 is no better
        than the median or mean of the feature. None if the weights are given or follow
        a rule, or if X has too few entries to hide some.
    objective_, lower_bound_, gap_ : float
        Objective at L, a certified lower bound of the optimum, and their relative
        difference.
    n_iter_ : int
    status_ : {"converged", "max_iter", "stopped", "stalled", "numerical_error"}
        "stopped" is by the callback, and "stalled" at the limit of the precision. After
        "numerical_error" there is no certificate, because rounding errors put a lower
        bound above the objective: `lower_bound_` is 0 and `gap_` is 1.
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

    _parameter_constraints = DecompositionModel._parameter_constraints | {
        "lam": [StrOptions({"auto", "theory"}), POSITIVE],
        "loss": [StrOptions(set(KINDS))],
        "noise": [StrOptions({"auto"}), NUMBER, None],
        "warm_start": ["boolean"],
        "checkpoint": [str, os.PathLike, None],
        "checkpoint_seconds": [NUMBER],
    }
    _dask_methods = frozenset({"fit", "transform"})
    # Options of `RPCAG`.
    gamma = 0.0
    graph = None
    feature_graph = None

    n_components: int | None = None
    _: KW_ONLY
    lam: float | str = "auto"
    scale: str | None = None
    loss: str = "entries"
    noise: float | str | None = None
    tol: float = 1e-3
    max_iter: int = 1000
    warm_start: bool = False
    verbose: int = 0
    callback: Callback | None = None
    checkpoint: str | os.PathLike | None = None
    checkpoint_seconds: float = 60.0

    def fit(self, X, y=None, *, sample_weight=None):
        """Decompose X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing entry. `RPCA` and `RPCAG` also take a Dask array: the
            computation runs where its chunks are, and fitted matrices are Dask arrays.
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            How much the loss of every sample counts, by default 1. Weights are not
            normalized: doubling all of them doubles `lam`. Samples of weight 0 are
            treated as missing. The graph and the choice of `lam` and `gamma` ignore the
            weights.
        """
        if is_dask(X) and "fit" in self._dask_methods:
            from rpcag.models import distributed

            self._validate_params()
            self._check_options()
            distributed.fit(self, X, sample_weight)
            return self
        X = self._validate(X, reset=True)
        self._check_options()
        check_observed(X)
        weight = check_sample_weight(sample_weight, X)
        with one_blas_thread_each():
            X = self._learn_scale(X)
            self._fit(X, weight)
        return self

    def _fit(self, X, weight=None) -> None:
        loss = resolve_loss(self, X)
        lam, _ = self._parameters(X, loss)
        stopped = False
        if lam is None:
            choice, stopped = self._choose(X, None, 0.0)
            lam = choice.lam
        loss = replace(loss or DataLoss(lam=lam), weight=weight)
        # Not saved if stopped: a later fit will have other weights.
        result = self._solve(loss.problem(X), save=not stopped)
        self._name(X, result, loss)

    def _parameters(self, X, loss: DataLoss | None):
        """lam and gamma; None where they are to be chosen from the data."""
        return resolve_weights(self.lam if loss is None else loss.lam, self.gamma, X)

    def _check_options(self) -> None:
        """Refuse options that do not suit each other."""
        if self.checkpoint is not None:
            check_checkpoint(self.checkpoint)

    def _choose(self, X, lam, gamma, **graph) -> tuple[Choice, bool]:
        """The weights that are None, and whether a callback stopped their choice."""
        stage = Stage(self, "weights")
        try:
            choice = choose(X, lam=lam, gamma=gamma, callback=stage.watch, **graph)
        except linalg.LinAlgError as error:
            raise ValueError(
                f"gamma={self.gamma!r} is out of range for X, whose typical size is "
                f"{typical_size(X):.3g} ({error}); choose a value nearer to 'auto'"
            ) from error
        weights = f"lam {choice.lam:.3g}, gamma {choice.gamma:.3g}"
        self._name_choice(X, choice, weights)
        return choice, stage.is_stopped

    def _solve(self, problem: Problem, save: bool) -> Result:
        start = getattr(self, "_state", None) if self.warm_start else None
        if start is not None and not 0.5 < problem.scale / self._size < 2:
            start = None  # data in another unit
        result = problem.solve(
            tol=float(self.tol),
            max_iter=self.max_iter,
            start=start,
            callback=self._watch(),
            checkpoint=self.checkpoint if save else None,
            checkpoint_seconds=self.checkpoint_seconds,
        )
        self._state = result.state if self.warm_start else None
        self._size, self._spread = problem.scale, problem.spread
        self._warn(result)
        return replace(result, state=None)  # four arrays like X

    def _name(self, X, result: Result, loss: DataLoss) -> None:
        self._name_loss(loss)
        with np.errstate(invalid="ignore"):
            R = np.nan_to_num(X - result.x, copy=False, nan=0.0)
        self._name_parts(result, loss.sparse_part(R), self._factors(X, result))
        warn_if_offset(self, len(X), loss)

    def _name_loss(self, loss: DataLoss) -> None:
        self._loss = replace(loss, weight=None)
        self.lam_, self.lam_rows_ = loss.lam, loss.lam_rows or None
        self.noise_, self.mu_ = loss.sigma, loss.mu or None

    def _embed_rows(self, X, *edges):
        """Split every row x into z V in the learned subspace and a sparse rest.

            minimize  loss of m o (x - z V) + z diag(1/s) z^T / 2
                      + gamma (smoothness of z on the edges to the fitted rows)

        The second term is the effect of the nuclear norm on one row (see
        `rpcag.solvers.projection.project`). The result l = z V is bounded, whatever the
        outliers and edge weights are: ||m o l||_1 <= 2 ||m o x||_1, or ||l|| is at most
        sqrt(2) times the norm of the longest neighbor.
        """
        ties = self._ties(X, edges, np.asarray(self._scores))
        curvature, pull = (2 * getattr(self, "gamma_", 0.0) * part for part in ties)
        # In units of the typical size, as wide as the model or the rows are.
        dtype = np.result_type(X, self._directions)
        limits = np.finfo(dtype)
        size = min(max(self._size, float(limits.smallest_subnormal)), limits.max / 4)
        unit = dtype.type(2.0 ** math.floor(math.log2(size)))  # a power of two: exact
        observed = ~np.isnan(X)
        V, quadratic, turn = self._row_penalty(dtype, unit)
        penalty = ExactPenalties.FIRST * self._loss.multiplier(X.shape[1])
        Z, _, unfinished = project(
            np.where(observed, X, 0).astype(dtype) / unit,
            None if observed.all() else observed,
            V,
            quadratic + curvature[:, None] * float(unit),
            rescaled(self._loss.build(), float(unit)),
            pull @ turn,
            penalty=penalty * float(unit) / self._spread,
        )
        self._warn_unfinished(unfinished)
        return (Z @ turn.T).astype(Z.dtype)[:, : self.n_components_] * unit

    def _row_penalty(self, dtype, unit):
        """Directions V, the diagonal of the quadratic that penalizes a row z V, and R.

        R turns the directions of the model to V.
        """
        s = self._spectrum.astype(dtype, copy=False) / unit
        turn = np.eye(len(s), dtype=dtype)
        return self._directions.astype(dtype, copy=False), 1 / s, turn
