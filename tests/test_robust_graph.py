"""The default graph of RPCAG: errors that nobody marked must not choose it."""

import numpy as np
import pytest

from rpcag import RPCA, RPCAG
from rpcag.graphs import KNNGraph
from rpcag.models import RobustGraph


def table(rng, n=90, p=30, kinds=3, errors=0.04):
    """Three kinds of samples, low-rank, with gross errors in favourite columns."""
    kind = np.arange(n) % kinds
    centres = 3 * rng.standard_normal((kinds, p))
    L = centres[kind] * rng.uniform(0.7, 1.3, (n, 1))
    wrong = rng.random((n, p)) < errors
    return L, np.where(wrong, 60.0, L + 0.05 * rng.standard_normal((n, p))), kind


def share_within(A, kind):
    A = A.tocoo()
    return float(np.mean(kind[A.row] == kind[A.col]))


@pytest.mark.parametrize("seed", range(3))
def test_neighbours_are_of_one_kind_in_spite_of_gross_errors(seed):
    _, X, kind = table(np.random.default_rng(seed))
    assert share_within(RobustGraph()(X), kind) > 0.97
    assert share_within(KNNGraph()(X), kind) < 0.8


@pytest.mark.parametrize("seed", range(3))
def test_the_default_is_no_worse_than_robust_pca_without_a_graph(seed):
    L, X, _ = table(np.random.default_rng(seed))

    def error(model):
        return np.median(np.abs(model.fit(X).low_rank_ - L))

    assert error(RPCAG()) < 1.2 * error(RPCA())
    assert error(RPCAG(graph="knn")) > 3 * error(RPCA())


def test_new_rows_are_joined_to_their_kind(rng):
    _, X, kind = table(rng, n=100)
    builder = RobustGraph(5).fit(X[:90])
    A = builder.connect(X[90:]).tocoo()
    assert np.mean(kind[:90][A.col] == kind[90:][A.row]) > 0.95


def test_a_row_that_was_not_seen_at_all_has_no_neighbours(rng):
    _, X, _ = table(rng)
    X[3] = np.nan
    A = RobustGraph(5)(X)
    assert A[[3]].sum() == 0
    assert (A.sum(axis=1) > 0).sum() == len(X) - 1
