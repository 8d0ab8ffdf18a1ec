"""Where a known low-rank matrix is found again: Robust PCA with and without a graph.

L is a product of Gaussian factors, X = L + S with S = +-1 at random places, as in the
paper. It names neither the size, nor the graph, nor gamma. Here the graph is of 10
nearest neighbors between the rows of X, or of the clean L as the best case, and gamma
is the least of the paper's grid or that of gamma="clustering".
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from rpcag.graphs import KNNGraph, laplacian
from rpcag.metrics import recovery_error
from rpcag.models import RPCA as RobustPCA
from rpcag.models import RPCAG
from rpcag_study.corruptions import add_sign_errors
from rpcag_study.datasets import Data
from rpcag_study.experiments import common
from rpcag_study.experiments.parameters import low_rank
from rpcag_study.tables import Table

RANKS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)  # of the size
ERRORS = (6, 12, 18, 24, 30)  # per cent of the entries
SIGNS = ("random", "coherent")
SEEDS = (1, 2, 3)
# At this gap matrices that are found have errors of 1e-4 and less, and the errors of
# the others do not change any more in the second digit of their logarithm.
TOL, MAX_ITER = 1e-5, 5000
# An L with a relative error below this is found: the rule of Candès et al.
FOUND = -3.0
# Differences of log10 below this are none.
EVEN = 0.01
# The least gamma of the paper's grid, 2^-3; its algorithm solves a quarter of that.
LEAST = 2.0**-5


class Setup(NamedTuple):
    """A model of the comparison: the rows its graph is of, and gamma."""

    graph: str | None  # "X", "L", or none for Robust PCA
    gamma: float | str


RPCA = Setup(None, 0.0)
SETUPS = {
    RPCA: "RPCA",
    Setup("X", LEAST): "RPCAG, graph of X",
    Setup("L", LEAST): "RPCAG, graph of L",
    Setup("X", "clustering"): "RPCAG, graph of X, gamma for clustering",
}
QUICK: dict[str, Any] = {
    "size": 80,
    "ranks": [0.05, 0.1, 0.2],
    "errors": [6, 18, 30],
    "seeds": [1],
}


@dataclass(frozen=True)
class PhaseRun(common.Recorded, experiment="phase"):
    """One matrix and one model."""

    n: int
    rank: int
    errors: int  # per cent of the entries
    signs: str
    graph: str | None
    gamma: float | str
    tol: float = TOL
    seed: int = 1
    dataset: str = "low-rank"


def plan(
    *,
    size: int = 200,
    ranks: Sequence[float] = RANKS,
    errors: Sequence[int] = ERRORS,
    signs: Sequence[str] = SIGNS,
    seeds: Sequence[int] = SEEDS,
) -> list[common.Task]:
    """Every model on every matrix, seed by seed, so that a part of it is of use.

    Ranks are shares of the size.
    """
    if size < 20:
        raise ValueError(f"size must be 20 or more, got {size}")
    for share in ranks:
        if not 0 < share <= 1:
            raise ValueError(f"ranks are shares between 0 and 1, got {share}")
    for percent in errors:
        if not (0 < percent < 100 and percent == int(percent)):
            raise ValueError(f"errors must be whole per cents, got {percent}")
    for sign in signs:
        if sign not in SIGNS:
            raise ValueError(f"signs must be among {', '.join(SIGNS)}, got {sign!r}")
    runs = [
        PhaseRun(size, rank, share, sign, *setup, seed=seed)
        for seed in seeds
        for setup in SETUPS
        for sign in signs
        for rank in sorted({max(1, round(share * size)) for share in ranks})
        for share in errors
    ]
    return [common.Task(run, low_rank, recover) for run in runs]


def recover(run: PhaseRun, data: Data) -> dict:
    """log10 of ||L - truth|| / ||truth||, with the certificate of L.

    "roughness" is tr(L^T Phi L) / ||L||^2 of the truth: near zero where neighbors
    are alike, near one where they are like any other two rows.
    """
    truth = data.X
    X, _ = add_sign_errors(
        truth, run.errors / 100, signs=run.signs, random_state=run.seed + 1
    )
    options: dict[str, Any] = {
        "lam": 1 / math.sqrt(run.n),
        "tol": run.tol,
        "max_iter": MAX_ITER,
    }
    model, roughness = RobustPCA(**options), None
    if run.graph is not None:
        graph = KNNGraph(10)(truth if run.graph == "L" else X)
        Phi = laplacian(graph)
        roughness = round(float(np.sum(truth * (Phi @ truth)) / np.sum(truth**2)), 3)
        model = RPCAG(gamma=run.gamma, graph=graph, **options)
    model.fit(X)
    error = max(recovery_error(model.low_rank_, truth), 1e-15)
    return {
        "log10": round(math.log10(error), 3),
        "gap": float(f"{model.gap_:.3g}"),
        "iterations": model.n_iter_,
        "found_rank": model.rank_,
        "used_gamma": float(f"{getattr(model, 'gamma_', 0.0):.4g}"),
        "roughness": roughness,
    }


# -- what was found --------------------------------------------------------------------

# By size, kind of signs, rank and errors: log10 by seed.
Cells = dict[tuple[int, str, int, int], dict[int, float]]


def cells(records: Iterable[dict]) -> dict[Setup, Cells]:
    """What every model found, by matrix, in the order of the models above."""
    found: dict[Setup, Cells] = {}
    for record in common.of_experiment("phase", records):
        run = record["run"]
        setup = Setup(run["graph"], run["gamma"])
        key = (run["n"], run["signs"], run["rank"], run["errors"])
        of_cell = found.setdefault(setup, {}).setdefault(key, {})
        of_cell[run["seed"]] = record["log10"]
    return {setup: found[setup] for setup in SETUPS if setup in found}


def clipped(found: Cells) -> Cells:
    """Errors beyond FOUND tell the solver's precision: they are FOUND."""
    return {
        key: {seed: max(error, FOUND) for seed, error in by_seed.items()}
        for key, by_seed in found.items()
    }


