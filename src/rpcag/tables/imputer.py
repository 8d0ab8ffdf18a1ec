"""Fill the gaps of a table and find its wrong cells."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils._param_validation import MissingValues, validate_params
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from rpcag.graphs.builder import Estimator
from rpcag.graphs.options import FRACTION, Range
from rpcag.linalg.threads import one_blas_thread_each
from rpcag.models import RPCAG
from rpcag.models.messages import warn
from rpcag.tables.cell_model import CellModel, PredictedCells
from rpcag.tables.features import Features
from rpcag.tables.prediction_error import truncated_squares

OPTIONS = ("lam", "gamma", "tol", "max_iter", "callback")  # of `RPCAG`
SHOWN = 8  # names in a warning
BIT = Range(Integral, 0, 1, closed="both")
FLAGS = ("repair", "round_integers", "clip", "add_indicator", "keep_empty_features")


@dataclass(eq=False, repr=False, kw_only=True)
class RobustImputer(TransformerMixin, Estimator):
    """Fill missing values, robustly to gross errors, and find wrong cells.

    The features are scaled robustly and modeled by `RPCAG`. Every observed cell is
    predicted from fits without it (cross-validation), and is wrong if it is far from
    its prediction. Then the model is fitted without the wrong cells, and with them in
    case they are unusual but informative. Regularized principal components are tried
    too. The fit that predicts hidden cells best fills the table.

    Parameters
    ----------
    missing_values : number, pd.NA or None, default=np.nan
        The placeholder of missing values, besides NaN and pd.NA.
    repair : bool, default=False
        Also replace the cells that are found wrong. By default only gaps are filled.
    alpha : float, default=0.05
        Nominal false discovery rate: the estimated share of correct cells among those
        that are found wrong. Smaller values find fewer cells.
    graph : str, graph builder or adjacency, default="robust"
        Graph between rows, as in `RPCAG`. Use "chain" if rows are in time order.
    lam, gamma : float or "auto", default="auto"
        Weights of `RPCAG`; "auto" chooses them by predicting hidden cells.
    round_integers : bool, default=False
        Round new values in columns whose observed values are all integers.
    clip : bool, default=False
        Keep new values within the range of the observed values of their column that
        were not found wrong.
    add_indicator : bool, default=False
        Append a column of ones and zeros for every feature with missing values in
        `fit`.
    keep_empty_features : bool, default=False
        Keep features without any observed value in `fit`, filled with 0, instead of
        dropping them.
    tol : float, default=1e-3
        Certified relative duality gap of `model_`. The fits that predict hidden cells,
        and principal components, have no certificate.
    max_iter : int, default=1000
        Maximum number of iterations of a fit.
    callback : callable, optional
        Called after every iteration with a `rpcag.solvers.Progress`.

    Attributes
    ----------
    outliers_ : bool ndarray of shape (n_samples, n_features)
        Cells of the table of `fit` that were found wrong.
    outlier_scores_ : ndarray of shape (n_samples, n_features)
        Distances of observed cells from their predictions, in units of the typical
        prediction error of such a cell. NaN where a cell is missing, or its feature is
        constant.
    threshold_ : float
        Score from which a cell counts as wrong; infinite if there is none. It is three
        times as high in features that are predicted no better than by a constant. Cells
        beyond 1e12 typical distances from the median are always wrong. Frequent values
        of features with few levels are never wrong.
    statistics_ : ndarray of shape (n_features,)
        Medians of the observed values. Features without any have NaN, or 0 if they are
        kept.
    explained_ : ndarray of shape (n_features,)
        Share by which predictions of hidden cells reduce the squared error of the
        median. 0 if gaps get the median, because no better prediction was found. NaN
        for constant and empty features.
    prediction_error_, median_error_ : ndarray of shape (n_features,)
        Root mean squared error of the predictions of cells that were not found wrong,
        and of the median.
    model_ : RPCAG or None
        The certified fit of the standardized features that are not constant. It fills
        the table, unless principal components predict hidden cells better. None if
        there are fewer than two features or five rows.
    n_iter_ : int
        Iterations of the last fit.
    indicator_ : MissingIndicator or None
    n_features_in_ : int
    feature_names_in_ : ndarray of str

    See Also
    --------
    OutlierDetector : Find rows that are unusual.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.tables import RobustImputer
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 8))
    >>> X = truth.copy()
    >>> X[3, 4], X[7, 1] = np.nan, 50.0
    >>> imputer = RobustImputer(repair=True)
    >>> repaired = imputer.fit_transform(X)
    >>> np.argwhere(imputer.outliers_).tolist()
    [[7, 1]]
    >>> bool(abs(repaired - truth).max() < 0.05)
    True
    """

    _parameter_constraints: ClassVar = {
        "missing_values": [MissingValues(numeric_only=True), None],
        "alpha": [FRACTION],
        **{name: ["boolean", BIT] for name in FLAGS},
        **{name: RPCAG._parameter_constraints[name] for name in OPTIONS},
    }

    missing_values: Any = np.nan
    repair: bool = False
    alpha: float = 0.05
    graph: Any = "robust"
    lam: float | str = "auto"
    gamma: float | str = "auto"
    round_integers: bool = False
    clip: bool = False
    add_indicator: bool = False
    keep_empty_features: bool = False
    tol: float = 1e-3
    max_iter: int = 1000
    callback: Callable | None = None

    def fit(self, X, y=None):
        """Learn how the features depend on each other, and find wrong cells.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            NaN marks a missing value.
        y : ignored
        """
        self._fit(X)
        return self

    def fit_transform(self, X, y=None):
        """Fit to X and return it with its gaps filled.

        The values come from the fit itself, so they may differ a little from those of
        ``fit(X).transform(X)``, which treats all rows as new.
        """
        return self._output(*self._fit(X))

    def transform(self, X):
        """Fill the gaps of new rows; with `repair`, also replace wrong cells.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new, n_features_out)
            The features that are kept, and then the indicators.
        """
        return self._output(*self._examine(X, find=self.repair))

    def score_cells(self, X) -> np.ndarray:
        """Outlier scores of the cells of new rows, as in `outlier_scores_`."""
        _, cells = self._examine(X)
        return self._features.among_all(cells.scores, np.nan)

    def find_outliers(self, X) -> np.ndarray:
        """Find the wrong cells of new rows, as in `outliers_`."""
        _, cells = self._examine(X)
        return self._features.among_all(cells.wrong, False)

    def predict_cells(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Cells of new rows and predictions, in quartile deviations from the median.

        Every cell is predicted from other cells of its row. Only features that are not
        constant are returned.
        """
        X, cells = self._examine(X)
        f = self._features
        parts = f.scaled(X), cells.predicted
        return tuple((part - f.middle) * f.in_quartiles for part in parts)

    @validate_params({"alpha": [FRACTION]}, prefer_skip_nested_validation=True)
    def predict_interval(self, X=None, *, alpha=0.1):
        """Prediction intervals of gaps and wrong cells.

        They are symmetric around the new value. As in conformal prediction, widths are
        quantiles of the errors at hidden cells, in units of their typical size. A share
        of 1 - alpha of the true values lies inside if gaps are like correct observed
        cells. The coverage may be higher in features with few different values.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features), optional
            New rows; by default those of `fit`.
        alpha : float, default=0.1
            Share of the true values that may lie outside.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples, n_features)
            NaN for cells that are neither missing nor wrong.
        """
        check_is_fitted(self, "statistics_")
        missing, cells = self._missing, self._cells
        if X is not None:
            X, cells = self._examine(X)
            missing = np.isnan(X)
        shown = missing | self._features.among_all(cells.wrong, False)
        widths = self._model.calibration.quantiles(1 - alpha) * cells.scale
        return tuple(
            np.where(shown, self._features.in_units(Z), np.nan)
            for Z in (cells.filling - widths, cells.filling + widths)
        )

    def low_rank(self) -> np.ndarray:
        """Predictions of all cells of `fit` by what fills its gaps, in the unit of X.

        Constant features keep their value, and empty ones are 0. Features that the
        model predicts no better than their median get the median.
        """
        check_is_fitted(self, "statistics_")
        return self._features.in_units(self._cells.filling)

    def get_feature_names_out(self, input_features=None):
        """Names of the output: the features that are kept, then the indicators."""
        check_is_fitted(self, "statistics_")
        names = _check_feature_names_in(self, input_features)
        kept = names[self._kept]
        if self.indicator_ is None:
            return kept
        return np.concatenate([kept, self.indicator_.get_feature_names_out(names)])

    # ---- pieces ----

    def _fit(self, X) -> tuple[np.ndarray, PredictedCells]:
        X = self._validate(X, reset=True)
        self._missing = np.isnan(X)
        self._features = Features.of(X)
        self._check_empty()
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(error_on_new=False).fit(X)
        options = {name: getattr(self, name) for name in ("graph", *OPTIONS)}
        self._model = CellModel(self._features.middle, self.alpha)
        Z, cells = self._predict(X, lambda Z: self._model.fit(Z, options))
        self._cells = cells
        self.model_, self.threshold_ = self._model.model, self._model.threshold
        self.n_iter_ = 1 if self.model_ is None else self.model_.n_iter_
        self.outlier_scores_ = self._features.among_all(cells.scores, np.nan)
        self.outliers_ = self._features.among_all(cells.wrong, False)
        self._learn_errors(Z, cells)
        seen = np.where(self.outliers_, X.dtype.type(np.nan), X)
        ranges = np.fmin.reduce(seen, axis=0), np.fmax.reduce(seen, axis=0)
        self._range = np.nan_to_num(ranges)
        self._has_integers = ((np.rint(seen) == seen) | np.isnan(seen)).all(axis=0)
        return X, cells

    def _validate(self, X, reset: bool) -> np.ndarray:
        X = super()._validate(X, reset)
        marker = self.missing_values
        if not isinstance(marker, Real) or math.isnan(marker):  # also pd.NA
            return X
        return np.where(X == marker, np.nan, X).astype(X.dtype, copy=False)

    def _check_empty(self) -> None:
        """Set `statistics_`, and drop or keep features without observed values."""
        self.statistics_ = self._features.medians.copy()
        empty = np.isnan(self.statistics_)
        self._kept = ~empty | bool(self.keep_empty_features)
        if self.keep_empty_features:
            self.statistics_[empty] = 0.0
        elif empty.any():
            names = _check_feature_names_in(self)[empty]
            shown = ", ".join(map(repr, names[:SHOWN].tolist()))
            more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            warn(
                f"features without any observed value are dropped: {shown}{more}; "
                "keep_empty_features=True fills them with 0",
                UserWarning,
            )

    def _learn_errors(self, Z: np.ndarray, cells: PredictedCells) -> None:
        known = ~np.isnan(Z - cells.predicted) & ~cells.wrong
        n_known = np.maximum(known.sum(axis=0), 1)
        errors = (
            self._features.scale
            * np.sqrt(truncated_squares(Z, values, np.inf, known) / n_known)
            for values in (cells.predicted, self._features.middle)
        )
        found = self._features.among_all(
            np.array([*errors, self._model.explained]), np.nan
        )
        self.prediction_error_, self.median_error_, self.explained_ = found

    def _examine(self, X, find=True) -> tuple[np.ndarray, PredictedCells]:
        """Predict the cells of new rows; find wrong cells if they are needed."""
        check_is_fitted(self, "statistics_")
        X = self._validate(X, reset=False)
        return X, self._predict(X, lambda Z: self._model.predict(Z, find))[1]

    def _predict(self, X, predict) -> tuple[np.ndarray, PredictedCells]:
        """The scaled cells, and predictions without far ones, which are all wrong."""
        Z, far = self._features.scaled(X), self._features.is_far(X)
        values = Z[far]
        Z[far] = np.nan
        with one_blas_thread_each():
            cells = predict(Z)
        Z[far] = values
        cells.wrong[far] = True
        cells.predicted[far] = cells.filling[far]
        cells.scores[far] = np.abs(values - cells.filling[far]) / cells.scale[far]
        return Z, cells

    def _output(self, X: np.ndarray, cells: PredictedCells) -> np.ndarray:
        """X with new values in its gaps, and in wrong cells if they are repaired."""
        changed = np.isnan(X)
        if self.repair:
            changed |= self._features.among_all(cells.wrong, False)
        filled = self._features.in_units(cells.filling)
        if self.clip:
            filled = np.clip(filled, *self._range)
        if self.round_integers:
            filled = np.where(self._has_integers, np.rint(filled), filled)
        found = np.where(changed, filled, X)[:, self._kept]
        if self.indicator_ is None:
            return found
        return np.hstack([found, self.indicator_.transform(X).astype(found.dtype)])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
