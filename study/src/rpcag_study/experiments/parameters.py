"""Errors over the grid of lam and gamma: of clustering faces, of finding a known L.

lam is in units of 1 / sqrt(max(n, p)), gamma is as it is. The paper draws the rule
lam in [1, 2] from this; its algorithm at lam solves the model at half of it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpcag.graphs import KNNGraph
from rpcag.metrics import recovery_error
from rpcag.models import RPCAG
from rpcag_study.corruptions import add_sign_errors
from rpcag_study.datasets import Data
from rpcag_study.experiments import common
from rpcag_study.grids import BOTH, METHODS, Grid
from rpcag_study.model_input import CorruptedData, Graph, ModelInput
from rpcag_study.tables import Table, percent

LAM = (0.25, 0.35, 0.5, 0.7, 1.0, 1.4)
# The largest first, as each solve starts where the last ended and low ranks are cheap;
# at zero it is Robust PCA.
GAMMA = (128.0, 32.0, 8.0, 2.0, 0.5, 0.125, 0.03, 0.0)
# Gap and iterations where the true L is known: errors far below the clustering's count.
PRECISE, MAX_ITER = 1e-6, 1000
# log10 of errors that tell the solver's precision and not the model's.
EXACT = -5.0
QUICK: dict[str, Any] = {
    "subjects": 6,
    "images": [10],
    "occlusions": [20],
    "n": 50,
    "ranks": [0.05],
    "shares": [10],
    "lam": [0.5, 0.7, 1.0],
    "gamma": [8.0, 0.5, 0.03, 0.0],
}


@dataclass(frozen=True)
class FacesGridRun(common.Recorded, experiment="parameters"):
    """Clustering errors of RPCAG over the grid, on occluded faces."""

    subjects: int
    images: int  # of each
    corruption: str
    lam: tuple[float, ...] = LAM
    gamma: tuple[float, ...] = GAMMA
    graph: Graph = "complete"
    seed: int = 0
    dataset: str = "PIE"


@dataclass(frozen=True)
class LowRankGridRun(common.Recorded, experiment="parameters"):
    """Relative errors of L over the grid, on a random low-rank matrix."""

    n: int
    rank: int
    errors: int  # per cent of the entries
    lam: tuple[float, ...] = LAM
    gamma: tuple[float, ...] = GAMMA
    seed: int = 0
    dataset: str = "low-rank"


def plan(
    *,
    subjects: int = 30,
    images: Sequence[int] = (10, 20, 40),
    occlusions: Sequence[int] = (10, 20, 30),
    n: int = 100,
    ranks: Sequence[float] = (0.05, 0.1, 0.2),
    shares: Sequence[int] = (5, 10, 20),
    lam: Sequence[float] = LAM,
    gamma: Sequence[float] = GAMMA,
    dataset: str = "PIE",
    load: Callable[[FacesGridRun], Data] = common.faces,
) -> list[common.Task]:
    """One run per matrix: `images` x `occlusions` of faces, `ranks` x `shares` random.

    Ranks are shares of n, occlusions and shares of errors are per cents; an empty list
    leaves a kind out. `load` makes other data than faces from a run.
    """
    grid: dict[str, Any] = {
        "lam": tuple(lam),
        "gamma": tuple(sorted(gamma, reverse=True)),
    }
    random = [
        LowRankGridRun(n, round(rank * n), share, **grid)
        for rank in ranks
        for share in shares
    ]
    occluded = [
        FacesGridRun(subjects, count, f"occlusion{share}", dataset=dataset, **grid)
        for count in images
        for share in occlusions
    ]
    tasks = [common.Task(run, low_rank, recover) for run in random]
    return tasks + [common.Task(run, load, cluster) for run in occluded]


def low_rank(run) -> Data:
    """L = A^T B, for A and B with independent Gaussian entries of variance 1 / n."""
    rng = np.random.default_rng(run.seed)
    A, B = rng.standard_normal((2, run.rank, run.n)) / math.sqrt(run.n)
    return Data(run.dataset, A.T @ B)


def recover(run: LowRankGridRun, data: Data) -> dict:
    """log10 of ||L - truth|| / ||truth||, by lam and gamma."""
    X, _ = add_sign_errors(data.X, run.errors / 100, random_state=run.seed + 1)
    unit = 1 / math.sqrt(max(X.shape))
    graph = KNNGraph(10)(X)
    found = np.empty((len(run.lam), len(run.gamma)))
    for i, lam in enumerate(run.lam):
        model = RPCAG(graph=graph, tol=PRECISE, max_iter=MAX_ITER, warm_start=True)
        for j, gamma in enumerate(run.gamma):
            L = model.set_params(lam=lam * unit, gamma=gamma).fit(X).low_rank_
            found[i, j] = math.log10(max(recovery_error(L, data.X), 1e-12))
    return {"log10": common.rounded(found, 3)}


def cluster(run: FacesGridRun, data: Data) -> dict:
    """Errors and numbers of components by "all" or "k", lam and gamma."""
    inputs = ModelInput(
        CorruptedData(data, run.corruption, run.seed), run.graph, "zeros"
    )
    shape = len(run.lam), len(run.gamma)
    found = {name: np.empty((2, *shape)) for name in BOTH}
    rank = np.empty(shape, int)
    grid: Grid = {"lam": list(run.lam), "gamma": list(run.gamma), "components": BOTH}
    of = run.record() | {"lam": None, "gamma": None}
    for values, Q, _ in METHODS["RPCAG"].sweep(inputs, grid):
        i, j = run.lam.index(values["lam"]), run.gamma.index(values["gamma"])
        found[values["components"]][:, i, j] = common.fair_errors(Q, inputs, of, values)
        if values["components"] == "all":
            rank[i, j] = Q.shape[1]
    return {
        "matching": {name: common.rounded(pair[0], 4) for name, pair in found.items()},
        "majority": {name: common.rounded(pair[1], 4) for name, pair in found.items()},
        "rank": rank.tolist(),
    }


# -- tables ----------------------------------------------------------------------------


def tables(records: Iterable[dict]) -> list[Table]:
    """Where the least errors are, and what the rule lam = 1 gives."""
    records = common.of_experiment("parameters", records)
    made = []
    for chosen, name in (("all", "all components"), ("k", "one component per class")):
        rows = [
            [f"{run['subjects'] * run['images']}, {_percent_of(run)} %", *cells]
            for run, cells in _summaries(records, "matching", percent, chosen)
        ]
        title = f"Faces: least clustering error in % over the grid (matching; {name})"
        made.append(Table(title, ["n, occluded", *COLUMNS], rows))
    rows = [
        [f"{run['rank']}, {run['errors']} %", *cells]
        for run, cells in _summaries(records, "log10", lambda e: f"{e:.2f}")
    ]
    title = (
        "Low-rank matrices: least log10 of the relative error of L over the grid "
        f"({EXACT:g}: exact)"
    )
    made.append(Table(title, ["rank, errors", *COLUMNS], rows))
    return [table for table in made if table.rows]


COLUMNS = (
    *("RPCAG", "at lam", "at gamma"),
    *("RPCAG, lam = 1", "at gamma"),
    *("RPCA", "at lam"),
)


def _summaries(records: list[dict], kind: str, show, chosen: str | None = None):
    for record in records:
        if kind not in record:
            continue
        run = record["run"]
        E = np.array(record[kind] if chosen is None else record[kind][chosen])
        E = np.maximum(E, EXACT)
        lam, gamma = np.array(run["lam"]), np.array(run["gamma"])
        cells = _least(E[:, gamma > 0], lam, gamma[gamma > 0], show)
        one = _least(E[lam == 1][:, gamma > 0], lam[lam == 1], gamma[gamma > 0], show)
        rpca = _least(E[:, gamma == 0], lam, gamma[gamma == 0], show)
        yield run, [*cells, one[0], one[2], rpca[0], rpca[1]]


def _least(E: np.ndarray, lam: np.ndarray, gamma: np.ndarray, show) -> list[str]:
    """The least of some errors, and its parameters; of equals the largest gamma."""
    if not E.size:
        return ["-", "-", "-"]
    j, i = np.unravel_index(E.T.argmin(), E.T.shape)
    return [show(E[i, j]), f"{lam[i]:g}", f"{gamma[j]:g}"]


def _percent_of(run: dict) -> str:
    return run["corruption"].removeprefix("occlusion")
