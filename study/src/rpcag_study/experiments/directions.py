"""The first principal directions of occluded faces and their singular values.

These are of the low-rank matrix of a model, L or Q U^T, less its mean row. X has mean
zero, but L need not: a graph hardly penalizes what is the same in all rows, so RPCAG
keeps the median of every pixel, which is not its mean. Uncentered, this offset is its
first direction, with a singular value far above the second.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from rpcag_study.datasets import Data
from rpcag_study.experiments import common
from rpcag_study.grids import METHODS
from rpcag_study.model_input import CorruptedData, Graph, Mask, ModelInput
from rpcag_study.models import LOW_RANK, Factors, low_rank_factors
from rpcag_study.tables import Table

# Those with parameters fixed in the study.
MODELS = tuple(model for model in LOW_RANK if model in METHODS)
SHOWN = 2
VALUES = 20
QUICK: dict[str, Any] = {"subjects": 10}


@dataclass(frozen=True)
class DirectionsRun(common.Recorded, experiment="directions"):
    """One model at fixed parameters."""

    model: str
    graph: Graph | None
    mask: Mask = "zeros"
    subjects: int = 30
    images: int = 10  # of each
    corruption: str = "occlusion20"
    seed: int = 0
    dataset: str = "PIE"


def plan(
    *,
    models: Sequence[str] = MODELS,
    load: Callable[[DirectionsRun], Data] = common.faces,
    **fields: Any,
) -> list[common.Task]:
    """Every model on the paper's graph; `fields` are other values of a run."""
    runs = [
        DirectionsRun(model, common.graph_of(model, "complete"), **fields)
        for model in common.check_models(models, MODELS)
    ]
    return [common.Task(run, load, measure) for run in runs]


def measure(run: DirectionsRun, data: Data) -> dict:
    """Two directions, the singular values relative to the first, and what is clean.

    "clean" is, for each direction, the share of its length that lies in the plane of
    the two directions the same model finds without the blocks. "mean" is the share of
    the squares of the low-rank matrix that is its mean row, and "uncentered" what the
    second singular value is of the first, and what is clean, if it is kept.
    """
    grid = common.fixed(METHODS[run.model], data)
    parameters = {name: value for name, (value,) in grid.items()}
    factors, without = (
        _fit(run, data, corruption, parameters)
        for corruption in (run.corruption, "none")
    )
    (values, U), clean = _pair(centered(factors), centered(without))
    (raw, _), raw_clean = _pair(factors, without)
    return {
        "parameters": parameters,
        "image_shape": list(data.image_shape or ()),
        "directions": common.rounded(U[:SHOWN], 4),
        "singular_values": common.rounded(_relative(values)[:VALUES], 4),
        "clean": common.rounded(clean, 3),
        "mean": round(_share(np.sum(raw**2) - np.sum(values**2), np.sum(raw**2)), 4),
        "uncentered": {
            "second": common.rounded(_relative(raw)[1:2], 4),
            "clean": common.rounded(raw_clean, 3),
        },
    }


def _fit(run: DirectionsRun, data: Data, corruption: str, parameters: dict) -> Factors:
    sample = CorruptedData(data, corruption, run.seed)
    inputs = ModelInput(sample, run.graph or "uniform", run.mask)
    return low_rank_factors(run.model, inputs, **parameters)


def centered(factors: Factors) -> Factors:
    Q, Ut = factors
    return Q - Q.mean(axis=0), Ut


def _pair(factors: Factors, without: Factors):
    """What is principal in the first, and how much of it is in the second's plane."""
    values, U = principal(factors)
    plane = principal(without)[1][:SHOWN]
    return (values, U), np.linalg.norm(U[:SHOWN] @ plane.T, axis=1)


def _share(part: float, whole: float) -> float:
    return max(0.0, float(part / whole)) if whole > 0 else 0.0


def _relative(values: np.ndarray) -> np.ndarray:
    return values / values[0] if len(values) and values[0] > 0 else values


def principal(factors: Factors) -> tuple[np.ndarray, np.ndarray]:
    """Singular values and right singular vectors (in rows) of Q U^T."""
    Q, Ut = factors
    # Of Q U^T = P (R S^T) V^T only the small middle part has to be decomposed.
    (_, R), (V, S) = linalg.qr(Q, mode="economic"), linalg.qr(Ut.T, mode="economic")
    _, values, Wt = linalg.svd(R @ S.T, full_matrices=False)
    U = Wt @ V.T
    # A direction has no sign: its sum is positive, as of a face on dark ground.
    return values, U * np.where(U.sum(axis=1) < 0, -1.0, 1.0)[:, None]


def tables(records: Iterable[dict]) -> list[Table]:
    """How fast singular values fall, and how clean the two directions are."""
    records = common.of_experiment("directions", records)
    shown = (2, 3, 5, 10)
    rows = []
    for record in sorted(records, key=lambda r: MODELS.index(r["run"]["model"])):
        values, uncentered = record["singular_values"], record["uncentered"]
        row = [record["run"]["model"]]
        row += [f"{values[i - 1]:.2f}" if i <= len(values) else "-" for i in shown]
        row += [f"{100 * share:.0f}" for share in (*record["clean"], record["mean"])]
        row += [f"{value:.2f}" for value in uncentered["second"]] or ["-"]
        rows.append([*row, f"{100 * uncentered['clean'][0]:.0f}"])
    header = ["model", *(f"value {i}" for i in shown)]
    header += [f"direction {i}, % clean" for i in range(1, SHOWN + 1)]
    header += ["mean row, % of L", "uncentered: value 2", "direction 1, % clean"]
    title = "Singular values and principal directions of L"
    note = (
        "A value is a singular value divided by the first. A direction is clean if it "
        "lies in the plane of the two directions that are found without blocks. The "
        "mean row of L is subtracted, except in the uncentered columns."
    )
    return [Table(title, header, rows, note=note)] if rows else []
