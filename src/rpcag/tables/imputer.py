"""Fill the gaps of a table and find its wrong cells."""

import warnings
from dataclasses import dataclass
from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import MissingIndicator
from sklearn.utils._missing import is_pandas_na
from sklearn.utils.validation import (
    _check_feature_names_in,
    check_is_fitted,
    validate_data,
)

from rpcag.graphs.inputs import as_numbers, explained
from rpcag.models import RPCAG, PoorFitWarning
from rpcag.models.callers import user_stacklevel
from rpcag.models.hidden_entries import SEED
from rpcag.models.scaling import NORMAL, center_and_scale, restore, standardize
from rpcag.tables.cross_prediction import cross_predict, draw_folds
from rpcag.tables.false_discoveries import score_threshold
from rpcag.tables.prediction_error import PredictionError, truncated_squares
from rpcag.tables.principal_components import PrincipalComponents, predict_folds

# A column has levels, such as classes or grades, if at most LEVELS values occur in
# nearly ALL of its cells, each of them at least OFTEN. A level is never a wrong cell:
# rare classes are hard to predict, but not errors.
LEVELS, ALL, OFTEN = 12, 0.8, 3
# Other values in a column with one level, such as zeros, from which they can be wrong.
FEW = 30
# Columns with fewer known cells take the quantiles of intervals from all columns.
FEWEST = 100
# Share of the cells of a column that may be wrong. If more are found, the scale of its
# errors is not reliable, and none are.
MOST = 0.3
# Errors count up to LIMIT times the 80 % quantile of the distances from the median when
# predictions and medians are compared.
LIMIT = 3.0
# Parts of the features of new rows; each is predicted from the others.
PARTS = 5
# Cells from which single precision is used, for half of the memory. Observed cells are
# returned as they came in any case.
SINGLE = 1_000_000
# Share of the squared error of a constant that a prediction has to save to be better.
SKILL = 0.01
# Scores of cells have to be so many times the threshold in features that are predicted
# no better than by their median. Values that are far out occur in heavy tails too.
CAUTION = 3.0
# Rows and columns from which a model is fitted; smaller tables get medians.
SMALLEST = (5, 2)


@dataclass(frozen=True, eq=False)
class _Cells:
    """Predictions of the cells of a scaled table, and what is known about them."""

    predicted: np.ndarray  # from fits that did not see the cell; NaN at gaps
    low_rank: np.ndarray  # from a fit that saw all cells but the wrong ones
    scale: np.ndarray  # typical size of the error
    scores: np.ndarray  # |error| / scale; NaN at gaps
    wrong: np.ndarray


class _Fit(NamedTuple):
    """A model, and predictions of all observed cells by fits that did not see them."""

    model: RPCAG
    predicted: np.ndarray
    plain: np.ndarray  # features that the median predicts as well


