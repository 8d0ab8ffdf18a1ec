"""Dual points that the graph relieves: feasible, below the optimum, and better."""

import numpy as np
import pytest

from problems import optimum, small_problem
from rpcag.graphs import CompleteGraph, KNNGraph, laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.models.problem import Problem
from rpcag.solvers.panel import Panel
from rpcag.solvers.relief import Relief


def point(problem, rng, size=2.0):
    """Any U and W, the relief of their problem, and D made of them, too large."""
    X, lam, gamma = problem.X, problem.lam, problem.gamma
    relief = Relief(X, lam, gamma, ShiftedLaplacian(problem.Phi))
    D_1 = np.clip(size * lam * rng.standard_normal(X.shape), -lam, lam)
    D_1[np.isnan(X)] = 0
    W = size * rng.standard_normal(X.shape) / max(gamma, 1e-9)
    D = D_1 + 2 * gamma * problem.Phi @ W
    values = np.nansum(D_1 * X), gamma * np.vdot(W, problem.Phi @ W)
    return relief, D_1, W, D, values


def bound(linear, quadratic, norm):
    """The best of all points s D, for s up to one over the norm."""
    most = 1 / max(1.0, norm)
    best = min(most, max(-linear / (2 * quadratic), 0)) if quadratic > 0 else most
    return -(best * linear + best**2 * quadratic)


GRAPHS = [k for k in range(42) if small_problem(k).gamma > 0]


