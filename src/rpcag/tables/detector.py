"""Find rows that are unusual."""

import math

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from rpcag.graphs.inputs import as_numbers, explained
from rpcag.tables.imputer import RobustImputer, check_share

# Distances of single cells count up to this many deviations, so that one grossly wrong
# cell does not make a row of many features unusual.
CAP = 10.0
# With contamination="auto", rows are outliers whose log distance is this many robust
# deviations above the median: one in 700 of a normal distribution.
DEVIATIONS = 3.0
MAD = 1.4826  # deviation of a normal variable over its median absolute deviation


class OutlierDetector(OutlierMixin, BaseEstimator):
    """Find unusual rows of a table that may have gaps and wrong cells.

    The distance of a row is the mean over its observed cells of

        min(sqrt(z^2 + e^2), 10),

    where z is the distance of a cell from the center of its feature and e that from its
    prediction by `RobustImputer`, both in robust deviations of the feature. So a row is
    unusual if its values are far from the center, or do not fit to each other.

    Parameters
    ----------
    contamination : float or "auto", default=0.1
        Share of the rows of `fit` that are outliers. "auto" finds rows whose distance
        is far above that of most rows, and may find none.
    alpha : float, default=0.05
        False discovery rate of the cells that `find_cells` returns.
    graph : str, graph builder or adjacency, default="robust"
        As in `RobustImputer`.
    tol : float, default=1e-3
    max_iter : int, default=1000

    Attributes
    ----------
    offset_ : float
        Rows with a score below it are outliers.
    imputer_ : RobustImputer
        The fitted model of the cells.
    n_iter_ : int
        Iterations of its last fit.
    n_features_in_ : int
    feature_names_in_ : ndarray of str

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

    def __init__(
        self,
        *,
        contamination=0.1,
        alpha=0.05,
        graph="robust",
        tol=1e-3,
        max_iter=1000,
    ):
        self.contamination = contamination
        self.alpha = alpha
        self.graph = graph
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X, y=None):
        """Learn what rows usually look like.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing value.
        y : ignored
        """
        is_auto = isinstance(self.contamination, str)
        if is_auto and self.contamination != "auto":
            raise ValueError(
                "contamination must be 'auto' or a number above 0 and at most 0.5, got "
                f"{self.contamination!r}"
            )
        if not is_auto:
            check_share("contamination", self.contamination)
            if self.contamination > 0.5:
                raise ValueError(
                    f"contamination must be at most 0.5, got {self.contamination}"
                )
        X = self._read(X, reset=True)
        self.imputer_ = RobustImputer(
            alpha=self.alpha,
            graph=self.graph,
            tol=self.tol,
            max_iter=self.max_iter,
            keep_empty_features=True,
        ).fit(X)
        self.n_iter_ = self.imputer_.n_iter_
        distances = self._distances(X)
        if is_auto:
            self.offset_ = -_far_above_most(distances)
        else:
            self.offset_ = -float(np.quantile(distances, 1 - self.contamination))
        return self

    def score_samples(self, X) -> np.ndarray:
        """Minus the distance of every row: the lower, the more unusual."""
        check_is_fitted(self, "imputer_")
        return -self._distances(self._read(X, reset=False))

    def decision_function(self, X) -> np.ndarray:
        """``score_samples(X) - offset_``: negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X) -> np.ndarray:
        """-1 for outliers and 1 for other rows."""
        return np.where(self.decision_function(X) < 0, -1, 1)

    def find_cells(self, X) -> np.ndarray:
        """Whether every cell is wrong, as a boolean array with the shape of X."""
        check_is_fitted(self, "imputer_")
        return self.imputer_.find_outliers(self._read(X, reset=False))

    def _read(self, X, reset: bool) -> np.ndarray:
        with explained(missing=True):
            return validate_data(
                self,
                as_numbers(X),
                reset=reset,
                dtype=[np.float64, np.float32],
                ensure_all_finite="allow-nan",
            )

    def _distances(self, X: np.ndarray) -> np.ndarray:
        Z, predicted = self.imputer_.predict_cells(X)
        sizes = np.minimum(np.hypot(Z, Z - predicted), CAP)
        counts = np.count_nonzero(~np.isnan(sizes), axis=1)
        return np.nansum(sizes, axis=1) / np.maximum(counts, 1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _far_above_most(distances: np.ndarray) -> float:
    logs = np.log(np.maximum(distances, np.finfo(float).tiny))
    middle = float(np.median(logs))
    spread = MAD * float(np.median(np.abs(logs - middle)))
    return math.exp(middle + DEVIATIONS * spread)
