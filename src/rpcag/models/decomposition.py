"""Base class of the models X = L + S: scaling, progress, warnings, attributes."""

import math
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rpcag.graphs.inputs import percent
from rpcag.graphs.options import COUNT
from rpcag.linalg.eigen import column_signs
from rpcag.linalg.gram import factorize
from rpcag.linalg.rounding import from_unit, in_unit
from rpcag.linalg.typical import check_range
from rpcag.models.base import MatrixModel, largest_entry, power_of_two
from rpcag.models.checks import OPTIONS
from rpcag.models.diagnosis import warn_if_poor
from rpcag.models.hidden_entries import Spread, hide, spread_of
from rpcag.models.messages import Callback, tell, warn
from rpcag.models.scaling import center_and_scale, restore, standardize
from rpcag.models.two_graph_weights import GammaChoice
from rpcag.models.weights import Choice
from rpcag.solvers import Progress, Result

# What to do about a fit that did not converge, by its status.
REMEDIES = {
    "max_iter": "Increase max_iter or tol.",
    "stalled": "The precision of {0.x.dtype} allows no smaller one; use float64 or a "
    "larger tol.",
    "numerical_error": "Rounding errors put a lower bound above the objective, so "
    "nothing is proven. Use float64, subtract the mean of every feature, or choose "
    "weights nearer to 'auto'.",
}


