"""Predict hidden entries with the cells of a grid of lam and gamma."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from rpcag.models.trials import PLAIN, Cell, Trials

# After a split, a cell is dropped if its mean squared error is above that of the best
# one by more than DEVIATIONS standard errors of their difference, plus a SHARE of the
# error for what the short trials leave.
DEVIATIONS, SHARE = 2.5, 0.02


class Trial(NamedTuple):
    """Root mean squared error at the hidden entries, truncated, and the rank of L."""

    error: float
    rank: float


def search(
    splits: Sequence[Trials], cells: Sequence[Cell], n_jobs: int | None
) -> list[list[Trial | None]]:
    """Trials of the cells, sorted, on every split; None where a cell was dropped."""
    found: list[list[Trial | None]] = [[None] * len(cells) for _ in splits]
    alive = list(range(len(cells)))
    for k, split in enumerate(splits):
        lams = sorted({cells[i][0] for i in alive})
        split.error(PLAIN)  # sets where errors are truncated, for all paths
        if any(cells[i][1] > 0 for i in alive):
            split.graph()
        paths = [[cells[i] for i in alive if cells[i][0] == lam] for lam in lams]
        jobs = (delayed(_path)(split.fork(), path) for path in paths)
        for squares, ranks in Parallel(n_jobs=n_jobs, prefer="threads")(jobs):
            split.squares.update(squares)
            split.ranks.update(ranks)
        split.keep()
        for i in alive:
            error = split.size * float(np.sqrt(split.squares[cells[i]].mean()))
            found[k][i] = Trial(error, split.ranks[cells[i]])
        alive = _survivors(split, cells, alive)
    return found


def _path(
    trials: Trials, path: Sequence[Cell]
) -> tuple[dict[Cell, np.ndarray], dict[Cell, int]]:
    """Try one lam with rising gammas, each from where the last one ended.

    Returns the squared errors of the hidden entries, and the ranks.
    """
    near = None
    for cell in path:
        trials.error(cell, near)
        trials.keep(cell)
        near = cell
    return trials.squares, trials.ranks


def _survivors(split: Trials, cells: Sequence[Cell], alive: list[int]) -> list[int]:
    """Indices of the cells that may still be the best."""
    best = min((split.squares[cells[i]] for i in alive), key=np.mean)
    slack = SHARE * float(best.mean())

    def may_win(i: int) -> bool:
        worse = split.squares[cells[i]] - best
        noise = float(worse.std()) / max(len(worse), 1) ** 0.5
        return float(worse.mean()) <= DEVIATIONS * noise + slack

    return [i for i in alive if may_win(i)]
