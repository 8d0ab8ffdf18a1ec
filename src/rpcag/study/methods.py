"""Every model of the study: the grid it is tried on, and the embeddings it gives.

A grid is a dict of lists, one list per parameter. A sweep takes a case and a grid and
yields, for every combination, what it found: an embedding whose rows k-means gets.
Values are yielded in whatever order is cheapest: one eigendecomposition serves all
numbers of components, one solve starts where the last ended.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.decomposition import NMF

from rpcag.datasets import Data
from rpcag.graphs import laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.svt import factorise
from rpcag.models import (
    FRPCAG,
    GLPCA,
    GNMF,
    MHMF,
    MMF,
    MMMF,
    RGLPCA,
    LaplacianEigenmaps,
    NCuts,
)
from rpcag.models.problem import Problem
from rpcag.models.rpca import resolve_gamma, resolve_lam
from rpcag.study.case import Case

Grid = dict[str, list]


class Found(NamedTuple):
    """Of one combination: values, embedding, and the gap where one is proven."""

    values: dict[str, Any]
    Q: np.ndarray
    gap: float | None = None


Trials = Iterator[Found]
# Singular values of L below this share of the first are taken for zero: the rank does
# not depend on how far the solver went.
CUT = 1e-3
GAP = 1e-3
MAX_ITER = 1000
# Of the models that are not convex and start from a closed form: NMF, GNMF, RGLPCA.
STEPS = 40
# The paper's weights of the smoothness; its algorithm at gamma solves the model at a
# quarter of it, and at lam at half.
POWERS = [2.0**k for k in range(-3, 11)]
BETAS = [round(0.1 * k, 1) for k in range(1, 10)]


@dataclass(frozen=True)
class Method:
    """A model of the study.

    Attributes
    ----------
    name : str
    sweep : callable
        From a case and a grid to what was found for its combinations.
    oracle, fair : callable
        From the data to a grid: all that the paper tried, and what needs no labels.
    uses_graph : bool
        Whether the answer differs from graph to graph.
    oracle_sweep : callable, optional
        Another sweep for the oracle's larger grid, which may leave out what cannot win.
    rests : tuple of callables
        From the data to parts of the paper's grid that `oracle` leaves out, coarser:
        what lies beyond it, and what lies between its values.
    suits : callable
        Whether the model takes this data.
    """

    name: str
    sweep: Callable[[Case, Grid], Trials]
    oracle: Callable[[Data], Grid]
    fair: Callable[[Data], Grid]
    uses_graph: bool = True
    oracle_sweep: Callable[[Case, Grid], Trials] | None = None
    rests: tuple[Callable[[Data], Grid], ...] = ()
    suits: Callable[[Data], bool] = lambda data: True

    def trials(self, case: Case, grid: Grid, protocol: str) -> Trials:
        sweep = self.oracle_sweep if protocol == "oracle" else None
        return (sweep or self.sweep)(case, grid)


def simple(name: str, fit: Callable[..., np.ndarray], **grid: list) -> Method:
    """A model of one's own: ``fit(case, **values)`` gives an embedding.

    The fair protocol takes the first value of every list.
    """

    def sweep(case: Case, grid: Grid) -> Trials:
        for values in combinations(grid):
            yield Found(values, fit(case, **values))

    return Method(
        name,
        sweep,
        oracle=lambda data: grid,
        fair=lambda data: {key: values[:1] for key, values in grid.items()},
    )


def combinations(grid: Grid) -> Iterator[dict[str, Any]]:
    """All of them, the last parameter running fastest."""
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def dimensions(data: Data) -> list[int]:
    """2, 4, 8, ... up to the shorter side, and the number of classes."""
    most = min(data.X.shape)
    powers = [2**k for k in range(1, int(math.log2(most)) + 1)]
    return sorted({*powers, min(data.n_classes, most)})


def k_components(data: Data) -> Grid:
    return {"d": [min(data.n_classes, *data.X.shape)]}


def nested(embed: Callable[..., np.ndarray]) -> Callable[[Case, Grid], Trials]:
    """A sweep where fewer components are the first of more."""

    def sweep(case: Case, grid: Grid) -> Trials:
        others = {name: values for name, values in grid.items() if name != "d"}
        for values in combinations(others):
            Q = embed(case, max(grid["d"]), **values)
            for d in grid["d"]:
                yield Found({"d": d, **values}, Q[:, :d])

    return sweep


def each(embed: Callable[..., np.ndarray]) -> Callable[[Case, Grid], Trials]:
    """A sweep that computes every combination by itself."""

    def sweep(case: Case, grid: Grid) -> Trials:
        for values in combinations(grid):
            rest = {name: value for name, value in values.items() if name != "d"}
            yield Found(values, embed(case, values["d"], **rest))

    return sweep


# -- the models ------------------------------------------------------------------------


def _raw(case: Case, grid: Grid) -> Trials:
    yield Found({}, case.X)


def _pca(case: Case, d: int) -> np.ndarray:
    X = case.X - case.X.mean(axis=0)
    U, s, _ = linalg.svd(X, full_matrices=False)
    return U[:, : min(d, int(np.count_nonzero(s > 1e-10 * s[0])))]


def _ncuts(case: Case, d: int) -> np.ndarray:
    return NCuts(d, graph=case.adjacency).fit(case.X).embedding_


def _eigenmaps(case: Case, d: int) -> np.ndarray:
    d = min(d, len(case.X) - 1)
    return LaplacianEigenmaps(d, graph=case.adjacency).fit(case.X).embedding_


def _glpca(case: Case, d: int, beta: float) -> np.ndarray:
    return GLPCA(d, beta=beta, graph=case.adjacency).fit(case.X).embedding_


def _rglpca(case: Case, d: int, beta: float) -> np.ndarray:
    model = RGLPCA(d, beta=beta, graph=case.adjacency, tol=1e-2, max_iter=STEPS)
    return model.fit(case.X).embedding_


def _mmf(case: Case, d: int, gamma: float) -> np.ndarray:
    return MMF(d, gamma=gamma, graph=case.adjacency).fit(case.unit_rows).embedding_


def _mmmf(case: Case, d: int, gamma: float) -> np.ndarray:
    model = MMMF(d, gamma=gamma, graphs=case.adjacencies())
    return model.fit(case.unit_rows).embedding_


def _mhmf(case: Case, d: int, gamma: float) -> np.ndarray:
    model = MHMF(d, gamma=gamma, graphs=case.adjacencies("hypergraph"))
    return model.fit(case.unit_rows).embedding_


def _nmf(case: Case, d: int) -> np.ndarray:
    model = NMF(d, init="nndsvda", random_state=0, max_iter=STEPS, tol=1e-3)
    return model.fit_transform(case.non_negative)


def _gnmf(case: Case, d: int, gamma: float) -> np.ndarray:
    model = GNMF(d, gamma=gamma, graph=case.adjacency, tol=1e-3, max_iter=STEPS)
    return model.fit(case.non_negative).embedding_


def _frpcag(case: Case, grid: Grid) -> Trials:
    model = FRPCAG(
        gamma_samples="unit", gamma_features="unit", graph=case.adjacency
    ).fit(case.X_with_nan)
    Q = _left_vectors(model.low_rank_, None)
    for d in grid["d"]:
        yield Found({"d": d}, Q[:, :d], model.gap_)


def _rpca(case: Case, grid: Grid, most: float = 1.0) -> Trials:
    """Robust PCA at every lam, with all components or one per class.

    lam is "theory", or a number in units of 1 / sqrt(max(n, p)).

    A sweep of higher and higher ranks may end where they exceed a share of the full
    one: the nearer to it, the nearer the rows of Q are to an orthonormal basis, all at
    the same distance of each other. It always ends where they are one: k-means sees
    nothing but distances, so that all components of any L of this rank are as good as
    those of any other. (The first k of them are not, and are not tried beyond either.)
    """
    X = _single(case.X_with_nan)
    unit = 1 / math.sqrt(max(X.shape))
    for lam in grid["lam"]:
        weight = resolve_lam(lam, X) if lam == "theory" else lam * unit
        result = Problem(X, weight).solve(tol=GAP, max_iter=MAX_ITER)
        Q = _left_vectors(result.x, result.basis)
        for chosen in grid["components"]:
            values = {"lam": lam, "components": chosen}
            yield Found(values, _cut(Q, chosen, case), result.gap)
        if Q.shape[1] > most * min(X.shape) or Q.shape[1] == len(X):
            break


def _rpcag(case: Case, grid: Grid, most: float = 1.0) -> Trials:
    """As RPCA; of lam and gamma the one that comes last in the grid runs fastest.

    Every solve along it starts where the last ended. Both go the way in which the rank
    grows: lam up, gamma down. A path of lam, which is fine, ends at full rank as RPCA's
    does; one of gamma goes on, and shows what such ranks are worth.
    """
    X = _single(case.X_with_nan)
    unit = 1 / math.sqrt(max(X.shape))
    shifted = ShiftedLaplacian(laplacian(case.adjacency), X.shape[1])
    problem = Problem(X, unit, 1.0, shifted)
    slow, fast = (name for name in grid if name != "components")
    for outer in grid[slow]:
        state = None
        for inner in grid[fast]:
            at = {slow: outer, fast: inner}
            lam, gamma = at["lam"], resolve_gamma(at["gamma"], X)
            weight = resolve_lam(lam, X) if lam == "theory" else lam * unit
            result = problem.at(weight, gamma).solve(
                tol=GAP, max_iter=MAX_ITER, start=state
            )
            state = result.state
            Q = _left_vectors(result.x, result.basis)
            for chosen in grid["components"]:
                values = at | {"components": chosen}
                yield Found(values, _cut(Q, chosen, case), result.gap)
            full = fast == "lam" and Q.shape[1] == len(X)
            if full or Q.shape[1] > most * min(X.shape):
                if inner == grid[fast][0]:
                    return
                break


def _until_half(sweep: Callable[..., Trials]) -> Callable[[Case, Grid], Trials]:
    """Leaves out what has more than half the full rank; not at the far end of lam.

    There everything is tried: it shows what such ranks are worth.
    """
    return lambda case, grid: sweep(case, grid, 1.0 if _reaches_beyond(grid) else 0.5)


def _single(X: np.ndarray) -> np.ndarray:
    """Single precision is enough for the gap asked for."""
    return X.astype(np.float32)


def _left_vectors(L: np.ndarray, basis: np.ndarray | None) -> np.ndarray:
    """Left singular vectors of L, not scaled."""
    if basis is None:
        P, s, _ = linalg.svd(L, full_matrices=False)
    else:
        P, s, _ = factorise(L, basis)
    return P[:, s > CUT * s[0]] if len(s) else P


def _cut(Q: np.ndarray, components: str, case: Case) -> np.ndarray:
    return Q if components == "all" else Q[:, : case.n_classes]


# -- their grids -----------------------------------------------------------------------


# lam over 1 / sqrt(max(n, p)): the paper's, halved as its algorithm solves the model at
# lam / 2. Its grid begins lower and goes on to two to ten times as much: see below.
PENALTIES = [0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0]
# The paper's go on by 0.01, from 0.08 to 0.32 in this unit, by the shape of the data.
BETWEEN = [0.3, 0.42, 0.6, 0.85, 1.2, 1.7]


def _rest_of_lam(data: Data) -> list[float]:
    """Of the paper's lam what PENALTIES leaves out: both ends, and doublings between.

    The paper's go from 2^-3 to 2^3 over sqrt(min(n, p)); halved, as above.
    """
    unit = math.sqrt(max(data.X.shape) / min(data.X.shape))
    first, last = round(unit / 16, 3), round(4 * unit, 3)
    low, high = PENALTIES[0], PENALTIES[-1]
    values = [first]
    while (value := 2 * max(values[-1], high)) < last / 1.2:
        values.append(value)
    return [v for v in (*values, last) if not low <= v <= high]


def _printed_lam(data: Data) -> list[float]:
    """All of the paper's lam, 0.01 apart; halved, and in the unit of PENALTIES."""
    n, p = sorted(data.X.shape)
    values = np.arange(2**-3 / math.sqrt(n), 2**3 / math.sqrt(n) + 1e-9, 0.01)
    return [round(float(value) * math.sqrt(p) / 2, 4) for value in values]


