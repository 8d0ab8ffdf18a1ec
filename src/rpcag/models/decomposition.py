"""What the models X = L + S share: progress, warnings, names of the pieces."""

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rpcag.graphs.inputs import percent
from rpcag.linalg.eigen import column_signs
from rpcag.linalg.rounding import from_unit, in_unit
from rpcag.linalg.svt import factorise
from rpcag.models.base import MatrixModel, largest_entry, power_of_two
from rpcag.models.progress import tell, tells
from rpcag.solvers import Progress, Result


class Decomposition(MatrixModel):
    """A certified split of X, with NaN where it is missing, into L and a sparse S."""

    def _validate(self, X, reset, missing=True):
        return super()._validate(X, reset, missing)

    # Set if another model fits this one: the name to use in the log. Warnings and the
    # removal of the checkpoint are then left to the other model.
    _part_of: str | None = None

    def _watch(self) -> Callable[[Progress], bool | None] | None:
        """The user's callback, with a line in the log per certificate."""
        if not tells(self.verbose):
            return self.callback
        seen = 1.0
        name = self._part_of or type(self).__name__

        def watch(progress):
            nonlocal seen
            if progress.gap != seen:
                seen = progress.gap
                rank = "" if progress.rank is None else f"  rank {progress.rank}"
                tell(
                    self.verbose,
                    f"{name} iteration {progress.n_iter:4d}  "
                    f"objective {progress.objective:.6g}  certified gap "
                    f"{progress.gap:.1e}{rank}",
                )
            return self.callback(progress) if self.callback is not None else None

        return watch

    def _warn(self, result: Result) -> None:
        if self._part_of is not None:
            return
        name = type(self).__name__
        if result.status == "numerical_error":
            warnings.warn(
                f"{name} stopped after {result.n_iter} iterations: rounding errors "
                f"put a lower bound above the objective, {result.objective:.6g}. "
                "Nothing is proven about the answer (lower_bound_ is 0, gap_ is 1). "
                "Use float64, subtract the mean of every feature, or choose weights "
                "nearer to 'auto'.",
                ConvergenceWarning,
                stacklevel=5,
            )
        if result.status in ("max_iter", "stalled"):
            reason, remedy = {
                "max_iter": (f"after {result.n_iter} iterations", "Increase max_iter"),
                "stalled": (
                    f"at the precision of {result.x.dtype}",
                    "Use float64 or a larger tol",
                ),
            }[result.status]
            accept = "."
            if result.gap < 0.5:
                # gap = 1 - bound / objective, so objective / bound - 1 is
                above = percent(result.gap / (1 - result.gap))
                accept = (
                    ", or accept the answer: its objective is at most "
                    f"{above} above the best."
                )
            warnings.warn(
                f"{name} stopped {reason} with a certified gap of {result.gap:.1e} "
                f"(tol {float(self.tol):.1e}). {remedy}{accept}",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _warn_unfinished(self, n_rows: int) -> None:
        if n_rows:
            warnings.warn(
                f"{type(self).__name__}.transform ran out of iterations for {n_rows} "
                "rows of X; their embedding is approximate. Check whether they are in "
                "the unit of the rows of fit.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _name(self, X, result: Result) -> None:
        """Fitted attributes from the answer."""
        with np.errstate(invalid="ignore"):
            S = np.nan_to_num(X - result.x, copy=False, nan=0.0)
        # Rescaled, so that no square overflows or underflows: LAPACK may hang on
        # infinity.
        unit = power_of_two(result.x)
        P, s, Vt = factorise(in_unit(result.x, unit), result.basis)
        with np.errstate(over="ignore"):
            s = from_unit(s, unit)
        if not np.isfinite(s).all():
            raise ValueError(
                f"X has entries of size {largest_entry(X):.3g}: the singular values of "
                f"L overflow {X.dtype}; rescale X"
            )
        signs = column_signs(Vt.T)
        factors = P * signs * s, s, Vt * signs[:, None]
        self._name_parts(result.x, S, factors, result)

    def _name_parts(self, L, S, factors, result: Result) -> None:
        """L = scores @ directions, in memory or as Dask arrays."""
        self.low_rank_, self.sparse_ = L, S
        scores, s, Vt = factors
        self.rank_ = len(s)
        kept = self.rank_ if self.n_components is None else self.n_components
        kept = min(kept, self.rank_)
        self.n_components_ = kept
        self._n_features_out = kept
        self._scores, self._spectrum, self._directions = scores, s, Vt
        self.embedding_ = self._scores[:, :kept].copy()
        self.components_ = Vt[:kept].copy()
        self.singular_values_ = s[:kept]
        self.objective_ = result.objective
        self.lower_bound_ = result.lower_bound
        self.gap_ = result.gap
        self.n_iter_ = result.n_iter
        self.status_ = result.status
        columns = zip(*result.history, strict=True)
        self.history_ = {
            name: np.array(column)
            for name, column in zip(Progress._fields, columns, strict=True)
            if name != "stage" and None not in column
        }

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
