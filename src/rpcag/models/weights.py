"""Choose lam and gamma from the data, by predicting hidden entries."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.models.problem import (
    Problem,
    automatic_gamma,
    automatic_lam,
    observed_share,
    typical_size,
)
from rpcag.solvers import Progress, Result

# Random seed of the hidden entries. It is not a small number: a script that spoils
# entries with default_rng(0) must not hide just these.
SEED = (0x72706361, 0x67)
# Share of the observed entries that is hidden. With a larger share the remaining data
# are less like X; with a smaller one the errors are less accurate.
HIDDEN = 0.15
# Residuals are truncated at this many deviations of their feature, because a hidden
# gross error cannot be predicted. Smaller values ignore the tails of features.
TRUNCATION = 3.0
# A deviation is the 95 % quantile of the distances to the median, over that of a normal
# variable. The median distance would ignore the tails that many features have.
QUANTILE, NORMAL = 0.95, 1.96
# Candidates for lam, relative to the automatic one. Larger ones act like the last.
STEPS = (1.0, 2.0, 4.0, 8.0, 16.0)
# Candidates for gamma, relative to the automatic one, each with a factor of lam: the
# more the graph smooths L, the less a small lam is needed for it.
GAMMAS = ((1 / 16, 1.0), (1 / 4, math.sqrt(2)), (1.0, 2.0))
# Certified gap of a trial. A smaller gap changes all errors by about a percent and
# takes twice as long.
GAP, MAX_ITER = 3e-2, 200
# Median residual, relative to the truncation, at which the model counts as exact. Up to
# NEARLY, the trial is repeated with FINE_GAP to find out.
EXACT, NEARLY, FINE_GAP = 1e-3, 2e-2, 1e-3
# Parts of the hidden entries that give the standard error of `explained`.
GROUPS = 10
# Entries and rows that are enough evidence; larger data are judged by some of their
# rows. There are as many rows as features, or their rank would look full.
ENOUGH, FEWEST = 200_000, 300


Build = Callable[[np.ndarray, Result], ShiftedLaplacian]
Cell = tuple[float, float]  # lam and gamma, relative to the automatic ones


@dataclass(frozen=True)
class Choice:
    """The weights that predict hidden entries best.

    Attributes
    ----------
    lam, gamma : float
    factors : tuple of float
        lam and gamma relative to the automatic ones.
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
    callback: Callable[[Progress], bool | None] | None = None,
) -> Choice:
    """Choose lam and gamma, where they are None, for Robust PCA on graphs.

    A share of the observed entries is hidden and predicted by L. The search is greedy:

    1. lam without the graph: the automatic one, doubled while the error falls, then
       times and over the root of two;
    2. three gammas, each with its lam; then that lam times and over the root of two.

    gamma is 0 unless another value predicts better. Data that the automatic lam
    predicts exactly keep it.

    `rows` are the rows to look at, by default random ones. `build` makes their
    Laplacian, from these rows and the solution at the automatic lam without a graph.
    """
    if rows is None:
        rows = random_rows(X.shape)
    trials = _Trials(X if len(rows) == len(X) else X[rows], build, callback)
    if len(trials.truth) == 0:  # too few entries to hide one
        start = (1.0 if lam is None else lam / trials.lam_unit, 0.0)
        return trials.choice(start, X, lam, gamma)
    first = 1.0 if lam is None else lam / trials.lam_unit
    if gamma is not None:
        fixed = 0.0
        if gamma > 0:
            trials._graph_problem()
            fixed = gamma / trials.gamma_unit * trials.stiffness
        best = _search_lam(trials, first, fixed, lam is None)
    else:
        best = _search_lam(trials, first, 0.0, lam is None)
        if not trials.is_exact(best):
            for share, factor in GAMMAS:
                c = best[0] * factor if lam is None else first
                trials.error((c, share))
            found = trials.best()
            if found[1] > 0 and lam is None:
                trials.error((found[0] / math.sqrt(2), found[1]))
                trials.error((found[0] * math.sqrt(2), found[1]))
            best = trials.best()
    return trials.choice(best, X, lam, gamma)