def _reaches_beyond(grid: Grid) -> bool:
    """Whether it has lam above the usual ones."""
    return max(grid["lam"]) > PENALTIES[-1]


def _rest_of_d(data: Data) -> list[int]:
    most = min(data.X.shape)
    return sorted(d for d in {*dimensions(data), most} if d > 2 * data.n_classes)


def _last_d(data: Data) -> list[int]:
    """The end of the paper's d, where `dimensions` stops short of it."""
    return sorted({min(data.X.shape)} - set(dimensions(data)))


def _in_parts(name: str, values: list, step: int) -> tuple[Callable, Callable]:
    """The rest of d with every `step`-th value of a parameter, then with the others."""
    others = [value for k, value in enumerate(values) if k % step]
    return (
        lambda data: {"d": _rest_of_d(data), name: values[::step]},
        lambda data: {"d": _rest_of_d(data), name: others},
    )


def thinned(grid: Grid, data: Data) -> Grid:
    """Fewer values, those near which the best ones are: for the other graphs."""
    k = data.n_classes
    kept = {
        "d": lambda d: k / 2 <= d <= 4 * k,
        "lam": lambda lam: 0.45 <= lam <= 1.1,
    }
    thin = {}
    for name, values in grid.items():
        if name in kept:
            values = [value for value in values if kept[name](value)] or values[:1]
        elif name in ("gamma", "beta"):
            values = values[::2]
        thin[name] = values
    return thin


