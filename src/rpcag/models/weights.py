"""Choose lam and gamma from the data, by predicting hidden entries."""

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse

from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.models.hidden_entries import hide, spread_of
from rpcag.models.parts import FEATURES, QUARTER, random_rows, some_of
from rpcag.models.problem import (
    FACTORED,
    OFFSET,
    Problem,
    clustering_gamma,
    observed_share,
    theory_lam,
    typical_centre,
    typical_size,
    typical_spread,
)
from rpcag.models.problem import FAR as DISTANT
from rpcag.solvers import Progress, State
from rpcag.solvers.admm import PENALTY, iterates
from rpcag.terms import GraphSmoothness, L1Loss, NuclearNorm

# Candidates for lam, relative to the theory's. Larger ones act like the last.
STEPS = (1.0, 2.0, 4.0, 8.0, 16.0)
# Without a graph, only candidates below LARGEST are tried after the theory's. Entries
# of a subgradient of the nuclear norm are at most one, so with a larger lam S = 0, and
# L contains all gross errors.
LARGEST = 1.0
# Candidates for gamma, relative to that for clustering, each with a factor of lam: the
# more the graph smooths L, the less a small lam is needed for it.
GAMMAS = tuple((4.0**k, math.sqrt(2) ** (k + 2)) for k in range(-2, 4))
# A larger lam, or a graph, has to reduce the squared error by this share. Without it,
# data without gross errors would get an ever larger lam for nothing, and the error that
# a trial of a graph leaves could choose the graph.
GAIN = 5e-3
# A gamma above the one for clustering has to reduce it by this share: it is for graphs
# that know more than the data, such as an order in time.
MORE = 2e-2
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
# features that are mostly constant, the median itself predicts those. A part of the
# data, at least LOOK rows and features, and FIRST iterations tell whether to go on.
EXACT, NEARLY, FINER, FAR = 1e-2, 5e-2, 4, 0.25
LOOK, FIRST = (300, 1000), 8
# Quantile of the residuals that is their typical size, and that of a normal variable:
# a quarter of the entries may be grossly wrong. Residuals are truncated at TAILS of it;
# smaller values ignore the tails that residuals have.
SPARED, SPARED_NORMAL, TAILS = 0.75, 1.15, 10.0


Build = Callable[[np.ndarray, np.ndarray], ShiftedLaplacian]
Cell = tuple[float, float]  # lam and gamma, relative to the theory's and clustering's
PLAIN: Cell = (1.0, 0.0)


@dataclass(frozen=True)
class Choice:
    """The weights that predict hidden entries best.

    Attributes
    ----------
    lam, gamma : float
    factors : tuple of float
        lam relative to the theory's, gamma relative to the one for clustering.
    explained, explained_error : float
        Share of the spread of the hidden entries that is predicted, and its standard
        error: one minus the squared ratio of the median distances to the prediction
        and to the median of the feature.
    trials : dict of ndarray
        ``lam``, ``gamma`` and ``error`` of every candidate: the root mean squared error
        of the hidden entries, truncated, in the unit of X.
    n_hidden, n_rows : int
        Entries that were predicted, and rows of X that were used.
    """

    lam: float
    gamma: float
    factors: tuple[float, float]
    explained: float
    explained_error: float
    trials: dict[str, np.ndarray]
    n_hidden: int
    n_rows: int


