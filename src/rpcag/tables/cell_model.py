"""Predict the cells of a scaled table from one another, and find wrong cells."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rpcag.models import RPCAG, PoorFitWarning
from rpcag.models.hidden_entries import SEED, spread_of
from rpcag.solvers import Progress
from rpcag.tables.cross_prediction import cross_predict, draw_folds
from rpcag.tables.false_discoveries import score_threshold
from rpcag.tables.features import is_level, levels_of
from rpcag.tables.intervals import Calibration, chances_correct
from rpcag.tables.prediction_error import (
    LEAST,
    NORMAL,
    SPARED,
    PredictionError,
    truncated_squares,
)
from rpcag.tables.principal_components import PrincipalComponents, predict_folds

# Minimum numbers of rows and columns for a model; smaller tables get medians.
SMALLEST = (5, 2)
# In a column with one level, such as zeros, the other values can be wrong only if there
# are at least this many.
FEW = 30
# Share of the cells of a column that may be wrong. If more are found, the scale of its
# errors is not reliable, and none are.
MOST = 0.3
# A prediction is better than a constant if it saves this share of its squared error.
SKILL = 0.01
# Factor of the threshold in features that are predicted no better than by a constant,
# because extreme values also occur in heavy tails.
CAUTION = 3.0
# Parts of the features of new rows; each is predicted from the others.
PARTS = 5


@dataclass(frozen=True, eq=False)
class PredictedCells:
    """Predictions of the cells of a scaled table, and what is known about them."""

    predicted: np.ndarray  # from fits without the cell; NaN at gaps
    filling: np.ndarray  # from a fit to all cells except the wrong ones
    scale: np.ndarray  # typical size of the error
    scores: np.ndarray  # |error| / scale; NaN at gaps
    wrong: np.ndarray


class _Fit(NamedTuple):
    model: RPCAG
    filling: np.ndarray  # L, or the part in principal components
    predicted: np.ndarray  # all observed cells, from fits without them
    components: PrincipalComponents | None = None


class CellModel:
    """RPCAG, or regularized principal components, of a scaled table.

    Attributes
    ----------
    model : RPCAG or None
        None if the table is so small that all predictions are medians.
    threshold : float
        Score from which a cell is wrong.
    explained : ndarray of shape (p,)
        Share of the squared error of the median that predictions save, 0 for features
        that get the median. Errors are truncated as in the choice of weights.
    calibration : Calibration
        Widths of prediction intervals.
    """

    def __init__(self, middle: np.ndarray, alpha: float) -> None:
        self.middle, self.alpha = middle, alpha
        self.model: RPCAG | None = None
        self.components: PrincipalComponents | None = None
        self.threshold, self.caution = np.inf, np.ones(len(middle))
        self.explained = np.zeros(len(middle))
        self.levels = [np.empty(0)] * len(middle)

    def fit(
        self,
        Z: np.ndarray,
        make: Callable[[], RPCAG],
        callback: Callable[[Progress], bool | None] | None = None,
    ) -> PredictedCells:
        """Find wrong cells, and predict all cells without them."""
        self._make, self._callback = make, callback
        observed = ~np.isnan(Z)
        if any(a < b for a, b in zip(Z.shape, SMALLEST, strict=True)):
            return self._fit_medians(Z, observed)
        self.levels = levels_of(Z)
        self._folds = draw_folds(~observed)
        self._limit = np.maximum(spread_of(Z).limit, LEAST)
        fit = self._predict_all(Z)
        scores, wrong = self._find(Z, observed, fit.predicted)
        seen, filling = Z, None
        if wrong.any():
            # Removes the bias of the l1 norm: wrong cells pull at their neighbors. The
            # first model is several times as large as Z; it is fitted again if needed.
            predicted, first = fit.predicted, fit.filling
            del fit
            without = self._predict_all(np.where(wrong, np.nan, Z))
            without.predicted[wrong] = without.filling[wrong]
            # Correct cells next to wrong ones may seem wrong until those are removed.
            again = self._score_sizes.scores(Z - without.predicted, without.predicted)
            wrong &= again >= self.threshold * self.caution
            # They do not count here: wrong cells in groups predict each other.
            seen = np.where(wrong, np.nan, Z)
            if self._squares(seen, without.predicted) <= self._squares(seen, predicted):
                fit = without
            else:
                # The found cells are odd, but help to predict others. The model keeps
                # them, and only their own new values come from the fit without them.
                seen, filling = Z, without.filling
                fit = self._fit_all(Z, predicted)._replace(filling=first)
            del without, again, predicted
        fit = self._with_components(seen, fit)
        self.model, self.components = fit.model, fit.components
        filling = (
            fit.filling if filling is None else np.where(wrong, filling, fit.filling)
        )
        return self._learn_errors(Z, fit.predicted, filling, scores, wrong)

    def predict(self, Z: np.ndarray, find: bool) -> PredictedCells:
        """Predict the cells of new rows; find wrong cells if they are needed."""
        observed = ~np.isnan(Z)
        none = np.zeros(Z.shape, bool)
        if self.model is None:
            middle = np.broadcast_to(self.middle, Z.shape).astype(Z.dtype)
            scale = self._sizes.scale(middle, np.ones(Z.shape))
            return PredictedCells(
                middle, middle, scale, np.abs(Z - middle) / scale, none
            )
        if not find and observed.all():
            return PredictedCells(
                Z, Z, np.ones(Z.shape), np.full(Z.shape, np.nan), none
            )
        # By feature: what is found in a row does not depend on the other rows.
        folds = np.random.default_rng(SEED).permutation(Z.shape[1]) % PARTS
        predicted = np.full(Z.shape, np.nan)
        for fold in range(PARTS):
            hidden = observed & (folds == fold)
            filled = self._set_medians(self._low_rank(np.where(hidden, np.nan, Z)))
            predicted[hidden] = filled[hidden]
        errors = Z - predicted
        scores = self._score_sizes.scores(errors, predicted)
        wrong = observed & (scores >= self.threshold * self.caution)
        wrong &= ~is_level(Z, self.levels)
        kept = np.where(wrong, np.nan, Z)
        fill = self.components.predict if self.components else self._low_rank
        filling = self._set_medians(fill(kept).astype(Z.dtype))
        errors[wrong] = np.nan
        scale = self._sizes.scale(filling, self._sizes.row_factors(errors, predicted))
        return PredictedCells(predicted, filling, scale, scores, wrong)

    def _fit_medians(self, Z: np.ndarray, observed: np.ndarray) -> PredictedCells:
        predicted = np.broadcast_to(self.middle, Z.shape)
        errors = Z - predicted
        self._sizes = self._score_sizes = PredictionError(errors, predicted, observed)
        cells = self.predict(Z, find=True)
        self.calibration = Calibration(cells.scores, np.ones(Z.shape))
        return cells

    def _predict_all(self, Z: np.ndarray) -> _Fit:
        """Fit the table, and predict each cell by a fit without it."""
        fit = self._fit_all(Z, Z)
        predicted, filling = cross_predict(
            Z, fit.model, folds=self._folds, callback=self._callback
        )
        return fit._replace(predicted=predicted, filling=filling)

    def _fit_all(self, Z: np.ndarray, predicted: np.ndarray) -> _Fit:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorFitWarning)  # reported by `explained`
            model = self._make().fit(Z)
        return _Fit(model, model.low_rank_.astype(Z.dtype, copy=False), predicted)

    def _with_components(self, Z: np.ndarray, fit: _Fit) -> _Fit:
        """Principal components instead of L, if they predict hidden cells better.

        They do in tables of low rank plus noise.
        """
        found = predict_folds(Z, self._folds, fit.predicted, self._limit)
        if found is None:
            return fit
        rank, predicted = found
        components, filling = PrincipalComponents.fit(Z, rank, fit.filling)
        return _Fit(fit.model, filling, predicted, components)

    def _find(self, Z: np.ndarray, observed: np.ndarray, predicted: np.ndarray):
        """Scores of all cells, and those that are wrong."""
        predicted = predicted.copy()
        # Wrong cells have large errors whatever predicts them. Here they are not known
        # yet, and may be more than the limit of the errors allows for.
        robust = 3 * np.nanquantile(np.abs(Z - self.middle), SPARED, axis=0) / NORMAL
        limit = np.where(robust > 0, np.minimum(robust, self._limit), self._limit)
        self._compare_with_constants(Z, observed, predicted, limit)
        errors = Z - predicted
        at_level = is_level(Z, self.levels)
        # In a column of zeros with a few other values, zeros do not show how well the
        # others are predicted. If there are enough, they are compared with each other.
        n_levels = np.array([len(some) for some in self.levels])
        candidates = observed & ~at_level
        candidates &= (n_levels != 1) | (candidates.sum(axis=0) >= FEW)
        counted = np.where(n_levels == 1, candidates, observed)
        squares = truncated_squares(Z, predicted, np.inf, at_level)
        deviation = np.sqrt(squares / np.maximum(at_level.sum(axis=0), 1))
        self._least = np.where(n_levels > 1, deviation, LEAST)
        sizes = PredictionError(errors, predicted, counted, self._least)
        scores = sizes.scores(errors, predicted)
        del errors, predicted  # as large as the table
        # Wrong cells are most of those between levels, but few of the other features.
        reference = counted & (n_levels < 2)
        if reference.sum() < FEW:
            reference = counted
        self.threshold = score_threshold(
            scores[candidates],
            self.alpha,
            scores[reference] if (n_levels > 0).any() else None,
        )
        wrong = candidates & (scores >= self.threshold * self.caution)
        wrong &= wrong.sum(axis=0) <= MOST * observed.sum(axis=0)
        self._candidates = candidates
        self._score_sizes, self._plain = sizes, self.caution > 1
        return scores, wrong

    def _learn_errors(self, Z, predicted, filling, scores, wrong) -> PredictedCells:
        """Sizes of prediction errors, for intervals."""
        observed = ~np.isnan(Z)
        predicted = np.where(wrong, filling, predicted)
        predicted[~observed] = np.nan
        self._compare_with_constants(Z, observed & ~wrong, predicted, self._limit)
        # Levels are always correct.
        weights = chances_correct(
            np.where(self._candidates, scores, np.nan),
            self.threshold,
            kinds=2 * np.array([len(some) > 1 for some in self.levels]) + self._plain,
        )
        weights[~observed] = 0
        errors = np.where(wrong, np.nan, Z - predicted)
        sizes = PredictionError(
            errors, predicted, (weights > 0.5) & ~wrong, self._least
        )
        rows = sizes.row_factors(errors, predicted)
        ratios = np.abs(Z - predicted) / sizes.scale(predicted, rows)
        self.calibration, self._sizes = Calibration(ratios, weights), sizes
        filling = self._set_medians(filling.copy())  # it may be the model's L
        del self._candidates, self._least, self._folds, self._make, self._callback
        return PredictedCells(
            predicted, filling, sizes.scale(filling, rows), scores, wrong
        )

    def _compare_with_constants(self, Z, known, predicted, limit) -> None:
        """Features that are predicted no better than by their median have the median.

        Z is centered, so zero is the mean without gross errors. Features that zero
        predicts equally well get a larger threshold, because other cells carry no
        information about them.
        """
        left, median, center = (
            truncated_squares(Z, values, limit, known)
            for values in (predicted, self.middle, 0.0)
        )
        best = np.minimum(median, center)
        self.caution = np.where(left < (1 - SKILL) * best, 1.0, CAUTION)
        saved = 1 - left / np.where(median > 0, median, 1.0)
        self.explained = np.where(saved > SKILL, saved, 0.0)
        self._set_medians(predicted)

    def _squares(self, Z: np.ndarray, predicted: np.ndarray) -> float:
        """Squared error of the predictions, truncated as in the choice of weights."""
        cells = ~np.isnan(Z)
        return float(truncated_squares(Z, predicted, self._limit, cells).sum())

    def _low_rank(self, Z: np.ndarray) -> np.ndarray:
        """L of new rows."""
        assert self.model is not None
        if self.model.rank_ == 0:
            return np.zeros_like(Z)
        with warnings.catch_warnings():
            # Rows that are far from those of `fit` are scored as such.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return self.model.inverse_transform(self.model.transform(Z))

    def _set_medians(self, values: np.ndarray) -> np.ndarray:
        plain = self.explained == 0
        values[:, plain] = self.middle[plain]
        return values