# A quarter of the paper's, and smaller ones. The largest first: on the way down the
# rank grows, and low ranks are cheap.
GAMMAS = [*(gamma / 4 for gamma in reversed(POWERS)), 0.01, 0.001]
BOTH = ["all", "k"]


def _methods() -> Iterator[Method]:
    def nothing(data: Data) -> Grid:
        return {}

    def components(data: Data) -> Grid:
        return {"d": dimensions(data)}

    def few(data: Data) -> Grid:
        """For models that iterate for every d; more of them are in their rest."""
        return {"d": [d for d in dimensions(data) if d <= 2 * data.n_classes]}

    def beta(data: Data) -> Grid:
        return components(data) | {"beta": BETAS}

    def gamma(data: Data) -> Grid:
        return components(data) | {"gamma": POWERS}

    def fixed(**values: Any) -> Callable[[Data], Grid]:
        return lambda data: (
            k_components(data) | {name: [value] for name, value in values.items()}
        )

    def nonnegative(data: Data) -> bool:
        return data.is_nonnegative

    def last(**values: list) -> tuple[Callable[[Data], Grid], ...]:
        return (lambda data: {"d": _last_d(data)} | values,)

    yield Method("k-means", _raw, nothing, nothing, uses_graph=False)
    yield Method("NCuts", nested(_ncuts), components, k_components, rests=last())
    yield Method("LE", nested(_eigenmaps), components, k_components, rests=last())
    yield Method(
        "PCA",
        nested(_pca),
        components,
        k_components,
        uses_graph=False,
        rests=last(),
    )
    yield Method("GLPCA", nested(_glpca), beta, fixed(beta=0.5), rests=last(beta=BETAS))
    yield Method(
        "RGLPCA",
        each(_rglpca),
        lambda data: few(data) | {"beta": BETAS},
        fixed(beta=0.5),
        rests=_in_parts("beta", BETAS, 4),
    )
    yield Method("MMF", nested(_mmf), gamma, fixed(gamma=2.0), rests=last(gamma=POWERS))
    yield Method(
        "NMF",
        each(_nmf),
        few,
        k_components,
        uses_graph=False,
        rests=(lambda data: {"d": _rest_of_d(data)},),
        suits=nonnegative,
    )
    yield Method(
        "GNMF",
        each(_gnmf),
        lambda data: few(data) | {"gamma": POWERS},
        fixed(gamma=1.0),
        rests=_in_parts("gamma", POWERS, 6),
        suits=nonnegative,
    )
    yield Method(
        "RPCA",
        _rpca,
        lambda data: {"lam": PENALTIES, "components": BOTH},
        lambda data: {"lam": ["theory"], "components": BOTH},
        uses_graph=False,
        oracle_sweep=_until_half(_rpca),
        rests=(
            lambda data: {"lam": _rest_of_lam(data), "components": BOTH},
            lambda data: {"lam": BETWEEN, "components": BOTH},
            lambda data: {"lam": _printed_lam(data), "components": BOTH},
        ),
    )
    yield Method(
        "RPCAG",
        _rpcag,
        lambda data: {
            "lam": PENALTIES,
            "gamma": GAMMAS,
            "components": BOTH,
        },
        lambda data: {
            "lam": ["theory"],
            "gamma": [1.0, 0.125, "clustering", 0.02],
            "components": BOTH,
        },
        oracle_sweep=_until_half(_rpcag),
        rests=(
            lambda data: {
                "lam": _rest_of_lam(data),
                "gamma": GAMMAS,
                "components": BOTH,
            },
            lambda data: {"lam": BETWEEN, "gamma": GAMMAS[3::4], "components": BOTH},
            lambda data: {
                "gamma": GAMMAS[: len(POWERS)],
                "lam": _printed_lam(data),
                "components": BOTH,
            },
        ),
    )
    # Not in the paper's tables: in the fair protocol only.
    yield Method("MMMF", each(_mmmf), nothing, fixed(gamma=2.0), uses_graph=False)
    yield Method("MHMF", each(_mhmf), nothing, fixed(gamma=2.0), uses_graph=False)
    yield Method("FRPCAG", _frpcag, nothing, k_components)


METHODS = {method.name: method for method in _methods()}
PRINTED = tuple(METHODS)[:11]
