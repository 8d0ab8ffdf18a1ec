"""MMF, MMMF and MHMF against descents, limits and each other."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from descent import centered as problem
from descent import descend, orthonormal, random_graph
from rpcag import MHMF, MMF, MMMF
from rpcag.graphs import KNNGraph, KNNHypergraph, laplacian
from rpcag.solvers import mmf as solver
from rpcag.solvers.mmf import project_simplex

SHAPES = [(20, 8), (9, 25), (15, 15)]


def value(X, Phi, gamma, Q, U):
    return np.sum((X - Q @ U.T) ** 2) + gamma * np.sum(Q * (Phi @ Q))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
@pytest.mark.parametrize("gamma", [0.1, 10.0])
def test_no_orthonormal_directions_are_better(rng, shape, kind, gamma):
    X, A = problem(rng, *shape)
    Phi = laplacian(A, kind)
    model = MMF(3, gamma=gamma, graph=A, laplacian=kind).fit(X)
    Q, U = model.embedding_, model.components_.T
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(Q + gamma * Phi @ Q, X @ U, atol=1e-9)
    best = value(X, Phi, gamma, Q, U)
    assert model.objective_ == pytest.approx(best, rel=1e-10)
    B = np.linalg.inv(np.eye(len(X)) + gamma * Phi)

    def reduced(U):
        return value(X, Phi, gamma, B @ X @ U, U)

    for _ in range(1000):
        assert reduced(orthonormal(rng, shape[1], 3)) >= best
    C = X.T @ B @ X
    reached = [
        descend(reduced, lambda U: -2 * C @ U, orthonormal(rng, shape[1], 3))[0]
        for _ in range(20)
    ]
    assert min(reached) >= best * (1 - 1e-10)
    assert min(reached) <= best * (1 + 1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_without_graph_it_is_pca_of_centered_data(rng, shape):
    X, A = problem(rng, *shape)
    pca = PCA(3).fit(X)
    model = MMF(3, gamma=0.0, graph=A).fit(X)
    np.testing.assert_allclose(
        model.low_rank_, pca.inverse_transform(pca.transform(X)), atol=1e-9
    )


def test_sparse_and_dense_ways_agree(rng, monkeypatch):
    X = rng.standard_normal((700, 30)) * np.linspace(3, 0.1, 30)
    A = KNNGraph(5)(X)
    for data in (X, np.hstack([X, rng.standard_normal((700, 800))])):
        monkeypatch.setattr(solver, "DENSE", 3000)
        dense = MMF(4, gamma=3.0, graph=A).fit(data)
        monkeypatch.setattr(solver, "DENSE", 10)
        other = MMF(4, gamma=3.0, graph=A).fit(data)
        np.testing.assert_allclose(other.components_, dense.components_, atol=1e-6)
        assert other.objective_ == pytest.approx(dense.objective_, rel=1e-9)


@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
@pytest.mark.parametrize("p", [3, 40])
def test_many_samples_solve_their_equations(rng, kind, p):
    """By conjugate gradients, whose residuals grow on the way."""
    X = rng.standard_normal((3300, p))
    model = MMF(2, gamma=64.0, laplacian=kind).fit(X)
    Q, XU = model.embedding_, X @ model.components_.T
    residual = Q + 64.0 * (model.laplacian_ @ Q) - XU
    assert np.linalg.norm(residual) < 1e-8 * np.linalg.norm(XU)


@pytest.mark.parametrize("shape", SHAPES)
def test_components_beyond_the_rank_are_orthonormal_and_empty(rng, shape):
    X = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
    model = MMF(5, graph=random_graph(rng, shape[0])).fit(X)
    np.testing.assert_allclose(
        model.components_ @ model.components_.T, np.eye(5), atol=1e-10
    )
    assert np.abs(model.embedding_[:, 2:]).max() < 1e-6 * np.abs(X).max()


@pytest.mark.parametrize("shape", SHAPES)
def test_one_graph_is_mmf(rng, shape):
    X, A = problem(rng, *shape)
    one = MMMF(3, gamma=2.0, weight_penalty=0.7, graphs=[A]).fit(X)
    plain = MMF(3, gamma=2.0, graph=A).fit(X)
    np.testing.assert_allclose(one.embedding_, plain.embedding_, atol=1e-10)
    np.testing.assert_allclose(one.components_, plain.components_, atol=1e-10)
    assert one.graph_weights_ == [1.0]
    assert one.objective_ == pytest.approx(plain.objective_ + 0.7)


def mixture(rng):
    X = np.repeat(3 * rng.standard_normal((4, 12)), 10, axis=0)
    X += 0.3 * rng.standard_normal(X.shape)
    good = KNNGraph(4)(X).toarray()
    bad = random_graph(rng, 40)
    return X, [bad, good, random_graph(rng, 40)]


def test_weights_go_from_equal_to_the_smoothest_graph(rng):
    X, graphs = mixture(rng)
    equal = MMMF(3, weight_penalty=1e12, graphs=graphs).fit(X)
    np.testing.assert_allclose(equal.graph_weights_, 1 / 3, atol=1e-9)
    for weight_penalty in (0.0, 1e-9):
        chosen = MMMF(3, weight_penalty=weight_penalty, graphs=graphs).fit(X)
        np.testing.assert_allclose(chosen.graph_weights_, [0, 1, 0], atol=1e-9)
        alone = MMF(3, graph=graphs[1]).fit(X)
        np.testing.assert_allclose(chosen.low_rank_, alone.low_rank_, atol=1e-6)


@pytest.mark.parametrize("weight_penalty", [0.0, 5.0, 50.0, 500.0, "auto"])
def test_the_objective_decreases_and_both_blocks_are_best(rng, weight_penalty):
    X, graphs = mixture(rng)
    model = MMMF(
        3, gamma=2.0, weight_penalty=weight_penalty, graphs=graphs, tol=1e-12
    ).fit(X)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-12 * model.objective_)
    alpha = model.graph_weights_
    assert alpha.sum() == pytest.approx(1)
    assert alpha.min() >= 0
    laplacians = [laplacian(A) for A in graphs]
    Q, U = model.embedding_, model.components_.T
    Phi = sum(a * P for a, P in zip(alpha, laplacians, strict=True))
    total = value(X, Phi, 2.0, Q, U) + model.weight_penalty_ * alpha @ alpha
    assert model.objective_ == pytest.approx(total, rel=1e-9)
    plain = MMF(3, gamma=2.0, graph=lambda X: graphs[0]).fit(X)  # any model to compare
    assert value(X, Phi, 2.0, Q, U) <= value(
        X, Phi, 2.0, plain.embedding_, plain.components_.T
    )
    cost = 2.0 * np.array([np.sum(Q * (P @ Q)) for P in laplacians])
    for _ in range(500):
        other = rng.dirichlet(np.ones(3))
        assert cost @ alpha + model.weight_penalty_ * alpha @ alpha <= (
            cost @ other
            + model.weight_penalty_ * other @ other
            + 1e-9 * model.objective_
        )


def test_the_factors_belong_to_the_weights(rng):
    X, graphs = mixture(rng)
    model = MMMF(3, gamma=2.0, graphs=graphs).fit(X)
    pairs = zip(model.graph_weights_, model.laplacians_, strict=True)
    Phi = sum(a * P for a, P in pairs)
    XU = X @ model.components_.T
    np.testing.assert_allclose(
        model.embedding_ + 2.0 * Phi @ model.embedding_, XU, atol=1e-9
    )


def test_one_alternation_is_enough_for_one_graph(rng):
    X, A = problem(rng, 20, 8)
    assert MMMF(3, graphs=[A], max_iter=1).fit(X).n_iter_ == 1


def test_projection_on_the_simplex(rng):
    import cvxpy as cp

    for scale in (0.1, 1.0, 100.0):
        v = scale * rng.standard_normal(7)
        a = cp.Variable(7)
        cp.Problem(cp.Minimize(cp.sum_squares(a - v)), [a >= 0, cp.sum(a) == 1]).solve(
            solver=cp.CLARABEL
        )
        np.testing.assert_allclose(project_simplex(v), a.value, atol=1e-5)
    assert project_simplex(np.array([1e300, 0.0])).tolist() == [1.0, 0.0]


def test_hypergraph_of_pairs_is_half_the_graph(rng):
    X = rng.standard_normal((20, 8))
    A = (random_graph(rng, 20) > 0).astype(float)
    i, j = np.nonzero(np.triu(A))
    H = np.zeros((20, len(i)))
    H[i, np.arange(len(i))] = H[j, np.arange(len(i))] = 1
    pairs = MHMF(3, gamma=2.0, graphs=[H]).fit(X)
    graph = MMF(3, gamma=1.0, graph=A).fit(X)
    np.testing.assert_allclose(pairs.embedding_, graph.embedding_, atol=1e-9)


def test_hypergraph_ensembles_prefer_the_one_that_fits(rng):
    X, _ = mixture(rng)
    good = KNNHypergraph(4)(X)
    bad = good[rng.permutation(40)]
    model = MHMF(3, graphs=[bad, good]).fit(X)
    assert model.graph_weights_[1] > 0.6
    assert np.all(np.diff(model.history_["objective"]) <= 1e-12 * model.objective_)
    assert len(MHMF().fit(X).graph_weights_) == 3


def test_a_hypergraph_is_a_graph_with_loops(rng):
    X = rng.standard_normal((40, 5))
    builder = KNNHypergraph(4).fit(X)
    H = builder.incidence_.toarray()
    A = H @ np.diag(1 / H.sum(axis=0)) @ H.T
    np.testing.assert_allclose(builder.adjacency_.toarray(), A, atol=1e-12)
    one = MHMF(3, gamma=2.0, graphs=[builder]).fit(X)
    plain = MMF(3, gamma=2.0, graph=builder).fit(X)
    np.testing.assert_allclose(one.embedding_, plain.embedding_, atol=1e-10)
    new = rng.standard_normal((6, 5))
    np.testing.assert_allclose(one.transform(new), plain.transform(new), atol=1e-10)


def test_new_rows_of_a_hypergraph_have_weights_like_fitted_ones(rng):
    X = rng.standard_normal((60, 5))
    builder = KNNHypergraph(4).fit(X[:40])
    fitted = builder.connect(X[:40])
    np.testing.assert_array_equal(fitted.toarray(), builder.adjacency_.toarray())
    new = builder.connect(X[40:]).toarray()
    H = builder.incidence_.toarray()
    distances = np.linalg.norm(X[40:, None] - X[None, :40], axis=2)
    radius = np.array([distances_of(X[:40], i)[4] for i in range(40)])
    reached = (distances <= radius).astype(float)
    nearest = distances <= np.sort(distances, axis=1)[:, [3]]
    expected = nearest / 5 + reached @ np.diag(1 / H.sum(axis=0)) @ H.T
    np.testing.assert_allclose(new, expected, atol=1e-12)


def distances_of(X, i):
    """Distances of row i to all rows, itself first."""
    return np.sort(np.linalg.norm(X - X[i], axis=1))


def test_new_rows_of_an_incidence_take_weights(rng):
    X = rng.standard_normal((40, 5))
    builder = KNNHypergraph(4).fit(X)
    model = MHMF(3, graphs=[builder.incidence_]).fit(X)
    Z = model.transform(X, adjacency=[builder.adjacency_])
    np.testing.assert_allclose(Z, model.embedding_, atol=1e-9)
