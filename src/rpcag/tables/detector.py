"""Find rows that are unusual."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from scipy import stats
from sklearn.base import OutlierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from rpcag.graphs.builder import Estimator
from rpcag.graphs.options import FRACTION, Range
from rpcag.models import RPCAG
from rpcag.tables.imputer import RobustImputer

# Distances of single cells count up to this many deviations, so that one grossly wrong
# cell does not make a row of many features unusual.
CAP = 10.0
# With contamination="auto", rows are outliers whose log distance is this many robust
# deviations above the median: one in 700 of a normal distribution.
DEVIATIONS = 3.0
# Relative difference up to which a value equals that of a constant feature: a few
# rounding errors of single precision.
SAME = 1e-6
MAD = 1.4826  # deviation of a normal variable over its median absolute deviation


@dataclass(eq=False, repr=False, kw_only=True)
class OutlierDetector(OutlierMixin, Estimator):
    """Find unusual rows of a table that may have gaps and wrong cells.

    The distance of a row is the mean over its observed cells of

        min(sqrt(z^2 + e^2), 10),

    where z is the distance of a cell from the median of its feature and e that from its
    prediction by `RobustImputer`, both in quartile deviations of the feature. A row is
    unusual if its values are far from the center or inconsistent with each other. A
    value that differs from those of a feature that is constant in `fit` adds 10. Rows
    without an observed cell of other features have the median distance of `fit`.

    Parameters
    ----------
    contamination : float or "auto", default=0.1
        Share of the rows of `fit` that are outliers. "auto" finds rows with a distance
        far above that of most rows.
    alpha : float, default=0.05
        False discovery rate of the cells that `find_cells` returns.
    graph, tol, max_iter
        As in `RobustImputer`.

    Attributes
    ----------
    offset_ : float
        Rows with a score below it are outliers.
    decision_scores_ : ndarray of shape (n_samples,)
        Distances of the rows of `fit`; the higher, the more unusual, as in PyOD.
    threshold_ : float
        Rows with a larger distance are outliers; ``-offset_``.
    labels_ : int ndarray of shape (n_samples,)
        1 for outliers among the rows of `fit` and 0 for others, as in PyOD.
    imputer_ : RobustImputer
        The fitted model of the cells.
    n_iter_ : int
        Iterations of its last fit.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.tables import OutlierDetector
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 8))
    >>> X[5] = 8 * rng.normal(size=8)
    >>> detector = OutlierDetector(contamination="auto")
    >>> np.flatnonzero(detector.fit_predict(X) == -1).tolist()
    [5]
    """

    _parameter_constraints: ClassVar = {
        "contamination": [StrOptions({"auto"}), Range(Real, 0, 0.5, closed="right")],
        "alpha": [FRACTION],
        "tol": RPCAG._parameter_constraints["tol"],
        "max_iter": RPCAG._parameter_constraints["max_iter"],
    }

    contamination: float | str = 0.1
    alpha: float = 0.05
    graph: Any = "robust"
    tol: float = 1e-3
    max_iter: int = 1000

    def fit(self, X, y=None):
        """Fit the model of the cells and the threshold for outliers."""
        X = self._validate(X, reset=True)
        self.imputer_ = RobustImputer(
            alpha=self.alpha,
            graph=self.graph,
            tol=self.tol,
            max_iter=self.max_iter,
            keep_empty_features=True,
        ).fit(X)
        self.n_iter_ = self.imputer_.n_iter_
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        self._constants = np.where(low == high, low, np.nan)
        distances, known = self._distances(X)
        if not known.any():
            known[:] = True
        self._typical = float(np.median(distances[known]))
        distances[~known] += self._typical
        seen = distances[known]
        if isinstance(self.contamination, str):
            logs = np.log(np.maximum(seen, np.finfo(float).tiny))
            spread = MAD * float(stats.median_abs_deviation(logs))
            self.threshold_ = math.exp(float(np.median(logs)) + DEVIATIONS * spread)
        else:
            self.threshold_ = float(np.quantile(seen, 1 - self.contamination))
        self.offset_ = -self.threshold_
        self.decision_scores_ = distances
        self.labels_ = (distances > self.threshold_).astype(int)
        return self

    def score_samples(self, X) -> np.ndarray:
        """Minus the distance of every row: the lower, the more unusual."""
        check_is_fitted(self, "imputer_")
        distances, known = self._distances(self._validate(X, reset=False))
        distances[~known] += self._typical
        return -distances

    def decision_function(self, X) -> np.ndarray:
        """``score_samples(X) - offset_``: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X) -> np.ndarray:
        """-1 for outliers and 1 for other rows."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def find_cells(self, X) -> np.ndarray:
        """Find the wrong cells: a boolean array with the shape of X.

        In features that are constant in `fit`, all other values are wrong.
        """
        check_is_fitted(self, "imputer_")
        X = self._validate(X, reset=False)
        return self.imputer_.find_outliers(X) | self._departs(X)

    def _distances(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Distances of rows, and whether cells of features that vary are observed."""
        Z, predicted = self.imputer_.predict_cells(X)
        sizes = np.minimum(np.hypot(Z, Z - predicted), CAP)
        counts = np.count_nonzero(~np.isnan(sizes), axis=1)
        means = np.nansum(sizes, axis=1) / np.maximum(counts, 1)
        return means + CAP * self._departs(X).sum(axis=1), counts > 0

    def _departs(self, X: np.ndarray) -> np.ndarray:
        """Cells that differ from the constant value of their feature."""
        with np.errstate(over="ignore"):  # near the largest numbers
            return np.abs(X - self._constants) > SAME * np.abs(self._constants)
