"""Predict hidden entries with the cells of a grid of lam and gamma."""

from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np
from joblib import Parallel, delayed

from rpcag.models.trials import PLAIN, Cell, Trials

# After a split, a cell is dropped if its mean squared error is above that of the best
# one by more than DEVIATIONS standard errors of their difference, plus a SHARE of the
# error for what the short trials leave.
DEVIATIONS, SHARE = 2.5, 0.02


def search(
    splits: Sequence[Trials], cells: Sequence[Cell], n_jobs: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Errors of the cells, sorted, on every split, and the ranks of L.

    Errors are root mean squares over the hidden entries, truncated. Both are NaN where
    a cell was dropped.
    """
    errors, ranks = np.full((2, len(splits), len(cells)), np.nan)
    alive = list(range(len(cells)))
    for k, split in enumerate(splits):
        split.error(PLAIN)  # fixes where errors are truncated, for all paths
        if any(cells[i][1] > 0 for i in alive):
            split.graph()
        paths = groupby((cells[i] for i in alive), lambda cell: cell[0])
        jobs = (delayed(_try)(split.fork(), list(path)) for _, path in paths)
        for tried in Parallel(n_jobs=n_jobs, prefer="threads")(jobs):
            split.squares.update(tried.squares)
            split.ranks.update(tried.ranks)
        split.keep()
        for i in alive:
            errors[k, i] = split.size * np.sqrt(split.squares[cells[i]].mean())
            ranks[k, i] = split.ranks[cells[i]]
        alive = _survivors(split, cells, alive)
    return errors, ranks


def _try(trials: Trials, path: Sequence[Cell]) -> Trials:
    """Try one lam with increasing gammas, each from the result of the previous one."""
    for near, cell in pairwise((None, *path)):
        assert cell is not None
        trials.error(cell, near)
        trials.keep(cell)
    return trials


def _survivors(split: Trials, cells: Sequence[Cell], alive: list[int]) -> list[int]:
    """Indices of the cells that may still be the best."""
    best = min((split.squares[cells[i]] for i in alive), key=np.mean)
    slack = SHARE * float(best.mean())

    def may_win(i: int) -> bool:
        worse = split.squares[cells[i]] - best
        noise = float(worse.std()) / max(len(worse), 1) ** 0.5
        return float(worse.mean()) <= DEVIATIONS * noise + slack

    return [i for i in alive if may_win(i)]