def choose(
    X: np.ndarray,
    *,
    lam: float | None = None,
    gamma: float | None = 0.0,
    build: Build | None = None,
    rows: np.ndarray | None = None,
    shape: tuple[int, int] | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
) -> Choice:
    """Choose lam and gamma, where they are None, for Robust PCA on graphs.

    A share of the observed entries is hidden and predicted by L. The search is greedy:

    1. lam without the graph: the theory's, doubled while the error falls, then times
       and over the root of two;
    2. a gamma with its lam; larger ones while the error falls, or a smaller one if it
       does not; then the lam of the best times and over the root of two.

    gamma is 0 unless another value predicts better. Data that the theory's lam predicts
    exactly keep it. A candidate takes a few iterations from where another one ended, so
    the whole choice costs about as much as a fit.

    `rows` are the rows to look at, by default random ones. `build` makes their
    Laplacian, from these rows and L at the theory's lam. `shape` is that of all data,
    where X are some rows of them. Weights are for all data, those that are given too.
    """
    if rows is None:
        rows = random_rows(X.shape)
    part = X if len(rows) == len(X) else X[rows]
    if X.shape[1] > FEATURES:
        part = part[:, some_of(X.shape[1], FEATURES)]
    trials, is_exact = _begin(X, part, lam is None, build, callback)
    units = _Units.of(X, shape or X.shape, trials.X.shape)
    first = 1.0 if lam is None else lam / units.lam / units.transfer
    if is_exact or len(trials.truth) == 0:  # too few entries to hide one
        units = replace(units, transfer=1.0)  # exact data have no noise
        return trials.choice((first, 0.0), units, lam, gamma)
    if gamma is not None:
        g = gamma and gamma / units.gamma * trials.graph_stiffness()
        if g > 0:
            trials.squares.pop(PLAIN, None)  # not a candidate: it has another gamma
        best = _search_lam(trials, first, g, lam is None)
        return trials.choice(best, units, lam, gamma)
    best = _search_lam(trials, first, 0.0, lam is None)
    trials.keep(best)
    weak, middle, strong, *strongest = (
        (best[0] * factor if lam is None else first, share) for share, factor in GAMMAS
    )
    if trials.error(middle, best) >= trials.error(best):
        trials.error(weak, best)
    elif trials.error(strong, middle) < trials.error(middle):
        for before, cell in pairwise((strong, *strongest)):
            trials.error(cell, before)
            if not trials.is_better(cell, before, MORE):
                del trials.squares[cell]
                break
            trials.keep(cell)
    found = trials.smallest()
    if found[1] > 0 and lam is None:
        for c in (found[0] / math.sqrt(2), found[0] * math.sqrt(2)):
            trials.keep(found)
            trials.error((c, found[1]), found)
    return trials.choice(trials.best(), units, lam, gamma)


@dataclass(frozen=True)
class _Units:
    """The theory's lam and the gamma for clustering, of all data.

    What suits a part suits all data with lam times `transfer`, relative to these.
    """

    lam: float
    gamma: float
    transfer: float

    @classmethod
    def of(cls, X, shape: tuple[int, int], part: tuple[int, int]) -> "_Units":
        share = _observed_share(X)
        gamma = clustering_gamma(shape, typical_size(X), share)
        return cls(theory_lam(shape, share), gamma, _aspect(part) / _aspect(shape))


def _observed_share(X) -> float:
    return observed_share(X) or 1.0  # some rows may have no entry at all


