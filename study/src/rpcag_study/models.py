"""Every model of the comparison, fitted to the same input: one wrapper each."""

import math
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from rpcag import models
from rpcag_study.model_input import ModelInput

# Singular values of L below this share of the first count as zero, so that the rank
# does not depend on how far the solver went.
CUT = 1e-3
# Certified gap of the convex models, and iterations.
GAP, MAX_ITER = 1e-3, 1000
# Iterations of the models that are not convex and start from a closed form.
STEPS = 40
# Candidates of RPCAGCV, in units of the gamma for clustering.
SHARES = (0.0, 1 / 256, 1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0)
Factors = tuple[np.ndarray, np.ndarray]  # Q (n x d) and U^T (d x p)


class Fit(NamedTuple):
    """A fitted model: rows for k-means, L = Q U^T, and the certified gap if any."""

    embedding: np.ndarray
    factors: Factors | None = None
    gap: float | None = None


def raw(inputs: ModelInput) -> Fit:
    return Fit(inputs.X)


def pca(inputs: ModelInput, d: int) -> Fit:
    P, s, Vt = linalg.svd(inputs.X - inputs.X.mean(axis=0), full_matrices=False)
    rank = int(np.count_nonzero(s > 1e-10 * s[0]))
    return Fit(P[:, : min(d, rank)], (P[:, :d] * s[:d], Vt[:d]))


def ncuts(inputs: ModelInput, d: int) -> Fit:
    return Fit(models.NCuts(d, graph=inputs.adjacency).fit(inputs.X).embedding_)


def eigenmaps(inputs: ModelInput, d: int) -> Fit:
    model = models.LaplacianEigenmaps(min(d, len(inputs.X) - 1), graph=inputs.adjacency)
    return Fit(model.fit(inputs.X).embedding_)


def glpca(inputs: ModelInput, d: int, **values: Any) -> Fit:
    return _factored(models.GLPCA(d, graph=inputs.adjacency, **values).fit(inputs.X))


def rglpca(inputs: ModelInput, d: int, **values: Any) -> Fit:
    model = models.RGLPCA(d, graph=inputs.adjacency, tol=1e-2, max_iter=STEPS, **values)
    return _factored(model.fit(inputs.X))


def mmf(inputs: ModelInput, d: int, **values: Any) -> Fit:
    return _factored(
        models.MMF(d, graph=inputs.adjacency, **values).fit(inputs.unit_rows)
    )


def mmmf(inputs: ModelInput, d: int, **values: Any) -> Fit:
    model = models.MMMF(d, graphs=inputs.adjacencies(), **values)
    return _factored(model.fit(inputs.unit_rows))


def mhmf(inputs: ModelInput, d: int, **values: Any) -> Fit:
    model = models.MHMF(d, graphs=inputs.adjacencies("hypergraph"), **values)
    return _factored(model.fit(inputs.unit_rows))


def nmf(inputs: ModelInput, d: int) -> Fit:
    model = NMF(d, init="nndsvda", random_state=0, max_iter=STEPS, tol=1e-3)
    Q = model.fit_transform(inputs.non_negative)
    return Fit(Q, (Q, model.components_))


def gnmf(inputs: ModelInput, d: int, **values: Any) -> Fit:
    model = models.GNMF(d, graph=inputs.adjacency, tol=1e-3, max_iter=STEPS, **values)
    return _factored(model.fit(inputs.non_negative))


def rpca(inputs: ModelInput, lam: Any, **components: Any) -> Fit:
    model = models.RPCA(lam=weight(lam, inputs), tol=GAP, max_iter=MAX_ITER)
    return convex(model, inputs)


def rpcag(inputs: ModelInput, lam: Any, gamma: Any, **components: Any) -> Fit:
    return convex(rpcag_at(inputs, lam, gamma), inputs)


def rpcag_at(inputs: ModelInput, lam: Any, gamma: Any, **options: Any) -> models.RPCAG:
    """The estimator; with ``warm_start=True`` it is fitted again along a path."""
    options = {"tol": GAP, "max_iter": MAX_ITER} | options
    graph = inputs.adjacency
    return models.RPCAG(lam=weight(lam, inputs), gamma=gamma, graph=graph, **options)


def rpcagcv(inputs: ModelInput) -> Fit:
    X = inputs.X_with_nan
    gamma = models.resolve_gamma("clustering", X)
    model = models.RPCAGCV(
        lams=[models.resolve_lam("theory", X)],
        gammas=[share * gamma for share in SHARES],
        graph=inputs.adjacency,
        tol=GAP,
    )
    return convex(model, inputs)


def frpcag(inputs: ModelInput, d: int | None = None, **values: Any) -> Fit:
    weights = {"gamma_samples": "unit", "gamma_features": "unit"} | values
    weights["gamma"] = weights.pop("gamma_samples")  # its name in stored results
    fit = convex(models.FRPCAG(graph=inputs.adjacency, tol=GAP, **weights), inputs)
    return fit._replace(embedding=fit.embedding[:, :d])


def weight(lam: Any, inputs: ModelInput) -> Any:
    """The study's lam is in units of 1 / sqrt(max(n, p)), or "theory"."""
    return lam if isinstance(lam, str) else lam / math.sqrt(max(inputs.shape))


def convex(model: Any, inputs: ModelInput) -> Fit:
    """Left singular vectors of L, not scaled; single precision does for this gap."""
    with warnings.catch_warnings():  # the gap is recorded
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(inputs.X_with_nan.astype(np.float32))
    s = model.singular_values_
    kept = s > CUT * s[:1].sum()
    Q = model.embedding_[:, kept] / s[kept]
    return Fit(Q, (model.embedding_, model.components_), model.gap_)


def _factored(model: Any) -> Fit:
    return Fit(model.embedding_, (model.embedding_, model.components_))


# Those with a low-rank matrix, in the order of the tables.
LOW_RANK: dict[str, Callable[..., Fit]] = {
    "PCA": pca,
    "GLPCA": glpca,
    "RGLPCA": rglpca,
    "MMF": mmf,
    "NMF": nmf,
    "GNMF": gnmf,
    "RPCA": rpca,
    "RPCAG": rpcag,
    "RPCAGCV": rpcagcv,
    "FRPCAG": frpcag,
}
# The X that a model is given, where it is not the standardized one.
ROWS: dict[str, str] = {
    "MMF": "unit_rows",
    "NMF": "non_negative",
    "GNMF": "non_negative",
}


def low_rank_factors(model: str, inputs: ModelInput, **values: Any) -> Factors:
    """Q and U^T of the low-rank matrix of a model."""
    factors = LOW_RANK[model](inputs, **values).factors
    assert factors is not None
    return factors