class RobustImputer(TransformerMixin, BaseEstimator):
    """Fill missing values, robustly to gross errors, and find wrong cells.

    The features are scaled robustly and modeled by `RPCAG`, which splits them into a
    low-rank part, smooth on a graph, and sparse errors. Every observed cell is then
    predicted from fits that did not see it. Cells that are far from their predictions
    are marked as wrong, and the model is fitted again without them. If regularized
    principal components of the remaining cells predict hidden cells better, they fill
    the table instead of the low-rank part; `model_` is the `RPCAG` in any case.

    Parameters
    ----------
    missing_values : number, pd.NA or None, default=np.nan
        The placeholder of missing values, besides NaN and pd.NA.
    repair : bool, default=False
        Also replace the cells that are found wrong. By default only gaps change; all
        other cells are returned exactly as they came.
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
        Certified relative duality gap at which the fits of `RPCAG` stop. The fits that
        predict hidden cells are shorter, and principal components have no certificate.
    max_iter : int, default=1000
    callback : callable, optional
        Called after every iteration with a `rpcag.solvers.Progress`.

    Attributes
    ----------
    outliers_ : bool ndarray of shape (n_samples, n_features)
        Cells of `fit` that were found wrong.
    outlier_scores_ : ndarray of shape (n_samples, n_features)
        Distances of observed cells from their predictions, in units of the typical
        prediction error of such a cell. NaN where a cell is missing, or its feature is
        constant.
    threshold_ : float
        Score from which a cell counts as wrong; infinite if there is none. Features
        that are predicted no better than by a constant need three times this score.
        Frequent values of features with few levels are never wrong.
    statistics_ : ndarray of shape (n_features,)
        Medians of the observed values. Features without any have NaN, or 0 if they are
        kept.
    explained_ : ndarray of shape (n_features,)
        1 - (prediction_error_ / median_error_)^2, for every feature. 0 if gaps get the
        median, because no better prediction was found. NaN for constant and empty
        features. Unlike in `RPCAG`, errors are not truncated, and only the median is
        compared.
    prediction_error_, median_error_ : ndarray of shape (n_features,)
        Root mean squared error of the predictions of cells that were not found wrong,
        and of the median.
    model_ : RPCAG or None
        The fitted model of the scaled features that are not constant. None if there
        are fewer than two, or fewer than five rows.
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
    >>> bool(abs(repaired - truth).max() < 0.01)
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
        X, cells = self._fit(X)
        return self._output(X, self._replace(X, cells.low_rank, cells.wrong))

    def transform(self, X):
        """Fill the gaps of new rows.

        Parameters
        ----------
        X : array-like of shape (n_new, n_features)

        Returns
        -------
        ndarray of shape (n_new, n_features_out)
        """
        X, cells = self._examine(X)
        return self._output(X, self._replace(X, cells.low_rank, cells.wrong))

    def score_cells(self, X) -> np.ndarray:
        """Outlier scores of the cells of new rows, as in `outlier_scores_`."""
        _, cells = self._examine(X, wrong=True)
        return self._all_features(cells.scores, np.nan)

    def find_outliers(self, X) -> np.ndarray:
        """Whether the cells of new rows are wrong, as in `outliers_`."""
        _, cells = self._examine(X, wrong=True)
        return self._all_features(cells.wrong, False)

    def predict_cells(self, X) -> tuple[np.ndarray, np.ndarray]:
        """Cells of new rows and predictions, in quartile deviations from the median.

        Every cell is predicted from other cells of its row. Only features that are not
        constant are returned.
        """
        X, cells = self._examine(X, wrong=True)
        Z = self._scaled(X)
        return tuple(
            (part - self._middle) * self._in_quartiles for part in (Z, cells.predicted)
        )

    def predict_interval(self, X=None, *, alpha=0.1):
        """Prediction intervals of gaps and wrong cells.

        As in conformal prediction, they are quantiles of the errors at cells that were
        hidden and predicted, in units of their typical size, by feature. A share of
        1 - alpha of the true values lies inside if gaps are like observed cells.

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
        if X is None:
            missing, cells = self._missing, self._cells
        else:
            X, cells = self._examine(X, wrong=True)
            missing = np.isnan(X)
        shown = missing | self._all_features(cells.wrong, False)
        bounds = []
        for share in (alpha / 2, 1 - alpha / 2):
            quantiles = [_quantile(*part, share) for part in self._calibration]
            Z = cells.low_rank + np.array(quantiles) * cells.scale
            bounds.append(np.where(shown, self._in_units(Z), np.nan))
        return bounds[0], bounds[1]

    def get_feature_names_out(self, input_features=None):
        """Names of the output: the features that are kept, then the indicators."""
        check_is_fitted(self, "statistics_")
        names = _check_feature_names_in(self, input_features)
        kept = names[self._kept]
        if self.indicator_ is None:
            return kept
        return np.concatenate([kept, self.indicator_.get_feature_names_out(names)])

    # ---- fitting ----

    def _fit(self, X) -> tuple[np.ndarray, _Cells]:
        check_share("alpha", self.alpha)
        X = self._read(X, reset=True)
        missing = self._missing = np.isnan(X)
        self._learn_features(X)
        Z = self._scaled(X)
        self.model_, cells = self._model(Z)
        self._cells = cells
        self.n_iter_ = 1 if self.model_ is None else self.model_.n_iter_
        self.outlier_scores_ = self._all_features(cells.scores, np.nan)
        self.outliers_ = self._all_features(cells.wrong, False)
        self._learn_errors(X, Z, cells)
        good = np.where(missing | self.outliers_, np.nan, X)
        self._range = _ranges(good)
        self._has_integers = np.array([_are_integers(column) for column in good.T])
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
                copy=True,
                ensure_all_finite="allow-nan",
            )
        marker = None if is_pandas_na(self.missing_values) else self.missing_values
        if marker is not None and not isinstance(marker, Real):
            raise ValueError(
                "missing_values must be a number, np.nan, pd.NA or None, got "
                f"{marker!r}"
            )
        if marker is not None and not np.isnan(float(marker)):
            X[X == marker] = np.nan
        return X

    def _scaled(self, X: np.ndarray) -> np.ndarray:
        """The features that are not constant, robustly centered and scaled."""
        live = X if self._live.all() else X[:, self._live]
        dtype = np.float32 if X.size > SINGLE else X.dtype
        return standardize(live, self._center, self._scale, dtype)

    def _learn_features(self, X) -> None:
        n_observed = np.count_nonzero(~np.isnan(X), axis=0)
        empty = n_observed == 0
        self._kept = np.ones(len(empty), bool) if self.keep_empty_features else ~empty
        if empty.any() and not self.keep_empty_features:
            warnings.warn(
                f"{int(empty.sum())} features have no observed value and are dropped; "
                "keep_empty_features=True fills them with 0",
                UserWarning,
                stacklevel=user_stacklevel(),
            )
        self.statistics_ = np.full(
            len(empty), 0.0 if self.keep_empty_features else np.nan
        )
        if not empty.all():
            self.statistics_[~empty] = np.nanmedian(X[:, ~empty], axis=0)
        self._live = np.zeros(len(empty), bool)
        some = np.flatnonzero(~empty)
        low, high = np.nanmin(X[:, some], axis=0), np.nanmax(X[:, some], axis=0)
        self._live[some] = high > low
        self._center, self._scale = center_and_scale(X[:, self._live], "robust")
        middle = (self.statistics_[self._live] - self._center) / self._scale
        self._middle = middle.astype(np.float32 if X.size > SINGLE else X.dtype)
        low, high = np.zeros((2, int(self._live.sum())))
        if self._live.any():
            low, high = np.nanpercentile(X[:, self._live], [25, 75], axis=0)
        quartile = (high - low) / NORMAL
        self._in_quartiles = self._scale / np.where(quartile > 0, quartile, self._scale)
        self.indicator_ = None
        if self.add_indicator:
            self.indicator_ = MissingIndicator(error_on_new=False).fit(X)

    def _model(self, Z: np.ndarray) -> tuple[RPCAG | None, _Cells]:
        """The model without wrong cells, and what all cells are predicted to be."""
        observed = ~np.isnan(Z)
        if any(a < b for a, b in zip(Z.shape, SMALLEST, strict=True)):
            return self._medians(Z)
        folds, more = draw_folds(~observed), draw_folds(~observed, more=True)
        self._levels = [_levels_of(column[~np.isnan(column)]) for column in Z.T]
        suspect = observed & ~_is_level(Z, self._levels)
        # In a column of zeros with a few other values, zeros do not tell how well
        # those are predicted. They are compared with each other, if they are enough.
        ties = np.array([len(some) == 1 for some in self._levels])
        suspect &= ~ties | (suspect.sum(axis=0) >= FEW)
        none = np.zeros(Z.shape, bool)
        fit = self._predict_all(Z, none, folds)
        errors = Z - fit.predicted
        counted = np.where(ties, suspect, observed)
        sizes = PredictionError(errors, fit.predicted, counted)
        scores = sizes.scores(errors, fit.predicted)
        threshold = score_threshold(scores[suspect], self.alpha)
        wrong = suspect & (scores >= threshold.score * _caution(fit.plain))
        wrong &= wrong.sum(axis=0) <= MOST * observed.sum(axis=0)
        if wrong.any():
            # Removes the bias of the l1 norm: wrong cells pull at their neighbors.
            del fit, errors  # as large as the table
            fit = self._predict_all(Z, wrong, more)
            # Correct cells beside wrong ones may look wrong until those are left out.
            again = sizes.scores(Z - fit.predicted, fit.predicted)
            wrong &= again >= threshold.score * _caution(fit.plain)
        elif more.max() > folds.max():
            fit = self._predict_all(Z, none, more, fit.model)
        fit, self._components, low_rank = self._polish(Z, wrong, more, fit)
        self.threshold_ = threshold.score
        # Others that may be wrong count in proportion, so that they do not widen the
        # intervals.
        self._weights = np.ones(Z.shape, np.float32)
        self._weights[suspect] = threshold.correct(scores[suspect])
        self._score_sizes = sizes
        known = observed & ~wrong
        errors = np.where(known, Z - fit.predicted, np.nan)
        sizes = PredictionError(errors, fit.predicted, known)
        self._sizes, self._plain = sizes, fit.plain
        low_rank = self._low_rank(Z, low_rank)
        rows = sizes.row_factors(errors, fit.predicted)
        scale = sizes.scale(low_rank, rows)
        return fit.model, _Cells(fit.predicted, low_rank, scale, scores, wrong)

    def _predict_all(
        self,
        Z: np.ndarray,
        wrong: np.ndarray,
        folds: np.ndarray,
        model: RPCAG | None = None,
    ) -> _Fit:
        """Fit the table without wrong cells, and predict all cells."""
        observed = ~np.isnan(Z)
        seen = np.where(wrong, np.nan, Z)
        model = model or self._fit_model(seen)
        predicted = cross_predict(seen, model, folds=folds, callback=self._watch())
        predicted = np.where(wrong, model.low_rank_, predicted)
        plain = _no_better(Z, predicted, self._middle, observed & ~wrong)
        predicted[:, plain] = self._middle[plain]
        predicted[~observed] = np.nan
        return _Fit(model, predicted, plain)

    def _polish(
        self, Z: np.ndarray, wrong: np.ndarray, folds: np.ndarray, fit: _Fit
    ) -> tuple[_Fit, PrincipalComponents | None, np.ndarray]:
        """Principal components instead of L, if they predict hidden cells better.

        They do in tables of low rank plus noise, once wrong cells are left out.
        """
        L = fit.model.low_rank_
        seen = np.where(wrong, np.nan, Z)
        limit = _limit((seen - self._middle).astype(Z.dtype, copy=False))
        found = predict_folds(
            seen, folds, np.where(wrong, np.nan, fit.predicted), limit
        )
        if found is None:
            return fit, None, L
        rank, predicted = found
        components, L = PrincipalComponents.fit(seen, rank, L)
        predicted = np.where(wrong, L, predicted)
        plain = _no_better(Z, predicted, self._middle, ~np.isnan(seen))
        predicted[:, plain] = self._middle[plain]
        return _Fit(fit.model, predicted, plain), components, L

    def _medians(self, Z: np.ndarray) -> tuple[None, _Cells]:
        """Medians instead of a model, for a table that is too small for one."""
        predicted = np.broadcast_to(self._middle, Z.shape)
        errors, observed = Z - predicted, ~np.isnan(Z)
        self._sizes = self._score_sizes = PredictionError(errors, predicted, observed)
        self._levels, self.threshold_, self._components = [], np.inf, None
        self._plain = np.ones(Z.shape[1], bool)
        self._weights = np.ones(Z.shape, np.float32)
        return None, self._of_medians(Z)

    def _of_medians(self, Z: np.ndarray) -> _Cells:
        middle = np.broadcast_to(self._middle, Z.shape).astype(Z.dtype)
        scale = self._sizes.scale(middle, np.ones(Z.shape))
        scores = np.abs(Z - middle) / scale
        return _Cells(middle, middle, scale, scores, np.zeros(Z.shape, bool))

    def _fit_model(self, Z: np.ndarray) -> RPCAG:
        model = RPCAG(
            lam=self.lam,
            gamma=self.gamma,
            graph=self.graph,
            tol=self.tol,
            max_iter=self.max_iter,
            callback=self.callback,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorFitWarning)  # told by `explained_`
            return model.fit(Z)

    def _watch(self):
        callback = self.callback
        return callback and (lambda p: callback(p._replace(stage="cells")))

    def _learn_errors(self, X, Z, cells: _Cells) -> None:
        """Errors per feature, and those in units of their size, for intervals."""
        known = ~np.isnan(Z) & ~cells.wrong
        errors = np.where(known, Z - cells.predicted, np.nan)
        rows = self._sizes.row_factors(errors, cells.predicted)
        ratios = errors / self._sizes.scale(cells.predicted, rows)
        del rows
        is_few = np.count_nonzero(known, axis=0) < FEWEST
        pooled_cells = known if is_few.any() else np.zeros_like(known)
        pooled = ratios[pooled_cells], self._weights[pooled_cells]
        self._calibration = [
            pooled if few else (ratios[k, j], self._weights[k, j])
            for j, (few, k) in enumerate(zip(is_few, known.T, strict=True))
        ]
        del self._weights, ratios
        left, total = np.full((2, X.shape[1]), np.nan)
        left[self._live] = self._scale * _root_mean_square(errors)
        median = np.where(known, Z - self._middle, np.nan)
        total[self._live] = self._scale * _root_mean_square(median)
        self.prediction_error_, self.median_error_ = left, total
        self.explained_ = 1 - (left / total) ** 2

    # ---- new rows ----

    def _examine(self, X, wrong=None) -> tuple[np.ndarray, _Cells]:
        """Predict the cells of new rows; wrong ones are found if they matter."""
        check_is_fitted(self, "statistics_")
        X = self._read(X, reset=False)
        Z = self._scaled(X)
        observed = ~np.isnan(Z)
        if self.model_ is None:
            return X, self._of_medians(Z)
        if not (self.repair if wrong is None else wrong) and observed.all():
            none = np.zeros(Z.shape, bool)
            return X, _Cells(Z, Z, np.ones(Z.shape), np.full(Z.shape, np.nan), none)
        # By feature: what is found in a row does not depend on the other rows.
        folds = np.random.default_rng(SEED).permutation(Z.shape[1]) % PARTS
        predicted = np.full(Z.shape, np.nan)
        for fold in range(PARTS):
            hidden = observed & (folds == fold)
            seen = self._low_rank(Z, self._predict(np.where(hidden, np.nan, Z)))
            predicted[hidden] = seen[hidden]
        errors = Z - predicted
        scores = self._score_sizes.scores(errors, predicted)
        rows = self._sizes.row_factors(errors, predicted)
        found = observed & (scores >= self.threshold_ * _caution(self._plain))
        found &= ~_is_level(Z, self._levels)
        kept = np.where(found, np.nan, Z)
        components = self._components
        filled = components.predict(kept) if components else self._predict(kept)
        low_rank = self._low_rank(Z, filled)
        scale = self._sizes.scale(low_rank, rows)
        return X, _Cells(predicted, low_rank, scale, scores, found)

    def _predict(self, Z: np.ndarray) -> np.ndarray:
        assert self.model_ is not None
        if self.model_.rank_ == 0:
            return np.zeros_like(Z)
        with warnings.catch_warnings():
            # Rows that are far from those of `fit` are scored as such.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return self.model_.inverse_transform(self.model_.transform(Z))

    def _low_rank(self, Z: np.ndarray, L: np.ndarray) -> np.ndarray:
        """L, and the median of features that it predicts no better."""
        return np.where(self._plain, self._middle, L).astype(Z.dtype)

    # ---- output ----

    def low_rank(self) -> np.ndarray:
        """Values of the rows of `fit` by L or principal components, in the unit of X.

        Constant features have their value, empty ones 0, and features that the model
        predicts no better than their median have the median.
        """
        check_is_fitted(self, "statistics_")
        return self._in_units(self._cells.low_rank)

    def _in_units(self, low_rank: np.ndarray) -> np.ndarray:
        shape = (len(low_rank), len(self._live))
        medians = np.nan_to_num(self.statistics_)  # of empty features: 0
        found = np.broadcast_to(medians, shape).astype(low_rank.dtype)
        found[:, self._live] = restore(low_rank, self._center, self._scale)
        return found

    def _replace(self, X, low_rank: np.ndarray, wrong: np.ndarray) -> np.ndarray:
        """X with new values in its gaps, and in wrong cells if they are repaired."""
        changed = np.isnan(X)
        if self.repair:
            changed |= self._all_features(wrong, False)
        filled = self._in_units(low_rank)
        if self.clip:
            filled = np.clip(filled, *self._range)
        if self.round_integers:
            filled = np.where(self._has_integers, np.rint(filled), filled)
        return np.where(changed, filled, X).astype(X.dtype, copy=False)

    def _output(self, X, filled: np.ndarray) -> np.ndarray:
        filled = filled[:, self._kept]
        if self.indicator_ is None:
            return filled
        return np.hstack([filled, self.indicator_.transform(X).astype(filled.dtype)])

    def _all_features(self, cells: np.ndarray, other) -> np.ndarray:
        """Cells of the features in the model, among those of all features."""
        if self._live.all():
            return cells.copy()
        found = np.full((len(cells), len(self._live)), other, cells.dtype)
        found[:, self._live] = cells
        return found

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def check_share(name: str, value) -> None:
    """Refuse what is not a number between 0 and 1."""
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float, np.integer, np.floating))
        or not 0 < value < 1
    ):
        raise ValueError(f"{name} must be a number between 0 and 1, got {value!r}")


