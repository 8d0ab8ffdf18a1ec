"""Fill the gaps of a table and find its wrong cells."""

from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils._missing import is_pandas_na
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from rpcag.graphs.inputs import as_numbers, explained
from rpcag.linalg.threads import one_blas_thread_each
from rpcag.models import RPCAG
from rpcag.models.messages import warn
from rpcag.tables.cell_model import CellModel, PredictedCells
from rpcag.tables.features import Features, ranges_and_integers
from rpcag.tables.prediction_error import truncated_squares


class RobustImputer(TransformerMixin, BaseEstimator):
    """Fill missing values, robustly to gross errors, and find wrong cells.

    The features are scaled robustly and modeled by `RPCAG`, which splits them into a
    low-rank part, smooth on a graph, and sparse errors. Every observed cell is then
    predicted from fits without it (cross-validation). Cells that are far from their
    predictions are marked as wrong. Then the features are
    scaled by standard deviations, and the model is fitted without the marked cells, and
    with them in case they are unusual but informative. Regularized principal components
    are tried instead of the low-rank part. The fit that predicts hidden cells best
    fills the table.

    Parameters
    ----------
    missing_values : number, pd.NA or None, default=np.nan
        The placeholder of missing values, besides NaN and pd.NA.
    repair : bool, default=False
        Also replace the cells that are found wrong. By default only gaps are filled;
        all other cells are returned unchanged.
    alpha : float, default=0.05
        False discovery rate of the cells that are found wrong: the share of them that
        may be correct. Smaller values find fewer cells.
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
        `fit`, as other imputers of scikit-learn do.
    keep_empty_features : bool, default=False
        Keep features without any observed value in `fit`, filled with 0. By default
        they are dropped.
    tol : float, default=1e-3
        Certified relative duality gap of `model_`. The fits that predict hidden cells,
        and principal components, have no certificate.
    max_iter : int, default=1000
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
        Score from which a cell counts as wrong; infinite if there is none. Cells beyond
        1e12 typical distances from the median are always wrong, and their scores end
        there. Features that are predicted no better than by a constant need three times
        this score. Frequent values of features with few levels are never wrong.
    statistics_ : ndarray of shape (n_features,)
        Medians of the observed values. Features without any have NaN, or 0 if they are
        kept.
    explained_ : ndarray of shape (n_features,)
        Share of the squared error of the median that predictions of hidden cells save,
        for every feature. Errors are truncated as in the choice of weights. 0 if gaps
        get the median, because no better prediction was found. NaN for constant and
        empty features.
    prediction_error_, median_error_ : ndarray of shape (n_features,)
        Root mean squared error of the predictions of cells that were not found wrong,
        and of the median.
    model_ : RPCAG or None
        The certified fit of the standardized features that are not constant. It fills
        the table, unless principal components do. None if there are fewer than two
        features or five rows.
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

    def __init__(
        self,
        *,
        missing_values=np.nan,
        repair=False,
        alpha=0.05,
        graph="robust",
        lam="auto",
        gamma="auto",
        round_integers=False,
        clip=False,
        add_indicator=False,
        keep_empty_features=False,
        tol=1e-3,
        max_iter=1000,
        callback=None,
    ):
        self.missing_values = missing_values
        self.repair = repair
        self.alpha = alpha
        self.graph = graph
        self.lam = lam
        self.gamma = gamma
        self.round_integers = round_integers
        self.clip = clip
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.tol = tol
        self.max_iter = max_iter
        self.callback = callback

    def fit(self, X, y=None):
        """Learn how the features depend on each other, and find wrong cells.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
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
        """Fill the gaps of new rows.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new, n_features_out)
        """
        return self._output(*self._examine(X, find=self.repair))

    def score_cells(self, X) -> np.ndarray:
        """Outlier scores of the cells of new rows, as in `outlier_scores_`."""
        return self._features.among_all(self._examine(X)[1].scores, np.nan)

    def find_outliers(self, X) -> np.ndarray:
        """Find the wrong cells of new rows, as in `outliers_`."""
        return self._features.among_all(self._examine(X)[1].wrong, False)

    def predict_cells(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Cells of new rows and predictions, in quartile deviations from the median.

        Every cell is predicted from other cells of its row. Only features that are not
        constant are returned.
        """
        X, cells = self._examine(X)
        f = self._features
        parts = f.scaled(X), cells.predicted
        return tuple((part - f.middle) * f.in_quartiles for part in parts)

    def predict_interval(self, X=None, *, alpha=0.1):
        """Prediction intervals of gaps and wrong cells.

        They are symmetric around the new value. As in conformal prediction, widths are
        quantiles of the errors at cells that were hidden and predicted, in units of
        their typical size, by feature. Cells are weighted by the estimated probability
        that they are correct. A share of 1 - alpha of the true values lies inside if
        gaps are like correct observed cells. The coverage may be higher in features
        that get the median and have few different values.

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
        check_share("alpha", alpha)
        missing, cells = self._missing, self._cells
        if X is not None:
            X, cells = self._examine(X)
            missing = np.isnan(X)
        shown = missing | self._features.among_all(cells.wrong, False)
        widths = self._model.calibration.quantiles(1 - alpha) * cells.scale
        bounds = (
            np.where(shown, self._features.in_units(Z), np.nan)
            for Z in (cells.filling - widths, cells.filling + widths)
        )
        return tuple(bounds)

    def low_rank(self) -> np.ndarray:
        """Values of the rows of `fit` by L or principal components, in the unit of X.

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
        check_share("alpha", self.alpha)
        X = self._read(X, reset=True)
        self._missing = np.isnan(X)
        self._learn_features(X)
        Z = self._features.scaled(X)
        self._model = CellModel(self._features.middle, self.alpha)
        with one_blas_thread_each():
            cells = self._cells = self._without_far(
                *(X, Z), lambda Z: self._model.fit(Z, self._make_model, self._watch())
            )
        self.model_, self.threshold_ = self._model.model, self._model.threshold
        self.n_iter_ = 1 if self.model_ is None else self.model_.n_iter_
        self.outlier_scores_ = self._features.among_all(cells.scores, np.nan)
        self.outliers_ = self._features.among_all(cells.wrong, False)
        self._learn_errors(Z, cells)
        self._range, self._has_integers = ranges_and_integers(X, self.outliers_)
        return X, cells

    def _read(self, X, reset: bool) -> np.ndarray:
        """X in floats, with NaN where it is missing."""
        with explained(missing=True):
            X = validate_data(
                self,
                as_numbers(X),
                reset=reset,
                dtype=[np.float64, np.float32],
                order="C",
                ensure_all_finite="allow-nan",
            )
        marker = None if is_pandas_na(self.missing_values) else self.missing_values
        if marker is not None and not isinstance(marker, Real):
            raise ValueError(
                "missing_values must be a number, np.nan, pd.NA or None, got "
                f"{marker!r}"
            )
        if marker is None or np.isnan(float(marker)):
            return X
        return np.where(X == marker, np.nan, X).astype(X.dtype, copy=False)

    def _learn_features(self, X) -> None:
        self._features = Features.of(X)
        self.statistics_ = self._features.medians.copy()
        empty = np.isnan(self.statistics_)
        self._kept = ~empty | bool(self.keep_empty_features)
        if self.keep_empty_features:
            self.statistics_[empty] = 0.0
        elif empty.any():
            warn(
                f"{int(empty.sum())} features have no observed value and are dropped; "
                "keep_empty_features=True fills them with 0",
                UserWarning,
            )
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(error_on_new=False).fit(X)

    def _make_model(self) -> RPCAG:
        return RPCAG(
            lam=self.lam,
            gamma=self.gamma,
            graph=self.graph,
            tol=self.tol,
            max_iter=self.max_iter,
            callback=self.callback,
        )

    def _watch(self):
        callback = self.callback
        return callback and (lambda p: callback(p._replace(stage="cells")))

    def _learn_errors(self, Z: np.ndarray, cells: PredictedCells) -> None:
        found = np.full((3, len(self._features.varies)), np.nan)
        known = ~np.isnan(Z - cells.predicted) & ~cells.wrong
        n_known = np.maximum(known.sum(axis=0), 1)
        of_model, of_median = (
            self._features.scale
            * np.sqrt(truncated_squares(Z, values, np.inf, known) / n_known)
            for values in (cells.predicted, self._features.middle)
        )
        found[:, self._features.varies] = of_model, of_median, self._model.explained
        self.prediction_error_, self.median_error_, self.explained_ = found

    def _examine(self, X, find=True) -> tuple[np.ndarray, PredictedCells]:
        """Predict the cells of new rows; find wrong cells if they are needed."""
        check_is_fitted(self, "statistics_")
        X = self._read(X, reset=False)
        Z = self._features.scaled(X)
        with one_blas_thread_each():
            return X, self._without_far(X, Z, lambda Z: self._model.predict(Z, find))

    def _without_far(self, X, Z, predict) -> PredictedCells:
        """The cells as predicted from Z without far ones, which are all wrong."""
        far = self._features.is_far(X)
        if not far.any():
            return predict(Z)
        cells = predict(np.where(far, Z.dtype.type(np.nan), Z))
        cells.wrong[far] = True
        cells.predicted[far] = cells.filling[far]
        cells.scores[far] = (np.abs(Z - cells.filling) / cells.scale)[far]
        return cells

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
        found = X.copy()
        found[changed] = filled[changed]
        if not self._kept.all():
            found = found[:, self._kept]
        if self.indicator_ is None:
            return found
        return np.hstack([found, self.indicator_.transform(X).astype(found.dtype)])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_share(name: str, value) -> None:
    """Refuse a value that is not a number between 0 and 1."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not 0 < value < 1
    ):
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}")
