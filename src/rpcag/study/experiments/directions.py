"""The first principal directions of occluded faces and their singular values.

For every model these are the singular vectors and values of the low-rank matrix it
finds: L, or Q U^T.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg
from sklearn.decomposition import NMF

from rpcag.datasets import Data
from rpcag.models import GLPCA, GNMF, MMF, RGLPCA, RPCA, RPCAG
from rpcag.study.case import Case, Graph, Mask, Sample
from rpcag.study.experiments.task import (
    Recorded,
    Task,
    check_models,
    faces,
    fixed,
    of_experiment,
    rounded,
)
from rpcag.study.methods import GAP, METHODS, STEPS
from rpcag.study.tables import Table

SHOWN = 2
VALUES = 20
QUICK: dict[str, Any] = {"subjects": 10}

Factors = tuple[np.ndarray, np.ndarray]  # Q (n x d) and U^T (d x p)


def _pca(case: Case, d: int) -> Factors:
    P, s, Vt = linalg.svd(case.X - case.X.mean(axis=0), full_matrices=False)
    return P[:, :d] * s[:d], Vt[:d]


def _glpca(case: Case, d: int, **values: Any) -> Factors:
    return _factors(GLPCA(d, graph=case.adjacency, **values).fit(case.X))


def _rglpca(case: Case, d: int, **values: Any) -> Factors:
    model = RGLPCA(d, graph=case.adjacency, tol=1e-2, max_iter=STEPS, **values)
    return _factors(model.fit(case.X))


def _mmf(case: Case, d: int, **values: Any) -> Factors:
    return _factors(MMF(d, graph=case.adjacency, **values).fit(case.unit_rows))


def _nmf(case: Case, d: int) -> Factors:
    model = NMF(d, init="nndsvda", max_iter=STEPS, tol=1e-3)
    Q = model.fit_transform(case.non_negative)
    return Q, model.components_


def _gnmf(case: Case, d: int, **values: Any) -> Factors:
    model = GNMF(d, graph=case.adjacency, tol=1e-3, max_iter=STEPS, **values)
    return _factors(model.fit(case.non_negative))


def _rpca(case: Case, lam: Any, **cut: Any) -> Factors:
    return _factors(RPCA(lam=_weight(lam, case), tol=GAP).fit(case.X_with_nan))


def _rpcag(case: Case, lam: Any, gamma: Any, **cut: Any) -> Factors:
    model = RPCAG(lam=_weight(lam, case), gamma=gamma, graph=case.adjacency, tol=GAP)
    return _factors(model.fit(case.X_with_nan))


def _weight(lam: Any, case: Case) -> Any:
    """The study's lam is in units of 1 / sqrt(max(n, p)), or the model's own rule."""
    return lam if isinstance(lam, str) else lam / math.sqrt(max(case.shape))


def _factors(model) -> Factors:
    return model.embedding_, model.components_


FITS: dict[str, Callable[..., Factors]] = {
    "PCA": _pca,
    "GLPCA": _glpca,
    "RGLPCA": _rglpca,
    "MMF": _mmf,
    "NMF": _nmf,
    "GNMF": _gnmf,
    "RPCA": _rpca,
    "RPCAG": _rpcag,
}


@dataclass(frozen=True)
class DirectionsRun(Recorded):
    """One model at fixed parameters."""

    experiment: ClassVar[str] = "directions"

    model: str
    graph: Graph | None = "complete"
    mask: Mask = "zeros"
    subjects: int = 30
    images: int = 10  # of each
    corruption: str = "occlusion20"
    seed: int = 0
    dataset: str = "PIE"


def plan(
    *,
    models: Sequence[str] = tuple(FITS),
    graph: Graph = "complete",
    mask: Mask = "zeros",
    subjects: int = 30,
    images: int = 10,
    seed: int = 0,
    dataset: str = "PIE",
    load: Callable[[DirectionsRun], Data] = faces,
) -> list[Task]:
    """Every model on one graph; `load` makes other images from a run."""
    of: dict[str, Any] = {
        "mask": mask,
        "subjects": subjects,
        "images": images,
        "seed": seed,
        "dataset": dataset,
    }
    return [
        Task(
            DirectionsRun(model, graph if METHODS[model].uses_graph else None, **of),
            load,
            measure,
        )
        for model in check_models(models, FITS)
    ]


def measure(run: DirectionsRun, data: Data) -> dict:
    """Two directions, the singular values relative to the first, and what is clean.

    "clean" is, for each direction, the share of its length that lies in the plane of
    the two directions the same model finds without the blocks.
    """
    grid = fixed(METHODS[run.model], data)
    parameters = {name: value for name, (value,) in grid.items()}
    values, U = principal(run, data, run.corruption, parameters)
    _, without = principal(run, data, "none", parameters)
    top = values[0] if len(values) and values[0] > 0 else 1.0
    return {
        "parameters": parameters,
        "image_shape": list(data.image_shape or ()),
        "directions": rounded(U[:SHOWN], 4),
        "singular_values": rounded(values[:VALUES] / top, 4),
        "clean": rounded(np.linalg.norm(U[:SHOWN] @ without[:SHOWN].T, axis=1), 3),
    }


def principal(run: DirectionsRun, data: Data, corruption: str, parameters: dict):
    """Singular values and right singular vectors (in rows) of Q U^T."""
    sample = Sample(data, corruption, run.seed)
    case = Case(sample, run.graph or "uniform", run.mask)
    Q, Ut = FITS[run.model](case, **parameters)
    # Of Q U^T = P (R S^T) V^T only the small middle part has to be decomposed.
    (_, R), (V, S) = linalg.qr(Q, mode="economic"), linalg.qr(Ut.T, mode="economic")
    _, values, Wt = linalg.svd(R @ S.T, full_matrices=False)
    U = Wt @ V.T
    # A direction has no sign: its sum is positive, as of a face on dark ground.
    return values, U * np.where(U.sum(axis=1) < 0, -1.0, 1.0)[:, None]


def tables(records: Iterable[dict]) -> list[Table]:
    """How fast singular values fall, and how clean the two directions are."""
    records = of_experiment("directions", records)
    shown = (2, 3, 5, 10, VALUES)
    rows = []
    for record in sorted(records, key=lambda r: list(FITS).index(r["run"]["model"])):
        values = record["singular_values"]
        row = [record["run"]["model"]]
        row += [f"{values[i - 1]:.2f}" if i <= len(values) else "-" for i in shown]
        row += [f"{100 * share:.0f}" for share in record["clean"]]
        rows.append(row)
    header = ["model", *(f"value {i}" for i in shown)]
    header += [f"direction {i}, % clean" for i in range(1, SHOWN + 1)]
    title = (
        "Singular values over the first, and % of the first two directions in the "
        "plane of those found without blocks"
    )
    return [Table(title, header, rows)] if rows else []
