"""Paths over gamma: what one solve proved is used by the next."""

import numpy as np
import pytest

from rpcag.graphs import KNNGraph, laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.losses import L1, Huber
from rpcag.solvers.problem import Problem


def data(rng):
    X = rng.standard_normal((120, 4)) @ rng.standard_normal((4, 150))
    X[rng.random(X.shape) < 0.05] = 5
    return X


def problem_of(X, gamma):
    Phi = laplacian(KNNGraph(5)(X))
    return Problem(X, 1 / np.sqrt(150), gamma, ShiftedLaplacian(Phi))


def value(X, L, lam, gamma, Phi):
    loss = lam * np.abs(X - L).sum()
    return np.linalg.norm(L, "nuc") + loss + gamma * np.sum(L * (Phi @ L))


@pytest.mark.parametrize("factor", [1.0, 1.05, 2.0])
def test_a_result_proves_itself_for_a_larger_gamma(rng, factor):
    X = data(rng)
    first = problem_of(X, 1e-3)
    state = first.solve(tol=1e-3, max_iter=500).state
    assert state.proof is not None
    gamma = factor * 1e-3
    second = Problem(X, first.lam, gamma, first.laplacian)
    found = second.solve(tol=2e-3, max_iter=500, start=state)
    assert found.gap <= 2e-3
    if factor < 2:
        assert found.n_iter == 0
    Phi = first.laplacian.laplacian
    assert found.objective == pytest.approx(
        value(X, found.x, first.lam, gamma, Phi), rel=1e-6
    )
    exact = second.solve(tol=1e-5, max_iter=5000)
    assert found.lower_bound <= exact.objective
    # The dual point proves the bound.
    D, W, _ = found.dual
    assert np.abs(D).max() <= first.lam * (1 + 1e-6)
    assert np.linalg.norm(D - 2 * gamma * (Phi @ W), 2) <= 1 + 1e-6
    bound = np.sum(D * X) - gamma * np.sum(W * (Phi @ W))
    assert bound >= found.lower_bound * (1 - 1e-6)


@pytest.mark.parametrize("change", ["data", "lam", "loss", "graph", "smaller gamma"])
def test_a_proof_of_another_problem_is_not_used(rng, change):
    X = data(rng)
    problem = problem_of(X, 1e-3)
    graph, loss = problem.laplacian, None
    if change == "loss":
        loss = L1(problem.lam)
        problem = Problem(X, problem.lam, 1e-3, graph, loss=loss)
    state = problem.solve(tol=1e-3, max_iter=500).state
    assert state.proof is not None
    lam, gamma = problem.lam, problem.gamma
    if change == "data":
        X[0, 0] += 1e-3
        graph = problem_of(X, 1e-3).laplacian
    elif change == "graph":
        graph = ShiftedLaplacian(laplacian(KNNGraph(6)(X)))
    elif change == "lam":
        lam *= 1.001
    elif change == "loss":
        loss = Huber(loss, 0.1)
    else:
        gamma *= 0.999
    other = Problem(X, lam, gamma, graph, loss=loss)
    assert other.solve(tol=1e-2, max_iter=500, start=state).n_iter > 0
