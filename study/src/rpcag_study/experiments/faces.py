"""Faces behind blocks: the low-rank image of every model against the clean image.

Models get what they get in the clustering study, and their low-rank matrix is brought
back to gray values by undoing that preparation; so all errors are in the same unit. The
graph of 10 neighbors knows of the mask what the model does.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpcag_study.datasets import Data
from rpcag_study.experiments import common
from rpcag_study.experiments.graph_quality import Told
from rpcag_study.grids import Grid, combinations
from rpcag_study.model_input import MASKS, Mask, ModelInput
from rpcag_study.models import LOW_RANK, ROWS, low_rank_factors
from rpcag_study.runs import quietly
from rpcag_study.tables import Table, best_cells, percent

# Faces of one person under all lights lie near a space of nine dimensions (Basri and
# Jacobs, 2003). Of every list the first value is the fixed one; lam is in units of
# 1 / sqrt(max(n, p)). The truth chooses among all of them in the column "best".
DIMENSIONS = [9, 2, 4, 6, 14, 20]  # per subject
GRIDS: dict[str, Grid] = {
    "PCA": {"d": DIMENSIONS},
    "GLPCA": {"d": DIMENSIONS, "beta": [0.5, 0.1, 0.9]},
    "RGLPCA": {"d": DIMENSIONS, "beta": [0.5]},
    "MMF": {"d": DIMENSIONS, "gamma": [2.0, 0.125, 32.0]},
    "NMF": {"d": DIMENSIONS},
    "GNMF": {"d": DIMENSIONS, "gamma": [1.0]},
    "RPCA": {"lam": ["theory", 0.5, 0.7, 1.4, 2.0]},
    "RPCAG": {
        "lam": ["theory", 0.5, 0.7, 1.4, 2.0],
        "gamma": ["clustering", 1.0, 0.125, 0.02, 0.004, 0.001],
    },
    "RPCAGCV": {},
    "FRPCAG": {
        "gamma_samples": ["unit", 10.0, 0.1, 0.01],
        "gamma_features": ["unit", 10.0, 0.1, 0.01],
    },
}
WHAT = {"zeros": "mask unknown", "known": "mask known"}
QUICK: dict[str, Any] = {"subjects": [1], "seeds": [1]}


@dataclass(frozen=True)
class FacesRun(common.Recorded, experiment="faces"):
    """One model on the faces of one draw, at all combinations of its parameters."""

    model: str
    mask: Mask
    subjects: int = 1
    images: int = 42  # of each
    corruption: str = "occlusion10"
    seed: int = 1
    dataset: str = "PIE"


def plan(
    *,
    models: Sequence[str] = tuple(LOW_RANK),
    masks: Sequence[Mask] = ("zeros", "known"),
    subjects: Sequence[int] = (1, 5),
    seeds: Sequence[int] = (1, 2, 3),
    load: Callable[[FacesRun], Data] = common.faces,
    **fields: Any,
) -> list[common.Task]:
    """Every model with and without the mask; `fields` are other values of a run."""
    if min(subjects, default=1) < 1:
        raise ValueError(f"subjects must be 1 or more, got {min(subjects)}")
    runs = [
        FacesRun(model, mask, count, seed=seed, **fields)
        for seed in seeds
        for count in subjects
        for mask in masks
        for model in common.check_models(models, LOW_RANK)
    ]
    return [common.Task(run, load, measure) for run in runs]


def input_of(run: FacesRun, data: Data) -> ModelInput:
    """The faces as the run's model sees them."""
    knowledge = "masked" if run.mask == "known" else "unknown"
    return ModelInput(Told(data, run.corruption, run.seed, knowledge), "knn", run.mask)


def grid_of(run: FacesRun, data: Data) -> Grid:
    """The values that are tried; numbers of components are those of all subjects."""
    grid = dict(GRIDS[run.model])
    if "d" in grid:
        most = min(data.X.shape)
        grid["d"] = list(dict.fromkeys(min(d * run.subjects, most) for d in grid["d"]))
    return grid


def recovered(model: str, inputs: ModelInput, values: dict[str, Any]) -> np.ndarray:
    """The low-rank images, in gray values."""
    Q, Ut = low_rank_factors(model, inputs, **values)
    L = Q @ Ut
    given = ROWS.get(model, "X")
    if given != "X":  # rows that were brought to unit norm
        rows = inputs.gray if given == "non_negative" else inputs.X
        L = L * np.linalg.norm(rows, axis=1, keepdims=True)
    if given != "non_negative":
        mean, deviation = inputs.feature_scales
        L = L * deviation + mean
    return L


