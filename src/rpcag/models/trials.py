"""Trials of weights: how well a short solve predicts hidden entries."""

import math
from collections.abc import Callable, Sequence
from copy import copy
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.sparse import issparse

from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.typical import (
    observed_share,
    typical_center,
    typical_size,
    typical_spread,
)
from rpcag.losses import L1
from rpcag.models.hidden_entries import hide, spread_of
from rpcag.models.rules import clustering_gamma, theory_lam
from rpcag.penalties import NuclearNorm
from rpcag.solvers import Progress
from rpcag.solvers.problem import FACTORED, OFFSET, Problem
from rpcag.solvers.problem import FAR as DISTANT

# A trial ends when two iterations in a row change its squared error by less than the
# share SETTLED, and after MOST iterations at the latest. It has FEWEST because the
# first iterations from zero hardly move where the threshold is large.
SETTLED, FEWEST, MOST = 5e-3, 4, 15
# A trial also ends when its squared error is heading for CLEAR times the least so far.
# A smaller factor ends trials that might win.
CLEAR = 1.3
# Over-relaxation of ADMM: larger values take fewer iterations, up to 2, where it
# diverges.
RELAXATION = 1.7
# Smallest spread over size of the entries for which penalties are made.
LEAST = 1e-6
# Share of the residual of their first guess that conjugate gradients leave at most.
# Smaller values take more iterations and hardly change the predictions.
ROUGH = 0.3
# Median residual, relative to the distance of the entry from its feature's median, at
# which the model counts as exact. Up to NEARLY, FINER times as many iterations find
# out. Entries nearer to the median than most are left out (FAR is a quantile): in
# features that are mostly constant, the median itself predicts those. FIRST iterations
# decide whether to continue.
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


def _is_losing(errors: list[float], lowest: float) -> bool:
    """Whether the last three errors rise above `lowest`, or head for CLEAR times it.

    They are heading for their limit if their differences shrink geometrically.
    """
    first, second, third = errors
    if third <= lowest or third >= second >= first:
        return third > lowest
    before, last = first - second, second - third
    if not 0 < last < before:
        return False
    return third - last**2 / (before - last) > CLEAR * lowest


class Watch:
    """Counts the iterations of all trials; stops if the callback returns true."""

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


class Iterate(NamedTuple):
    """Final state of a trial: L, and the copies of the loss and of the graph, if any.

    U and T are the multipliers of the copies P and W, divided by the penalty.
    """

    L: np.ndarray
    P: np.ndarray
    U: np.ndarray
    W: np.ndarray | None = None
    T: np.ndarray | None = None


