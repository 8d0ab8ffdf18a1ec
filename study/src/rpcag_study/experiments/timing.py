"""Time and clustering error of every model as CMU PIE grows.

The paper tells the time of one fit at the parameters with the lowest error, on a
machine it does not name. Here parameters are fixed without labels, and times are also
in units of one LAPACK SVD of the same X (in double precision), measured in the same
run: these can be compared between machines.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from rpcag_study.datasets import Data
from rpcag_study.experiments import common
from rpcag_study.model_input import CorruptedData, Graph, Mask, ModelInput
from rpcag_study.printed import times
from rpcag_study.tables import Table, percent

# Those the paper timed: all of its tables but k-means.
MODELS = tuple(dict.fromkeys(model for model, _ in times()))
IMAGES = (10, 20, 40)
REPEATS = 2
SVDS = 3
QUICK: dict[str, Any] = {
    "images": [10],
    "models": ["NCuts", "PCA", "GLPCA", "MMF", "RPCA", "RPCAG"],
}


@dataclass(frozen=True)
class TimingRun(common.Recorded, experiment="timing"):
    """One model at one size."""

    subjects: int
    images: int  # of each
    model: str
    graph: Graph | None = "knn"
    mask: Mask = "zeros"
    corruption: str = "occlusion20"
    seed: int = 0
    dataset: str = "PIE"


def plan(
    *,
    images: Sequence[int] = IMAGES,
    subjects: int = 30,
    models: Sequence[str] = MODELS,
    load: Callable[[TimingRun], Data] = common.faces,
    **fields: Any,
) -> list[common.Task]:
    """Every model at every size; `fields` are other values of a run."""
    runs = [
        TimingRun(subjects, count, model, common.graph_of(model, "knn"), **fields)
        for count in images
        for model in common.check_models(models, MODELS)
    ]
    return [common.Task(run, load, measure) for run in runs]


def measure(run: TimingRun, data: Data) -> dict:
    """Seconds of the graph, of the fit on it, and of an SVD of X; the least of some."""
    samples = [CorruptedData(data, run.corruption, run.seed) for _ in range(REPEATS)]
    inputs = ModelInput(samples[0], run.graph or "uniform", run.mask)
    X = inputs.X
    svd = min(_timed(linalg.svd, X, full_matrices=False)[0] for _ in range(SVDS))
    graph = 0.0
    if run.graph is not None:  # a sample builds a graph once
        graph = min(_timed(sample.graph, run.graph)[0] for sample in samples)
    fits = [_timed(common.embed, run.model, inputs) for _ in range(REPEATS)]
    fit = min(seconds for seconds, _ in fits)
    values, Q = fits[0][1]
    return {
        "n": len(X),
        "parameters": values,
        "seconds": {"fit": _digits(fit), "graph": _digits(graph), "svd": _digits(svd)},
        "svds": {"fit": _digits(fit / svd), "graph": _digits(graph / svd)},
        "errors": common.fair_errors(Q, inputs, run.record()),
    }


def _timed(work: Callable, *given: Any, **options: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work(*given, **options)
    return time.perf_counter() - start, found


def _digits(number: float) -> float:
    return float(f"{number:.3g}")


def tables(records: Iterable[dict]) -> list[Table]:
    """Seconds, SVDs and errors by model and size, in brackets the printed numbers."""
    found = {}
    for record in common.of_experiment("timing", records):
        at = record["run"]["model"], record["n"]
        found[at] = record | {"printed": times().get(at)}
    if not found:
        return []
    sizes = sorted({n for _, n in found})
    models = [model for model in MODELS if any((model, n) in found for n in sizes)]

    def rows(show: Callable[[dict], str]) -> list[list[str]]:
        return [
            [m, *(show(found[m, n]) if (m, n) in found else "-" for n in sizes)]
            for m in models
        ]

    def shared(name: str, kind: str, unit: str) -> list[str]:
        """What all models of a size have in common: the median of their measures."""
        row = [name]
        for n in sizes:
            at = [r[kind][unit] for (_, m), r in found.items() if m == n]
            at = [value for value in at if value > 0]
            row.append(f"{np.median(at):.2g}" if at else "-")
        return row

    header = ["model", *(f"n = {n}" for n in sizes)]
    return [
        Table(
            "Seconds of one fit without its graph, in brackets the paper's",
            header,
            [
                *rows(lambda r: _beside(r, f"{r['seconds']['fit']:.2g}", 0)),
                shared("the graph", "seconds", "graph"),
                shared("one SVD of X", "seconds", "svd"),
            ],
        ),
        Table(
            "The same in SVDs of X",
            header,
            [
                *rows(lambda r: f"{r['svds']['fit']:.2g}"),
                shared("the graph", "svds", "graph"),
            ],
        ),
        Table(
            "Clustering error in %, parameters fixed without labels, in brackets the "
            "paper's",
            header,
            rows(lambda r: _beside(r, percent(r["errors"][0]), 1)),
        ),
    ]


def _beside(record: dict, ours: str, which: int) -> str:
    printed = record["printed"]
    return ours if printed is None else f"{ours} ({printed[which]:g})"
