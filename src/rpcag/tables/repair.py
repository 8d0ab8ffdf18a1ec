"""Fill the gaps of a table and replace its wrong values."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpcag.solvers import Progress
from rpcag.tables.fill_values import fill_values
from rpcag.tables.imputer import RobustImputer

COVERAGE = 0.9  # of the intervals
# A chain is used if its squared error at hidden cells is below this share of that of
# the robust graph. A small advantage is not enough, because a chain also predicts
# persistent wrong values, such as those of a stuck sensor.
CHAIN = 0.8


@dataclass(frozen=True, eq=False)
class Repaired:
    """A repaired table, and how accurate its new values are.

    Attributes
    ----------
    values : ndarray of shape (n, p)
        X with gaps filled and wrong cells replaced.
    filled, replaced : bool ndarrays of shape (n, p)
        Gaps that were filled, and observed cells found wrong.
    fill_values : list of ndarray
        The fill values of every column, such as -999, that were replaced.
    lower, upper : ndarrays of shape (n, p)
        Bounds of the interval where filled or replaced, NaN elsewhere.
    scores : ndarray of shape (n, p)
        Distance from the prediction in units of its typical error; NaN at gaps.
    explained : ndarray of shape (p,)
        As in `RobustImputer`; NaN for dead columns.
    error, median_error : ndarrays of shape (p,)
        Root mean squared error of predictions of hidden cells, and of the median.
    dead : bool ndarray of shape (p,)
        Constant or empty columns, which are not changed.
    coverage : float
        Nominal coverage of the intervals.
    """

    values: np.ndarray
    filled: np.ndarray
    replaced: np.ndarray
    fill_values: list[np.ndarray]
    lower: np.ndarray
    upper: np.ndarray
    scores: np.ndarray
    explained: np.ndarray
    error: np.ndarray
    median_error: np.ndarray
    dead: np.ndarray
    coverage: float


def repair_matrix(
    X: np.ndarray,
    *,
    gaps: bool = True,
    errors: bool = True,
    alpha: float = 0.02,
    graph: Any = "auto",
    times: np.ndarray | None = None,
    integers: np.ndarray | None = None,
    callback: Callable[[Progress], Any] | None = None,
) -> Repaired:
    """Fill the gaps of a table, and replace its wrong cells, with `RobustImputer`.

    Fill values count as wrong cells and are left out of the fit; see `fill_values`.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    gaps, errors : bool, default=True
        Whether to fill gaps, and to replace wrong cells.
    alpha : float, default=0.02
        False discovery rate of the wrong cells. It is smaller than that of
        `RobustImputer`, because values are changed.
    graph : default="auto"
        Graph between rows, as in `RPCAG`. "auto" is "robust"; if there are `times`, it
        is "chain" if that predicts hidden cells clearly better.
    times : ndarray of shape (n,), optional
        Times of the rows, which need not be sorted.
    integers : bool ndarray of shape (p,), optional
        Columns whose new values are rounded.
    callback : callable, optional
        As in `RobustImputer`.
    """
    X = np.asarray(X, dtype=np.float64)
    order = np.arange(len(X))
    if times is not None and isinstance(graph, str):  # others are for the given order
        order = np.argsort(times, kind="stable")
    marks = fill_values(X)
    known = np.where(marks, np.nan, X)[order]

    def fit(graph) -> RobustImputer:
        return RobustImputer(
            alpha=alpha, graph=graph, keep_empty_features=True, callback=callback
        ).fit(known)

    is_auto = isinstance(graph, str) and graph == "auto"
    imputer = fit("robust" if is_auto else graph)
    if is_auto and times is not None:
        chain = fit("chain")
        if _unexplained(chain) < CHAIN * _unexplained(imputer):
            imputer = chain
    place = np.argsort(order, kind="stable")  # back to the order of X
    dead = np.isnan(imputer.explained_)
    marks &= ~dead
    filled = np.isnan(X) & ~dead & gaps
    replaced = (imputer.outliers_[place] | marks) & errors
    changed = filled | replaced
    new = imputer.low_rank()[place]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        distances = np.abs(X - new) / imputer.prediction_error_
    distances = np.minimum(distances, np.finfo(float).max)
    if integers is not None:
        new = np.where(integers, np.rint(new), new)
    bounds = imputer.predict_interval(alpha=1 - COVERAGE)
    lower, upper = (np.where(changed, bound[place], np.nan) for bound in bounds)
    return Repaired(
        values=np.where(changed, new, X),
        filled=filled,
        replaced=replaced,
        fill_values=[
            np.unique(x[cells])
            for x, cells in zip(X.T, (marks & errors).T, strict=True)
        ],
        lower=lower,
        upper=upper,
        scores=np.where(marks, distances, imputer.outlier_scores_[place]),
        explained=imputer.explained_,
        error=imputer.prediction_error_,
        median_error=imputer.median_error_,
        dead=dead,
        coverage=COVERAGE,
    )


def _unexplained(imputer: RobustImputer) -> float:
    """Squared error of hidden cells relative to the median's, mean over columns."""
    shares = 1 - imputer.explained_[~np.isnan(imputer.explained_)]
    return float(np.mean(shares)) if len(shares) else 0.0
