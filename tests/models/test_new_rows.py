"""Embeddings of new rows are bounded by their own data and their neighbors."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from problems import UNIT
from rpcag import (
    FRPCAG,
    GLPCA,
    GNMF,
    MHMF,
    MMF,
    MMMF,
    RGLPCA,
    RPCA,
    RPCAG,
    LaplacianEigenmaps,
    NCuts,
)
from rpcag.graphs import KNNGraph

SQRT2 = np.sqrt(2) * (1 + 1e-6)
# The l1 losses are minimized to this accuracy, relative to the row.
LOOSE = 1 + 1e-3

MODELS = [
    RPCAG(),
    RPCAG(gamma="clustering"),
    RPCAG(gamma="clustering", graph="knn"),
    FRPCAG(**UNIT),
    GLPCA(),
    RGLPCA(),
    MMF(),
    MMMF(),
    MHMF(),
    GNMF(),
    NCuts(),
    LaplacianEigenmaps(),
]
IDS = [repr(model) for model in MODELS]


def excess(model, X, Z):
    """How far each row of Z exceeds the bound that its docstring states; at most 1."""
    Q, longest = model.embedding_, np.linalg.norm(model.embedding_, axis=1).max()
    lengths = np.linalg.norm(Z, axis=1)
    if isinstance(model, NCuts):
        low, high = Q.min(axis=0), Q.max(axis=0)
        inside = ((Z >= low * (1 - 1e-6 * np.sign(low))) | (Z == 0)) & (
            (Z <= high * (1 + 1e-6 * np.sign(high))) | (Z == 0)
        )
        return np.where(inside.all(axis=1), 1.0, np.inf)
    U = model.components_.T
    if isinstance(model, (RPCAG, FRPCAG)):
        # Complete rows: ||l||_1 <= 2 ||x||_1, or no longer than the neighbors allow.
        data = np.abs(Z @ U.T).sum(axis=1) / (2 * np.abs(X).sum(axis=1))
        return np.minimum(data / LOOSE, lengths / (SQRT2 * LOOSE * longest))
    if isinstance(model, GNMF):
        return lengths / np.maximum(np.linalg.norm(X, axis=1), SQRT2 * longest)
    if isinstance(model, GLPCA) and not isinstance(model, RGLPCA):
        alone = np.abs(X @ np.linalg.pinv(U.T))
        bound = np.maximum(alone, np.abs(Q).max(axis=0)) * (1 + 1e-6)
        return (np.abs(Z) / bound).max(axis=1)
    if isinstance(model, RGLPCA):
        alone = np.linalg.norm(X @ np.linalg.pinv(U.T), axis=1)
        return lengths / np.maximum(alone, longest) / (1 + 1e-6)
    return lengths / np.maximum(np.linalg.norm(X @ U, axis=1), SQRT2 * longest)


def odd_row(size):
    """Sixty rows of which the first is far from the others, and a row close to it."""
    X = np.random.default_rng(0).standard_normal((60, 10))
    X[0] += size
    X -= X.min()  # also for GNMF
    return X, X[:1] + 0.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::rpcag.PoorFitWarning")  # the rows are noise
@pytest.mark.parametrize("size", [20.0, 100.0])
@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_a_row_near_an_outlier_is_embedded_near_it(model, size):
    X, x = odd_row(size)
    Q = model.fit(X).embedding_
    z = model.transform(x)
    assert excess(model, x, z) <= 1
    if not isinstance(model, NCuts):
        assert np.linalg.norm(z) < 3 * np.linalg.norm(Q[0]) + np.abs(Q).max()


@pytest.mark.parametrize("graph", ["robust", "knn"])
def test_tight_clusters_and_an_odd_row_do_not_overflow(graph):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((2, 10)), 30, axis=0)
    X += 0.003 * rng.standard_normal(X.shape)
    X[0] = 5 * rng.standard_normal(10)
    model = RPCAG(gamma="clustering", graph=graph).fit(X)
    new = X[:1] + 0.01
    z = model.transform(new)
    assert excess(model, new, z) <= 1
    assert np.linalg.norm(z - model.embedding_[0]) < 0.5 * np.linalg.norm(z)


def wild_graph(rng, n):
    """A random graph whose degrees span more than twelve decades."""
    root = 10.0 ** rng.uniform(-7, 0, n)
    A = np.triu(np.outer(root, root) * (rng.random((n, n)) < 0.3), 1)
    A[0, 1:] = 0  # a vertex without neighbors
    return A + A.T


def wild_edges(rng, n_new, n):
    A = 10.0 ** rng.uniform(-14, 1, (n_new, n)) * (rng.random((n_new, n)) < 0.3)
    A *= 10.0 ** rng.uniform(-12, 2, n_new)[:, None]
    A[0] *= 1e-300 / A[0].max()
    A[1] = 0
    A[2] *= 1e98 / A[2].max()
    A[3] = 1e-320 * (A[3] > 0)
    return A


ON_GIVEN_GRAPHS = [
    RPCAG(gamma="clustering"),
    RPCAG(gamma="clustering", laplacian="combinatorial"),
    RPCAG(lam="theory", gamma=100.0),
    FRPCAG(**UNIT, feature_graph=np.ones((6, 6)) - np.eye(6)),
    GLPCA(3),
    GLPCA(5, beta=0.9),
    GLPCA(3, laplacian="combinatorial"),
    RGLPCA(3),
    RGLPCA(5, beta=0.9),
    MMF(3, gamma=10.0),
    MMF(3, laplacian="combinatorial"),
    MMMF(3, graphs=[None]),
    GNMF(3, gamma=10.0),
    NCuts(4),
    LaplacianEigenmaps(4),
]


def on_graph(model, A):
    if isinstance(model, MMMF):
        return model.set_params(graphs=[A, A])
    return model.set_params(graph=A)


def edges(model, A):
    return {"adjacency": [A, A] if isinstance(model, MMMF) else A}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("model", ON_GIVEN_GRAPHS, ids=repr)
def test_no_new_row_exceeds_its_data_and_its_neighbors(model, form):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = np.abs(rng.standard_normal((30, 6)))
        new = np.abs(rng.standard_normal((40, 6))) * 10.0 ** rng.uniform(-3, 3, (40, 1))
        on_graph(model, wild_graph(rng, 30)).fit(X)
        links = edges(model, form(wild_edges(rng, 40, 30)))
        assert excess(model, new, model.transform(new, **links)).max() <= 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array])
@pytest.mark.parametrize("model", ON_GIVEN_GRAPHS, ids=repr)
def test_fitted_rows_are_recognized_by_their_weights(model, form):
    """On degrees over decades no other row has the weights of a fitted one."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((30, 6)))
    root = 10.0 ** rng.uniform(-3, 0, 30)
    A = np.triu(np.outer(root, root) * (rng.random((30, 30)) < 0.5), 1)
    A += A.T
    options = {"tol", "max_iter"} & set(model.get_params())
    tight = {"tol": 1e-8, "max_iter": 20000}
    model.set_params(**{name: tight[name] for name in options})
    Q = on_graph(model, A).fit(X).embedding_
    again = model.transform(X, **edges(model, form(A)))
    joined = np.flatnonzero(A.any(axis=1))
    assert np.linalg.norm((again - Q)[joined]) < 5e-3 * np.linalg.norm(Q)


