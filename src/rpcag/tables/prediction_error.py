"""How large prediction errors are: by column, predicted value, and row."""

import numpy as np

# A scale is this quantile of the sizes of errors over that of a normal variable: up to
# a fifth of the cells may be wrong.
SPARED, NORMAL = 0.8, 1.2816
# Cells per group of similar predictions, and groups per column at the most. Columns of
# positive numbers have larger errors where the predictions are larger.
GROUP, GROUPS = 50, 10
# Number of cells that the scale of the whole column counts for in that of a group.
COLUMN = 40
# The same for rows: an average row counts for so many cells.
ROW = 12
HALF_NORMAL = 0.6745  # median size of a normal variable
LEAST = 1e-9  # scale of columns that are predicted exactly, in deviations


class PredictionError:
    """Typical sizes of prediction errors, e_ij ~ s_j(prediction_ij) r_i.

    s_j is piecewise linear in the prediction. r_i >= 1 is larger for rows that are
    predicted badly in most of their cells: in such rows a large error is not a wrong
    cell.

    Parameters
    ----------
    errors, predicted : ndarray of shape (n, p)
        NaN where a cell is missing.
    counted : bool ndarray of shape (n, p)
        Cells that are known, and not known to be wrong.
    """

    def __init__(
        self, errors: np.ndarray, predicted: np.ndarray, counted: np.ndarray
    ) -> None:
        self.knots: list[tuple[np.ndarray, np.ndarray]] = []
        for e, value, known in zip(errors.T, predicted.T, counted.T, strict=True):
            self.knots.append(_local_scales(np.abs(e[known]), value[known]))
        ratios = np.where(counted, np.abs(errors) / self._by_column(predicted), np.nan)
        ratios /= row_factors(ratios)[:, None]
        self.column = np.array([_scale(r[~np.isnan(r)]) or 1.0 for r in ratios.T])

    def scale(self, predicted: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Typical error of cells with these predictions, in rows with these factors."""
        return self._by_column(predicted) * self.column * rows[:, None]

    def row_factors(self, errors: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """r_i of rows with these errors, NaN where they are not known."""
        return row_factors(np.abs(errors) / self._by_column(predicted))

    def _by_column(self, predicted: np.ndarray) -> np.ndarray:
        found = np.empty(predicted.shape)
        for j, (centers, scales) in enumerate(self.knots):
            found[:, j] = np.interp(predicted[:, j], centers, scales)
        return found


def row_factors(ratios: np.ndarray) -> np.ndarray:
    """Median ratio of every row, shrunk toward 1, and at least 1."""
    n_known = np.count_nonzero(~np.isnan(ratios), axis=1)
    factors = np.ones(len(ratios))
    some = n_known > 0
    typical = np.nanmedian(ratios[some], axis=1) / HALF_NORMAL
    shares = n_known[some] / (n_known[some] + ROW)
    factors[some] = np.maximum(np.maximum(typical, LEAST) ** shares, 1.0)
    return factors


def _local_scales(sizes: np.ndarray, values: np.ndarray):
    """Centers of groups of similar predictions, and the scale of errors in each."""
    whole = max(_scale(sizes), LEAST)
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
