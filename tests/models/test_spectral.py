"""NCuts and Laplacian eigenmaps, and the eigenvectors under them."""

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import eigh
from sklearn.manifold import SpectralEmbedding

from descent import random_graph, same_span
from problems import UNIT
from rpcag import LaplacianEigenmaps, NCuts
from rpcag.graphs import KNNGraph, laplacian
from rpcag.linalg import eigen


def two_parts(rng, n=40):
    A = np.zeros((n, n))
    half = n // 2
    A[:half, :half] = random_graph(rng, half)
    A[half:, half:] = random_graph(rng, n - half)
    return A


@pytest.mark.parametrize("as_sparse", [False, True])
def test_ncuts_are_the_lowest_eigenvectors(rng, as_sparse):
    A = random_graph(rng, 30)
    X = rng.standard_normal((30, 3))
    model = NCuts(4, graph=sparse.csr_array(A) if as_sparse else A).fit(X)
    values, V = np.linalg.eigh(laplacian(A))
    np.testing.assert_allclose(model.eigenvalues_, values[:4], atol=1e-10)
    np.testing.assert_allclose(
        np.abs(model.embedding_.T @ V[:, :4]), np.eye(4), atol=1e-8
    )
    assert model.objective_ == pytest.approx(values[:4].sum())


def test_eigenmaps_solve_the_generalised_problem(rng):
    A = random_graph(rng, 30)
    X = rng.standard_normal((30, 3))
    D = np.diag(A.sum(axis=1))
    model = LaplacianEigenmaps(3, graph=A, drop_first=False).fit(X)
    values, V = eigh(D - A, D)
    Q = model.embedding_
    np.testing.assert_allclose(model.eigenvalues_, values[:3], atol=1e-10)
    np.testing.assert_allclose(Q.T @ D @ Q, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(np.abs(Q.T @ D @ V[:, :3]), np.eye(3), atol=1e-8)
    np.testing.assert_allclose(Q[:, 0], Q[0, 0])  # the constant vector
    dropped = LaplacianEigenmaps(2, graph=A).fit(X)
    np.testing.assert_allclose(dropped.embedding_, Q[:, 1:], atol=1e-10)


def test_both_agree_with_scikit_learn(rng):
    """SpectralEmbedding is LaplacianEigenmaps; NCuts times the roots of the degrees."""
    X = rng.standard_normal((60, 4))
    A = KNNGraph(8)(X)
    theirs = SpectralEmbedding(3, affinity="precomputed", eigen_solver="arpack")
    Z = theirs.fit_transform(A.toarray())
    maps = LaplacianEigenmaps(3, graph=A).fit(X).embedding_
    cuts = NCuts(3, graph=A, drop_first=True).fit(X).embedding_
    root = np.sqrt(A.sum(axis=1))[:, None]
    for ours, other in ((maps, Z), (cuts, Z * root)):
        signs = np.sign(np.sum(ours * other, axis=0))
        np.testing.assert_allclose(ours, other * signs, atol=1e-5)


@pytest.mark.parametrize("as_sparse", [False, True])
def test_several_components_are_told_apart(rng, as_sparse):
    A = two_parts(rng)
    X = rng.standard_normal((40, 3))
    graph = sparse.csr_array(A) if as_sparse else A
    model = NCuts(4, graph=graph).fit(X)
    values, V = np.linalg.eigh(laplacian(A))
    np.testing.assert_allclose(model.eigenvalues_, values[:4], atol=1e-10)
    assert np.all(model.eigenvalues_[:2] == 0)
    assert same_span(model.embedding_, V[:, :4]) < 1e-7
    # One component has one sign of the second vector, the other the other.
    signs = np.sign(model.embedding_[:, 1])
    assert abs(signs[:20].sum()) == abs(signs[20:].sum()) == 20
    assert signs[0] != signs[-1]


def test_fewer_vectors_than_components(rng):
    A = np.kron(np.eye(5), np.ones((4, 4)) - np.eye(4))
    model = NCuts(3, graph=A).fit(rng.standard_normal((20, 2)))
    np.testing.assert_allclose(model.eigenvalues_, 0)
    np.testing.assert_allclose(
        model.embedding_.T @ model.embedding_, np.eye(3), atol=1e-12
    )
    np.testing.assert_allclose(laplacian(A) @ model.embedding_, 0, atol=1e-12)


def test_samples_without_neighbors(rng):
    A = random_graph(rng, 20)
    A[3] = A[:, 3] = 0
    X = rng.standard_normal((20, 2))
    cuts = NCuts(20, graph=A).fit(X)
    np.testing.assert_allclose(
        cuts.embedding_.T @ cuts.embedding_, np.eye(20), atol=1e-9
    )
    maps = LaplacianEigenmaps(3, graph=A).fit(X)
    assert np.all(maps.embedding_[3] == 0)
    D = np.diag(A.sum(axis=1))
    np.testing.assert_allclose(
        maps.embedding_.T @ D @ maps.embedding_, np.eye(3), atol=1e-9
    )
    with pytest.raises(ValueError, match="n_components=19 must be at most 18"):
        LaplacianEigenmaps(19, graph=A).fit(X)
    empty = NCuts(2, graph=np.zeros((20, 20))).fit(X)
    np.testing.assert_allclose(
        empty.embedding_.T @ empty.embedding_, np.eye(2), atol=1e-12
    )


@pytest.mark.parametrize("link", [1e-9, 1e-13, 1e-25, 1e-200])
@pytest.mark.parametrize("as_sparse", [False, True])
@pytest.mark.parametrize("model", [NCuts, LaplacianEigenmaps])
def test_weak_links(rng, link, as_sparse, model):
    """Eigenvalues that are rounding: still orthonormal, still the smoothest."""
    A = two_parts(rng)
    A[0, 39] = A[39, 0] = link
    graph = sparse.csr_array(A) if as_sparse else A
    Q = model(3, graph=graph).fit(np.zeros((40, 1))).embedding_
    D = np.diag(A.sum(axis=1))
    metric = D if model is LaplacianEigenmaps else np.eye(40)
    np.testing.assert_allclose(Q.T @ metric @ Q, np.eye(3), atol=1e-8)
    first = 1 if model is LaplacianEigenmaps else 0
    Phi = D - A if model is LaplacianEigenmaps else laplacian(A)
    expected = np.linalg.eigvalsh(laplacian(A))[first : first + 3].sum()
    assert np.trace(Q.T @ Phi @ Q) == pytest.approx(expected, abs=1e-7)


def test_an_outlier_of_the_complete_graph_is_still_joined(rng):
    X = np.vstack([0.2 * rng.standard_normal((100, 2)), [[1.8, 1.8]]])
    model = NCuts(2, graph="complete").fit(X)
    values = np.linalg.eigvalsh(model.laplacian_)
    np.testing.assert_allclose(model.eigenvalues_, values[:2], atol=1e-10)


@pytest.mark.parametrize("alone", [0, 1, 2])
def test_cliques_have_eigenvalues_that_coincide(rng, alone):
    from rpcag import FRPCAG, GLPCA, MMF, RGLPCA

    A = np.zeros((28 + alone, 28 + alone))
    A[:14, :14] = A[14:28, 14:28] = 1
    X = rng.standard_normal((len(A), 5))
    for model in (GLPCA(2, graph=A), RGLPCA(2, graph=A), MMF(2, graph=A)):
        assert np.isfinite(model.fit(X).objective_)
    assert FRPCAG(**UNIT, graph=A).fit(X).gap_ <= 1e-3


def ring(n):
    i = np.arange(n)
    A = sparse.csr_array((np.ones(n), (i, (i + 1) % n)), shape=(n, n))
    return sparse.csr_array(A + A.T)


def grid(n):
    path = sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1])
    identity = sparse.eye_array(n)
    return sparse.csr_array(sparse.kron(path, identity) + sparse.kron(identity, path))


