"""The features of a table: which ones vary, their units, ranges and levels."""

from dataclasses import dataclass

import numpy as np

from rpcag.models.hidden_entries import spread_of
from rpcag.models.scaling import NORMAL, center_and_scale, restore, standardize

# A feature has levels, such as classes or grades, if at most LEVELS values occur in
# nearly ALL of its cells, each of them at least OFTEN. A level is never a wrong cell:
# rare classes are hard to predict, but not errors.
LEVELS, ALL, OFTEN, SHARE = 12, 0.8, 3, 0.003
# Entries are far beyond this many typical distances from the median. Smaller values
# leave heavy tails out of the fit; with larger ones, others are lost to rounding.
FAR = 1e12
# Tables with at least this many cells use single precision, for half of the memory.
# Observed cells are returned unchanged in any case.
SINGLE = 1_000_000


@dataclass(frozen=True, eq=False)
class Features:
    """Statistics of single features for `RobustImputer`."""

    medians: np.ndarray  # NaN for features without observed values
    varies: np.ndarray  # features that are not constant or empty: those of the model
    # Of the features that vary:
    center: np.ndarray
    scale: np.ndarray
    middle: np.ndarray  # medians of the scaled features
    in_quartiles: np.ndarray  # the scale in quartile deviations
    # Entries beyond these are far: they are wrong, and missing to all statistics.
    bounds: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray) -> "Features":
        spread = spread_of(X)
        with np.errstate(over="ignore"):
            reach = np.where(spread.half > 0, FAR * spread.half, np.inf)
        bounds = spread.center + np.outer((-1, 1), reach)
        X = np.where(_is_beyond(X, bounds), X.dtype.type(np.nan), X)
        low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        varies = high > low  # False for NaN
        medians = np.full(X.shape[1], np.nan)
        some = ~np.isnan(low)
        if some.any():
            medians[some] = np.nanmedian(X[:, some], axis=0)
        live = X[:, varies]
        center, scale = center_and_scale(live, "robust")
        quartiles = np.zeros((2, 0))
        if varies.any():
            quartiles = np.nanpercentile(live, [25, 75], axis=0)
        deviation = (quartiles[1] - quartiles[0]) / NORMAL
        middle = ((medians[varies] - center) / scale).astype(_precision(X))
        deviation = np.where(deviation > 0, deviation, scale)
        return cls(medians, varies, center, scale, middle, scale / deviation, bounds)

    def is_far(self, X: np.ndarray) -> np.ndarray:
        """Far entries of the features that vary."""
        return _is_beyond(X, self.bounds)[:, self.varies]

    def scaled(self, X: np.ndarray) -> np.ndarray:
        """The features that vary, clipped, robustly centered and scaled."""
        live = np.clip(X, *self.bounds)[:, self.varies]
        return standardize(live, self.center, self.scale, _precision(X))

    def in_units(self, Z: np.ndarray) -> np.ndarray:
        """All features in the unit of X: constant ones too, empty ones are 0."""
        shape = (len(Z), len(self.varies))
        found = np.broadcast_to(np.nan_to_num(self.medians), shape).astype(Z.dtype)
        found[:, self.varies] = restore(Z, self.center, self.scale)
        return found

    def among_all(self, cells: np.ndarray, other) -> np.ndarray:
        """Cells of the features that vary, among those of all features."""
        if self.varies.all():
            return cells
        found = np.full((len(cells), len(self.varies)), other, cells.dtype)
        found[:, self.varies] = cells
        return found


def _is_beyond(X: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    return (X < bounds[0]) | (X > bounds[1])


def _precision(X: np.ndarray) -> np.dtype:
    return np.dtype(np.float32) if X.size > SINGLE else X.dtype


def levels_of(Z: np.ndarray) -> list[np.ndarray]:
    """The levels of every feature; empty for features with many values."""
    return [_levels(column[~np.isnan(column)]) for column in Z.T]


def _levels(values: np.ndarray) -> np.ndarray:
    found, counts = np.unique(values, return_counts=True)
    frequent = counts >= max(OFTEN, SHARE * len(values))
    has_levels = frequent.sum() <= LEVELS and counts[frequent].sum() > ALL * len(values)
    return found[frequent] if has_levels else np.empty(0, found.dtype)


def is_level(Z: np.ndarray, levels: list[np.ndarray]) -> np.ndarray:
    found = np.zeros(Z.shape, bool)
    for j, some in enumerate(levels):
        if len(some):
            found[:, j] = np.isin(Z[:, j], some)
    return found
