"""GLPCA and RGLPCA against descents, limits and their own equations."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from descent import centered as problem
from descent import descend, orthonormal, same_span
from rpcag import GLPCA, RGLPCA
from rpcag.graphs import KNNGraph, laplacian
from rpcag.solvers import glpca as solver

SHAPES = [(20, 8), (9, 25), (15, 15)]


def squares(X, Phi, gamma, Q):
    """GLPCA's objective at Q and the best U."""
    return np.sum((X - Q @ (Q.T @ X)) ** 2) + gamma * np.sum(Q * (Phi @ Q))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
def test_no_orthonormal_embedding_is_better(rng, shape, kind):
    X, A = problem(rng, *shape)
    Phi = laplacian(A, kind)
    model = GLPCA(3, beta=0.4, graph=A, laplacian=kind).fit(X)
    Q, gamma = model.embedding_, model.gamma_
    K = X @ X.T - gamma * Phi
    Lambda = Q.T @ K @ Q
    np.testing.assert_allclose(K @ Q, Q @ Lambda, atol=1e-9 * np.abs(K).max())
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(model.components_, Q.T @ X, atol=1e-10)
    best = squares(X, Phi, gamma, Q)
    assert model.objective_ == pytest.approx(best, rel=1e-10)
    for _ in range(1000):
        assert squares(X, Phi, gamma, orthonormal(rng, shape[0], 3)) >= best
    reached = [
        descend(
            lambda Q: squares(X, Phi, gamma, Q),
            lambda Q: -2 * K @ Q,
            orthonormal(rng, shape[0], 3),
        )[0]
        for _ in range(20)
    ]
    assert min(reached) >= best * (1 - 1e-10)
    assert min(reached) <= best * (1 + 1e-6)


def test_beta_and_gamma_say_the_same(rng):
    X, A = problem(rng, 20, 8)
    by_beta = GLPCA(3, beta=0.3, graph=A).fit(X)
    by_gamma = GLPCA(3, gamma=by_beta.gamma_, graph=A).fit(X)
    assert by_gamma.beta_ == pytest.approx(0.3, rel=1e-6)
    np.testing.assert_allclose(by_gamma.embedding_, by_beta.embedding_, atol=1e-9)
    top = np.linalg.eigvalsh(X @ X.T)[-1] / np.linalg.eigvalsh(laplacian(A))[-1]
    assert by_beta.gamma_ == pytest.approx(0.3 / 0.7 * top, rel=1e-8)


def test_without_graph_it_is_pca_of_centered_data(rng):
    X, A = problem(rng, 20, 8)
    pca = PCA(3).fit(X)
    for beta in (0.0, 1e-9):
        model = GLPCA(3, beta=beta, graph=A).fit(X)
        assert same_span(model.components_.T, pca.components_.T) < 1e-6
    np.testing.assert_allclose(
        GLPCA(3, gamma=0, graph=A).fit(X).low_rank_,
        pca.inverse_transform(pca.transform(X)),
        atol=1e-10,
    )


def test_without_data_it_is_the_lowest_eigenvectors(rng):
    X, A = problem(rng, 20, 8)
    _, V = np.linalg.eigh(laplacian(A))
    model = GLPCA(3, beta=1 - 1e-9, graph=A).fit(X)
    assert same_span(model.embedding_, V[:, :3]) < 1e-6


def test_the_constant_vector_can_be_kept_out(rng):
    X, A = problem(rng, 20, 8)
    ones = np.ones(20) / np.sqrt(20)
    options = {"beta": 0.9, "graph": A, "laplacian": "combinatorial"}
    kept = GLPCA(3, **options).fit(X)
    dropped = GLPCA(3, drop_constant=True, **options).fit(X)
    assert np.linalg.norm(kept.embedding_.T @ ones) > 0.99
    assert np.linalg.norm(dropped.embedding_.T @ ones) < 1e-6
    Phi = laplacian(A, "combinatorial")
    top = np.linalg.eigvalsh(Phi)[-1]
    expected = squares(X, Phi + top / 20, dropped.gamma_, dropped.embedding_)
    assert dropped.objective_ == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("drop_constant", [False, True])
def test_products_find_what_the_matrix_has(rng, monkeypatch, drop_constant):
    """The way for many samples, where the n x n matrix is never formed."""
    X = rng.standard_normal((700, 40)) * np.linspace(3, 0.1, 40)
    A = KNNGraph(5)(X)
    dense = GLPCA(4, graph=A, drop_constant=drop_constant).fit(X)
    monkeypatch.setattr(solver, "DENSE", 100)
    monkeypatch.setattr(solver, "SMALL", 100)
    products = GLPCA(4, graph=A, drop_constant=drop_constant).fit(X)
    np.testing.assert_allclose(products.embedding_, dense.embedding_, atol=1e-7)
    assert products.objective_ == pytest.approx(dense.objective_, rel=1e-10)


def norms(X, Phi, gamma, Q, U):
    """RGLPCA's objective."""
    rows = np.linalg.norm(X - Q @ U.T, axis=1).sum()
    return rows + gamma * np.sum(Q * (Phi @ Q))