def minus(ours: Cells, theirs: Cells) -> Cells:
    """Differences on the same matrices."""
    ours, theirs = clipped(ours), clipped(theirs)
    apart: Cells = {}
    for key, by_seed in ours.items():
        other = theirs.get(key, {})
        same = {s: error - other[s] for s, error in by_seed.items() if s in other}
        if same:
            apart[key] = same
    return apart


def sides(found: dict[Setup, Cells], n: int, signs: str) -> tuple[list, list]:
    """Ranks and shares of errors that any model has."""
    keys = [key for cells_ in found.values() for key in cells_]
    keys = [key for key in keys if key[:2] == (n, signs)]
    return sorted({key[2] for key in keys}), sorted({key[3] for key in keys})


def grid(values: Cells, n: int, signs: str, ranks: list, errors: list) -> np.ndarray:
    """Means over the seeds by error and rank, NaN where nothing is."""
    E = np.full((len(errors), len(ranks)), np.nan)
    for (size, kind, rank, share), by_seed in values.items():
        if (size, kind) == (n, signs):
            mean = np.mean(list(by_seed.values()))
            E[errors.index(share), ranks.index(rank)] = mean
    return E


def of_size(values: Cells, n: int, signs: str) -> np.ndarray:
    """All values of a size and kind of signs."""
    cells = [by_seed for key, by_seed in values.items() if key[:2] == (n, signs)]
    return np.array([value for by_seed in cells for value in by_seed.values()])


def sizes(found: dict[Setup, Cells]) -> list[int]:
    return sorted({key[0] for cells_ in found.values() for key in cells_})


def outcome(records: Iterable[dict]) -> str:
    """How often RPCAG is nearer to L than RPCA, on the largest matrices."""
    found = cells(common.of_experiment("phase", records))
    if RPCA not in found or len(found) < 2:
        return ""
    n = sizes(found)[-1]
    apart = [
        np.concatenate([of_size(minus(values, found[RPCA]), n, s) for s in SIGNS])
        for setup, values in found.items()
        if setup != RPCA
    ]
    nearer = max(np.count_nonzero(values < -EVEN) for values in apart)
    return (
        "In the paper, RPCAG is nearer to L than RPCA for every rank and share of "
        f"errors. Here, its best setup is nearer on {nearer} of {len(apart[0])} "
        f"matrices of size {n}."
    )


# -- tables ----------------------------------------------------------------------------


def tables(records: Iterable[dict]) -> list[Table]:
    """Who finds L how often, and every cell of the maps."""
    records = common.of_experiment("phase", records)
    found = cells(records)
    return [_counts(n, found, records) for n in sizes(found)]


def _counts(n: int, found: dict[Setup, Cells], records: list[dict]) -> Table:
    """Matrices that are found, and on which RPCAG is nearer to L than RPCA."""
    rpca = found.get(RPCA, {})
    rough = defaultdict(list)
    for record in records:
        run = record["run"]
        if run["n"] == n and record["roughness"] is not None:
            rough[Setup(run["graph"], run["gamma"])].append(record["roughness"])
    rows = []
    for setup, cells_ in found.items():
        for signs in SIGNS:
            errors = of_size(cells_, n, signs)
            if not len(errors):
                continue
            row = [SETUPS[setup], signs, f"{len(errors)}"]
            row.append(f"{np.count_nonzero(errors < FOUND)}")
            apart = of_size(minus(cells_, rpca), n, signs)
            compared = ["-"] * 4
            if setup.graph is not None and len(apart):
                counts = [
                    np.count_nonzero(apart < -EVEN),
                    np.count_nonzero(apart > EVEN),
                ]
                means = [f"{apart.mean():+.2f}", f"{np.mean(rough[setup]):.2f}"]
                compared = [*map(str, counts), *means]
            rows.append([*row, *compared])
    header = ["model", "signs", "matrices", "L found"]
    header += ["nearer than RPCA", "farther", "mean difference", "roughness"]
    title = f"Recovery of {n} x {n} matrices"
    note = (
        f"*L found*: the relative error is below 1e{FOUND:g}. *Nearer*, *farther*: "
        "matrices on which the log10 errors of RPCAG and RPCA differ by at least "
        f"{EVEN:g}; the mean difference is over all matrices. *Roughness* of L on the "
        "graph: 0 is smooth, 1 is as rough as with unrelated neighbors."
    )
    return Table(title, header, rows, note=note)
