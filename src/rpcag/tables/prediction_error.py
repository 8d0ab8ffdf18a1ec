"""Typical sizes of prediction errors, by column, predicted value, and row."""

import numpy as np
from scipy import special

from rpcag.linalg.blocks import row_blocks

# A scale is this quantile of the sizes of errors over that of a normal variable: up to
# a fifth of the cells may be wrong.
SPARED, NORMAL = 0.8, 1.2816
# Cells per group of similar predictions, and the maximum number of groups per
# column. Columns of positive numbers have larger errors where predictions are larger.
GROUP, GROUPS = 50, 10
# Weight, in cells, of the scale of the whole column in the scale of a group.
COLUMN = 40
# The same for rows: weight, in cells, of an average row.
ROW = 12
# Expected number of features that seem relevant to another one by chance.
SURE = 0.05
HALF_NORMAL = 0.6745  # median size of a normal variable
LEAST = 1e-9  # scale of columns that are predicted exactly, in deviations


class PredictionError:
    """Typical sizes of prediction errors, e_ij ~ s_j(prediction_ij) r_i v_ij.

    s_j is piecewise linear in the prediction. v_ij is 1, or v_j if a feature that is
    needed to predict feature j is missing in row i, such as a term of a sum. r_i >= 1
    is larger for rows that are predicted badly in most of their cells: in such rows a
    large error is not a wrong cell. The factor of a cell comes from the other cells of
    its row, so that its size does not depend on its own error, and is like that of a
    gap.

    Errors are NaN where a cell is missing. Cells are `counted` that are known, and not
    known to be wrong. `least` is the smallest scale of every column: if most cells of a
    column are equal, a quantile of their errors is nearly zero.
    """

    def __init__(
        self,
        errors: np.ndarray,
        predicted: np.ndarray,
        counted: np.ndarray,
        least: np.ndarray | None = None,
    ) -> None:
        least = np.full(errors.shape[1], LEAST) if least is None else least
        self.knots: list[tuple[np.ndarray, np.ndarray]] = []
        for j, known in enumerate(counted.T):
            sizes = np.abs(errors[known, j])
            centers, scales = _local_scales(sizes, predicted[known, j])
            self.knots.append((centers, np.maximum(scales, least[j])))
        ratios, missing = self._relative(errors, predicted), np.isnan(errors)
        ratios[~counted] = np.nan
        self.needed = _needed(ratios, missing)
        self.vague = np.ones(len(self.knots))
        for j, is_vague in self._vague_cells(missing):
            vague, others = (
                _scale(ratios[counted[:, j] & some, j])
                for some in (is_vague, ~is_vague)
            )
            self.vague[j] = max(vague / others, 1.0) if others > 0 else 1.0
        ratios /= self._factors(ratios.copy(), missing)
        column = np.array([_scale(r[~np.isnan(r)]) or 1.0 for r in ratios.T])
        self.column = np.where(least > LEAST, 1.0, column)

    def scale(self, predicted: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Typical error of cells with these predictions, in rows with these factors."""
        found = self._by_column(predicted)
        found *= self.column
        found *= rows
        return found

    def scores(self, errors: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Sizes of errors in units of the typical size for such cells."""
        scale = self.scale(predicted, self.row_factors(errors, predicted))
        return np.divide(np.abs(errors), scale, out=scale)

    def row_factors(self, errors: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """r_i of rows with these errors, NaN where they are not known."""
        return self._factors(self._relative(errors, predicted), np.isnan(errors))

    def _factors(self, ratios: np.ndarray, missing: np.ndarray) -> np.ndarray:
        """The same for sizes of errors relative to those of their column."""
        for j, is_vague in self._vague_cells(missing):
            ratios[is_vague, j] /= self.vague[j]
        # Median ratio of the other cells of the row, shrunk toward 1, and at least 1.
        factors = np.empty_like(ratios)
        for rows in row_blocks(ratios.shape):
            typical, n_others = _median_of_others(ratios[rows])
            shares = n_others / (n_others + ROW)
            found = np.maximum(typical / HALF_NORMAL, LEAST) ** shares
            factors[rows] = np.maximum(found, 1.0)
        for j, is_vague in self._vague_cells(missing):
            factors[is_vague, j] *= self.vague[j]
        return factors

    def _vague_cells(self, missing: np.ndarray):
        for j in np.flatnonzero(self.needed.any(axis=0)):
            yield j, missing[:, self.needed[:, j]].any(axis=1)

    def _relative(self, errors: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        found = self._by_column(predicted)
        return np.divide(np.abs(errors), found, out=found)

    def _by_column(self, predicted: np.ndarray) -> np.ndarray:
        found = np.empty_like(predicted)
        for j, (centers, scales) in enumerate(self.knots):
            found[:, j] = np.interp(predicted[:, j], centers, scales)
        return found


def truncated_squares(
    Z: np.ndarray,
    values: np.ndarray | float,
    limit: np.ndarray | float,
    cells: np.ndarray,
) -> np.ndarray:
    """Sums over these cells of min(|Z - values|, limit)^2, for every feature."""
    found = np.zeros(Z.shape[1])
    values = np.broadcast_to(values, Z.shape)
    for rows in row_blocks(Z.shape):
        sizes = np.minimum(np.abs(Z[rows] - values[rows]), limit)
        found += np.sum(np.where(cells[rows], sizes, 0.0) ** 2, axis=0)
    return found


def _needed(ratios: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """[k, j]: whether errors of feature j are larger in rows without a value of k.

    This is Wilcoxon's test of ranks: they have mean 0 and variance 1 if k does not
    matter.
    """
    n_known = np.count_nonzero(~np.isnan(ratios), axis=0)
    ranks = np.empty_like(ratios)
    for j, column in enumerate(ratios.T):
        ranks[np.argsort(column, kind="stable"), j] = np.arange(len(column))  # NaN last
    ranks += 0.5
    ranks /= np.maximum(n_known, 1)
    ranks = np.where(np.isnan(ratios), 0.0, np.sqrt(12) * (ranks - 0.5))
    found = np.zeros((ratios.shape[1],) * 2, bool)
    limit = special.ndtri(1 - SURE / max(found.size, 1))
    for k, rows in enumerate(missing.T):
        some = ranks[rows]
        counts = np.count_nonzero(some, axis=0)
        found[k] = some.sum(axis=0) > limit * np.sqrt(np.maximum(counts, 1))
    return found


def _median_of_others(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Median of the other known values of the row, for every cell, and their number.

    Without the value of rank k, the t-th smallest of the others is the t-th smallest of
    all if t < k, else the next one.
    """
    n_known = np.count_nonzero(~np.isnan(values), axis=1)[:, None]
    order = np.argsort(values, axis=1, kind="stable")  # NaN last
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.arange(values.shape[1])[None], axis=1)
    ordered = np.take_along_axis(values, order, axis=1)
    n_others = n_known - ~np.isnan(values)
    halves = []
    for place in ((n_others - 1) // 2, n_others // 2):
        place = np.maximum(place, 0)
        place = np.minimum(place + (place >= ranks), values.shape[1] - 1)
        halves.append(np.take_along_axis(ordered, place, axis=1))
    found = np.where(n_others > 0, (halves[0] + halves[1]) / 2, 0.0)
    return found, n_others


def _local_scales(sizes: np.ndarray, values: np.ndarray):
    """Centers of groups of similar predictions, and the scale of errors in each."""
    whole = _scale(sizes)
    n_groups = int(np.clip(len(sizes) // GROUP, 1, GROUPS))
    if n_groups == 1:
        return np.zeros(1), np.array([whole])
    groups = np.array_split(np.argsort(values, kind="stable"), n_groups)
    centers = np.array([np.median(values[group]) for group in groups])
    scales = np.array([_scale(sizes[group]) for group in groups])
    counts = np.array([len(group) for group in groups])
    squares = (counts * scales**2 + COLUMN * whole**2) / (counts + COLUMN)
    return centers, np.sqrt(squares)


def _scale(sizes: np.ndarray) -> float:
    return float(np.quantile(sizes, SPARED)) / NORMAL if len(sizes) else 0.0
