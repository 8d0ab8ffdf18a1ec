"""Clusters of embeddings."""

import numpy as np
import pytest
from scipy import sparse

from rpcag import RPCAG, NCuts
from rpcag.clustering import _normalized_cut, cluster_embedding
from rpcag.metrics import clustering_error

KIND = np.repeat(np.arange(3), 20)


def blocks(n_blocks: int) -> np.ndarray:
    """The graph that joins samples of a kind."""
    return np.kron(np.eye(n_blocks), np.ones((20, 20)) - np.eye(20))


def test_neither_the_lengths_of_samples_nor_of_components_count():
    rng = np.random.default_rng(0)
    Q = np.eye(3)[KIND] + 0.1 * rng.standard_normal((60, 3))
    lengths = rng.uniform(0.1, 10, (60, 1))
    found = cluster_embedding(Q * lengths * [1000, 30, 1], 3)
    assert clustering_error(KIND, found) == 0
    assert found[[0, 20, 40]].tolist() == [0, 1, 2]  # as they come first


def test_clusters_along_few_directions_differ_in_length():
    rng = np.random.default_rng(0)
    line = np.outer(KIND + 1.0, [10.0]) + 0.1 * rng.standard_normal((60, 1))
    assert clustering_error(KIND, cluster_embedding(line, 3)) == 0
    # Two more components are noise, which takes the graph to see.
    Q = np.hstack([line, 0.1 * rng.standard_normal((60, 2))])
    assert clustering_error(KIND, cluster_embedding(Q, 3)) > 0.2
    for A in (blocks(3), sparse.csr_array(blocks(3))):
        assert clustering_error(KIND, cluster_embedding(Q, 3, adjacency=A)) == 0


def test_a_graph_that_cannot_tell_keeps_unit_lengths():
    rng = np.random.default_rng(0)
    Q = np.eye(3)[KIND] * rng.uniform(0.01, 10, (60, 1))
    complete = np.ones((60, 60)) - np.eye(60)
    found = cluster_embedding(Q, 3, adjacency=complete)
    assert clustering_error(KIND, found) == 0


def test_samples_at_the_origin_are_somewhere():
    Q = np.eye(3)[KIND]
    Q[5] = 0
    assert clustering_error(KIND, cluster_embedding(Q, 3)) <= 1 / 60


def test_the_normalized_cut_is_that_of_the_spectrum():
    # Of blocks without edges between them nothing is cut: sum of zero eigenvalues.
    A = blocks(3)
    X = np.eye(3)[KIND]
    assert _normalized_cut(A, KIND) == pytest.approx(0)
    assert NCuts(3, graph=A).fit(X).objective_ == pytest.approx(0, abs=1e-9)
    # A cluster and its complement, joined by a known share.
    A[:20, 20:40] = A[20:40, :20] = 0.5
    halves = np.where(KIND == 0, 0, 1)
    cut, inside = 20 * 20 * 0.5, 20 * 19
    first, rest = cut / (cut + inside), cut / (cut + 2 * inside)
    assert _normalized_cut(A, halves) == pytest.approx(first + rest)
    # Never below the sum of the least eigenvalues.
    assert _normalized_cut(A, halves) >= NCuts(2, graph=A).fit(X).objective_ - 1e-9


def test_a_cluster_without_edges_is_cut_as_a_whole():
    A = np.zeros((4, 4))
    A[0, 1] = A[1, 0] = 1
    assert _normalized_cut(A, np.array([0, 0, 1, 1])) == 1


def test_gaps_and_gross_errors_do_not_make_clusters():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3, 40))[KIND] + 0.1 * rng.standard_normal((60, 40))
    X[rng.random(X.shape) < 0.05] = 20.0
    X[rng.random(X.shape) < 0.1] = np.nan
    model = RPCAG(3, gamma="clustering").fit(X)
    found = cluster_embedding(model.embedding_, 3, adjacency=model.adjacency_)
    assert clustering_error(KIND, found) == 0


def test_lam_that_goes_with_the_gamma_for_clustering_is_twice_that_of_the_theory():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    X[rng.random(X.shape) < 0.1] = np.nan
    theory = RPCAG(lam="theory", gamma="clustering").fit(X)
    model = RPCAG(gamma="clustering").fit(X)
    assert model.lam_ == 2 * theory.lam_
    assert model.gamma_ == theory.gamma_
    assert model.weights_ is None  # nothing was predicted


@pytest.mark.dask
def test_the_same_lam_on_dask():
    da = pytest.importorskip("dask.array")
    pytest.importorskip("distributed")
    X = np.random.default_rng(0).standard_normal((60, 12))
    models = [
        RPCAG(gamma="clustering", graph=blocks(3)).fit(data)
        for data in (X, da.from_array(X, chunks=(20, 12)))
    ]
    assert models[1].lam_ == pytest.approx(models[0].lam_)
    assert models[1].gamma_ == pytest.approx(models[0].gamma_)


def test_nothing_to_cluster_is_refused():
    with pytest.raises(ValueError, match="the low-rank part is zero"):
        cluster_embedding(np.empty((5, 0)), 2)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        cluster_embedding(np.arange(5.0), 2)
    with pytest.raises(ValueError, match="Input embedding contains NaN"):
        cluster_embedding(np.full((5, 2), np.nan), 2)