class Trials:
    """Hidden entries of a part of the data, and how well pairs of weights predict them.

    Small data have several draws of hidden entries. They are solved together, in
    arrays of shape (n_draws, n, p), and have one error. A trial is ADMM with one fixed
    penalty for all candidates, theory's lam / typical size: their iterates have the
    same scale, so each starts where a neighbor ended.
    """

    def __init__(
        self,
        X: np.ndarray,
        build: Build | None,
        watch: Watch | None = None,
        masks: Sequence[np.ndarray] | None = None,
    ) -> None:
        self.X = X
        hidden = np.array([hide(X)] if masks is None else masks)
        self.at, self.places = np.nonzero(hidden), np.flatnonzero(hidden)
        Y = np.where(hidden, np.nan, X)
        self.Y, self.n_draws = Y, len(Y)
        self.truth = X[self.at[1:]].astype(np.float64)
        # A feature has a spread per draw: its mean must not include hidden entries.
        self.spread = spread_of(Y[0] if len(Y) == 1 else np.hstack(list(Y)))
        self.columns = self.at[0] * X.shape[1] + self.at[2]
        self.size = typical_size(X)
        center = typical_center(X)
        spread = typical_spread(X, self.size, center, LEAST)
        # Data far from zero take more iterations to reach the offset of the features.
        # If single precision resolves little beyond the offset, the first trial starts
        # there, with the penalty of deviations. The offset cannot be subtracted,
        # because a graph acts on it.
        self.most = FINER * MOST if spread < DISTANT * self.size else MOST
        is_far = spread < OFFSET * self.size
        dtype = np.dtype(float if is_far else np.float32)
        self.center = center / self.size if is_far else None
        # Squares are in units of the typical size, so that none under- or overflows.
        self.widest = self.limit = self.spread.limit[self.columns] / self.size
        self.trivial = self._squares(self.spread.center[self.columns])
        self.build, self.watch = build, watch or Watch(None)
        observed = ~np.isnan(Y)
        share = float(observed.mean()) or 1.0
        self.lam_unit = theory_lam(X.shape, share)
        self.gamma_unit = clustering_gamma(X.shape, self.size, share)
        # In units of the typical size, with errors that no sum of squares overflows.
        with np.errstate(over="ignore"):
            scaled = np.clip(Y / self.size, -1e6, 1e6)
        self.scaled = np.where(observed, scaled, 0.0).astype(dtype)
        self.observed = observed.astype(dtype)
        self.penalty = self.lam_unit * (self.size / spread) ** (1.0 if is_far else 0.5)
        self.shrink = _Shrink(Y.shape)
        self.shifted: list[ShiftedLaplacian] = []
        self.stiffness = 1.0
        # Whether a gamma has too few iterations to pay for an inverse. A given gamma
        # may be so large that only an inverse is accurate.
        self.few_solves = False
        # Most entries equal the median of their feature, as in counts with many zeros.
        self.is_tied = len(self.truth) > 0 and float(np.median(self.trivial)) == 0
        self.ends: dict[Cell, Iterate] = {}
        self.predictions: dict[Cell, np.ndarray] = {}
        self.squares: dict[Cell, np.ndarray] = {}
        self.ranks: dict[Cell, int] = {}

    def fork(self) -> "Trials":
        """The same entries and graph, for trials in another thread."""
        other = copy(self)
        other.shrink = _Shrink(self.Y.shape)
        other.shifted = [copy(graph) for graph in self.shifted]
        for name in ("ends", "predictions", "squares", "ranks"):
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
        """Delete the final states of all other cells, each of which is as large as X.

        PLAIN is kept as long as a graph may be built from its result.
        """
        if self.build is not None and not self.shifted:
            cells = (*cells, PLAIN)
        self.ends = {cell: end for cell, end in self.ends.items() if cell in cells}

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
            result = Problem(self.Y[0], self.lam_unit).solve(
                tol=EXACT,
                max_iter=most,
                callback=lambda progress: self.watch.stops(progress.rank),
            )
            self._enter(cell, result.x[self.at[1:]])
        far = self._far()
        if not far.any():
            return 0.0  # all hidden entries are constant
        squares = self._squares(self.predictions[cell], self.widest)[far]
        found = math.sqrt(float(np.median(squares / self.trivial[far])))
        if found > EXACT and cell not in self.ends:
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

        An error that is moderate for its feature would decide the choice if all other
        entries are predicted well.
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
        loss = L1(c * self.lam_unit)
        shift = 0.0
        if g > 0:
            self.graph()
            gamma = g * self.gamma_unit / self.stiffness * self.size
            shift = 2 * gamma / self.penalty
        end = self._start(g, near)
        errors: list[float] = []
        others = (s for other, s in self.squares.items() if other != cell)
        self.lowest = min((float(s.sum()) for s in others), default=math.inf)
        while True:
            end = self._iterate(end, loss, shift)
            predicted = np.take(end.L, self.places)
            self._enter(cell, predicted.astype(np.float64) * self.size)
            errors.append(float(self.squares[cell].sum()))
            if self._is_over(errors, SETTLED * self.reducible(cell), fewest, most):
                break
        self.ends[cell], self.ranks[cell] = end, self.shrink.rank
        if len(self.ranks) == 1:
            self._tighten(cell)

    def _is_over(self, errors: list[float], small: float, fewest: int, most: int):
        self.watch.stops(self.shrink.rank)
        still = [abs(a - b) < small for a, b in pairwise(errors[-3:])]
        settled = len(still) == 2 and all(still)
        # Counts with many zeros start at L = 0, and their early errors do not show
        # where they are heading.
        lost = not self.is_tied and len(errors) > 2
        lost = lost and _is_losing(errors[-3:], self.lowest)
        ends = len(errors) >= fewest and (settled or lost)
        return ends or len(errors) >= most or self.watch.is_stopped

    def _iterate(self, now: Iterate, loss: L1, shift: float) -> Iterate:
        """One iteration of ADMM with the penalty r for min ||L||_* + l(P - X) + g(W).

        L = argmin ||L||_* + r/2 ||P - U - L||^2 (+ r/2 ||W - T - L||^2) shrinks the
        singular values of the mean of P - U and W - T; g is gamma tr(W^T Phi W), whose
        prox is (I + 2 gamma / r Phi)^-1. Missing entries have no loss: U = 0 there.
        """
        P, U, W, T = now[1:]
        A, step = P - U, 1 / self.penalty
        if W is not None and T is not None:
            A, step = (A + (W - T)) / 2, step / 2
        L = self.shrink(A, step)
        V = RELAXATION * L + (1 - RELAXATION) * P
        V += U
        D = (V - self.scaled) * self.observed
        U = loss.project(D, self.penalty, out=D)
        P = V - U
        if W is None or T is None:
            return Iterate(L, P, U)
        V = RELAXATION * L + (1 - RELAXATION) * W + T
        W = W.copy()  # the first guess
        for graph, v, w in zip(self.graph(), V, W, strict=True):
            graph.solve(shift, v, w)
        return Iterate(L, P, U, W, V - W)

    def _start(self, g: float, near: Cell | None) -> Iterate:
        """The final state of a nearby trial; a copy for the graph starts at its L.

        Without one, start at zero, or at the medians if the data are far from zero.
        """
        zero = np.zeros_like(self.scaled)
        start = None if near is None else self.ends.get(near)
        if start is None:
            L = zero if self.center is None else zero + self.center
            start = Iterate(L, L, zero)
        if g == 0:
            return start._replace(W=None, T=None)
        return start if start.W is not None else start._replace(W=start.L, T=zero)

    def graph(self) -> list[ShiftedLaplacian]:
        """The graph of every draw."""
        if not self.shifted:
            assert self.build is not None
            is_candidate = PLAIN in self.squares
            self.error(PLAIN)
            L = self.ends[PLAIN].L if PLAIN in self.ends else np.zeros_like(self.scaled)
            if not is_candidate:  # lam was given, and is not the theory's
                self.squares.pop(PLAIN, None)
            pairs = zip(self.Y, L, strict=True)
            self.shifted = [self._rough(self.build(*pair)) for pair in pairs]
            # A combinatorial Laplacian has the unit of the weights: one per degree.
            diagonals = [graph.laplacian.diagonal().mean() for graph in self.shifted]
            self.stiffness = float(np.mean(diagonals)) or 1.0
        return self.shifted

    def _rough(self, graph: ShiftedLaplacian) -> ShiftedLaplacian:
        # Small graphs are solved more accurately: ROUGH would choose larger lams there.
        if self.few_solves and graph.method == "inverse" and issparse(graph.laplacian):
            return ShiftedLaplacian(graph.laplacian, "cg")
        return ShiftedLaplacian(graph.laplacian, graph.method, ROUGH)


class _Shrink:
    """Subtract a threshold from the singular values of every matrix of a stack."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.large = None
        if shape[0] == 1 and min(shape[1:]) >= FACTORED:
            self.large = NuclearNorm(rough=True)
        self.rank = 0

    def __call__(self, A: np.ndarray, threshold: float) -> np.ndarray:
        if self.large is not None:
            self.large.prox_in_place(A[0], threshold)
            self.rank = self.large.rank
            return A
        # With K = A^T A = Q diag(s^2) Q^T it is A Q diag(max(1 - t / s, 0)) Q^T.
        is_tall = A.shape[1] >= A.shape[2]
        At = A.swapaxes(1, 2)
        squares, Q = np.linalg.eigh(At @ A if is_tall else A @ At)
        kept = np.maximum(squares, threshold**2)
        shares = 1 - threshold / np.sqrt(kept)
        self.rank = int((shares > 0).sum(axis=1).max())
        M = (Q * shares[:, None].astype(Q.dtype)) @ Q.swapaxes(1, 2)
        return A @ M if is_tall else M @ A
