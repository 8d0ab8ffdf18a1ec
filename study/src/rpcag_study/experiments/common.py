"""What the experiments share: a run and its work, and models at fixed parameters."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from rpcag_study.datasets import Data, load
from rpcag_study.grids import METHODS, Grid, Method
from rpcag_study.kmeans import errors
from rpcag_study.model_input import Graph, ModelInput
from rpcag_study.runs import KMEANS, known_names, quietly, seed_of
from rpcag_study.table_cells import CHOSEN


@dataclass(frozen=True)
class Recorded:
    """A run that tells the name of its experiment."""

    experiment: ClassVar[str]

    def __init_subclass__(cls, experiment: str) -> None:
        cls.experiment = experiment

    def record(self) -> dict[str, Any]:
        """As in the store."""
        fields = asdict(self).items()
        return {"experiment": self.experiment} | {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in fields
        }

    @classmethod
    def of(cls, record: dict) -> Self:
        """The run of a stored record."""
        fields = {k: v for k, v in record["run"].items() if k != "experiment"}
        return cls(**fields)


@dataclass(frozen=True)
class Task:
    """A run, the data it is on and what is done with them, in any process."""

    run: Any
    load: Callable[[Any], Any]  # from the run to its data
    work: Callable[[Any, Any], dict]  # from the run and the data to the results

    def __call__(self) -> dict:
        with quietly():
            found = self.work(self.run, self.load(self.run))
        return {"run": self.run.record()} | found


def of_experiment(name: str, records: Iterable[dict]) -> list[dict]:
    """A store may hold the records of several."""
    return [record for record in records if record["run"].get("experiment") == name]


def needed(name: str, records: Iterable[dict]) -> list[dict]:
    """The same, and there must be some."""
    found = of_experiment(name, records)
    if not found:
        raise ValueError(f"no records of {name}; rpcag reproduce {name} makes them")
    return found


# -- data ------------------------------------------------------------------------------


def faces(run) -> Data:
    """CMU PIE: the first subjects of the run's choice, and so many images of each."""
    data = load("PIE", seed=run.seed, per_class=run.images)
    return first_classes(data, run.subjects)


def named(run) -> Data:
    """The data set of the run's name."""
    return load(run.dataset, seed=run.seed)


def first_classes(data: Data, k: int) -> Data:
    if not 0 < k <= data.n_classes:
        raise ValueError(f"subjects must lie between 1 and {data.n_classes}, got {k}")
    assert data.y is not None
    rows = data.y < k
    return Data(data.name, data.X[rows], data.y[rows], data.image_shape)


# -- models ----------------------------------------------------------------------------


def check_models(names: Iterable[str], known: Iterable[str] = METHODS) -> list[str]:
    return known_names("model", names, known)


def graph_of(model: str, graph: Graph) -> Graph | None:
    """The graph of a run: none for models that use none."""
    return graph if METHODS[model].uses_graph else None


def fixed(method: Method, data: Data) -> Grid:
    """One value of every parameter: what the fair protocol takes of its grid."""
    return {
        name: [CHOSEN[name]] if CHOSEN.get(name) in values else values[:1]
        for name, values in method.fair(data).items()
    }


def embed(model: str, inputs: ModelInput) -> tuple[dict[str, Any], np.ndarray]:
    """These values, and the embedding at them: its rows are what k-means gets."""
    method = METHODS[model]
    (found,) = method.sweep(inputs, fixed(method, inputs.sample.data))
    return found.values, found.Q


def fair_errors(Q: np.ndarray, inputs: ModelInput, *seeds_of: Any) -> list[float]:
    """By matching and by majority: mean of 10 runs, each the best of 10 starts."""
    seed = seed_of(*seeds_of)
    found = errors(Q, inputs.y, inputs.n_classes, *KMEANS["fair"], seed)
    return [round(float(error), 4) for error in found.mean(axis=0)]


def rounded(array: np.ndarray, digits: int) -> list:
    """As nested lists, with no negative zeros."""
    return (np.round(np.asarray(array, dtype=float), digits) + 0.0).tolist()
