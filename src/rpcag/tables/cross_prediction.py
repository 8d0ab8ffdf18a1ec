"""Predict every observed cell of a table from fits without it (cross-validation)."""

import math
from collections.abc import Callable

import numpy as np

from rpcag.models import RPCAG
from rpcag.models.hidden_entries import SEED
from rpcag.models.rules import theory_lam
from rpcag.models.trials import Trials, Watch
from rpcag.solvers import Progress

# Number of folds of the cells; each is predicted from the others. With fewer folds,
# fits have less of a row than the final fit, and intervals are too wide. With more,
# wrong cells beside each other are rarely hidden together, and predict each other. Fits
# of large tables take longer, so all folds together have at most CELLS cells, but there
# are at least a few folds.
FEWEST, MOST, CELLS = 10, 20, 4_000_000
# Longest run of cells that is hidden together, as a share of the rows.
LONGEST = 0.05


def cross_predict(
    X: np.ndarray,
    model: RPCAG,
    *,
    folds: np.ndarray,
    callback: Callable[[Progress], bool | None] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Predictions of the observed cells of X, and values L of all cells.

    The cells of a fold are hidden and predicted with the weights of the fitted model.
    L is the mean of all these fits. None of them includes the gaps of X, so values in
    gaps are as accurate as the predictions. Predictions are NaN where X is missing.
    The graph is rebuilt without the cells of the fold, because neighbors that were
    found with a cell predict it too well. The fits are the short, uncertified trials
    that also choose weights.
    """
    predicted, L = np.full(X.shape, np.nan, X.dtype), np.zeros_like(X)
    observed, watch = ~np.isnan(X), Watch(callback)
    build = model.trial_graph() if model.gamma_ > 0 else None
    # lam in units of the theory's, which grows as more cells are hidden.
    c = model.lam_ / theory_lam(X.shape, float(observed.mean()))
    n_fits = 0
    for fold in range(int(folds.max()) + 1):
        hidden = observed & (folds == fold)
        if not hidden.any() or (observed & ~hidden).sum() == 0:
            continue
        trials = Trials(X, build, watch, [hidden])
        gamma = 0.0
        if model.gamma_ > 0:
            gamma = model.gamma_ / trials.gamma_unit * trials.graph_stiffness()
        trials.error((c, gamma))
        predicted[hidden] = trials.predictions[c, gamma]
        n_fits += 1
        L += (trials.size * trials.ends[c, gamma].L[0] - L) / n_fits
        del trials  # before the next one: each is several times as large as X
    return predicted, L


def draw_folds(missing: np.ndarray) -> np.ndarray:
    """Assign every cell to a fold: at random, in runs as long as typical gaps.

    A gap next to observed cells of its column is easier to predict than one inside a
    long run of gaps. Folds that imitate the runs do not underestimate the error. The
    cells of a row are in different folds as far as possible, so that cells that predict
    each other are not hidden together.
    """
    n, p = missing.shape
    length = _typical_run(missing)
    rng = np.random.default_rng(SEED)
    n_folds = int(np.clip(CELLS // max(missing.size, 1), FEWEST, MOST))
    n_blocks = math.ceil(n / length) + 1
    width = max(p, n_folds)
    order = np.tile(np.arange(width, dtype=np.min_scalar_type(width)), (n_blocks, 1))
    blocks = (rng.permuted(order, axis=1)[:, :p] % n_folds).astype(np.uint8)
    return blocks[(np.arange(n) + rng.integers(length)) // length]


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
