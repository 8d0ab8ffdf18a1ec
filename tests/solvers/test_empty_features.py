"""Features that are zero, or missing, in all samples are left out of the solve."""

import numpy as np
import pytest

from rpcag import RPCA, RPCAG
from rpcag.graphs import KNNGraph, laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.losses import L1, Huber
from rpcag.solvers.problem import Problem


def spoiled(rng, n, p):
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, p))
    X += 0.1 * rng.standard_normal((n, p))
    X[rng.random((n, p)) < 0.05] = 7
    return X


def padded(X, rng, more):
    """X with features of zeros and of NaN, and where its own are."""
    n, p = X.shape
    at = np.sort(rng.permutation(p + more)[:p])
    wide = np.zeros((n, p + more))
    wide[:, np.setdiff1d(np.arange(p + more), at)[::2]] = np.nan
    wide[:, at] = X
    return wide, at


@pytest.mark.parametrize("shape", [(40, 60), (60, 40), (50, 45), (130, 120)])
@pytest.mark.parametrize("unit", [1.0, 1e-200])
@pytest.mark.parametrize("kind", ["plain", "graph", "weights"])
def test_the_answer_is_that_of_the_others(rng, shape, unit, kind):
    X = spoiled(rng, *shape)
    wide, at = padded(X * unit, rng, 20)
    lam, gamma, graph, both = 0.15, 0.0, None, [None, None]
    if kind == "graph":
        graph, gamma = ShiftedLaplacian(laplacian(KNNGraph(4)(X))), 0.05 / unit
    elif kind == "weights":
        weights = lam * rng.uniform(0.5, 2, wide.shape)
        mu = 0.1 * unit
        both = [Huber(L1(weights), mu), Huber(L1(weights[:, at]), mu)]
    found, other = (
        Problem(A, lam, gamma, graph, loss=loss).solve(tol=1e-6, max_iter=5000)
        for A, loss in zip((wide, X * unit), both, strict=True)
    )
    assert found.status == "converged"
    assert found.x.shape == wide.shape
    np.testing.assert_array_equal(np.delete(found.x, at, axis=1), 0)
    np.testing.assert_array_equal(found.x[:, at], other.x)
    assert found.objective == other.objective
    np.testing.assert_array_equal(found.dual.D[:, at], other.dual.D)
    np.testing.assert_array_equal(np.delete(found.dual.D, at, axis=1), 0)
    if found.basis is not None:
        short = found.x if shape[0] <= wide.shape[1] else found.x.T
        inside = found.basis @ (found.basis.T @ short)
        np.testing.assert_allclose(inside / unit, short / unit, atol=1e-6)


def test_the_path_goes_on(rng):
    X, _ = padded(spoiled(rng, 120, 110), rng, 30)
    graph = ShiftedLaplacian(laplacian(KNNGraph(4)(X)))
    first = Problem(X, 0.1, 1e-3, graph).solve(tol=1e-3, max_iter=500)
    again = Problem(X, 0.1, 1.01e-3, graph).solve(
        tol=2e-3, max_iter=500, start=first.state
    )
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.x, first.x)
    assert again.dual.W.shape == X.shape


def test_models_keep_their_shapes(rng):
    X, at = padded(spoiled(rng, 60, 30), rng, 10)
    seen = np.where(np.isnan(X), 0.0, X)
    for model in (RPCA(lam=0.2), RPCAG(lam=0.2, gamma=0.01, graph="knn")):
        model.fit(seen)
        assert model.low_rank_.shape == model.dual_.D.shape == X.shape
        new = seen[:5].copy()
        assert model.inverse_transform(model.transform(new)).shape == new.shape
        unseen = np.delete(model.components_, at, axis=1)
        np.testing.assert_allclose(unseen, 0, atol=1e-12)


def test_only_features_without_entries(rng):
    """A feature with one entry stays, and all of them if there is nothing else."""
    X = np.zeros((30, 40))
    assert Problem(X, 0.2).X.shape == X.shape
    assert Problem(X, 0.2).solve(tol=1e-3, max_iter=10).objective == 0
    X[:, :5] = rng.standard_normal((30, 5))
    X[3, 7] = 1.0
    assert Problem(X, 0.2).X.shape == (30, 6)
    X[:, 6:] = 1.0
    assert Problem(X, 0.2).X.shape == X.shape  # one of 40: not worth it
