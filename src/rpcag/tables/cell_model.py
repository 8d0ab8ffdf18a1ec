"""Predict the cells of a scaled table from one another, and find wrong cells."""

import warnings
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rpcag.models import RPCAG, PoorFitWarning
from rpcag.models.hidden_entries import SEED, spread_of
from rpcag.models.scaling import center_and_scale, standardize
from rpcag.tables.cross_prediction import ITERATIONS, Folds, Weights, cross_predict
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
# Certified gap of fits that only choose weights.
ROUGH = 0.5


@dataclass(frozen=True, eq=False)
class PredictedCells:
    """Predictions of the cells of a scaled table, and what is known about them."""

    predicted: np.ndarray  # from fits without the cell; NaN if there is none
    filling: np.ndarray  # from a fit to all cells, or all except the wrong ones
    scale: np.ndarray  # typical size of the error
    scores: np.ndarray  # |error| / scale; NaN at gaps
    wrong: np.ndarray


class _Candidate(NamedTuple):
    """Fits in these units, with these weights, and what they predict."""

    center: np.ndarray
    scale: np.ndarray
    weights: Weights
    folds: np.ndarray  # of the cells that are predicted, -1 for others
    values: np.ndarray  # of these cells; a full table would take more memory
    rank: int  # of principal components; 0 if RPCAG predicts hidden cells better

    def among(self, predicted: np.ndarray) -> np.ndarray:
        """The predictions, and these values of the other cells."""
        found = predicted.copy()
        found[self.folds >= 0] = self.values
        return found