@pytest.mark.parametrize("inverted", [False, True])
@pytest.mark.parametrize("graph", [ring(600), grid(25)], ids=["ring", "grid"])
def test_no_copy_of_a_multiple_eigenvalue_is_overlooked(graph, inverted):
    """Lanczos, and Lanczos on the inverse, against LAPACK."""
    Phi = laplacian(graph, "combinatorial")
    find = eigen._inverted if inverted else eigen.eigenvectors
    values, V = find(Phi, 9)
    np.testing.assert_allclose(values, eigh(Phi.toarray())[0][:9], atol=1e-7)
    np.testing.assert_allclose(V.T @ V, np.eye(9), atol=1e-8)
    np.testing.assert_allclose(Phi @ V, V * values, atol=1e-6)


def test_a_long_chain_is_factorized():
    """Lanczos alone would need thousands of restarts here."""
    n = 4000
    A = sparse.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1])
    Phi = laplacian(sparse.csr_array(A), "combinatorial")
    values, _ = eigen.eigenvectors(Phi, 4)
    exact = 4 * np.sin(np.pi * np.arange(4) / (2 * n)) ** 2
    np.testing.assert_allclose(values, exact, atol=1e-11)


def test_many_samples_take_no_dense_matrix(rng):
    X = rng.standard_normal((1200, 5))
    X[:600] += 10
    A = KNNGraph(10)(X)
    model = NCuts(3, graph=A).fit(X)
    values, V = eigh(laplacian(A).toarray(), subset_by_index=[0, 2])
    np.testing.assert_allclose(model.eigenvalues_, values, atol=1e-9)
    assert same_span(model.embedding_, V) < 1e-6


def test_fits_are_the_same_every_time(rng):
    X = rng.standard_normal((800, 5))
    first, second = (NCuts(4).fit(X).embedding_ for _ in range(2))
    np.testing.assert_array_equal(first, second)
    # The largest entry of every vector is positive.
    largest = np.abs(first).argmax(axis=0)
    assert np.all(first[largest, np.arange(4)] > 0)


def test_coordinates_beyond_single_precision_are_refused_by_name():
    """D^-1/2 of weights near 1e-80 is 1e40: a number in double precision only."""
    X = np.arange(8.0).reshape(4, 2)
    A = 1e-80 * (1 - np.eye(4))
    maps = LaplacianEigenmaps(1, graph=A)
    Q = maps.fit(X).embedding_
    assert np.isfinite(Q).all()
    assert Q.T @ np.diag(A.sum(axis=1)) @ Q == pytest.approx(1)
    with pytest.raises(ValueError, match=r"graph .*3e-80.*float32.*pass X as float64"):
        maps.fit(X.astype(np.float32))
