"""Trials of weights: how well a short solve predicts hidden entries."""

import math
from collections.abc import Callable
from copy import copy
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.models.hidden_entries import hide, spread_of
from rpcag.models.problem import (
    FACTORED,
    OFFSET,
    Problem,
    clustering_gamma,
    observed_share,
    theory_lam,
    typical_center,
    typical_size,
    typical_spread,
)
from rpcag.models.problem import FAR as DISTANT
from rpcag.solvers import Progress, State
from rpcag.solvers.admm import PENALTY, iterates
from rpcag.terms import GraphSmoothness, L1Loss, NuclearNorm

# A trial ends when two iterations in a row change its squared error by less than the
# share SETTLED, and after MOST iterations at the latest. It has FEWEST because the
# first iterations from zero hardly move where the threshold is large.
SETTLED, FEWEST, MOST = 5e-3, 4, 15
# Smallest spread over size of the entries for which penalties are made.
LEAST = 1e-6
# Share of the residual of its first guess that a solve with the Laplacian may leave.
ROUGH = 0.1
# Median residual, relative to the distance of the entry from its feature's median, at
# which the model counts as exact. Up to NEARLY, FINER times as many iterations find
# out. Entries nearer to the median than most are left out (FAR is a quantile): in
# features that are mostly constant, the median itself predicts those. FIRST iterations
# tell whether to go on.
EXACT, NEARLY, FINER, FAR, FIRST = 1e-2, 5e-2, 4, 0.25, 8
# Quantile of the residuals that is their typical size, and that of a normal variable:
# a quarter of the entries may be grossly wrong. Residuals are truncated at TAILS of it;
# smaller values ignore the tails that residuals have.
SPARED, SPARED_NORMAL, TAILS = 0.75, 1.15, 10.0


Cell = tuple[float, float]  # lam and gamma, relative to the theory's and clustering's
PLAIN: Cell = (1.0, 0.0)
# The Laplacian of rows, from these rows and their L at the theory's lam.
Build = Callable[[np.ndarray, np.ndarray], ShiftedLaplacian]


def observed_part(X) -> float:
    return observed_share(X) or 1.0  # some rows may have no entry at all


class Watch:
    """Counts the iterations of all trials, and asks the callback whether to stop."""

    def __init__(self, callback: Callable[[Progress], bool | None] | None) -> None:
        self.callback = callback
        self.n_iter = 0
        self.is_stopped = False

    def stops(self, rank: int | None) -> bool:
        self.n_iter += 1
        if self.callback is not None:  # nothing is certified yet
            step = Progress(self.n_iter, math.inf, 0.0, 1.0, 1.0, 1.0, rank=rank)
            self.is_stopped |= bool(self.callback(step))
        return self.is_stopped