@pytest.mark.parametrize("k", GRAPHS)
def test_a_relieved_point_is_a_dual_point_with_these_values(k, rng):
    """(I - J) D has norm one, and W is what is left for it, by explicit algebra."""
    problem = small_problem(k)
    Phi, gamma = problem.Phi, problem.gamma
    relief, D_1, W, D, (linear, quadratic) = point(problem, rng)
    balanced = D.copy()
    change = relief.balance(balanced, D_1, 1.0)
    D_1 = D_1 + balanced - D
    assert np.abs(D_1).max() <= problem.lam * (1 + 1e-12)
    assert np.abs(D_1[np.isnan(problem.X)]).max(initial=0) == 0
    assert np.nansum(D_1 * problem.X) == pytest.approx(linear + change)
    found = relief.relieved(
        balanced @ balanced.T, balanced @ W.T, (linear + change, quadratic), 1e-9
    )
    # All points whose C is this one: the least norm of them is that of C, and any is
    # D_1 + 2 gamma Phi W for some W; its term is that of the least such W.
    N = relief.null
    assert np.abs(Phi @ N).max(initial=0) < 1e-9 * max(np.abs(Phi).max(), 1e-300)
    scale = found[0] / (linear + change) if linear + change else 1.0
    assert 0 < scale <= 1
    assert found[2] <= 1 + 1e-6
    C = scale * N.T @ balanced
    assert np.linalg.norm(C, 2) <= 1
    R = scale * (balanced - N @ (N.T @ balanced))
    G = R @ np.linalg.inv(np.eye(C.shape[1]) - C.T @ C) @ R.T
    g, U = np.linalg.eigh(G)
    J = (U * (1 - 1 / np.sqrt(np.maximum(g, 1)))) @ U.T
    better = scale * balanced - J @ (scale * balanced)
    assert np.linalg.norm(better, 2) <= 1 + 1e-6
    left = better - scale * D_1
    least = np.vdot(left, np.linalg.pinv(Phi, rcond=1e-10) @ left) / (4 * gamma)
    assert found[1] == pytest.approx(least, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("k", GRAPHS[::3])
@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
def test_it_is_never_above_the_optimum(k, size, rng):
    problem = small_problem(k)
    best, exact = optimum(problem)
    relief, D_1, W, D, values = point(problem, rng, size)
    found = bound(*relief(D.copy(), D_1, 1.0, W, values, 1e-9))
    assert found <= best * (1 + exact) + 1e-12


def far(rng, missing=0.0, parts=1, shape=(120, 150)):
    """Much of lam and of gamma: the value of a dual point is large beside its norm."""
    X = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1]))
    X += rng.standard_normal(shape)
    A = CompleteGraph()(X)
    A[: shape[0] // 2, shape[0] // 2 :] *= parts == 1
    A[shape[0] // 2 :, : shape[0] // 2] *= parts == 1
    X[rng.random(shape) < missing] = np.nan
    return Problem(X, 4 / np.sqrt(max(shape)), 16.0, ShiftedLaplacian(laplacian(A)))


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("shape", [(120, 150), (150, 120)])
def test_it_saves_most_iterations_where_a_graph_is_heavy(
    rng, monkeypatch, missing, parts, shape
):
    problem = far(rng, missing, parts, shape)
    relieved = problem.solve(tol=1e-3, max_iter=2000)
    monkeypatch.setattr(Relief, "suits", staticmethod(lambda laplacian: False))
    without = problem.solve(tol=1e-3, max_iter=2000)
    exact = problem.solve(tol=1e-5, max_iter=20_000)
    assert relieved.gap <= 1e-3
    assert relieved.lower_bound <= exact.objective
    assert relieved.objective >= exact.lower_bound
    assert relieved.n_iter < 0.6 * without.n_iter


def test_both_solvers_relieve_the_same_point_alike(rng):
    """The one with factors sums over pieces and W is a product; the other has all."""
    X = far(rng, missing=0.1).X
    shifted = ShiftedLaplacian(laplacian(KNNGraph(5)(np.nan_to_num(X))))
    lam, gamma = 0.2, 0.3
    panel = Panel(X, lam, gamma, shifted)
    penalties = (0.1, 0.15)
    panel.begin(penalties, 20)
    G = rng.standard_normal((len(X), 1))
    panel.R, _ = np.linalg.qr(rng.standard_normal((X.shape[1], 1)))
    panel.graph = type(panel.graph)(shifted, gamma, G, G)
    plain = panel.dual(penalties, 1e-9, keep=True)
    _, multipliers = panel.copies()
    W = G @ panel.R.T
    D = np.clip(penalties[0] * multipliers[0], -lam, lam)
    D[np.isnan(X)] = 0
    assert plain.linear == pytest.approx(np.nansum(D * X))
    D += 2 * gamma * shifted.laplacian @ W
    assert plain.norm == pytest.approx(np.linalg.norm(D, 2), rel=1e-6)
    dense = Relief(X, lam, gamma, shifted)(
        D, multipliers[0], penalties[0], W, plain[:2], 1e-9
    )
    found = panel.relieved(penalties, 1e-9)
    assert found == pytest.approx(dense, rel=1e-6)
    assert bound(*found) > bound(*plain)


def test_a_path_starts_near_the_next_answer(rng):
    """Multipliers follow lam: a step of 3 % of it takes a few iterations."""
    problem = far(rng)
    lam, gamma = problem.lam, problem.gamma
    state = problem.solve(tol=1e-3, max_iter=2000).state
    for step in (1.03, 1.06, 1.09):
        result = problem.at(step * lam, gamma).solve(
            tol=1e-3, max_iter=2000, start=state
        )
        state = result.state
        assert result.gap <= 1e-3
        assert result.n_iter <= 15


def test_a_graph_without_a_null_space_carries_everything(rng):
    problem = small_problem(3)
    relief = Relief(problem.X, problem.lam, 1.0, ShiftedLaplacian(np.eye(4)))
    D_1 = np.clip(rng.standard_normal((4, 12)), -problem.lam, problem.lam)
    W = 3 * rng.standard_normal((4, 12))
    D = D_1 + 2 * W
    values = np.nansum(D_1 * problem.X), np.vdot(W, W)
    _, quadratic, norm = relief(D.copy(), D_1, 1.0, W, values, 1e-9)
    assert norm <= 1 + 1e-6
    U, s, V = np.linalg.svd(D, full_matrices=False)
    left = (U * np.minimum(s, 1)) @ V - D_1
    assert quadratic == pytest.approx(np.vdot(left, left) / 4)
