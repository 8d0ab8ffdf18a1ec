"""Choose lam and gamma from the data, by predicting hidden entries."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rpcag.models.hidden_entries import hide
from rpcag.models.parts import FEATURES, QUARTER, random_rows, some_of
from rpcag.models.problem import (
    FACTORED,
    clustering_gamma,
    theory_lam,
    typical_size,
)
from rpcag.models.trials import (
    EXACT,
    FINER,
    FIRST,
    NEARLY,
    PLAIN,
    Build,
    Cell,
    Trials,
    Watch,
    observed_part,
)
from rpcag.solvers import Progress

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
# Data with fewer hidden entries are judged by up to MOST_DRAWS draws of them, so that
# these are ENOUGH: errors of few entries choose weights by chance.
ENOUGH, MOST_DRAWS = 1500, 6
# Large data are first tried for exactness on at least LOOK rows and features.
LOOK = (300, 1000)


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
        error: one minus the ratio of the truncated mean squared distances to the
        prediction, and to the median or mean of the feature, whichever is nearer.
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

    A share of the observed entries is hidden and predicted by L; of small data several
    such shares are, one after the other. The search is greedy:

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
    draw, is_exact = _begin(X, part, lam is None, build, Watch(callback))
    units = _Units.of(X, shape or X.shape, draw.X.shape)
    first = 1.0 if lam is None else lam / units.lam / units.transfer
    if is_exact or len(draw.truth) == 0:  # too few entries to hide one
        units = replace(units, transfer=1.0)  # exact data have no noise
        return Draws([draw]).choice((first, 0.0), units, lam, gamma)
    trials = Draws([draw, *_more_draws(draw)])
    if gamma is not None:
        g = gamma and gamma / units.gamma * draw.graph_stiffness()
        if g > 0:
            trials.drop(PLAIN)  # not a candidate: it has another gamma
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
                trials.drop(cell)
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
        share = observed_part(X)
        gamma = clustering_gamma(shape, typical_size(X), share)
        return cls(theory_lam(shape, share), gamma, _aspect(part) / _aspect(shape))


def _begin(X, part, is_free: bool, build, watch) -> tuple[Trials, bool]:
    """Trials of a part of X, and whether the theory's lam predicts its entries exactly.

    A few iterations, on less of large data, tell whether more are worth it.
    """
    residual, is_large = math.inf, min(part.shape) >= FACTORED
    if is_free and is_large:
        sides = (max(n // QUARTER, m) for n, m in zip(X.shape, LOOK, strict=True))
        rows, columns = (some_of(n, m) for n, m in zip(X.shape, sides, strict=True))
        look = Trials(X[np.ix_(rows, columns)], None, watch)
        if len(look.truth):
            residual = look.residual(FIRST)
        if residual <= EXACT or watch.is_stopped:
            return look, True
    trials = Trials(part, build, watch)
    if is_free and not is_large and len(trials.truth):
        residual = trials.residual(FIRST)
    if EXACT < residual <= NEARLY:
        residual = trials.residual(FINER * FIRST)
    if watch.is_stopped or residual > EXACT:
        return trials, watch.is_stopped
    # The typical residual does not show rows with large factors. Data with few features
    # have such rows, and the theory's lam is too small for them.
    return trials, is_large or not _doubled_is_better(trials)


def _doubled_is_better(trials: Trials) -> bool:
    draw, doubled = Draws([trials]), (STEPS[1], 0.0)
    draw.error(PLAIN)
    draw.error(doubled, PLAIN)
    return draw.is_better(doubled, PLAIN)


def _search_lam(trials: "Draws", first: float, gamma: float, free: bool) -> Cell:
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


def _more_draws(draw: Trials) -> list[Trials]:
    """Further draws of hidden entries, where one has too few."""
    wanted = math.ceil(ENOUGH / len(draw.truth))
    masks = (hide(draw.X, k) for k in range(1, min(wanted, MOST_DRAWS)))
    return [
        Trials(draw.X, draw.build, draw.watch, hidden)
        for hidden in masks
        if hidden.any()
    ]


class Draws:
    """Trials of the same weights on several draws of hidden entries, judged together.

    Squared errors are in units of the first draw's typical size.
    """

    def __init__(self, draws: list[Trials]) -> None:
        self.draws, self.first = draws, draws[0]

    def error(self, cell: Cell, near: Cell | None = None) -> float:
        """Mean squared error of all hidden entries; infinite if a callback stopped."""
        for draw in self.draws:
            draw.error(cell, near)
        if cell not in self.cells():
            return math.inf
        count = sum(len(draw.truth) for draw in self.draws)
        return self._sum(cell) / count

    def cells(self) -> list[Cell]:
        """Those that were tried on all draws."""
        first, *others = (draw.squares for draw in self.draws)
        return [cell for cell in first if all(cell in other for other in others)]

    def keep(self, *cells: Cell) -> None:
        for draw in self.draws:
            draw.keep(*cells)

    def drop(self, cell: Cell) -> None:
        """Do not count this cell as a candidate."""
        for draw in self.draws:
            draw.squares.pop(cell, None)

    def steps(self) -> tuple[float, ...]:
        """Candidates for lam after the theory's.

        What differs from the medians of mostly tied data is a matrix with a share of
        its entries. As with missing entries, its lam is the theory's over the root of
        the share: far below, L is zero, and doubling lam changes nothing.
        """
        share = float(np.mean(self.first.trivial > 0))
        if share == 0 or not self.first.is_tied:
            return STEPS[1:]
        return tuple(step / math.sqrt(share) for step in STEPS)

    def is_open(self, c: float, gamma: float) -> bool:
        """Whether this factor of lam leaves room for errors in S."""
        return gamma > 0 or c * self.first.lam_unit < LARGEST

    def smallest(self, with_graph: bool = True) -> Cell:
        """The cell with the smallest error so far."""
        cells = [cell for cell in self.cells() if with_graph or cell[1] == 0]
        return min(cells, key=lambda cell: (self.error(cell), *cell))

    def best(self) -> Cell:
        """The cell with the smallest error, without a graph unless that is better."""
        found, without = self.smallest(), self.smallest(with_graph=False)
        return found if self.is_better(found, without) else without

    def is_better(self, cell: Cell, than: Cell, gain: float = GAIN) -> bool:
        """Whether the error falls by more than this share of what could be gained."""
        if cell not in self.cells():
            return False
        gained = self._sum(than) - self._sum(cell)
        reducible = sum(self._unit(draw) * draw.reducible(than) for draw in self.draws)
        return gained > gain * reducible

    def _sum(self, cell: Cell) -> float:
        """Squared errors at all hidden entries."""
        parts = (self._unit(d) * float(d.squares[cell].sum()) for d in self.draws)
        return sum(parts)

    def _unit(self, draw: Trials) -> float:
        return (draw.size / self.first.size) ** 2

    def choice(self, cell: Cell, units: _Units, lam, gamma) -> Choice:
        first = self.first
        explained, error = math.nan, math.nan
        if all(cell in draw.predictions for draw in self.draws):
            explained, error = first.spread.explained(
                np.concatenate([draw.truth for draw in self.draws]),
                np.concatenate([draw.predictions[cell] for draw in self.draws]),
                np.concatenate([draw.at[1] for draw in self.draws]),
            )

        def found_lam(c: float) -> float:
            return c * units.transfer * units.lam if lam is None else lam

        def found_gamma(g: float) -> float:
            return g * units.gamma / first.stiffness if gamma is None else gamma

        cells = self.cells()
        return Choice(
            lam=found_lam(cell[0]),
            gamma=found_gamma(cell[1]),
            factors=(units.transfer * cell[0], cell[1] / first.stiffness),
            explained=explained,
            explained_error=error,
            trials={
                "lam": np.array([found_lam(c) for c, _ in cells]),
                "gamma": np.array([found_gamma(g) for _, g in cells]),
                "error": first.size * np.sqrt([self.error(cell) for cell in cells]),
            },
            n_hidden=sum(len(draw.truth) for draw in self.draws),
            n_rows=len(first.Y),
        )


def _aspect(shape: tuple[int, int]) -> float:
    """(sqrt(n) + sqrt(p)) / sqrt(max(n, p)).

    The norm of noise is in proportion to sqrt(n) + sqrt(p), so the best lam of a part
    and that of all data differ by this, and not only by the theory's lam.
    """
    return 1 + math.sqrt(min(shape) / max(shape))
