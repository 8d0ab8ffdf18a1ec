"""The low-rank matrix of every model that has one, as factors."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg
from sklearn.decomposition import NMF

from rpcag.models import FRPCAG, GLPCA, GNMF, MMF, RGLPCA, RPCA, RPCAG, RPCAGCV
from rpcag.models.rpca import resolve_gamma, resolve_lam
from rpcag.study.case import Case
from rpcag.study.methods import GAP, STEPS

Factors = tuple[np.ndarray, np.ndarray]  # Q (n x d) and U^T (d x p)
# Candidates of RPCAGCV, in units of the gamma for clustering.
SHARES = (0.0, 1 / 256, 1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0)


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


def _rpcagcv(case: Case) -> Factors:
    X = case.X_with_nan
    gamma = resolve_gamma("clustering", X)
    model = RPCAGCV(
        lams=[resolve_lam("theory", X)],
        gammas=[share * gamma for share in SHARES],
        graph=case.adjacency,
        tol=GAP,
    )
    return _factors(model.fit(X))


def _frpcag(case: Case, d: int | None = None, **values: Any) -> Factors:
    weights = {"gamma_samples": "unit", "gamma_features": "unit"} | values
    model = FRPCAG(graph=case.adjacency, tol=GAP, **weights)
    return _factors(model.fit(case.X_with_nan))


def _weight(lam: Any, case: Case) -> Any:
    """The study's lam is in units of 1 / sqrt(max(n, p)), or "theory"."""
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
    "RPCAGCV": _rpcagcv,
    "FRPCAG": _frpcag,
}
# What X a model is given, where it is not the standardised one.
ROWS: dict[str, str] = {
    "MMF": "unit_rows",
    "NMF": "non_negative",
    "GNMF": "non_negative",
}
