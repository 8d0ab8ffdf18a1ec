"""Graphs: right by definition, symmetric, clear about what they refuse."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import laplacian as scipy_laplacian
from sklearn.metrics import nan_euclidean_distances
from sklearn.neighbors import kneighbors_graph

from rpcag.graphs import (
    Chain,
    CompleteGraph,
    KNNGraph,
    KNNHypergraph,
    check_graph,
    laplacian,
)
from rpcag.graphs.distances import distances_within, observed
from rpcag.graphs.hypergraph import expansion
from rpcag.models import RobustGraph


def rms_distances(X, mask=None):
    return distances_within(observed(X, mask), 0.0)


RNG = np.random.default_rng(5)
X = RNG.standard_normal((40, 12))
HOLED = np.where(RNG.random(X.shape) < 0.3, np.nan, X)
BUILDERS = {
    "heat": KNNGraph(4),
    "binary": KNNGraph(4, weights="binary"),
    "correlation": KNNGraph(4, weights="correlation"),
    "complete": CompleteGraph(),
    "robust": RobustGraph(4),
    "chain": Chain(2, period=7),
}


def dense(A):
    return A.toarray() if sparse.issparse(A) else A


@pytest.mark.parametrize("data", [X, HOLED], ids=["full", "holed"])
@pytest.mark.parametrize("name", BUILDERS)
def test_every_graph_is_symmetric_nonnegative_and_without_loops(name, data):
    A = BUILDERS[name](data)
    assert sparse.issparse(A) == (name != "complete")
    A = dense(A)
    np.testing.assert_array_equal(A, A.T)
    assert A.min() >= 0
    assert A.max() <= 1 + 1e-12
    assert np.all(np.diag(A) == 0)
    assert A.sum() > 0


@pytest.mark.parametrize("name", BUILDERS)
def test_new_rows_are_connected_as_the_others_were(name):
    """A row of the graph, given again, gets its own edges back."""
    builder = BUILDERS[name].fit(HOLED)
    np.testing.assert_allclose(
        dense(builder.connect(HOLED)), dense(builder.adjacency_), atol=1e-7
    )


def test_distances_are_those_of_the_paper():
    seen = ~np.isnan(HOLED)
    D = rms_distances(HOLED)
    for i, j in [(0, 1), (3, 30), (7, 7)]:
        both = seen[i] & seen[j]
        direct = np.sqrt(np.mean((HOLED[i] - HOLED[j])[both] ** 2))
        assert D[i, j] == pytest.approx(direct, abs=1e-7)
    reference = nan_euclidean_distances(HOLED) / np.sqrt(12)
    np.testing.assert_allclose(D, reference, atol=1e-7)


def test_a_mask_is_as_good_as_nan():
    seen = ~np.isnan(HOLED)
    wrong = np.where(seen, X, 99.0)
    np.testing.assert_allclose(
        rms_distances(wrong, seen), rms_distances(HOLED), atol=1e-12
    )
    np.testing.assert_allclose(
        dense(KNNGraph(3)(wrong, mask=seen)), dense(KNNGraph(3)(HOLED)), atol=1e-12
    )
    with pytest.raises(ValueError, match=r"mask must be a boolean array of shape"):
        KNNGraph(3)(X, mask=np.ones((2, 2)))


def test_distances_survive_an_outlier_and_a_shift():
    wild = X + 1e4
    wild[0, 0] = 1e9
    D = rms_distances(wild)[1:, 1:]
    np.testing.assert_allclose(D, rms_distances(X)[1:, 1:], atol=1e-4)


def test_rows_without_common_features_are_not_neighbors():
    A = np.array([[1.0, np.nan], [np.nan, 1.0], [1.0, 1.0], [np.nan, np.nan]])
    D = rms_distances(A)
    assert D[0, 1] == np.inf
    assert np.all(np.isinf(D[3, :3]))
    G = dense(KNNGraph(3)(A))
    assert G[0, 1] == 0
    assert G[0, 2] > 0
    assert np.all(G[3] == 0)
    assert np.isfinite(laplacian(G)).all()


def test_complete_graph_is_the_formula():
    D = rms_distances(X)
    off = ~np.eye(40, dtype=bool)
    expected = np.exp(-((D - D[off].min()) ** 2) / 0.05) * off
    np.testing.assert_allclose(CompleteGraph()(X), expected, atol=1e-12)


@pytest.mark.parametrize("n_features", [2, 8, 12])  # by a tree, or by products
def test_neighbors_agree_with_scikit_learn(n_features, rng):
    X = rng.normal(size=(300, n_features))
    expected = kneighbors_graph(X, 4)
    expected = expected.maximum(expected.T).toarray()
    np.testing.assert_array_equal(dense(KNNGraph(4, weights="binary")(X)), expected)


def test_heat_weights_tune_themselves():
    A = dense(KNNGraph(4)(X))
    D = rms_distances(X)
    radius = np.sort(D, axis=1)[:, 4]
    i, j = np.nonzero(A)
    expected = np.exp(-(D[i, j] ** 2) / (radius[i] * radius[j]))
    np.testing.assert_allclose(A[i, j], expected, rtol=1e-8)
    np.testing.assert_allclose(dense(KNNGraph(4)(1000 * X)), A, rtol=1e-8)


def test_correlation_weights_are_correlations():
    A = dense(KNNGraph(4, weights="correlation")(X))
    i, j = np.nonzero(A)
    np.testing.assert_allclose(A[i, j], np.corrcoef(X)[i, j], rtol=1e-10)


def test_duplicates_do_not_divide_by_zero():
    A = dense(KNNGraph(4)(np.repeat(X[:8], 6, axis=0)))
    assert np.isfinite(A).all()
    assert np.count_nonzero(A[0, 1:6] == 1) >= 4


@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_laplacian_agrees_with_scipy(kind, form):
    A = dense(KNNGraph(3)(X))
    A[5] = A[:, 5] = 0  # a vertex without neighbors
    Phi = dense(laplacian(form(A), kind))
    expected = scipy_laplacian(A, normed=kind == "normalized")
    np.testing.assert_allclose(Phi, expected, atol=1e-14)
    assert np.all(Phi[5] == 0)
    assert np.linalg.eigvalsh(Phi).min() > -1e-12


def test_hypergraph_of_pairs_is_half_the_graph():
    A = dense(KNNGraph(3, weights="binary")(X))
    i, j = np.nonzero(np.triu(A))
    H = np.zeros((40, len(i)))
    H[i, np.arange(len(i))] = H[j, np.arange(len(i))] = 1
    np.testing.assert_allclose(
        laplacian(expansion(sparse.csr_array(H))).toarray(),
        laplacian(A) / 2,
        atol=1e-14,
    )


def test_edges_do_not_reach_rows_that_share_no_feature():
    # The third row has no neighbor at all, so that its edge has no limit.
    nan = np.nan
    X = np.array([[0.0, nan], [1.0, nan], [nan, 5.0]])
    hypergraph = KNNHypergraph(1).fit(X)
    found = hypergraph.connect(np.array([[0.4, nan]]))
    np.testing.assert_array_equal(found.toarray()[0] > 0, [True, True, False])


def test_hypergraph_of_neighbors():
    H = dense(KNNHypergraph(4)(X))
    assert np.all(H.sum(axis=0) == 5)
    assert np.all(np.diag(H) == 1)
    Dv, De = np.diag(H.sum(axis=1) ** -0.5), np.diag(1 / H.sum(axis=0))
    expected = np.eye(40) - Dv @ H @ De @ H.T @ Dv
    lonely = sparse.csr_array(np.vstack([H, np.zeros(40)]))
    found = laplacian(expansion(lonely)).toarray()
    np.testing.assert_allclose(found[:-1, :-1], expected, atol=1e-12)
    assert np.all(found[-1] == 0)


def test_graph_check_returns_a_clean_copy():
    A = np.array([[5.0, 1.0], [1.0, 0.0]])
    checked = check_graph(sparse.coo_array(A))
    assert isinstance(checked, sparse.csr_array)
    np.testing.assert_array_equal(checked.toarray(), [[0, 1], [1, 0]])
    assert A[0, 0] == 5
    assert check_graph(np.zeros((3, 3))).shape == (3, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neighbors": 0}, r"'n_neighbors' .* must be an int in .*\[1.* Got 0"),
        ({"n_neighbors": 2.5}, "'n_neighbors' .* must be an int"),
        ({"weights": "cosine"}, "'weights' .* must be a str among .* Got 'cosine'"),
        ({"n_neighbors": None}, "'n_neighbors' .* must be an int"),
    ],
)
def test_bad_builder_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        KNNGraph(**options)(HOLED)


FAR = 100 * np.repeat([[0.0], [1.0], [-1.0]], 40, axis=0)


@pytest.mark.parametrize("builder", [KNNGraph(5), KNNGraph(5, weights="binary")])
@pytest.mark.parametrize("copies", [1, 3])
def test_rows_of_the_graph_have_its_edges(rng, builder, copies):
    """However far apart the clusters are, and however often a row is there."""
    X = np.repeat(rng.standard_normal((120, 20)) + FAR, copies, axis=0)
    fitted = builder.fit(X)
    first = np.repeat(copies * np.arange(120), copies)
    np.testing.assert_array_equal(
        fitted.connect(X).toarray(), fitted.adjacency_.toarray()[first]
    )
    mixed = np.vstack([X[:5], X[:5] + 0.1, X[7:9]])
    connected = fitted.connect(mixed).toarray()
    np.testing.assert_array_equal(connected[:5], fitted.adjacency_.toarray()[first[:5]])
    np.testing.assert_allclose(
        connected[5:10], fitted.connect(X[:5] + 0.1).toarray(), rtol=1e-12
    )


def test_only_equal_rows_are_taken_for_each_other(rng):
    X = np.vstack([rng.standard_normal((40, 3)), rng.standard_normal((40, 3)) + 1e8])
    graph = KNNGraph(5).fit(X)
    assert np.all(graph.reach(X + 0.3)[0] == -1)
    np.testing.assert_array_equal(graph.reach(X)[0], np.arange(80))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_many_neighbors_are_the_nearest(missing, rng):
    X = rng.normal(size=(200, 8))
    X[rng.random(X.shape) < missing] = np.nan
    distances = rms_distances(X)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :60]
    graph = KNNGraph(60, weights="binary")
    graph.fit(X)
    for i, row in enumerate(nearest):
        assert set(graph.nearest_[[i]].indices) == set(row)