class DecompositionModel(MatrixModel):
    """A certified split of X, which may have missing entries, into L and a sparse S.

    The model is fitted to (X - center_) / scale_; `low_rank_` and `sparse_` are in the
    unit of X. `center_` and `scale_` are None if X is not scaled.
    """

    _takes_missing = True
    _parameter_constraints = OPTIONS | {"n_components": [COUNT, None]}
    center_: Any
    scale_: Any
    weights_: Any
    explained_: Any
    _spread_of_features: Spread  # of the scaled X
    _size: float  # of a typical entry of X
    _spread: float  # typical distance of an entry from the median of its feature

    def score(self, X, y=None, *, adjacency=None):
        """Share of the spread of hidden entries of X that the model predicts.

        Hides 15 % of the observed entries of X, with a fixed random seed, and predicts
        them from the others. The score is one minus the ratio of two sums of squared
        distances: to the prediction, and to the median or the mean of the feature in
        `fit`, whichever is nearer. Distances are in units of the feature, and truncated
        at three times the typical one, because gross errors cannot be predicted.
        `explained_` is the same measure, from `fit`.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)
            NaN marks a missing entry.
        y : ignored
        adjacency : array or sparse array of shape (n_new, n_samples), optional
            As in `transform`.

        Returns
        -------
        float
            1 for a perfect prediction, 0 for one as good as the median or mean of the
            feature, negative for a worse one.
        """
        check_is_fitted(self, "components_")
        X = self._validate(X, reset=False)
        hidden = hide(X, axes=(1,))
        if not hidden.any():
            raise ValueError(
                f"X of shape {X.shape} has too few observed entries to hide some and "
                "predict them from others in the same row; pass more rows"
            )
        Z = self._transform(np.where(hidden, X.dtype.type(np.nan), X), adjacency)
        _, columns = np.nonzero(hidden)
        truth = self._scaled(X)[hidden].astype(np.float64)
        predicted = (Z @ self.components_)[hidden]
        return self._spread_of_features.explained(truth, predicted, columns)[0]

    def _measure_scale(self, X: np.ndarray) -> tuple[Any, Any]:
        """Center and scale of every feature, None if X is not scaled."""
        return (None, None) if self.scale is None else center_and_scale(X, self.scale)

    def _learn_scale(self, X: np.ndarray) -> np.ndarray:
        """Set `center_` and `scale_`; returns the centered and scaled X."""
        self._forget()
        self.center_, self.scale_ = self._measure_scale(X)
        Z = self._scaled(X)
        check_range(Z, X)
        if self._part_of is None:  # otherwise the score is not needed
            self._spread_of_features = spread_of(Z)
        return Z

    def _scaled(self, X):
        return X if self.scale_ is None else standardize(X, self.center_, self.scale_)

    def _unscaled(self, L):
        return L if self.scale_ is None else restore(L, self.center_, self.scale_)

    # The name in the log if another model fits this one, which then warns instead.
    _part_of: str | None = None

    def _watch(self) -> Callback:
        """The user's callback, with a line in the log per certificate."""
        name, before = self._part_of or type(self).__name__, 1.0

        def watch(progress: Progress) -> bool | None:
            nonlocal before
            if progress.gap != before:
                before = progress.gap
                rank = "" if progress.rank is None else f"  rank {progress.rank}"
                tell(
                    self.verbose,
                    f"{name} iteration {progress.n_iter:4d}  objective "
                    f"{progress.objective:.6g}  certified gap {progress.gap:.1e}{rank}",
                )
            return self.callback and self.callback(progress)

        return watch

    def _warn(self, result: Result) -> None:
        if self._part_of is not None or result.status not in REMEDIES:
            return
        message = (
            f"{type(self).__name__} stopped after {result.n_iter} iterations with a "
            f"certified gap of {result.gap:.1e} (tol {float(self.tol):.1e}). "
            f"{REMEDIES[result.status].format(result)}"
        )
        if result.gap < 0.5:  # gap = 1 - bound / objective
            above = percent(result.gap / (1 - result.gap))
            message += f" Its objective is at most {above} above the optimum."
        warn(message)

    def _warn_unfinished(self, n_rows: int) -> None:
        if n_rows:
            warn(
                f"{type(self).__name__}.transform ran out of iterations for {n_rows} "
                "rows of X; their embedding is approximate. Check whether they are in "
                "the unit of the rows of fit."
            )

    def _forget(self) -> None:
        """Reset what a fit may leave as it is."""
        self.center_ = self.scale_ = self.weights_ = self.explained_ = None

    def _name_choice(self, X, choice: Choice | GammaChoice, weights: str) -> None:
        """Fitted attributes of chosen weights, a line in the log, maybe a warning."""
        self.weights_ = choice
        reason = "too few entries to hide some"
        if not math.isnan(choice.explained):
            self.explained_ = choice.explained
            reason = (
                f"best of {len(choice.trials['error'])} pairs, predicts "
                f"{choice.explained:.0%} of the spread of {choice.n_hidden} hidden "
                "entries"
            )
        tell(self.verbose, f"{type(self).__name__} weights: {weights}; {reason}")
        warn_if_poor(self, X, choice)

    def _factors(self, X, result: Result):
        """L as scores and directions, with its singular values."""
        # Rescaled, so that no square overflows: LAPACK may hang on infinity.
        unit = power_of_two(result.x)
        P, s, Vt = factorize(in_unit(result.x, unit), result.basis)
        with np.errstate(over="ignore"):
            s = from_unit(s, unit)
        if not np.isfinite(s).all():
            raise ValueError(
                f"X has entries of size {largest_entry(X):.3g}: the singular values of "
                f"L overflow {X.dtype}; rescale X"
            )
        signs = column_signs(Vt.T)
        return P * signs * s, s, Vt * signs[:, None]

    def _name_parts(self, result: Result, S, factors) -> None:
        """Fitted attributes of the answer, in memory or as Dask arrays."""
        self.low_rank_ = self._unscaled(result.x)
        self.sparse_ = S if self.scale_ is None else restore(S, 0.0, self.scale_)
        scores, s, Vt = self._scores, self._spectrum, self._directions = factors
        self.rank_ = len(s)
        kept = min(self.rank_, self.n_components or self.rank_)
        self.n_components_ = self._n_features_out = kept
        self.embedding_ = scores[:, :kept].copy()
        self.components_ = Vt[:kept].copy()
        self.singular_values_ = s[:kept]
        self.objective_, self.lower_bound_ = result.objective, result.lower_bound
        self.gap_, self.n_iter_, self.status_ = result.gap, result.n_iter, result.status
        self.dual_, self.solver_ = result.dual, result.solver
        columns = zip(*result.history, strict=True)
        self.history_ = {
            name: np.array(column)
            for name, column in zip(Progress._fields, columns, strict=True)
            if name != "stage" and None not in column
        }