def image_errors(images: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """||image - truth|| / ||truth||, one per row."""
    size = np.linalg.norm(truth, axis=1)
    return np.linalg.norm(images - truth, axis=1) / np.where(size > 0, size, 1.0)


def measure(run: FacesRun, data: Data) -> dict:
    """Mean errors over the images: of all of the image, and of what is behind blocks.

    The first trial is that of the fixed parameters.
    """
    inputs = input_of(run, data)
    behind = ~inputs.sample.mask if inputs.sample.mask is not None else None

    def errors(images: np.ndarray) -> list[float]:
        found = [image_errors(images, data.X).mean()]
        if behind is not None:
            found.append(image_errors(images * behind, data.X * behind).mean())
        return [float(f"{error:.4g}") for error in found]

    trials = [
        [values, *errors(recovered(run.model, inputs, values))]
        for values in combinations(grid_of(run, data))
    ]
    return {"seen": errors(inputs.sample.seen), "trials": trials}


def pictures(
    records: Iterable[dict], load: Callable = common.faces
) -> tuple[Data, dict]:
    """The faces of the first draw of one person, and their low-rank images.

    Faces are not kept in the store: they are found once more, from the data, at the
    fixed parameters, by mask and model.
    """
    runs = [FacesRun.of(record) for record in common.of_experiment("faces", records)]
    first = min((run.subjects, run.seed) for run in runs)
    runs = [run for run in runs if (run.subjects, run.seed) == first]
    if load is common.faces and runs[0].dataset != "PIE":
        raise FileNotFoundError(f"the images of {runs[0].dataset} are not known here")
    data = load(runs[0])
    found: dict[tuple[Mask, str], tuple[ModelInput, np.ndarray]] = {}
    for run in runs:
        inputs = input_of(run, data)
        values = next(combinations(grid_of(run, data)))
        with quietly():
            found[run.mask, run.model] = inputs, recovered(run.model, inputs, values)
    return data, found


# -- tables ----------------------------------------------------------------------------


def by_model(records: Iterable[dict], subjects: int, mask: str) -> dict[str, list]:
    """The records of all seeds."""
    found = defaultdict(list)
    for record in common.of_experiment("faces", records):
        run = record["run"]
        if (run["subjects"], run["mask"]) == (subjects, mask):
            found[run["model"]].append(record)
    return dict(found)


def tables(records: Iterable[dict]) -> list[Table]:
    """Errors at fixed parameters and at the best, with and without the mask."""
    records = common.of_experiment("faces", records)
    header = ["model"]
    for mask in MASKS:
        header += [f"{WHAT[mask]}: image", "best", "behind the block"]
    made = []
    for subjects in sorted({r["run"]["subjects"] for r in records}):
        same = [r for r in records if r["run"]["subjects"] == subjects]
        seen = [_mean([r["seen"][i] for r in same]) for i in (0, 1)]
        rows = [["the occluded images", seen[0], "-", seen[1]] + ["-"] * 3]
        chosen = [by_model(same, subjects, mask) for mask in MASKS]
        for model in LOW_RANK:
            cells = [cell for found in chosen for cell in _cells(found.get(model, []))]
            if set(cells) != {"-"}:
                rows.append([model, *cells])
        seeds = len({r["run"]["seed"] for r in same})
        images = same[0]["run"]["images"]
        people = "one person" if subjects == 1 else f"{subjects} people"
        title = f"Faces of {people}: relative error in %"
        note = (
            f"{images} images of each person, mean of {seeds} "
            f"draw{'s' if seeds > 1 else ''}. *Image*: the whole image, at fixed "
            "parameters. *Best*: the same at the best of several parameters, chosen "
            "with the clean images. *Behind the block*: only the covered pixels, at "
            "fixed parameters."
        )
        bold = best_cells(rows, range(1, len(header)))
        made.append(Table(title, header, rows, bold, note))
    return made


def _cells(records: list[dict]) -> list[str]:
    if not records:
        return ["-"] * 3
    fixed = [record["trials"][0] for record in records]
    best = [min(trial[1] for trial in record["trials"]) for record in records]
    return [
        _mean([trial[1] for trial in fixed]),
        _mean(best),
        _mean([trial[2] for trial in fixed if len(trial) > 2]),
    ]


def _mean(errors: list[float]) -> str:
    return percent(float(np.mean(errors)) if errors else None)
