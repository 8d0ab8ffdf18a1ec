"""Clustering error as graphs know less and less of where entries were lost.

The models get zeros as data in every case; only the graph is told more or less.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpcag.graphs import CompleteGraph, KNNGraph
from rpcag_study.datasets import Data
from rpcag_study.experiments import common
from rpcag_study.grids import METHODS
from rpcag_study.inpainting import inpaint_tv
from rpcag_study.model_input import CorruptedData, ModelInput
from rpcag_study.runs import seed_of
from rpcag_study.tables import Table, percent

# From the most to the least.
KNOWLEDGE = {
    "clean": "from the clean images",
    "inpainted": "mask known: inpainted",
    "masked": "mask known: distances skip what is lost",
    "half": "half of the lost entries known",
    "unknown": "mask not known",
}
GRAPHS = {"complete": "the paper's graph", "knn": "10 nearest neighbors"}
MODELS = ("NCuts", "LE", "GLPCA", "RGLPCA", "MMF", "RPCA", "RPCAG")
QUICK: dict[str, Any] = {
    "knowledge": ["clean", "masked", "unknown"],
    "models": ["NCuts", "GLPCA", "MMF", "RPCA", "RPCAG"],
    "graphs": ["knn"],
    "dataset": "YALE-32x32",
    "seeds": [1],
}


@dataclass(frozen=True)
class GraphQualityRun(common.Recorded, experiment="graph-quality"):
    """Some models on the graphs of one knowledge; None for those without a graph."""

    seed: int
    knowledge: str | None
    graphs: tuple[str, ...]
    models: tuple[str, ...]
    corruption: str = "missing35"
    dataset: str = "YALE"


def plan(
    *,
    seeds: Sequence[int] = (1, 2, 3, 4, 5),
    knowledge: Sequence[str] = tuple(KNOWLEDGE),
    graphs: Sequence[str] = tuple(GRAPHS),
    models: Sequence[str] = MODELS,
    load: Callable[[GraphQualityRun], Data] = common.named,
    **fields: Any,
) -> list[common.Task]:
    """Every knowledge and seed; `fields` are other values of a run."""
    for name in knowledge:
        if name not in KNOWLEDGE:
            raise ValueError(f"unknown {name!r}: choose from {', '.join(KNOWLEDGE)}")
    models = common.check_models(models)
    on_graphs = tuple(model for model in models if METHODS[model].uses_graph)
    others = tuple(model for model in models if not METHODS[model].uses_graph)
    runs = []
    for seed in seeds:
        if others:
            runs.append(GraphQualityRun(seed, None, (), others, **fields))
        for name in knowledge if on_graphs else ():
            run = GraphQualityRun(seed, name, tuple(graphs), on_graphs, **fields)
            runs.append(run)
    return [common.Task(run, load, measure) for run in runs]


class Told(CorruptedData):
    """A corrupted sample whose graphs are built with some knowledge of the mask."""

    def __init__(self, data: Data, corruption: str, seed: int, knowledge: str) -> None:
        super().__init__(data, corruption, seed)
        self.rows = self.seen
        self.trusted: np.ndarray | None = None
        if knowledge == "clean":
            self.rows = data.X
        elif knowledge == "inpainted":
            assert self.mask is not None
            assert data.image_shape is not None
            self.rows = inpaint_tv(self.seen, data.image_shape, self.mask)
        elif knowledge == "masked":
            self.trusted = self.mask
        elif knowledge == "half" and self.mask is not None:
            self.trusted = half_known(self.mask, seed)

    def _build(self, kind: str):
        builder = CompleteGraph() if kind == "complete" else KNNGraph(10)
        return builder(self.rows, self.trusted)


def half_known(mask: np.ndarray, seed: int) -> np.ndarray:
    """Half of the lost entries of every row are known; the others pass for data."""
    rng = np.random.default_rng(seed_of("half", seed))
    trusted = mask.copy()
    for row in trusted:
        lost = rng.permutation(np.flatnonzero(~row))
        row[lost[: len(lost) // 2]] = True
    return trusted


def measure(run: GraphQualityRun, data: Data) -> dict:
    """Errors by graph and model, and the share of weight inside classes by graph."""
    sample = Told(data, run.corruption, run.seed, run.knowledge or "unknown")
    found: dict[str, dict] = {"parameters": {}, "errors": {}, "inside": {}}
    for graph in run.graphs or ("none",):
        inputs = ModelInput(sample, graph, "zeros")  # type: ignore[arg-type]
        found["errors"][graph] = by_model = {}
        for model in run.models:
            found["parameters"][model], Q = common.embed(model, inputs)
            of = data.name, run.seed, run.knowledge, model
            by_model[model] = common.fair_errors(Q, inputs, *of)
        if run.graphs:
            found["inside"][graph] = round(inside(inputs.adjacency, inputs.y), 4)
    return found


def inside(adjacency, y: np.ndarray) -> float:
    """Share of a graph's weight between samples of one class."""
    members = np.equal.outer(np.unique(y), y).astype(float)
    within = np.sum(members * (adjacency @ members.T).T)
    return float(within / adjacency.sum())


def tables(records: Iterable[dict]) -> list[Table]:
    """One per graph: models by knowledge, mean and deviation."""
    records = common.of_experiment("graph-quality", records)
    # Errors by matching, one per seed, and shares of weight inside classes. Models
    # without a graph are under the graph "none" and the knowledge None.
    found, inside_ = defaultdict(list), defaultdict(list)
    for record in records:
        knowledge = record["run"]["knowledge"]
        for graph, by_model in record["errors"].items():
            for model, pair in by_model.items():
                found[graph, knowledge, model].append(pair[0])
        for graph, share in record["inside"].items():
            inside_[graph, knowledge].append(share)
    made = []
    for graph, name in GRAPHS.items():
        columns = [k for k in KNOWLEDGE if any(key[:2] == (graph, k) for key in found)]
        rows = []
        for model in METHODS:
            alone = found.get(("none", None, model))
            cells = [found.get((graph, k, model), alone) for k in columns]
            if any(cells):
                rows.append([model, *map(_spread, cells)])
        if columns:
            shares = [inside_[graph, k] for k in columns]
            rows.append(["weight inside classes, %", *map(_spread, shares)])
            run = records[0]["run"]
            lost = run["corruption"].removeprefix("missing")
            title = f"{run['dataset']}, {lost} % of pixels missing, {name}"
            title = f"{title}: clustering error in %"
            made.append(Table(title, ["model", *(KNOWLEDGE[k] for k in columns)], rows))
    return made


def _spread(values: list[float] | None) -> str:
    if not values:
        return "-"
    mean = percent(float(np.mean(values)))
    if len(values) == 1:
        return mean
    return f"{mean} ± {percent(float(np.std(values, ddof=1)))}"
