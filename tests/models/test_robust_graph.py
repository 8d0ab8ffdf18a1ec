"""The default graph of RPCAG: errors that nobody marked must not choose it."""

import numpy as np
import pytest

from rpcag import RPCA, RPCAG
from rpcag.graphs import KNNGraph
from rpcag.models import RobustGraph


def table(rng, n=90, p=30, kinds=3, errors=0.04):
    """Three kinds of samples, low-rank, with gross errors in favorite columns."""
    kind = np.arange(n) % kinds
    centers = 3 * rng.standard_normal((kinds, p))
    L = centers[kind] * rng.uniform(0.7, 1.3, (n, 1))
    wrong = rng.random((n, p)) < errors
    return L, np.where(wrong, 60.0, L + 0.05 * rng.standard_normal((n, p))), kind


def share_within(A, kind):
    A = A.tocoo()
    return float(np.mean(kind[A.row] == kind[A.col]))


@pytest.mark.parametrize("seed", range(3))
def test_neighbors_are_of_one_kind_in_spite_of_gross_errors(seed):
    _, X, kind = table(np.random.default_rng(seed))
    assert share_within(RobustGraph()(X), kind) > 0.97
    assert share_within(KNNGraph()(X), kind) < 0.8


@pytest.mark.parametrize("seed", range(3))
def test_the_default_is_hardly_worse_than_robust_pca_without_a_graph(seed):
    L, X, _ = table(np.random.default_rng(seed))

    def error(model):
        return np.median(np.abs(model.fit(X).low_rank_ - L))

    without = error(RPCA(lam="theory"))
    assert error(RPCAG(gamma="clustering")) < 2 * without
    assert error(RPCAG(gamma="clustering", graph="knn")) > 3 * without
    assert error(RPCAG()) < 2 * without


def test_new_rows_are_joined_to_their_kind(rng):
    _, X, kind = table(rng, n=100)
    builder = RobustGraph(5).fit(X[:90])
    A = builder.connect(X[90:]).tocoo()
    assert np.mean(kind[:90][A.col] == kind[90:][A.row]) > 0.95


def test_a_row_that_was_not_seen_at_all_has_no_neighbors(rng):
    _, X, _ = table(rng)
    X[3] = np.nan
    A = RobustGraph(5)(X)
    assert A[[3]].sum() == 0
    assert (A.sum(axis=1) > 0).sum() == len(X) - 1


def test_light_does_not_choose_the_neighbors_of_faces(rng):
    """Kinds of faint shapes under strong light: most of the variance is the light."""
    kind = np.arange(120) % 6
    shapes = rng.standard_normal((6, 40))
    lights = 4 * rng.standard_normal((120, 2)) @ rng.standard_normal((2, 40))
    clean = lights + 2 * shapes[kind]
    X = clean + 0.05 * rng.standard_normal((120, 40))
    X[rng.random(X.shape) < 0.02] = 100.0
    assert share_within(RobustGraph()(X), kind) > 0.7
    assert share_within(KNNGraph(7)(clean), kind) < 0.5


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_and_the_order_of_rows_do_not_matter(rng, unit):
    _, X, _ = table(rng)
    A = RobustGraph()(X).toarray()
    np.testing.assert_allclose(RobustGraph()(unit * X).toarray(), A, atol=1e-3)
    turned = rng.permutation(len(X))
    found = RobustGraph()(X[turned]).toarray()
    assert np.mean((found > 0) != (A[turned][:, turned] > 0)) < 0.01


@pytest.mark.parametrize("values", [np.zeros(30), np.linspace(-1, 1, 30)])
def test_rows_of_one_direction_are_joined_by_their_size(values):
    """Also where all of them, or some, are zero."""
    X = np.outer(values, np.arange(1.0, 9.0))
    A = RobustGraph(3)(X)
    assert np.isfinite(A.data).all()
    if np.any(values):
        A = A.tocoo()
        assert np.mean(np.sign(values)[A.row] == np.sign(values)[A.col]) > 0.9
        apart = np.abs(np.log(np.abs(values[A.row] / values[A.col])))
        assert np.median(apart) < 0.5