class Trials:
    """Hidden entries of a part of the data, and how well pairs of weights predict them.

    A trial is the ADMM of `rpcag.solvers.admm`, in single precision where that does,
    with one penalty for all candidates, theory's lam / typical size: their iterates
    have the same scale, so each starts where a neighbor ended.
    """

    def __init__(
        self,
        X: np.ndarray,
        build: Build | None,
        watch: Watch | None = None,
        hidden: np.ndarray | None = None,
    ) -> None:
        self.X = X
        self.at = np.nonzero(hide(X) if hidden is None else hidden)
        self.Y = X.copy()
        self.Y[self.at] = np.nan
        self.truth = X[self.at].astype(np.float64)
        self.spread = spread_of(self.Y)
        self.size = typical_size(self.Y)
        center = typical_center(self.Y)
        spread = typical_spread(self.Y, self.size, center, LEAST)
        # Data far from zero take more iterations to reach the offset of the features.
        # If that is all that single precision sees, the first trial starts there, with
        # the penalty of deviations. The offset cannot be taken off: a graph acts on it.
        self.most = FINER * MOST if spread < DISTANT * self.size else MOST
        is_far = spread < OFFSET * self.size
        self.center = center / self.size if is_far else None
        self.dtype = np.dtype(float if is_far else np.float32)
        # Squares are in units of the typical size, so that none under- or overflows.
        self.widest = self.limit = self.spread.limit[self.at[1]] / self.size
        self.trivial = self._squares(self.spread.center[self.at[1]])
        self.build, self.watch = build, watch or Watch(None)
        share = observed_part(self.Y)
        self.lam_unit = theory_lam(X.shape, share)
        self.gamma_unit = clustering_gamma(X.shape, self.size, share)
        # In units of the typical size, with errors that no sum of squares overflows.
        with np.errstate(over="ignore"):
            self.scaled = np.clip(self.Y / self.size, -1e6, 1e6).astype(self.dtype)
        self.penalty = self.lam_unit * (self.size / spread) ** (1.0 if is_far else 0.5)
        self.nuclear = NuclearNorm()
        self.loss = L1Loss(self.scaled, self.lam_unit)
        self.shifted: ShiftedLaplacian | None = None
        self.stiffness = 1.0
        # Most entries equal the median of their feature, as in counts with many zeros.
        self.is_tied = len(self.truth) > 0 and float(np.median(self.trivial)) == 0
        self.states: dict[Cell, State] = {}
        self.answers: dict[Cell, np.ndarray] = {}
        self.predictions: dict[Cell, np.ndarray] = {}
        self.squares: dict[Cell, np.ndarray] = {}
        self.ranks: dict[Cell, int] = {}

    def fork(self) -> "Trials":
        """The same entries and graph, for trials in another thread."""
        other = copy(self)
        other.nuclear, other.loss = NuclearNorm(), copy(self.loss)
        if self.shifted is not None:
            other.shifted = _rough(self.shifted.laplacian)
        for name in ("states", "answers", "predictions", "squares", "ranks"):
            setattr(other, name, dict(getattr(self, name)))
        return other

    def error(self, cell: Cell, near: Cell | None = None) -> float:
        """Mean squared error of the hidden entries, truncated.

        A trial starts where that of the cell `near` ended.
        """
        if cell not in self.squares:
            if self.watch.is_stopped and self.squares:
                return math.inf
            self._run(cell, near, FEWEST, self.most)
        return float(self.squares[cell].mean())

    def keep(self, *cells: Cell) -> None:
        """Forget where the trials of all other cells ended: each is as large as X.

        The graph is built from the answer of PLAIN, if there will be one.
        """
        self.states = {cell: s for cell, s in self.states.items() if cell in cells}
        if self.build is not None and self.shifted is None:
            cells = (*cells, PLAIN)
        self.answers = {cell: L for cell, L in self.answers.items() if cell in cells}

    def reducible(self, cell: Cell) -> float:
        """Sum of the squares that are not truncated: the others may be gross errors."""
        squares = self.squares[cell]
        return float(squares[squares < self.limit**2].sum())

    def residual(self, most: int) -> float:
        """Typical residual of the theory's lam after so many iterations.

        It is the median over the hidden entries, relative to their distance from the
        median of the feature. Small matrices take fewer iterations if these settle.
        """
        cell = PLAIN
        if min(self.X.shape) < FACTORED:
            self._run(cell, None, FEWEST if most == FIRST else most, most)
        else:  # by the solver that is fast if the rank is low
            result = Problem(self.Y, self.lam_unit).solve(
                tol=EXACT,
                max_iter=most,
                callback=lambda progress: self.watch.stops(progress.rank),
            )
            self._enter(cell, result.x[self.at])
        far = self._far()
        if not far.any():
            return 0.0  # all hidden entries are constant
        squares = self._squares(self.predictions[cell], self.widest)[far]
        found = math.sqrt(float(np.median(squares / self.trivial[far])))
        if found > EXACT and cell not in self.states:
            del self.squares[cell]  # tried anew: the other candidates start there
        return found

    def graph_stiffness(self) -> float:
        """Mean diagonal of the Laplacian: gammas count relative to this."""
        self.graph()
        return self.stiffness

    def _enter(self, cell: Cell, predicted: np.ndarray) -> None:
        self.predictions[cell] = predicted
        self.squares[cell] = self._squares(predicted)

    def _tighten(self, cell: Cell) -> None:
        """Truncate at TAILS typical residuals of the first trial, if that is less.

        An error that is moderate for its feature is gross where all else is predicted
        well, and would choose the weights.
        """
        far = self._far()
        if not far.any():
            return
        residuals = np.sqrt(self.squares[cell][far]) / self.limit[far]
        typical = float(np.quantile(residuals, SPARED)) / SPARED_NORMAL
        self.limit = self.limit * min(max(TAILS * typical, EXACT), 1.0)
        self.squares[cell] = self._squares(self.predictions[cell])

    def _far(self) -> np.ndarray:
        """Hidden entries that are not among those nearest to their feature's median."""
        apart = self.trivial > 0
        if not apart.any():
            return apart
        return self.trivial >= np.quantile(self.trivial[apart], FAR)

    def _squares(self, predicted: np.ndarray, limit=None) -> np.ndarray:
        """Squared residuals, truncated at `limit`, by default `self.limit`."""
        limit = self.limit if limit is None else limit
        with np.errstate(over="ignore"):
            distances = np.abs(self.truth - predicted) / self.size
        return np.minimum(distances, limit) ** 2

    def _run(self, cell: Cell, near: Cell | None, fewest: int, most: int) -> None:
        c, g = cell
        start, terms = self._start(g, near), list[Any]([self.loss])
        if g > 0:
            gamma = g * self.gamma_unit / self.stiffness * self.size
            terms.append(GraphSmoothness(self.graph(), gamma))
        self.loss.lam = c * self.lam_unit
        path = iterates(
            self.nuclear,
            terms,
            self.scaled.shape,
            self.dtype,
            penalty=self.penalty,
            start=start,
        )
        errors: list[float] = []
        others = (s for other, s in self.squares.items() if other != cell)
        self.lowest = min((float(s.sum()) for s in others), default=math.inf)
        for L, state in path:
            self._enter(cell, L[self.at].astype(np.float64) * self.size)
            errors.append(float(self.squares[cell].sum()))
            if self._ends(errors, SETTLED * self.reducible(cell), fewest, most):
                self.states[cell], self.answers[cell] = state, L
                self.ranks[cell] = self.nuclear.rank
                break
        if len(self.ranks) == 1:
            self._tighten(cell)

    def _ends(self, errors: list[float], small: float, fewest: int, most: int) -> bool:
        self.watch.stops(self.nuclear.rank)
        still = [abs(a - b) < small for a, b in pairwise(errors[-3:])]
        settled = len(still) == 2 and all(still)
        # Worse than the best, and getting worse. Counts with many zeros start at L = 0,
        # and a trial that ended so early did not show whether its lam is better.
        lost = self.lowest < errors[-1] and errors[-3:] == sorted(errors[-3:])
        lost &= not self.is_tied
        ends = len(errors) >= fewest and (settled or lost)
        return ends or len(errors) >= most or self.watch.is_stopped

    def _start(self, g: float, near: Cell | None) -> State | None:
        """The end of a trial nearby; a copy for the graph begins at its L.

        Without one: zero, or the medians of data that are far from it.
        """
        state = None if near is None else self.states.get(near)
        if state is None and self.center is not None:
            n_copies = 1 + (g > 0)
            L = np.empty(self.scaled.shape, self.dtype)
            L[:] = self.center
            penalties, ratio = n_copies * (self.penalty,), self.penalty / PENALTY
            return State.of_copies(
                n_copies * [L], n_copies * [np.zeros_like(L)], penalties, ratio
            )
        if state is None or state.n_copies == 1 + (g > 0):
            return state
        assert near is not None
        (P,), (U,) = state.copies()
        L = self.answers[near]
        return State.of_copies(
            [P, L], [U, np.zeros_like(L)], 2 * state.penalties, state.ratio
        )

    def graph(self) -> ShiftedLaplacian:
        if self.shifted is None:
            assert self.build is not None
            is_candidate = PLAIN in self.squares
            self.error(PLAIN)
            L = self.answers.get(PLAIN, np.zeros_like(self.scaled))
            if not is_candidate:  # lam was given, and is not the theory's
                self.squares.pop(PLAIN, None)
            Phi = self.build(self.Y, L).laplacian
            # A combinatorial Laplacian has the unit of the weights: one per degree.
            self.stiffness = float(Phi.diagonal().mean()) or 1.0
            self.shifted = _rough(Phi)
        return self.shifted


def _rough(Phi) -> ShiftedLaplacian:
    method = "cg" if sparse.issparse(Phi) else "auto"
    return ShiftedLaplacian(Phi, method=method, reduction=ROUGH)
