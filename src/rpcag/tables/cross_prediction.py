"""Predict every observed cell of a table from fits that did not see it."""

import math
from collections.abc import Callable

import numpy as np

from rpcag.graphs.laplacian import laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.models import RPCAG
from rpcag.models.hidden_entries import SEED
from rpcag.models.trials import Trials, Watch
from rpcag.solvers import Progress

# Parts of the cells; each is predicted from the others. More parts take more time; with
# fewer the fits see less of the table than the final one does.
FOLDS = 5
# Longest run of cells that is hidden together, as a share of the rows.
LONGEST = 0.05


def cross_predict(
    X: np.ndarray,
    model: RPCAG,
    *,
    folds: np.ndarray,
    callback: Callable[[Progress], bool | None] | None = None,
) -> np.ndarray:
    """Predictions of the observed cells of X, with NaN where X is missing.

    The cells of a fold are hidden and predicted with the weights and the graph of the
    fitted model. The trials are those that choose weights: short and uncertified.
    """
    predicted = np.full(X.shape, np.nan)
    observed, watch = ~np.isnan(X), Watch(callback)
    for fold in range(FOLDS):
        hidden = observed & (folds == fold)
        if not hidden.any() or (observed & ~hidden).sum() == 0:
            continue
        trials = Trials(X, _builder(model), watch, hidden)
        gamma = 0.0
        if model.gamma_ > 0:
            gamma = model.gamma_ / trials.gamma_unit * trials.graph_stiffness()
        cell = (model.lam_ / trials.lam_unit, gamma)
        trials.error(cell)
        predicted[hidden] = trials.predictions[cell]
    return predicted


def draw_folds(missing: np.ndarray) -> np.ndarray:
    """A fold for every cell: at random, in runs as long as gaps typically are.

    A gap next to observed cells of its column is easier to predict than one inside a
    long run of gaps. Folds that imitate the runs do not underestimate the error.
    """
    n, p = missing.shape
    length = _typical_run(missing)
    rng = np.random.default_rng(SEED)
    blocks = rng.integers(FOLDS, size=(math.ceil(n / length) + 1, p))
    shift = rng.integers(length, size=p)
    rows = (np.arange(n)[:, None] + shift) // length
    return np.take_along_axis(blocks, rows, axis=0)


def _typical_run(missing: np.ndarray) -> int:
    """Median length of the run that a missing cell is in; 1 if gaps are at random."""
    lengths: list[int] = []
    for column in missing.T:
        ends = np.flatnonzero(np.diff(np.r_[False, column, False].astype(np.int8)))
        if len(ends) and not column.all():
            lengths += (ends[1::2] - ends[::2]).tolist()
    if not lengths:
        return 1
    ordered = np.sort(lengths)
    half = np.searchsorted(np.cumsum(ordered), ordered.sum() / 2)
    return int(np.clip(ordered[half], 1, max(LONGEST * len(missing), 1)))


def _builder(model: RPCAG):
    if model.gamma_ == 0:
        return None
    Phi = laplacian(model.adjacency_, model.laplacian)
    return lambda Y, L: ShiftedLaplacian(Phi, Y.shape[1])