def _no_better(Z, predicted, middle, known) -> np.ndarray:
    """Features that are predicted no better than by their median, or another constant.

    Z is centered, so that zero is the mean without gross errors.
    """
    limit = _limit(np.where(known, Z - middle, np.nan).astype(Z.dtype, copy=False))
    constant = np.minimum(
        truncated_squares(Z, middle, limit, known),
        truncated_squares(Z, 0.0, limit, known),
    )
    left = truncated_squares(Z, predicted, limit, known)
    return ~(left < (1 - SKILL) * constant)


def _caution(plain: np.ndarray) -> np.ndarray:
    """Factor of the threshold: other cells say nothing about those of such features."""
    return np.where(plain, CAUTION, 1.0)


def _limit(distances: np.ndarray) -> np.ndarray:
    """Where errors of every feature are truncated, so that gross ones count little."""
    return LIMIT * np.maximum(np.nanquantile(np.abs(distances), 0.8, axis=0), 1e-12)


def _levels_of(values: np.ndarray) -> np.ndarray:
    """The values of a feature with few levels; else none."""
    found, counts = np.unique(values, return_counts=True)
    frequent = counts >= max(OFTEN, 0.003 * len(values))
    has_levels = frequent.sum() <= LEVELS and counts[frequent].sum() > ALL * len(values)
    return found[frequent] if has_levels else np.empty(0, found.dtype)