def test_the_scale_of_tiny_weights_does_not_matter():
    """A gross error makes all weights of a row tiny; its neighbors stay the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    model = MMF(3, gamma=10.0, graph=KNNGraph()(X)).fit(X)
    links = rng.random((5, 40)) * (rng.random((5, 40)) < 0.2)
    at = [
        model.transform(X[:5], adjacency=c * links) for c in (1e-4, 1e-12, 1e-300, 1e90)
    ]
    np.testing.assert_allclose(at[1], at[0], rtol=0.05, atol=0.05)
    np.testing.assert_allclose(at[2], at[1], rtol=1e-4, atol=1e-4)
    assert np.linalg.norm(at[3]) < 3 * np.linalg.norm(at[2])


def test_the_out_of_sample_term_is_that_of_the_graph_with_the_row_in_it():
    """Coefficients a_j / sqrt(d d_j) where they sum to about one, by brute force."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 6))
    model = MMF(3, graph="knn").fit(X)
    new = rng.standard_normal((10, 6))
    A = model._graphs[0].builder.connect(new).toarray()
    w = A / np.sqrt(np.outer(A.sum(axis=1), model.adjacency_.sum(axis=1)))
    ordinary = np.abs(np.log2(w.sum(axis=1))) < 0.5
    assert ordinary.sum() >= 5
    expected = (new @ model.components_.T + w @ model.embedding_) / 2
    np.testing.assert_allclose(
        model.transform(new)[ordinary], expected[ordinary], rtol=1e-10
    )


