"""Every model of the study: the grid it is tried on, and how it is swept.

A grid has a list of values per parameter. A sweep yields what it found for every
combination, in whatever order is cheapest: one eigendecomposition serves all numbers of
components, one solve starts where the last ended.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rpcag_study import models
from rpcag_study.datasets import Data
from rpcag_study.model_input import ModelInput

Grid = dict[str, list]


class Found(NamedTuple):
    """Of one combination: values, embedding, and the gap where one is proven."""

    values: dict[str, Any]
    Q: np.ndarray
    gap: float | None = None


Trials = Iterator[Found]
# The paper's weights of the smoothness; its algorithm at gamma solves the model at a
# quarter of it, and at lam at half.
POWERS = [2.0**k for k in range(-3, 11)]
BETAS = [round(0.1 * k, 1) for k in range(1, 10)]


@dataclass(frozen=True)
class Method:
    """A model of the study: how it is swept, and over which grid on which data.

    `oracle` has all that the paper tried, `fair` what needs no labels. `rests` are
    parts of the paper's grid that `oracle` leaves out, coarser: what lies beyond it,
    and what lies between its values. `oracle_sweep` may leave out what cannot win.
    """

    name: str
    sweep: Callable[[ModelInput, Grid], Trials]
    oracle: Callable[[Data], Grid]
    fair: Callable[[Data], Grid]
    uses_graph: bool = True  # whether the answer differs from graph to graph
    oracle_sweep: Callable[[ModelInput, Grid], Trials] | None = None
    rests: tuple[Callable[[Data], Grid], ...] = ()
    suits: Callable[[Data], bool] = lambda data: True  # whether it takes this data

    def trials(self, inputs: ModelInput, grid: Grid, protocol: str) -> Trials:
        sweep = self.oracle_sweep if protocol == "oracle" else None
        return (sweep or self.sweep)(inputs, grid)


def simple(name: str, fit: Callable[..., np.ndarray], **grid: list) -> Method:
    """A model of one's own: ``fit(case, **values)`` gives an embedding.

    The fair protocol takes the first value of every list.
    """
    return Method(
        name,
        each(lambda inputs, **values: models.Fit(fit(inputs, **values))),
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


def nested(fit: Callable[..., models.Fit]) -> Callable[[ModelInput, Grid], Trials]:
    """A sweep where fewer components are the first of more."""

    def sweep(inputs: ModelInput, grid: Grid) -> Trials:
        others = {name: values for name, values in grid.items() if name != "d"}
        for values in combinations(others):
            Q, _, gap = fit(inputs, d=max(grid["d"]), **values)
            for d in grid["d"]:
                yield Found({"d": d, **values}, Q[:, :d], gap)

    return sweep


def each(fit: Callable[..., models.Fit]) -> Callable[[ModelInput, Grid], Trials]:
    """A sweep that computes every combination by itself."""

    def sweep(inputs: ModelInput, grid: Grid) -> Trials:
        for values in combinations(grid):
            Q, _, gap = fit(inputs, **values)
            yield Found(values, Q, gap)

    return sweep


# -- sweeps of the convex models -------------------------------------------------------


def _rpca(inputs: ModelInput, grid: Grid, most: float = 1.0) -> Trials:
    """Robust PCA at every lam, with all components or one per class.

    lam is "theory", or a number in units of 1 / sqrt(max(n, p)).

    A sweep of higher and higher ranks may end where they exceed a share of the full
    one: the nearer to it, the nearer the rows of Q are to an orthonormal basis, all at
    the same distance of each other. It always ends where they are one: k-means uses
    nothing but distances, so that all components of any L of this rank are as good as
    those of any other. (The first k of them are not, and are not tried beyond either.)
    """
    for lam in grid["lam"]:
        fit = models.rpca(inputs, lam)
        yield from _cuts({"lam": lam}, fit, grid, inputs)
        rank = fit.embedding.shape[1]
        if rank > most * min(inputs.shape) or rank == inputs.shape[0]:
            break


def _rpcag(inputs: ModelInput, grid: Grid, most: float = 1.0) -> Trials:
    """As RPCA; of lam and gamma the one that comes last in the grid runs fastest.

    Every solve along it starts where the last ended. Both go the way in which the rank
    grows: lam up, gamma down. A path of lam, which is fine, ends at full rank as RPCA's
    does; one of gamma goes on, and shows what such ranks are worth.
    """
    slow, fast = (name for name in grid if name != "components")
    for outer in grid[slow]:
        model = models.rpcag_at(inputs, 1.0, 1.0, warm_start=True)
        for inner in grid[fast]:
            at = {slow: outer, fast: inner}
            lam = models.weight(at["lam"], inputs)
            fit = models.convex(model.set_params(lam=lam, gamma=at["gamma"]), inputs)
            yield from _cuts(at, fit, grid, inputs)
            rank = fit.embedding.shape[1]
            full = fast == "lam" and rank == inputs.shape[0]
            if full or rank > most * min(inputs.shape):
                if inner == grid[fast][0]:
                    return
                break


def _cuts(at: dict[str, Any], fit: models.Fit, grid: Grid, inputs: ModelInput):
    for chosen in grid["components"]:
        d = None if chosen == "all" else inputs.n_classes
        yield Found(at | {"components": chosen}, fit.embedding[:, :d], fit.gap)


def _until_half(sweep: Callable[..., Trials]) -> Callable[[ModelInput, Grid], Trials]:
    """Leaves out what has more than half the full rank; not at the far end of lam.

    There everything is tried: it shows what such ranks are worth.
    """
    return lambda inputs, grid: sweep(
        inputs, grid, 1.0 if max(grid["lam"]) > PENALTIES[-1] else 0.5
    )


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
BOTH = ["all", "k"]  # singular vectors of L: all, as in the paper, or one per class


def _methods() -> Iterator[Method]:
    def nothing(data: Data) -> Grid:
        return {}

    def components(**values: list) -> Callable[[Data], Grid]:
        return lambda data: {"d": dimensions(data)} | values

    def few(**values: list) -> Callable[[Data], Grid]:
        """For models that iterate for every d; more of them are in their rest."""
        return lambda data: (
            {"d": [d for d in dimensions(data) if d <= 2 * data.n_classes]} | values
        )

    def convex(lam: Callable[[Data], list], **gamma: list) -> Callable[[Data], Grid]:
        return lambda data: {"lam": lam(data)} | gamma | {"components": BOTH}

    def fixed(**values: Any) -> Callable[[Data], Grid]:
        return lambda data: (
            k_components(data) | {name: [value] for name, value in values.items()}
        )

    def last(**values: list) -> tuple[Callable[[Data], Grid], ...]:
        return (lambda data: {"d": _last_d(data)} | values,)

    yield Method("k-means", each(models.raw), nothing, nothing, uses_graph=False)
    for name, fit in {"NCuts": models.ncuts, "LE": models.eigenmaps}.items():
        yield Method(name, nested(fit), components(), k_components, rests=last())
    yield Method(
        "PCA",
        nested(models.pca),
        components(),
        k_components,
        uses_graph=False,
        rests=last(),
    )
    yield Method(
        "GLPCA",
        nested(models.glpca),
        components(beta=BETAS),
        fixed(beta=0.5),
        rests=last(beta=BETAS),
    )
    yield Method(
        "RGLPCA",
        each(models.rglpca),
        few(beta=BETAS),
        fixed(beta=0.5),
        rests=_in_parts("beta", BETAS, 4),
    )
    yield Method(
        "MMF",
        nested(models.mmf),
        components(gamma=POWERS),
        fixed(gamma=2.0),
        rests=last(gamma=POWERS),
    )
    yield Method(
        "NMF",
        each(models.nmf),
        few(),
        k_components,
        uses_graph=False,
        rests=(lambda data: {"d": _rest_of_d(data)},),
        suits=lambda data: data.is_nonnegative,
    )
    yield Method(
        "GNMF",
        each(models.gnmf),
        few(gamma=POWERS),
        fixed(gamma=1.0),
        rests=_in_parts("gamma", POWERS, 6),
        suits=lambda data: data.is_nonnegative,
    )
    yield Method(
        "RPCA",
        _rpca,
        convex(lambda data: PENALTIES),
        convex(lambda data: ["theory"]),
        uses_graph=False,
        oracle_sweep=_until_half(_rpca),
        rests=(
            convex(_rest_of_lam),
            convex(lambda data: BETWEEN),
            convex(_printed_lam),
        ),
    )
    yield Method(
        "RPCAG",
        _rpcag,
        convex(lambda data: PENALTIES, gamma=GAMMAS),
        convex(lambda data: ["theory"], gamma=[1.0, 0.125, "clustering", 0.02]),
        oracle_sweep=_until_half(_rpcag),
        rests=(
            convex(_rest_of_lam, gamma=GAMMAS),
            convex(lambda data: BETWEEN, gamma=GAMMAS[3::4]),
            lambda data: {
                "gamma": GAMMAS[: len(POWERS)],
                "lam": _printed_lam(data),
                "components": BOTH,
            },
        ),
    )
    # Not in the paper's tables: in the fair protocol only.
    yield Method("MMMF", each(models.mmmf), nothing, fixed(gamma=2.0), uses_graph=False)
    yield Method("MHMF", each(models.mhmf), nothing, fixed(gamma=2.0), uses_graph=False)
    yield Method("FRPCAG", nested(models.frpcag), nothing, k_components)


METHODS = {method.name: method for method in _methods()}
PRINTED = tuple(METHODS)[:11]