def reweighted_pca(X, d):
    """Rotational-invariant l1 PCA by iteratively reweighted least squares."""
    w, last = np.ones(len(X)), np.inf
    for _ in range(5000):
        _, V = np.linalg.eigh((X * w[:, None]).T @ X)
        V = V[:, -d:]
        rows = np.linalg.norm(X - X @ V @ V.T, axis=1)
        if last - rows.sum() < 1e-13 * rows.sum():
            break
        last, w = rows.sum(), 1 / np.maximum(rows, 1e-10)
    return rows.sum()


@pytest.mark.parametrize("shape", [(60, 12), (25, 40), (200, 30)])
@pytest.mark.parametrize("d", [1, 4])
def test_without_graph_rglpca_is_rotational_invariant_pca(rng, shape, d):
    X, A = problem(rng, *shape)
    X[::7] += 5 * rng.standard_normal((len(X[::7]), shape[1]))
    model = RGLPCA(d, gamma=0.0, graph=A, tol=1e-8, max_iter=3000).fit(X)
    assert model.objective_ == pytest.approx(reweighted_pca(X, d), rel=1e-6)


@pytest.mark.parametrize("beta", [0.05, 0.5, 0.9])
@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
def test_rglpca_converges_and_beats_glpca_under_its_own_norm(rng, beta, kind):
    X, A = problem(rng, 60, 20)
    X[::10] += 20 * rng.standard_normal((6, 20))
    model = RGLPCA(3, beta=beta, graph=A, laplacian=kind, tol=1e-7, max_iter=3000)
    model.fit(X)
    Phi = laplacian(A, kind)
    assert model.residual_ <= 1e-7
    Q, U = model.embedding_, model.components_.T
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-10)
    value = norms(X, Phi, model.gamma_, Q, U)
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    for gamma in (model.gamma_, model.gamma_ * 2 * np.median(norm_rows(X))):
        plain = GLPCA(3, gamma=gamma, graph=A, laplacian=kind).fit(X)
        worse = norms(X, Phi, model.gamma_, plain.embedding_, plain.components_.T)
        assert model.objective_ <= worse * (1 + 1e-9)
    # No descent from the answer finds anything below it.
    better, _ = descend(
        lambda Q: norms(X, Phi, model.gamma_, Q, U),
        lambda Q: (
            (Q @ U.T - X) / np.maximum(norm_rows(X - Q @ U.T), 1e-12)[:, None] @ U
            + 2 * model.gamma_ * Phi @ Q
        ),
        Q,
        steps=300,
    )
    assert better >= model.objective_ * (1 - 1e-6)


def norm_rows(A):
    return np.linalg.norm(A, axis=1)


def test_rglpca_minds_a_spoiled_sample_less(rng):
    L = rng.standard_normal((50, 2)) @ rng.standard_normal((2, 30))
    X = L.copy()
    X[7] = 3 * rng.standard_normal(30)
    X[19] = 3 * rng.standard_normal(30)
    clean = np.delete(np.arange(50), [7, 19])
    errors = [
        np.linalg.norm((model(2, gamma=0.0).fit(X).low_rank_ - L)[clean])
        for model in (RGLPCA, GLPCA)
    ]
    assert errors[0] < 1e-3 * errors[1]


def test_rglpca_reports_its_iterations(rng):
    X, A = problem(rng, 30, 10)
    model = RGLPCA(2, graph=A).fit(X)
    assert len(model.history_["objective"]) == model.n_iter_
    last = [model.history_[f"{kind}_residual"][-1] for kind in ("primal", "dual")]
    assert model.residual_ == max(last)
    assert model.history_["objective"].min() == pytest.approx(model.objective_)


@pytest.mark.parametrize("beta", [0.3, 0.9, 0.99])
@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.slow
def test_many_samples_whatever_the_graph(rng, beta, thin):
    """Lanczos where the spectrum is all negative, or hardly spread at its upper end."""
    X = rng.standard_normal((3300, 10))
    if thin:  # a line: its graph is a chain
        X = np.outer(np.linspace(0, 1, 3300), np.ones(10)) + 1e-5 * X
    model = GLPCA(4, beta=beta, graph=KNNGraph(6)).fit(X)
    Q = model.embedding_
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-9)
    GQ = X @ (X.T @ Q) - model.gamma_ * (model.laplacian_ @ Q)
    size = np.linalg.norm(X, 2) ** 2
    assert np.linalg.norm(GQ - Q @ (Q.T @ GQ)) < 1e-6 * size


def test_rows_that_fit_exactly_do_not_end_rglpca(rng):
    X = rng.standard_normal((40, 1)) @ rng.standard_normal((1, 5))
    X[:4] = 30 * rng.standard_normal((4, 5))
    with_zeros = np.vstack([X, np.zeros((60, 5))])
    answers = [
        RGLPCA(1, gamma=0.0, tol=1e-7).fit(data).objective_ for data in (X, with_zeros)
    ]
    assert answers[1] == pytest.approx(answers[0], rel=1e-6)


@pytest.mark.parametrize("X", [np.zeros((10, 4)), np.ones((10, 4)), np.eye(60)[:, :30]])
def test_q_is_orthonormal_for_any_data(X):
    for model in (GLPCA(3), RGLPCA(3)):
        Q = model.fit(X).embedding_
        np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-9)
