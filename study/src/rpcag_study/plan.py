"""Which runs make up a study."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpcag_study.corruptions import CORRUPTIONS, GROUPS, check_corruption, suits
from rpcag_study.datasets import Data, load
from rpcag_study.grids import METHODS, PRINTED, Grid, Method, simple, thinned
from rpcag_study.runs import PROTOCOLS, Run, Task, known_names

DATASETS = ("PIE", "ORL", "YALE", "COIL20", "MNIST", "USPS", "MFeat", "BCI")
IMAGES = DATASETS[:6]
# Graph and knowledge of the mask. The first of the oracle's is what the paper did.
SETUPS = {
    "oracle": (("complete", "zeros"), ("knn", "known"), ("knn", "zeros")),
    "fair": (("knn", "known"), ("knn", "zeros")),
    "fresh": (("knn", "known"),),
}
# What RPCAG does with a graph that knows nothing.
CONTROL = {"oracle": ("uniform", "zeros"), "fair": ("uniform", "known")}
# The default graph of RPCAG, where no labels choose; the others get it too.
DEFAULT = ("robust", "known")
# The oracle takes the settled subset; the fair protocol draws its own.
SEEDS = {"oracle": (0,), "fair": (1, 2, 3, 4, 5), "fresh": (21, 22, 23, 24, 25)}
# The default graph was settled by errors on these draws. As the fair protocol, but with
# images that are in none of them: of sets that have such images, on columns that are
# averaged over, with the robust graph and with 10 neighbors.
SETTLED_ON = (11, 12, 13)
FRESH = ("PIE", "COIL20", "MNIST", "USPS")


@dataclass(frozen=True)
class Named:
    """Loads a set of the catalog, without the samples of some seeds."""

    name: str
    without: tuple[int, ...] = ()

    def __call__(self, seed: int) -> Data:
        return load(self.name, seed=seed, without=self.without)


class Study:
    """The data sets and models there are; users add their own."""

    def __init__(self) -> None:
        self.datasets: dict[str, Callable[[int], Data]] = {
            name: Named(name) for name in DATASETS
        }
        self.models = dict(METHODS)

    def add_dataset(self, name: str, load: Callable[[int], Data]) -> None:
        """`load` makes the data from a seed; a set of one form may ignore it."""
        _new("data set", name, self.datasets)
        self.datasets[name] = load

    def add_model(self, name: str, fit: Callable, **grid: list) -> None:
        """`fit(case, **values)` gives an embedding; `grid` lists the values."""
        _new("model", name, self.models)
        for key, values in grid.items():
            if not isinstance(values, list | tuple | np.ndarray) or not len(values):
                raise ValueError(
                    f"{key} of {name} must be a list of values to try, got {values!r}"
                )
        plain = {
            key: [v.item() if isinstance(v, np.generic) else v for v in values]
            for key, values in grid.items()
        }
        self.models[name] = simple(name, fit, **plain)

    def plan(
        self,
        *,
        protocols: Sequence[str] = PROTOCOLS,
        datasets: Iterable[str] | None = None,
        corruptions: Sequence[str] = CORRUPTIONS,
        models: Iterable[str] | None = None,
        seeds: Sequence[int] | None = None,
    ) -> list[Task]:
        """Every run, setup by setup and column by column: a part of it is of use."""
        datasets = self.datasets if datasets is None else datasets
        datasets = known_names("data set", datasets, self.datasets)
        models = self.models if models is None else models
        models = known_names("model", models, self.models)
        # What the paper did is named after what it needs: somebody who knows.
        protocols = [
            "oracle" if name.lower() == "paper" else name for name in protocols
        ]
        protocols = known_names("protocol", protocols, PROTOCOLS)
        corruptions = list(dict.fromkeys(map(check_corruption, corruptions)))
        plan: list[Task] = []
        for protocol in protocols:
            tasks: list[Task] = []
            chosen = SEEDS[protocol] if seeds is None else seeds
            for seed, name in itertools.product(chosen, datasets):
                load = self.datasets[name]
                if protocol == "fresh":
                    if name not in FRESH:
                        continue
                    load = Named(name, SETTLED_ON)
                data = _labeled(load(seed), name)
                for corruption in corruptions:
                    if not suits(corruption, data):
                        continue
                    if protocol == "fresh" and corruption not in AVERAGED:
                        continue
                    column = protocol, name, corruption, seed
                    for model in models:
                        method = self.models[model]
                        if protocol == "oracle" and model in UNPRINTED:
                            continue
                        if method.suits(data):
                            tasks += _runs(column, method, data, load)
            plan += sorted(tasks, key=_turn)
        return plan


def _turn(task: Task) -> int:
    """When it is the turn of a run's setup; one without a graph suits several."""
    run = task.run
    if run.protocol == "fresh":
        return 0  # column by column
    setups = [*SETUPS[run.protocol], CONTROL[run.protocol], DEFAULT]
    for turn, (graph, mask) in enumerate(setups):
        if run.graph in (None, graph) and run.mask == mask:
            return turn
    return len(setups)  # the default graph, where nothing is masked


UNPRINTED = set(METHODS) - set(PRINTED)
AVERAGED = {name for names in GROUPS.values() for name in names}


def _runs(column, method: Method, data: Data, load) -> Iterator[Task]:
    protocol, dataset, corruption, seed = column
    setups = list(SETUPS[protocol])
    if method.name == "RPCAG" and protocol in CONTROL:
        setups.append(CONTROL[protocol])
    if protocol != "oracle" and method.uses_graph:
        setups.append(DEFAULT)
    seen = set()
    for graph, mask in setups:
        if corruption == "none":
            mask = "zeros"  # nothing is masked
        setup: tuple[Any, Any] = graph if method.uses_graph else None, mask
        if setup in seen:
            continue
        seen.add(setup)
        grid: Grid = (method.oracle if protocol == "oracle" else method.fair)(data)
        as_printed = protocol == "oracle" and (graph, mask) == SETUPS["oracle"][0]
        if protocol == "oracle" and not as_printed:
            grid = thinned(grid, data)
        if method.name == "RPCAG" and (graph == DEFAULT[0] or protocol == "fresh"):
            grid = grid | {"gamma": ["clustering"]}
        grids = [grid]
        if as_printed:
            grids += [rest(data) for rest in method.rests]
        for grid in grids:
            if not all(grid.values()):
                continue
            values = tuple((name, tuple(values)) for name, values in grid.items())
            run = Run(protocol, dataset, corruption, seed, method.name, *setup, values)
            yield Task(run, method, load)


def _new(kind: str, name: str, known: Iterable[str]) -> None:
    if name.lower() in {other.lower() for other in known}:
        raise ValueError(f"there is a {kind} {name!r} already; give it another name")


def _labeled(data: Any, name: str) -> Data:
    if not isinstance(data, Data):
        raise ValueError(
            f"the data set {name!r} must be loaded as a rpcag_study.datasets.Data, got "
            f"{type(data).__name__}"
        )
    if data.y is None:
        raise ValueError(
            f"the data set {name!r} has no classes to compare with: give y"
        )
    if not np.isfinite(data.X).all():
        raise ValueError(
            f"the data set {name!r} has NaN or infinity in X; the study takes entries "
            "away itself, from data that are whole"
        )
    return data