def _search_lam(trials: "_Trials", first: float, gamma: float, free: bool):
    best = (first, gamma)
    trials.error(best)
    if not free or trials.is_exact(best):
        return best
    for c in STEPS[1:]:
        if trials.error((c, gamma)) >= trials.error(best):
            break
        best = (c, gamma)
    for factor in (1 / math.sqrt(2), math.sqrt(2)):
        trials.error((best[0] * factor, gamma))
    return trials.best()


class _Trials:
    """Hidden entries of some rows, and how well pairs of weights predict them."""

    def __init__(self, X, build, callback) -> None:
        rng = np.random.default_rng(SEED)
        hidden = (rng.random(X.shape) < HIDDEN) & ~np.isnan(X)
        # Rows and columns that would lose all their entries keep them.
        for axis in (0, 1):
            left = (~np.isnan(X) & ~hidden).any(axis=axis, keepdims=True)
            hidden &= left
        self.at = np.nonzero(hidden)
        self.Y = X.copy()
        self.Y[self.at] = np.nan
        self.truth = X[self.at].astype(np.float64)
        centre, self.limit = _centre_and_limit(self.Y)
        centre, limit = centre[self.at[1]], self.limit[self.at[1]]
        self.at_limit = limit
        self.trivial = np.minimum(np.abs(self.truth - centre), limit) ** 2
        self.build, self.callback = build, callback
        share = observed_share(self.Y)
        self.lam_unit = automatic_lam(X.shape, share)
        self.gamma_unit = automatic_gamma(X.shape, typical_size(self.Y), share)
        self.problem = Problem(self.Y, self.lam_unit)
        self.with_graph: Problem | None = None
        self.theory: Result | None = None
        self.stiffness = 1.0
        self.is_stopped = False  # by the callback: what was tried decides
        self.errors: dict[Cell, float] = {}
        self.squares: dict[Cell, np.ndarray] = {}

    def error(self, cell: Cell) -> float:
        """Mean squared error of the hidden entries, truncated."""
        if cell not in self.errors and self.is_stopped:
            return math.inf
        if cell not in self.errors:
            self._enter(cell, self._solve(cell))
        return self.errors[cell]

    def best(self) -> Cell:
        return min(self.errors, key=lambda cell: (self.errors[cell], cell[1], cell[0]))

    def is_exact(self, cell: Cell) -> bool:
        """Whether most hidden entries are predicted to rounding.

        A trial that comes near is solved again, to a smaller gap.
        """
        self.error(cell)
        if EXACT < self._typical_residual(cell) <= NEARLY:
            self._enter(cell, self._solve(cell, FINE_GAP))
        return self._typical_residual(cell) <= EXACT

    def _typical_residual(self, cell: Cell) -> float:
        """The median, in units of the truncation."""
        unit = float(np.median(self.at_limit)) or 1.0
        return math.sqrt(float(np.median(self.squares[cell]))) / unit

    def _enter(self, cell: Cell, result: Result) -> None:
        distances = np.abs(self.truth - result.x[self.at])
        self.squares[cell] = np.minimum(distances, self.at_limit) ** 2
        self.errors[cell] = float(self.squares[cell].mean())

    def _solve(self, cell: Cell, gap: float = GAP) -> Result:
        c, g = cell
        problem = self.problem if g == 0 else self._graph_problem()
        gamma = g * self.gamma_unit / self.stiffness
        # From zero: a start at the answer for another lam takes longer at large lam.
        result = problem.at(c * self.lam_unit, gamma).solve(
            tol=gap, max_iter=MAX_ITER, callback=self.callback
        )
        if cell == (1.0, 0.0):
            self.theory = result
        if result.status == "stopped":
            self.is_stopped = True
        return result

    def _graph_problem(self) -> Problem:
        if self.with_graph is None:
            assert self.build is not None
            theory = self.theory or self._solve((1.0, 0.0))
            shifted = self.build(self.Y, theory)
            # A combinatorial Laplacian has the unit of the weights: one per degree.
            self.stiffness = float(shifted.laplacian.diagonal().mean()) or 1.0
            self.with_graph = Problem(self.Y, self.lam_unit, 1.0, shifted)
        return self.with_graph

    def _explained(self, cell: Cell) -> tuple[float, float]:
        """Robust share of the spread that is predicted, and its standard error.

        One minus the squared ratio of two medians: of the distances to the prediction
        and to the median of the feature, in units of the feature. The error is from
        GROUPS parts of the hidden entries.
        """
        if cell not in self.squares:
            return math.nan, math.nan
        unit = np.where(self.at_limit > 0, self.at_limit, 1.0)
        left = np.sqrt(self.squares[cell]) / unit
        all_of_it = np.sqrt(self.trivial) / unit
        groups = np.random.default_rng(SEED).permutation(len(left)) % GROUPS
        parts = [
            _share(left[groups == k], all_of_it[groups == k])
            for k in range(min(GROUPS, len(left)))
        ]
        error = float(np.std(parts) / math.sqrt(len(parts))) if parts else math.nan
        return _share(left, all_of_it), error

    def choice(self, cell: Cell, X, lam, gamma) -> Choice:
        share, n_hidden = observed_share(X), len(self.truth)
        units = (
            automatic_lam(X.shape, share),
            automatic_gamma(X.shape, typical_size(X), share),
        )
        explained, spread = self._explained(cell)

        def found_lam(c: float) -> float:
            return c * units[0] if lam is None else lam

        def found_gamma(g: float) -> float:
            return g * units[1] / self.stiffness if gamma is None else gamma

        cells = list(self.errors)
        return Choice(
            lam=found_lam(cell[0]),
            gamma=found_gamma(cell[1]),
            factors=(cell[0], cell[1] / self.stiffness),
            explained=explained,
            explained_error=spread,
            trials={
                "lam": np.array([found_lam(c) for c, _ in cells]),
                "gamma": np.array([found_gamma(g) for _, g in cells]),
                "error": np.sqrt([self.errors[cell] for cell in cells]),
            },
            n_hidden=n_hidden,
            n_rows=len(self.Y),
        )