def _begin(X, part, is_free: bool, build, callback) -> tuple["Trials", bool]:
    """Trials of a part of X, and whether the theory's lam predicts its entries exactly.

    A few iterations, on less of large data, tell whether more are worth it.
    """
    residual, is_large = math.inf, min(part.shape) >= FACTORED
    if is_free and is_large:
        sides = (max(n // QUARTER, m) for n, m in zip(X.shape, LOOK, strict=True))
        rows, columns = (some_of(n, m) for n, m in zip(X.shape, sides, strict=True))
        look = Trials(X[np.ix_(rows, columns)], None, callback)
        if len(look.truth):
            residual = look.residual(FIRST)
        if residual <= EXACT or look.is_stopped:
            return look, True
    trials = Trials(part, build, callback)
    if is_free and not is_large and len(trials.truth):
        residual = trials.residual(FIRST)
    if EXACT < residual <= NEARLY:
        residual = trials.residual(FINER * FIRST)
    return trials, residual <= EXACT or trials.is_stopped


def _search_lam(trials: "Trials", first: float, gamma: float, free: bool) -> Cell:
    best = (first, gamma)
    trials.error(best)
    if not free:
        return best
    for c in trials.steps():
        if not trials.is_open(c, gamma):
            break
        trials.error((c, gamma), best)
        if not trials.is_better((c, gamma), best):
            break
        best = (c, gamma)
        trials.keep(best)
    for factor in (1 / math.sqrt(2), math.sqrt(2)):
        if trials.is_open(best[0] * factor, gamma):
            trials.error((best[0] * factor, gamma), best)
            trials.keep(best, trials.smallest())
    return trials.smallest()


class Trials:
    """Hidden entries of a part of the data, and how well pairs of weights predict them.

    A trial is the ADMM of `rpcag.solvers.admm`, in single precision where that does,
    with one penalty for all candidates, theory's lam / typical size: their iterates
    have the same scale, so each starts where a neighbor ended.
    """

    def __init__(self, X, build, callback=None, hidden=None) -> None:
        self.X = X
        self.at = np.nonzero(hide(X) if hidden is None else hidden)
        self.Y = X.copy()
        self.Y[self.at] = np.nan
        self.truth = X[self.at].astype(np.float64)
        self.spread = spread_of(self.Y)
        self.size = typical_size(self.Y)
        center = typical_centre(self.Y)
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
        self.build, self.callback = build, callback
        share = _observed_share(self.Y)
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
        self.n_iter = 0
        # Most entries equal the median of their feature, as in counts with many zeros.
        self.is_tied = len(self.truth) > 0 and float(np.median(self.trivial)) == 0
        self.is_stopped = False  # by the callback: what was tried decides
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
            if self.is_stopped and self.squares:
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

    def steps(self) -> tuple[float, ...]:
        """Candidates for lam after the theory's.

        What differs from the medians of mostly tied data is a matrix with a share of
        its entries. As with missing entries, its lam is the theory's over the root of
        the share: far below, L is zero, and doubling lam changes nothing.
        """
        share = float(np.mean(self.trivial > 0))
        if share == 0 or not self.is_tied:
            return STEPS[1:]
        return tuple(step / math.sqrt(share) for step in STEPS)

    def is_open(self, c: float, gamma: float) -> bool:
        """Whether this factor of lam leaves room for errors in S."""
        return gamma > 0 or c * self.lam_unit < LARGEST

    def smallest(self, with_graph: bool = True) -> Cell:
        """The cell with the smallest error so far."""
        cells = [cell for cell in self.squares if with_graph or cell[1] == 0]
        return min(cells, key=lambda cell: (self.error(cell), *cell))

    def best(self) -> Cell:
        """The cell with the smallest error, without a graph unless that is better."""
        found, without = self.smallest(), self.smallest(with_graph=False)
        return found if self.is_better(found, without) else without

    def is_better(self, cell: Cell, than: Cell, gain: float = GAIN) -> bool:
        """Whether the error falls by more than this share of what could be gained."""
        if cell not in self.squares:
            return False
        gained = float((self.squares[than] - self.squares[cell]).sum())
        return gained > gain * self._reducible(than)

    def _reducible(self, cell: Cell) -> float:
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
                callback=lambda progress: self._stops(progress.rank),
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
            if self._ends(errors, SETTLED * self._reducible(cell), fewest, most):
                self.states[cell], self.answers[cell] = state, L
                self.ranks[cell] = self.nuclear.rank
                break
        if len(self.ranks) == 1:
            self._tighten(cell)

    def _ends(self, errors: list[float], small: float, fewest: int, most: int) -> bool:
        self._stops(self.nuclear.rank)
        still = [abs(a - b) < small for a, b in pairwise(errors[-3:])]
        settled = len(still) == 2 and all(still)
        # Worse than the best, and getting worse. Counts with many zeros start at L = 0,
        # and a trial that ended so early did not show whether its lam is better.
        lost = self.lowest < errors[-1] and errors[-3:] == sorted(errors[-3:])
        lost &= not self.is_tied
        ends = len(errors) >= fewest and (settled or lost)
        return ends or len(errors) >= most or self.is_stopped

    def _stops(self, rank: int | None) -> bool:
        """Count an iteration, and ask the callback; nothing is certified yet."""
        self.n_iter += 1
        if self.callback is not None:
            step = Progress(self.n_iter, math.inf, 0.0, 1.0, 1.0, 1.0, rank=rank)
            self.is_stopped |= bool(self.callback(step))
        return self.is_stopped

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

    def choice(self, cell: Cell, units: _Units, lam, gamma) -> Choice:
        explained, error = math.nan, math.nan
        if cell in self.predictions:
            explained, error = self.spread.explained(
                self.truth, self.predictions[cell], self.at[1]
            )

        def found_lam(c: float) -> float:
            return c * units.transfer * units.lam if lam is None else lam

        def found_gamma(g: float) -> float:
            return g * units.gamma / self.stiffness if gamma is None else gamma

        cells = list(self.squares)
        return Choice(
            lam=found_lam(cell[0]),
            gamma=found_gamma(cell[1]),
            factors=(units.transfer * cell[0], cell[1] / self.stiffness),
            explained=explained,
            explained_error=error,
            trials={
                "lam": np.array([found_lam(c) for c, _ in cells]),
                "gamma": np.array([found_gamma(g) for _, g in cells]),
                "error": self.size * np.sqrt([self.error(cell) for cell in cells]),
            },
            n_hidden=len(self.truth),
            n_rows=len(self.Y),
        )


def _rough(Phi) -> ShiftedLaplacian:
    method = "cg" if sparse.issparse(Phi) else "auto"
    return ShiftedLaplacian(Phi, method=method, reduction=ROUGH)


def _aspect(shape: tuple[int, int]) -> float:
    """(sqrt(n) + sqrt(p)) / sqrt(max(n, p)).

    The norm of noise is in proportion to sqrt(n) + sqrt(p), so the best lam of a part
    and that of all data differ by this, and not only by the theory's lam.
    """
    return 1 + math.sqrt(min(shape) / max(shape))
