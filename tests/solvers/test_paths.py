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


@pytest.mark.parametrize("mu", [0.0, 0.1])
@pytest.mark.parametrize("gamma_before", [1e-6, 1e-3])
@pytest.mark.parametrize("factor", [0.5, 0.95, 1.0, 1.05, 2.0])
def test_a_result_proves_itself_for_another_gamma(rng, factor, gamma_before, mu):
    X = data(rng)
    first = problem_of(X, gamma_before)
    loss = Huber(L1(first.lam), mu) if mu else None
    first = Problem(X, first.lam, gamma_before, first.laplacian, loss=loss)
    state = first.solve(tol=1e-3, max_iter=500).state
    assert state.proof is not None
    gamma = factor * gamma_before
    second = Problem(X, first.lam, gamma, first.laplacian, loss=loss)
    found = second.solve(tol=2e-3, max_iter=500, start=state)
    assert found.gap <= 2e-3
    if 0.5 < factor < 2:
        assert found.n_iter == 0
    Phi = first.laplacian.laplacian
    objective = np.linalg.norm(found.x, "nuc") + second.loss.value(X - found.x).sum()
    objective += gamma * np.sum(found.x * (Phi @ found.x))
    assert found.objective == pytest.approx(objective, rel=1e-6)
    exact = second.solve(tol=1e-5, max_iter=5000)
    assert found.lower_bound <= exact.objective
    # The dual point proves the bound.
    D, W, _ = found.dual
    assert np.abs(D).max() <= first.lam * (1 + 1e-6)
    assert np.linalg.norm(D - 2 * gamma * (Phi @ W), 2) <= 1 + 1e-6
    bound = np.sum(D * X) - mu * np.sum(D * D) / 2 - gamma * np.sum(W * (Phi @ W))
    assert bound >= found.lower_bound * (1 - 1e-6)


@pytest.mark.parametrize("change", ["data", "lam", "loss", "graph"])
def test_a_proof_of_another_problem_is_not_used(rng, change):
    X = data(rng)
    problem = problem_of(X, 1e-3)
    graph, loss = problem.laplacian, None
    if change == "loss":
        loss = L1(problem.lam)
        problem = Problem(X, problem.lam, 1e-3, graph, loss=loss)
    state = problem.solve(tol=1e-3, max_iter=500).state
    assert state.proof is not None
    lam = problem.lam
    if change == "data":
        X[0, 0] += 1e-3
        graph = problem_of(X, 1e-3).laplacian
    elif change == "graph":
        graph = ShiftedLaplacian(laplacian(KNNGraph(6)(X)))
    elif change == "lam":
        lam *= 1.001
    else:
        loss = Huber(loss, 0.1)
    other = Problem(X, lam, problem.gamma, graph, loss=loss)
    assert other.solve(tol=1e-2, max_iter=500, start=state).n_iter > 0


def test_a_proof_is_not_used_in_another_unit(rng):
    X = data(rng)
    X *= 1.3 / problem_of(X, 1e-3).scale  # so that X / unit is X
    first, k = problem_of(X, 1e-3), 2.0**100
    state = first.solve(tol=1e-3, max_iter=500).state
    second = Problem(X * k, first.lam, 1e-3 / k, first.laplacian)
    np.testing.assert_array_equal(second.X, first.X)
    found = second.solve(tol=2e-3, max_iter=500, start=state)
    least = np.abs(X * k - found.x).sum() * first.lam
    assert found.objective > least


def test_changes_of_a_result_do_not_reach_its_proof(rng):
    X = data(rng)
    first = problem_of(X, 1e-3)
    result = first.solve(tol=1e-3, max_iter=500)
    result.x[:] = 0
    for A in result.dual[:2]:
        with pytest.raises(ValueError, match="read-only"):
            A[:] = 0
    second = problem_of(X, 1.01e-3)
    found = second.solve(tol=2e-3, max_iter=500, start=result.state)
    assert found.n_iter == 0
    assert found.x.any()
    D, W, _ = found.dual
    smooth = second.gamma * np.sum(W * (second.laplacian.laplacian @ W))
    assert np.sum(D * X) - smooth >= found.lower_bound * (1 - 1e-6)