def _share(left: np.ndarray, all_of_it: np.ndarray) -> float:
    """1 - (median of left / median of all)^2; of means where most of all is zero."""
    if left.size == 0:
        return math.nan
    typical = np.median if np.median(all_of_it) > 0 else np.mean
    total = float(typical(all_of_it))
    return 1 - (float(typical(left)) / total) ** 2 if total > 0 else 0.0


def _centre_and_limit(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The median of every feature, and the distance at which errors are truncated."""
    seen = ~np.isnan(X).all(axis=0)
    centre, limit = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    centre[seen] = np.nanmedian(X[:, seen], axis=0)
    distances = np.abs(X[:, seen] - centre[seen])
    limit[seen] = np.nanquantile(distances, QUANTILE, axis=0)
    # A feature that is constant but for a few entries: their mean distance.
    flat = limit[seen] == 0
    limit[seen] = np.where(flat, np.nanmean(distances, axis=0), limit[seen])
    return centre, TRUNCATION / NORMAL * limit


def random_rows(shape: tuple[int, int]) -> np.ndarray:
    """Return enough rows for the choice, drawn at random, in their order."""
    n, some = shape[0], _enough_rows(shape)
    if n <= some:
        return np.arange(n)
    return np.sort(np.random.default_rng(SEED).choice(n, some, replace=False))


def connected_rows(adjacency, shape: tuple[int, int]) -> np.ndarray:
    """Return enough rows that keep most of their neighbors.

    They come from breadth-first searches that start at random rows.
    """
    n, some = shape[0], _enough_rows(shape)
    if n <= some:
        return np.arange(n)
    rng = np.random.default_rng(SEED)
    graph = sparse.csr_array(adjacency)
    pieces, found = 8, np.zeros(n, bool)
    for start in rng.permutation(n):
        if found.sum() >= some:
            break
        if not found[start]:
            order = csgraph.breadth_first_order(graph, start, return_predecessors=False)
            order = order[~found[order]]
            found[order[: min(some // pieces + 1, some - int(found.sum()))]] = True
    return np.flatnonzero(found)


def _enough_rows(shape: tuple[int, int]) -> int:
    return max(ENOUGH // shape[1], min(shape[1], 1000), FEWEST)
