"""Losses and penalties: a prox minimizes, a dual point is feasible."""

import numpy as np
import pytest
from scipy.optimize import minimize

from rpcag.graphs import laplacian
from rpcag.linalg.gram import spectral_norm
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.losses import L1, Both, DataTerm, Huber, Rows
from rpcag.penalties import GraphSmoothness, NuclearNorm

RNG = np.random.default_rng(7)
X = RNG.standard_normal((5, 4))
SEEN = RNG.random(X.shape) < 0.7
GAPS = np.where(SEEN, X, np.nan)
WEIGHTS = RNG.random(X.shape)
ADJACENCY = np.triu(RNG.random((5, 5)), 1)
PHI = laplacian(ADJACENCY + ADJACENCY.T)

LOSSES = {
    "l1": DataTerm(X, L1(0.6)),
    "l1 with missing": DataTerm(GAPS, L1(0.6)),
    "l1 with weights": DataTerm(GAPS, L1(WEIGHTS)),
    "huber": DataTerm(X, Huber(L1(0.6), 0.7)),
    "huber with weights": DataTerm(GAPS, Huber(L1(WEIGHTS), WEIGHTS[:, :1] + 0.1)),
    "rows": DataTerm(X, Rows(0.8)),
    "rows with weights": DataTerm(GAPS, Rows(WEIGHTS[:, :1])),
    "both": DataTerm(X, Both(0.5, 0.8)),
    "both with weights": DataTerm(GAPS, Both(WEIGHTS, 0.6 + WEIGHTS[:, 1:2])),
    "huber of both": DataTerm(GAPS, Huber(Both(0.5, 0.8), 0.3)),
    "smoothness": GraphSmoothness(ShiftedLaplacian(PHI), 0.9),
}
TERMS = {"nuclear": NuclearNorm(), **LOSSES}


def prox(term, Y, step):
    if isinstance(term, NuclearNorm):
        return term.prox_in_place(Y.copy(), step)
    return term.prox(Y, step, np.empty_like(Y))


@pytest.mark.parametrize("name", TERMS)
@pytest.mark.parametrize("step", [0.1, 1.0, 10.0])
def test_prox_minimizes_its_objective(name, step):
    term = TERMS[name]
    Y = 2 * RNG.standard_normal(X.shape)
    P = prox(term, Y, step)

    def objective(A):
        return term.value(A) + np.sum((A - Y) ** 2) / (2 * step)

    best = objective(P)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(100):
            assert objective(P + size * RNG.standard_normal(X.shape)) >= best - 1e-12
    descent = minimize(lambda a: objective(a.reshape(X.shape)), Y.ravel())
    assert best <= descent.fun + 1e-9


@pytest.mark.parametrize("name", TERMS)
def test_prox_is_firmly_nonexpansive(name):
    A, B = RNG.standard_normal((2, *X.shape))
    moved = prox(TERMS[name], A, 1.0) - prox(TERMS[name], B, 1.0)
    assert np.sum(moved**2) <= np.sum(moved * (A - B)) + 1e-12


@pytest.mark.parametrize("name", TERMS)
def test_prox_leaves_its_input_alone(name):
    Y = RNG.standard_normal(X.shape)
    before = Y.copy()
    prox(TERMS[name], Y, 0.5)
    np.testing.assert_array_equal(Y, before)


@pytest.mark.parametrize("name", LOSSES)
def test_dual_point_satisfies_fenchels_inequality(name):
    """f(A) >= s <D, A> - f*(s D) for every A, with equality at P for s = 1."""
    term = LOSSES[name]
    V, step = 2 * RNG.standard_normal(X.shape), 0.7
    P = prox(term, V, step)
    D = np.zeros_like(X)
    given = P if isinstance(term, GraphSmoothness) else (V - P) / step
    linear, quadratic, _ = term.add_dual(given, D)
    for s in (0.0, 0.3, 1.0):
        conjugate = s * linear + s**2 * quadratic
        for _ in range(200):
            A = 3 * RNG.standard_normal(X.shape)
            assert term.value(A) >= s * np.sum(D * A) - conjugate - 1e-10
    attained = np.sum(D * P) - linear - quadratic
    assert attained == pytest.approx(term.value(P), abs=1e-10)


def test_dual_norm_of_the_nuclear_norm_is_the_spectral_norm():
    norm = spectral_norm(X)
    assert norm == pytest.approx(np.linalg.norm(X, 2), rel=1e-12)
    assert norm >= np.linalg.norm(X, 2)


def test_losses_ignore_what_is_missing():
    term = LOSSES["l1 with missing"]
    A = RNG.standard_normal(X.shape)
    B = np.where(SEEN, A, 1e6)
    assert term.value(A) == term.value(B)
    np.testing.assert_array_equal(prox(term, B, 1.0)[~SEEN], B[~SEEN])
