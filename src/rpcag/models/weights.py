"""Choose lam and gamma from the data, by predicting hidden entries."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from rpcag.linalg.typical import typical_size
from rpcag.models.hidden_entries import hide
from rpcag.models.parts import FEATURES, QUARTER, random_rows, some_of
from rpcag.models.rules import clustering_gamma, theory_lam
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
from rpcag.solvers.problem import FACTORED

# Neighboring candidates for lam differ by this factor. The error as a function of lam
# often has a sharp minimum, which larger steps miss.
STEP = math.sqrt(2)
# Candidates for lam, relative to the theory's. Larger ones act like the last.
LAMS = tuple(STEP**k for k in range(9))
# Without a graph, only candidates below LARGEST are tried after the theory's. Entries
# of a subgradient of the nuclear norm are at most one, so with a larger lam S = 0, and
# L contains all gross errors.
LARGEST = 1.0
# Candidates for gamma, relative to that for clustering, each with a factor of lam: the
# more the graph smooths L, the less a small lam is needed for it.
GAMMAS = tuple((4.0**k, STEP ** (k + 2)) for k in range(-2, 4))
# A larger weight has to reduce the squared error by this share. Without it, data
# without gross errors would get an ever larger lam for no benefit.
GAIN = 2.5e-3
# A gamma above the one for clustering has to reduce it by this share: such a gamma is
# for graphs with information that is not in X, such as an order in time, and its fits
# take more iterations.
MORE = 2e-2
# CLEARLY standard errors are subtracted from the gain of a graph. With fewer, some
# tables get a graph by chance; with more, some lose a graph that helps. Cross-validated
# over tables (benchmarks/weight_rules.py).
CLEARLY = 1.0
# A graph whose gain is fewer standard errors than this is given up. With more, graphs
# are lost that would be chosen with another lam.
PROMISING = 0.75
# With fewer than ENOUGH hidden entries, up to MOST_DRAWS draws are used, because a
# choice from few entries is random.
ENOUGH, MOST_DRAWS = 1000, 6
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
        ``lam``, ``gamma`` and ``error`` of every candidate that was kept: the root mean
        squared error of the hidden entries, truncated, in the unit of X.
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

    A share of the observed entries is hidden and predicted by L. For small data this is
    done with several draws. The search is greedy:

    1. lam without the graph: the theory's, twice that, then multiplied by sqrt(2) while
       the error falls; also sqrt(2) times the theory's if none above twice is better;
    2. a gamma with its lam; larger ones while the error falls (above the gamma for
       clustering: while it falls clearly), or a smaller one if it does not, unless it
       rises clearly; then, if the graph may help, sqrt(2) times the lam of the best
       pair. A smaller lam is hardly ever better: each gamma has its lam.

    gamma is 0 unless another value predicts clearly better. Data that the theory's lam
    predicts exactly keep it. A candidate takes a few iterations from the result of
    another one, so the whole choice costs about as much as a fit.

    `rows` are the rows to use, by default random ones. `build` computes their
    Laplacian, from these rows and L at the theory's lam. If X is only some rows of the
    data, `shape` is the shape of all data. All weights, also those given, refer to all
    data.
    """
    if rows is None:
        rows = random_rows(X.shape)
    part = X if len(rows) == len(X) else X[rows]
    if X.shape[1] > FEATURES:
        part = part[:, some_of(X.shape[1], FEATURES)]
    trials, is_exact = _begin(X, part, lam is None, build, Watch(callback))
    units = _Units.of(X, shape or X.shape, trials.X.shape)
    first = 1.0 if lam is None else lam / units.lam / units.transfer
    if is_exact or len(trials.truth) == 0:  # too few entries to hide one
        units = replace(units, transfer=1.0)  # exact data have no noise
        return _choice(trials, (first, 0.0), units, lam, gamma)
    if gamma is None:
        trials.few_solves = True
        best = _search_lam(trials, first, 0.0, lam is None)
        _search_gamma(trials, best, lam is None)
        return _choice(trials, _surest(trials), units, lam, gamma)
    g = gamma and gamma / units.gamma * trials.graph_stiffness()
    if g > 0:
        trials.squares.pop(PLAIN, None)  # not a candidate: it has another gamma
    best = _search_lam(trials, first, g, lam is None)
    return _choice(trials, best, units, lam, gamma)


