"""Three components of three classes of occluded faces, by every model."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from rpcag_study.datasets import Data
from rpcag_study.experiments import common
from rpcag_study.grids import METHODS, PRINTED
from rpcag_study.model_input import CorruptedData, Graph, Mask, ModelInput
from rpcag_study.report import SETUP_NAMES
from rpcag_study.tables import Table, percent

# Graph and knowledge of the mask; the first is what the paper did.
SETUPS: tuple[tuple[Graph, Mask], ...] = (("complete", "zeros"), ("knn", "known"))
SHOWN = 3
QUICK: dict[str, Any] = {}


@dataclass(frozen=True)
class ComponentsRun(common.Recorded, experiment="components"):
    """One model at fixed parameters."""

    model: str
    graph: Graph | None
    mask: Mask
    subjects: int = 3
    images: int = 10  # of each
    corruption: str = "occlusion20"
    seed: int = 0
    dataset: str = "PIE"


def plan(
    *,
    models: Sequence[str] = PRINTED,
    load: Callable[[ComponentsRun], Data] = common.faces,
    **fields: Any,
) -> list[common.Task]:
    """Every model with every graph; `fields` are other values of a run."""
    runs = [
        ComponentsRun(model, common.graph_of(model, graph), mask, **fields)
        for graph, mask in SETUPS
        for model in common.check_models(models)
    ]
    return [common.Task(run, load, measure) for run in dict.fromkeys(runs)]


def measure(run: ComponentsRun, data: Data) -> dict:
    """The first three components of every sample, its class, and the errors.

    k-means has no components: it is seen along those of PCA, scaled by their singular
    values, which is where X itself varies the most.
    """
    sample = CorruptedData(data, run.corruption, run.seed)
    inputs = ModelInput(sample, run.graph or "uniform", run.mask)
    values, Q = common.embed(run.model, inputs)
    shown = Q
    if run.model == "k-means":
        P, s, _ = linalg.svd(Q - Q.mean(axis=0), full_matrices=False)
        shown = P * s
    shown = shown[:, :SHOWN]
    # Zeros where a model has fewer components.
    shown = np.pad(shown, ((0, 0), (0, SHOWN - shown.shape[1])))
    digits = 4 - int(np.ceil(np.log10(max(np.abs(shown).max(), 1e-3))))
    return {
        "parameters": values,
        "components": common.rounded(shown, digits),
        "classes": inputs.y.tolist(),
        "errors": common.fair_errors(Q, inputs, run.record()),
    }


def by_setup(records: Iterable[dict]) -> dict[tuple[Graph, Mask], dict[str, dict]]:
    """Records by graph and mask, then by model, in the order of the paper.

    A model without a graph is in the setups of its mask.
    """
    records = common.of_experiment("components", records)
    found: dict[tuple[Graph, Mask], dict[str, dict]] = {}
    for setup in SETUPS:
        members = {
            record["run"]["model"]: record
            for record in records
            if record["run"]["graph"] in (None, setup[0])
            and record["run"]["mask"] == setup[1]
        }
        if members:
            found[setup] = {m: members[m] for m in METHODS if m in members}
    return found


def tables(records: Iterable[dict]) -> list[Table]:
    """Clustering errors of three classes, by model and setup."""
    setups = by_setup(records)
    rows = []
    for model in METHODS:
        pairs = [found[model]["errors"] for found in setups.values() if model in found]
        if pairs and len(pairs) == len(setups):
            rows.append([model, *(" / ".join(map(percent, pair)) for pair in pairs)])
    header = ["model", *(SETUP_NAMES[setup] for setup in setups)]
    title = (
        "Faces of few people behind blocks, parameters fixed without labels: "
        "clustering error in % (matching / majority)"
    )
    return [Table(title, header, rows)] if rows else []
