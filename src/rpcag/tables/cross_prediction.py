"""Predict every observed cell of a table from fits without it (cross-validation)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rpcag.models.hidden_entries import SEED
from rpcag.models.rules import theory_lam
from rpcag.models.trials import Build, Trials, Watch, observed_part
from rpcag.solvers import Progress

# Number of folds of the cells; each is predicted from the others. With fewer folds,
# fits have less of a row than the final fit, and intervals are too wide. With more,
# wrong cells beside each other are rarely hidden together, and predict each other. Fits
# of large tables take longer, so all folds together have at most CELLS cells, but there
# are at least a few folds.
FEWEST, MOST, CELLS = 10, 20, 4_000_000
# Iterations after which the errors of these fits are like those of the certified fit.
# To find wrong cells, fewer are used. With more, fits follow a sensor that is stuck at
# a wrong value, and it is found less often.
ITERATIONS = 60
# Longest run of cells that is hidden together, as a share of the rows.
LONGEST = 0.05


class Weights(NamedTuple):
    """lam and gamma of `RPCAG`, and how to build its graph."""

    lam: float
    gamma: float
    build: Build | None


@dataclass(frozen=True, eq=False)
class Folds:
    """A partition of all cells, gaps included, into folds.

    Cells of the same place are hidden together: at random, in runs as long as typical
    gaps, because a gap next to observed cells of its column is easier to predict than
    one inside a long run. A place has at most one cell of every row, so that hidden
    cells are like gaps: as many other cells of their row are missing.
    """

    places: np.ndarray  # of the shape of the table
    n: int  # number of folds

    @classmethod
    def draw(cls, missing: np.ndarray) -> "Folds":
        n, p = missing.shape
        n_folds = int(np.clip(CELLS // max(missing.size, 1), FEWEST, MOST))
        length = _typical_run(missing)
        rng = np.random.default_rng(SEED)
        width, n_blocks = max(p, n_folds), math.ceil(n / length) + 1
        order = np.arange(width, dtype=np.min_scalar_type(width))
        blocks = rng.permuted(np.tile(order, (n_blocks, 1)), axis=1)[:, :p]
        return cls(blocks[(np.arange(n) + rng.integers(length)) // length], n_folds)

    @property
    def of_all(self) -> np.ndarray:
        """The fold of every cell; in wide tables, several cells of a row are in one."""
        return (self.places % self.n).astype(np.int8)

    @property
    def is_like_gap(self) -> np.ndarray:
        """Cells that are hidden without another cell of their row."""
        return self.places < self.n

    def like_gaps(self, missing: np.ndarray) -> np.ndarray:
        """The folds of these cells and of the missing ones; -1 for all others."""
        return np.where(missing | self.is_like_gap, self.of_all, np.int8(-1))


def cross_predict(
    X: np.ndarray,
    weights: Weights,
    folds: np.ndarray,
    callback: Callable[[Progress], bool | None] | None = None,
    max_iter: int = 0,
) -> np.ndarray:
    """Predict every cell with a fold >= 0 by a fit without this fold.

    Missing cells belong to folds too, so that their values are as accurate as the
    predictions of observed cells. The graph is rebuilt without the fold, because
    neighbors that were found with a cell predict it too well. The fits are the trials
    that also choose weights, with `max_iter` iterations if this is more than usual.
    """
    labels = folds[folds >= 0]
    predicted = np.zeros(len(labels), X.dtype)
    observed, watch = ~np.isnan(X), Watch(callback)
    # lam in units of the theory's, which grows as more cells are hidden.
    c = weights.lam / theory_lam(X.shape, observed_part(X))
    for fold in range(int(folds.max()) + 1):
        cells = folds == fold
        hidden = observed & cells
        if not hidden.any() or not (observed & ~hidden).any():
            continue
        trials, gamma = Trials(X, weights.build, watch, [hidden]), 0.0
        trials.most = max(trials.most, max_iter)
        if weights.gamma > 0:
            gamma = weights.gamma / trials.gamma_unit * trials.graph_stiffness()
        trials.error((c, gamma))
        predicted[labels == fold] = trials.size * trials.ends[c, gamma].L[0][cells]
        del trials  # before the next one: each is several times as large as X
    return predicted


def _typical_run(missing: np.ndarray) -> int:
    """Median length of the run that a missing cell is in; 1 if gaps are at random."""
    columns = missing[:, ~missing.all(axis=0)].T.astype(np.int8)
    changes = np.diff(columns, axis=1, prepend=0, append=0)
    starts, ends = (np.nonzero(changes == change)[1] for change in (1, -1))
    lengths = np.sort(ends - starts)
    if not len(lengths):
        return 1
    half = np.searchsorted(np.cumsum(lengths), lengths.sum() / 2)
    return int(np.clip(lengths[half], 1, max(LONGEST * len(missing), 1)))