def _is_level(Z: np.ndarray, levels: list[np.ndarray]) -> np.ndarray:
    columns = [np.isin(column, some) for column, some in zip(Z.T, levels, strict=True)]
    return np.array(columns).T.reshape(Z.shape)


def _ranges(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest and largest observed value of every feature; 0 if there is none."""
    low = np.fmin.reduce(X, axis=0)
    high = np.fmax.reduce(X, axis=0)
    return np.nan_to_num(low, nan=0.0), np.nan_to_num(high, nan=0.0)


def _are_integers(column: np.ndarray) -> bool:
    values = column[~np.isnan(column)]
    return bool((values == np.rint(values)).all())


def _root_mean_square(errors: np.ndarray) -> np.ndarray:
    counts = np.maximum(np.count_nonzero(~np.isnan(errors), axis=0), 1)
    return np.sqrt(np.nansum(errors**2, axis=0) / counts)


def _quantile(ratios: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Conformal quantile: the cell itself counts as one that is beyond all others."""
    if len(ratios) == 0:
        return 0.0
    sign = 1.0 if share > 0.5 else -1.0
    order = np.argsort(sign * ratios, kind="stable")
    masses = np.cumsum(weights[order])
    wanted = max(share, 1 - share) * (masses[-1] + 1)
    place = min(int(np.searchsorted(masses, wanted)), len(ratios) - 1)
    return float(ratios[order[place]])