class CellModel:
    """RPCAG, or regularized principal components, of a scaled table."""

    calibration: Calibration  # widths of prediction intervals

    def __init__(self, middle: np.ndarray, alpha: float) -> None:
        self.middle, self.alpha = middle, alpha
        self.model: RPCAG | None = None  # tables without one get medians
        self.components: PrincipalComponents | None = None
        # Score from which a cell is wrong, and its factors by feature.
        self.threshold, self.caution = np.inf, np.ones(len(middle))
        # Share of the truncated squared error of the median that predictions save, 0
        # for features that get the median.
        self.explained = np.zeros(len(middle))
        self.levels = [np.empty(0)] * len(middle)

    def fit(self, Z: np.ndarray, options: dict[str, Any]) -> PredictedCells:
        """Find wrong cells, and predict all cells without them.

        `options` are those of `RPCAG`.
        """
        self._options = options
        observed = ~np.isnan(Z)
        if any(a < b for a, b in zip(Z.shape, SMALLEST, strict=True)):
            return self._fit_medians(Z, observed)
        self.levels = levels_of(Z)
        self._limit = np.maximum(spread_of(Z).limit, LEAST)
        self._folds = Folds.draw(~observed)
        folds = self._folds.of_all
        first = self._cross_predict(Z, self._weights(Z), folds).reshape(Z.shape)
        wrong = self._find(Z, observed, first)
        chosen = without = self._try_without(wrong, Z, first)
        # Correct cells next to wrong ones may seem wrong until those are removed.
        wrong &= self._scores(Z, without.among(first)) >= self.threshold * self.caution
        left_out = wrong
        if wrong.any():
            # Cells that are odd, but help to predict others, stay in the model. Errors
            # at these cells are not compared: wrong cells in groups predict each other.
            whole = self._try_without(np.False_, Z, first)
            counted = observed & ~wrong & self._folds.is_like_gap
            squared, squared_whole = (
                truncated_squares(Z, some.among(first), self._limit, counted).sum()
                for some in (without, whole)
            )
            if squared_whole < squared:
                chosen, left_out = whole, np.False_
        scores, predicted = self._scores(Z, first), chosen.among(first)
        predicted[wrong] = without.among(first)[wrong]
        del first, without
        W = standardize(np.where(left_out, np.nan, Z), chosen.center, chosen.scale)
        rows = self._learn_errors(Z, predicted, scores, wrong)
        filling = self._fill(W, chosen, predicted)
        if left_out is not wrong:
            filling[wrong] = predicted[wrong]
        self._set_medians(filling)
        predicted[~(observed & self._folds.is_like_gap)] = np.nan
        del self._candidates, self._least, self._folds, self._options
        scale = self._sizes.scale(filling, rows)
        return PredictedCells(predicted, filling, scale, scores, wrong)

    def predict(self, Z: np.ndarray, find: bool) -> PredictedCells:
        """Predict the cells of new rows; find wrong cells if they are needed."""
        observed = ~np.isnan(Z)
        none = np.zeros(Z.shape, bool)
        if self.model is None:
            middle = np.broadcast_to(self.middle, Z.shape).astype(Z.dtype)
            scale = self._sizes.scale(middle, np.ones(Z.shape))
            scores = np.abs(Z - middle) / scale
            return PredictedCells(middle, middle, scale, scores, none)
        if not find and observed.all():
            ones = np.ones(Z.shape)
            return PredictedCells(Z, Z, ones, np.nan * ones, none)
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
        filling = self._set_medians(self._low_rank(kept, self.components))
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

    def _fit_model(self, Z: np.ndarray, **options) -> RPCAG:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorFitWarning)  # reported by `explained`
            return RPCAG(**self._options | options).fit(Z)

    def _weights(self, Z: np.ndarray) -> Weights:
        model = self._fit_model(Z, tol=ROUGH)
        build = model.trial_graph() if model.gamma_ > 0 else None
        return Weights(model.lam_, model.gamma_, build)

    def _cross_predict(self, Z, weights: Weights, folds, max_iter=0) -> np.ndarray:
        callback = self._options["callback"]
        watch = callback and (lambda p: callback(p._replace(stage="cells")))
        return cross_predict(Z, weights, folds, watch, max_iter)

    def _try_without(
        self, left_out: np.ndarray | np.bool_, Z: np.ndarray, first: np.ndarray
    ) -> _Candidate:
        """Predict cells like gaps by fits without these cells.

        The other cells are known to be correct, or are meant to stay, so that units are
        standard deviations: robust scales give more weight to heavy tails. Principal
        components are better than RPCAG in tables of low rank plus noise.
        """
        W = np.where(left_out, np.nan, Z)
        center, scale = center_and_scale(W, "standard")
        W = standardize(W, center, scale)
        weights, folds = self._weights(W), self._folds.like_gaps(np.isnan(W))
        values = self._cross_predict(W, weights, folds, ITERATIONS)
        predicted = standardize(first, center, scale)
        predicted[folds >= 0] = values
        rank, predicted = predict_folds(W, folds, predicted, self._limit / scale)
        values = _in_units(predicted, center, scale)[folds >= 0]
        return _Candidate(center, scale, weights, folds, values, rank)

    def _fill(
        self, W: np.ndarray, chosen: _Candidate, predicted: np.ndarray
    ) -> np.ndarray:
        """L of all cells by the certified fit, or by principal components."""
        self.center, self.scale, weights = chosen[:3]
        self.model = self._fit_model(W, lam=weights.lam, gamma=weights.gamma)
        L = self.model.low_rank_.astype(W.dtype, copy=False)
        if chosen.rank:  # convergence is slow, so it starts where the folds started
            start = standardize(predicted, self.center, self.scale)
            self.components, L = PrincipalComponents.fit(W, chosen.rank, start)
        return _in_units(L, self.center, self.scale)

    def _scores(self, Z: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        return self._score_sizes.scores(Z - predicted, predicted)

    def _find(self, Z: np.ndarray, observed: np.ndarray, predicted: np.ndarray):
        """The cells that are wrong."""
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
        del errors  # as large as the table
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
        return wrong

    def _learn_errors(self, Z, predicted, scores, wrong) -> np.ndarray:
        """Sizes of prediction errors, for intervals; returns the factors of rows."""
        like_gaps = ~np.isnan(Z) & self._folds.is_like_gap
        self._compare_with_constants(Z, like_gaps & ~wrong, predicted, self._limit)
        # Levels are always correct.
        weights = chances_correct(
            np.where(self._candidates, scores, np.nan),
            self.threshold,
            kinds=2 * np.array([len(some) > 1 for some in self.levels]) + self._plain,
        )
        weights[~like_gaps] = 0
        errors = np.where(wrong, np.nan, Z - predicted)
        sizes = PredictionError(
            errors, predicted, (weights > 0.5) & ~wrong, self._least
        )
        rows = sizes.row_factors(errors, predicted)
        ratios = np.abs(Z - predicted) / sizes.scale(predicted, rows)
        self.calibration, self._sizes = Calibration(ratios, weights), sizes
        return rows

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

    def _low_rank(self, Z: np.ndarray, components=None) -> np.ndarray:
        """L of new rows."""
        assert self.model is not None
        W = standardize(Z, self.center, self.scale)
        if components is not None:
            L = components.predict(W)
        elif self.model.rank_ == 0:
            L = np.zeros_like(W)
        else:
            with warnings.catch_warnings():
                # No warning about rows far from those of `fit`: their scores show it.
                warnings.simplefilter("ignore", ConvergenceWarning)
                L = self.model.inverse_transform(self.model.transform(W))
        return _in_units(L.astype(Z.dtype, copy=False), self.center, self.scale)

    def _set_medians(self, values: np.ndarray) -> np.ndarray:
        plain = self.explained == 0
        values[:, plain] = self.middle[plain]
        return values


def _in_units(W: np.ndarray, center: np.ndarray, scale: np.ndarray) -> np.ndarray:
    return W * scale.astype(W.dtype) + center.astype(W.dtype)
