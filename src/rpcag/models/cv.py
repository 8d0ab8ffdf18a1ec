"""Choose gamma and lam without labels, by predicting entries that were held out."""

from numbers import Integral, Real

import numpy as np

from rpcag.graphs.inputs import random_generator
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.models.checks import check_number, check_observed
from rpcag.models.graph import ModelGraph
from rpcag.models.problem import Problem
from rpcag.models.rpca import RPCAG, check_options, resolve_gamma, resolve_lam

# Around the automatic gamma, and Robust PCA itself.
FACTORS = (0.0, 1 / 256, 1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0)


class RPCAGCV(RPCAG):
    """Robust PCA on graphs that chooses gamma, and if asked lam, by itself.

    A share of the observed entries is hidden, the model predicts them, and the mean
    absolute error decides; then the winner is fitted to all data. The error is robust:
    a grossly wrong entry x adds ``|x - l|`` to each candidate, so it moves the
    difference of two candidates by no more than their predictions differ. The graph is
    built without the hidden entries. Along gamma every solve starts where the last one
    ended, with the same Laplacian.

    Parameters
    ----------
    n_components : int, optional
        As in `RPCAG`.
    gammas : "auto" or sequence of float, default="auto"
        Candidates; "auto" is 0 and seven values from 1/256 to 16 times the automatic
        gamma of `RPCAG`.
    lams : "auto" or sequence of float, default="auto"
        Candidates; "auto" is the one value that `RPCAG` would take.
    holdout : float, default=0.1
        Share of the observed entries to hide.
    n_splits : int, default=3
        How many times to hide other entries.
    random_state : int, RandomState or None, default=0
        Which entries are hidden.
    graph, laplacian, tol, max_iter, verbose
        As in `RPCAG`.
    callback : callable, optional
        As in `RPCAG`, but only called in the last fit and for its graph.

    Attributes
    ----------
    gamma_, lam_ : float
        The chosen values.
    cv_results_ : dict of ndarray
        The curve: ``lam``, ``gamma``, ``mean_error``, ``std_error`` and
        ``split0_error``, ``split1_error``, ... for every candidate, in the unit of X,
        ``rank``, the mean rank of the splits, and ``gap``, their largest certified gap.
    best_index_ : int
        The winner's place in the curve.
    best_error_ : float
    **others**
        As in `RPCAG`.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag import RPCAGCV
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat(rng.standard_normal((4, 30)), 12, axis=0)
    >>> X += 0.7 * rng.standard_normal(X.shape)
    >>> model = RPCAGCV(gammas=[0.0, 0.1, 10.0]).fit(X)
    >>> model.gamma_
    0.1
    """

    def __init__(
        self,
        n_components=None,
        *,
        gammas="auto",
        lams="auto",
        holdout=0.1,
        n_splits=3,
        random_state=0,
        graph="robust",
        laplacian="normalized",
        tol=1e-3,
        max_iter=1000,
        verbose=0,
        callback=None,
    ):
        self.n_components = n_components
        self.gammas = gammas
        self.lams = lams
        self.holdout = holdout
        self.n_splits = n_splits
        self.random_state = random_state
        self.graph = graph
        self.laplacian = laplacian
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.callback = callback

    # Options of `RPCAG`, not of this class.
    warm_start = False
    checkpoint = None
    checkpoint_seconds = 60.0

    def fit(self, X, y=None):
        """Choose the parameters on X, then decompose X with them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing entry.
        y : ignored
        """
        X = self._validate(X, reset=True)
        check_options(self)
        check_observed(X)
        check_number(self, "n_splits", Integral, at_least=1)
        check_number(self, "holdout", Real, at_least=0)
        if not 0 < self.holdout < 1:
            raise ValueError(f"holdout must lie between 0 and 1, got {self.holdout}")
        lams = self._candidates("lams", [resolve_lam("auto", X)])
        auto = resolve_gamma("auto", X)
        gammas = self._candidates("gammas", [factor * auto for factor in FACTORS])
        if 0 in lams:
            raise ValueError("lams must be positive, got 0")
        observed = np.flatnonzero(~np.isnan(X))
        n_hidden = round(self.holdout * len(observed))
        if n_hidden == 0 or n_hidden == len(observed):
            raise ValueError(
                f"holdout={self.holdout} of {len(observed)} observed entries hides "
                f"{n_hidden}: some must be hidden and some must stay"
            )

        rng = random_generator(self.random_state)
        splits = []
        for _ in range(self.n_splits):
            hidden = rng.choice(observed, n_hidden, replace=False)
            splits.append(self._scores_of(X, hidden, lams, gammas))
        errors, ranks, gaps = np.moveaxis(np.array(splits), 2, 0)
        grid = [(lam, gamma) for lam in lams for gamma in gammas]
        self.cv_results_ = {
            "lam": np.array([lam for lam, _ in grid]),
            "gamma": np.array([gamma for _, gamma in grid]),
            "mean_error": np.mean(errors, axis=0),
            "std_error": np.std(errors, axis=0),
            "rank": np.mean(ranks, axis=0),
            "gap": np.max(gaps, axis=0),
        }
        for k, split in enumerate(errors):
            self.cv_results_[f"split{k}_error"] = split
        self.best_index_ = int(np.argmin(self.cv_results_["mean_error"]))
        self.best_error_ = float(self.cv_results_["mean_error"][self.best_index_])
        self._best = grid[self.best_index_]
        self._fit(X)
        return self

    def _parameters(self, X):
        return self._best

    def _candidates(self, name: str, default: list[float]) -> list[float]:
        values = getattr(self, name)
        if isinstance(values, str):
            if values != "auto":
                raise ValueError(f"{name} must be 'auto' or numbers, got {values!r}")
            return default
        try:
            with np.errstate(over="ignore"):
                values = np.asarray(values, dtype=float).reshape(-1)
        except OverflowError as error:
            raise ValueError(
                f"{name} must be finite numbers of at least 0, got one beyond the "
                "range of float64"
            ) from error
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name} must be 'auto' or numbers, got {values!r}"
            ) from error
        if values.size == 0 or not np.isfinite(values).all() or values.min() < 0:
            raise ValueError(
                f"{name} must be finite numbers of at least 0, got {values.tolist()}"
            )
        return sorted(set(values.tolist()))

    def _scores_of(self, X, hidden, lams, gammas) -> list[tuple[float, float, float]]:
        """Mean absolute error on hidden entries, rank and gap for all candidates."""
        seen = X.copy()
        seen.flat[hidden] = np.nan
        graph = ModelGraph(self.graph, seen, self.laplacian, labels=self._sample_names)
        shifted = ShiftedLaplacian(graph.laplacian, X.shape[1], null=graph.null)
        truth = X.flat[hidden]
        scores = []
        problem = Problem(seen, lams[0], gammas[0], shifted)
        for lam in lams:
            state = None
            for gamma in gammas:
                result = problem.at(lam, gamma).solve(
                    tol=float(self.tol),
                    max_iter=self.max_iter,
                    start=state,
                )
                state = result.state
                distances = np.abs(truth - result.x.flat[hidden])
                error = float(distances.mean(dtype=np.float64))
                rank = result.rank if result.rank is not None else np.nan
                scores.append((error, rank, result.gap))
        return scores