@pytest.mark.parametrize("graph", ["robust", "knn", "complete"])
def test_a_gross_error_in_a_new_row_does_not_shrink_it(graph):
    rng = np.random.default_rng(0)
    kinds = rng.standard_normal((3, 30))
    X = kinds[rng.integers(3, size=120)] + 0.1 * rng.standard_normal((120, 30))
    model = RPCAG(gamma="clustering", graph=graph).fit(X[:90])
    new = X[90:]
    clean = model.transform(new)
    for size in (3.0, 10.0, 100.0):
        spoiled = new.copy()
        spoiled[:, 7] += size
        z = model.transform(spoiled)
        shares = np.linalg.norm(z, axis=1) / np.linalg.norm(clean, axis=1)
        assert shares.min() > 0.45  # was 0.08 with "knn" and 0.1 with "complete"
        # The error of 100 leaves "knn" neighbors that are not of the row's kind.
        if (graph, size) != ("knn", 100.0):
            assert np.linalg.norm(z - clean) < 0.3 * np.linalg.norm(clean)


BLOCKWISE = [
    RPCA(lam="theory"),
    RPCAG(gamma="clustering", graph="knn"),
    RPCAG(gamma="clustering", graph="complete"),
    FRPCAG(**UNIT),
    GLPCA(3),
    RGLPCA(3),
    MMF(3),
    MHMF(3),
    GNMF(3),
    NCuts(3),
]


def table(n):
    rng = np.random.default_rng(0)
    X = rng.random((n, 3)) @ rng.random((3, 20)) + 0.1 * rng.random((n, 20))
    return X[:100], X[100:]


@pytest.mark.parametrize("model", BLOCKWISE, ids=repr)
def test_memory_does_not_grow_with_the_number_of_new_rows(model, monkeypatch):
    monkeypatch.setattr("rpcag.linalg.blocks.ROWS", 1)  # 64 rows at a time
    X, new = table(500)
    model.fit(X)
    model.transform(new[:2])  # what is computed once
    peaks = []
    for rows in (new[:200], new):
        tracemalloc.start()
        Z = model.transform(rows)
        peaks.append(tracemalloc.get_traced_memory()[1] - Z.nbytes)
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0] + 2e4  # without blocks, twice


@pytest.mark.parametrize("model", BLOCKWISE, ids=repr)
def test_blocks_do_not_change_the_embedding(model, monkeypatch):
    X, new = table(400)
    links = {}
    if isinstance(model, MMF) and not isinstance(model, MHMF):
        links = {"adjacency": sparse.random(300, 100, 0.1, "csc", random_state=0)}
    model.fit(X)
    whole = model.transform(new, **links)
    monkeypatch.setattr("rpcag.linalg.blocks.ROWS", 1)  # 64 rows at a time
    blocks = model.transform(new, **links)
    size = np.abs(whole).max()
    np.testing.assert_allclose(blocks, whole, rtol=1e-12, atol=1e-12 * size)