@dataclass(frozen=True)
class _Units:
    """The theory's lam and the gamma for clustering, of all data.

    The best factors of a part suit all data after lam is multiplied by `transfer`.
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

    A few iterations, on a part of large data, show whether more are worthwhile.
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
    trials = Trials(part, build, watch, _masks(part))
    if is_free and not is_large and len(trials.truth):
        residual = trials.residual(FIRST)
    if EXACT < residual <= NEARLY:
        residual = trials.residual(FINER * FIRST)
    if watch.is_stopped or residual > EXACT:
        return trials, watch.is_stopped
    # The typical residual does not show rows with large factors. Data with few features
    # have such rows, and the theory's lam is too small for them.
    return trials, is_large or not _doubled_is_better(trials)


def _masks(X: np.ndarray) -> list[np.ndarray]:
    """Draws of hidden entries: more than one if one has too few."""
    first = hide(X)
    if not first.any():
        return [first]
    wanted = math.ceil(ENOUGH / int(first.sum()))
    others = (hide(X, k) for k in range(1, min(wanted, MOST_DRAWS)))
    return [first, *(hidden for hidden in others if hidden.any())]


def _doubled_is_better(trials: Trials) -> bool:
    doubled = 2.0, 0.0
    trials.error(PLAIN)
    trials.error(doubled, PLAIN)
    return _is_better(trials, doubled, PLAIN)


def _search_lam(trials: Trials, first: float, gamma: float, free: bool) -> Cell:
    best = start = (first, gamma)
    trials.error(best)
    skipped, *larger = _larger_lams(trials)
    for c in larger if free else ():
        if not _is_open(trials, c, gamma):
            break
        trials.error((c, gamma), best)
        if not _is_better(trials, (c, gamma), best):
            break
        best = (c, gamma)
        trials.keep(start, best)
    if free and best[0] <= larger[0] and _is_open(trials, skipped, gamma):
        trials.error((skipped, gamma), start)
        if best == start and _is_better(trials, (skipped, gamma), start):
            best = (skipped, gamma)
    if free and best == start:
        trials.error((first / STEP, gamma), best)
    return _smallest(trials)


def _search_gamma(trials: Trials, best: Cell, free: bool) -> None:
    """Try gammas, starting from the best lam without a graph, each with its own lam."""
    trials.keep(best)
    weak, middle, *strong = (
        (best[0] * factor if free else best[0], share) for share, factor in GAMMAS
    )
    trials.error(middle, best)
    if _gain(trials, middle, best, 0.0) > 0:
        for before, cell in pairwise((middle, *strong)):
            trials.error(cell, before)
            is_large = cell[1] > 1
            if not _is_better(trials, cell, before, MORE if is_large else GAIN):
                if is_large:
                    trials.squares.pop(cell, None)
                break
            trials.keep(cell)
    elif _gain(trials, middle, best, -CLEARLY) > 0:
        trials.error(weak, best)
    found, without = _smallest(trials), _smallest(trials, with_graph=False)
    gains = (_gain(trials, cell, without, PROMISING) for cell in trials.squares)
    if free and max(gains) > 0:  # then `found` has a graph
        trials.keep(found)
        trials.error((found[0] * STEP, found[1]), found)


def _surest(trials: Trials) -> Cell:
    """The cell with the largest confident gain over the best one without a graph.

    The confident gain is the gain minus CLEARLY standard errors of it, entry by entry.
    """
    without = _smallest(trials, with_graph=False)
    gains = {without: GAIN * trials.reducible(without)}
    for cell in trials.squares:
        if cell[1] > 0:
            gains[cell] = _gain(trials, cell, without)
    return max(gains, key=lambda cell: (gains[cell], cell == without))


def _gain(trials: Trials, cell: Cell, than: Cell, errors: float = CLEARLY) -> float:
    """The gain over another cell, minus standard errors of it, entry by entry."""
    if cell not in trials.squares:  # the callback has stopped the trials
        return -math.inf
    gained = trials.squares[than] - trials.squares[cell]
    return float(gained.sum()) - errors * math.sqrt(len(gained)) * float(gained.std())


def _larger_lams(trials: Trials) -> tuple[float, ...]:
    """Candidates for lam after the theory's.

    In mostly tied data, only a share of the entries differ from the medians. As with
    missing entries, their lam is the theory's over the square root of the share. Far
    below that, L is zero and a larger lam changes nothing.
    """
    share = float(np.mean(trials.trivial > 0))
    if share == 0 or not trials.is_tied:
        return LAMS[1:]
    return tuple(c / math.sqrt(share) for c in LAMS)


def _is_open(trials: Trials, c: float, gamma: float) -> bool:
    """Whether this factor of lam leaves room for errors in S."""
    return gamma > 0 or c * trials.lam_unit < LARGEST


def _smallest(trials: Trials, with_graph: bool = True) -> Cell:
    """The cell with the smallest error so far."""
    cells = [cell for cell in trials.squares if with_graph or cell[1] == 0]
    return min(cells, key=lambda cell: (trials.error(cell), *cell))


def _is_better(trials: Trials, cell: Cell, than: Cell, gain: float = GAIN) -> bool:
    """Whether the error falls by more than this share of what could be gained."""
    if cell not in trials.squares:  # the callback has stopped the trials
        return False
    gained = trials.squares[than].sum() - trials.squares[cell].sum()
    return gained > gain * trials.reducible(than)


def _choice(trials: Trials, cell: Cell, units: _Units, lam, gamma) -> Choice:
    explained, error = math.nan, math.nan
    if cell in trials.predictions:
        explained, error = trials.spread.explained(
            trials.truth, trials.predictions[cell], trials.columns
        )

    def found_lam(c: float) -> float:
        return c * units.transfer * units.lam if lam is None else lam

    def found_gamma(g: float) -> float:
        return g * units.gamma / trials.stiffness if gamma is None else gamma

    cells = list(trials.squares)
    return Choice(
        lam=found_lam(cell[0]),
        gamma=found_gamma(cell[1]),
        factors=(units.transfer * cell[0], cell[1] / trials.stiffness),
        explained=explained,
        explained_error=error,
        trials={
            "lam": np.array([found_lam(c) for c, _ in cells]),
            "gamma": np.array([found_gamma(g) for _, g in cells]),
            "error": trials.size * np.sqrt([trials.error(cell) for cell in cells]),
        },
        n_hidden=len(trials.truth),
        n_rows=len(trials.X),
    )


def _aspect(shape: tuple[int, int]) -> float:
    """(sqrt(n) + sqrt(p)) / sqrt(max(n, p)).

    The norm of noise is in proportion to sqrt(n) + sqrt(p), so the best lam of a part
    and that of all data differ by this, and not only by the theory's lam.
    """
    return 1 + math.sqrt(min(shape) / max(shape))
