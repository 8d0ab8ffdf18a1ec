"""GNMF against scikit-learn, multiplicative updates and its own conditions."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF

from descent import random_graph
from rpcag import GNMF
from rpcag.graphs import KNNGraph, laplacian


@pytest.fixture(scope="module")
def digits():
    return load_digits().data[:300]


def value(X, Phi, gamma, Q, U):
    return np.sum((X - Q @ U.T) ** 2) + gamma * np.sum(Q * (Phi @ Q))


@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
@pytest.mark.parametrize("gamma", [0.0, 0.3, 30.0])
def test_the_objective_never_increases_and_ends_where_nothing_improves(
    digits, kind, gamma
):
    A = KNNGraph(5)(digits)
    Phi = laplacian(A, kind).toarray()
    model = GNMF(8, gamma=gamma, graph=A, laplacian=kind, tol=1e-9, max_iter=5000)
    model.fit(digits)
    Q, U = model.embedding_, model.components_.T
    rounding = 1e-13 * np.sum(digits**2)
    assert np.all(np.diff(model.history_["objective"]) <= rounding)
    assert model.objective_ == pytest.approx(value(digits, Phi, gamma, Q, U), rel=1e-9)
    assert Q.min() >= 0
    assert U.min() >= 0
    np.testing.assert_allclose(np.linalg.norm(U, axis=0), 1, atol=1e-10)
    # Karush-Kuhn-Tucker, in units of the gradient of the data term at zero.
    half = Q @ (U.T @ U) - digits @ U + gamma * Phi @ Q
    unit = np.abs(digits @ U).max()
    assert half.min() > -1e-3 * unit
    assert np.abs(half * Q).max() < 1e-3 * unit * Q.max()


@pytest.mark.parametrize("d", [2, 8, 20])
@pytest.mark.parametrize("seed", [0, 1])
def test_without_graph_it_reaches_the_objective_of_nmf(digits, d, seed):
    ours = GNMF(d, gamma=0.0, random_state=seed).fit(digits)
    theirs = NMF(d, init="nndsvda", max_iter=5000, tol=1e-5, random_state=seed)
    assert ours.objective_ <= 1.01 * theirs.fit(digits).reconstruction_err_ ** 2


def multiplicative(X, A, gamma, Q, U, steps):
    """Cai's updates for the same problem: U with the scale-free penalty, unit norms."""
    D = np.sqrt(np.maximum(A.sum(axis=1), 1e-300))
    W = A / D[:, None] / D
    Phi = np.eye(len(X)) - W
    for _ in range(steps):
        s = np.diag(np.einsum("ij,ij->j", Q, Phi @ Q))
        U = U * (X.T @ Q) / np.maximum(U @ (Q.T @ Q + gamma * s), 1e-300)
        norms = np.linalg.norm(U, axis=0)
        Q, U = Q * norms, U / norms
        Q = Q * (X @ U + gamma * W @ Q) / np.maximum(Q @ (U.T @ U) + gamma * Q, 1e-300)
    return value(X, Phi, gamma, Q, U)


@pytest.mark.parametrize("gamma", [0.1, 10.0])
def test_multiplicative_updates_do_not_get_lower(digits, rng, gamma):
    A = KNNGraph(5)(digits).toarray()
    ours = GNMF(6, gamma=gamma, graph=A).fit(digits)
    Q, U = rng.random((300, 6)), rng.random((64, 6))
    assert ours.objective_ <= 1.01 * multiplicative(digits, A, gamma, Q, U, 500)


def test_smoothness_moves_neighbors_together(digits):
    A = KNNGraph(5)(digits)
    Phi = laplacian(A)

    def roughness(gamma):
        Q = GNMF(8, gamma=gamma, graph=A).fit(digits).embedding_
        return np.sum(Q * (Phi @ Q)) / np.sum(Q**2)

    assert roughness(10.0) < 0.3 * roughness(0.0)


def test_an_exact_factorization_is_found_without_graph(rng):
    Q, U = rng.random((40, 3)), rng.random((20, 3))
    Q[:20, 0] = Q[20:, 1] = 0
    X = Q @ U.T
    model = GNMF(3, gamma=0.0, tol=1e-12, max_iter=5000, graph=random_graph(rng, 40))
    model.fit(X)
    assert model.objective_ < 1e-4 * np.sum(X**2)


def test_components_that_are_not_needed_vanish():
    X = np.outer(np.ones(10), np.arange(5.0))
    model = GNMF(3).fit(X)
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_allclose(model.low_rank_, X, atol=0.2)
