"""Dual points that the graph relieves: feasible, below the optimum, and better."""

import numpy as np
import pytest

from problems import optimum, small_problem
from rpcag import RPCAG
from rpcag.graphs import CompleteGraph, KNNGraph, laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.losses import L1
from rpcag.solvers.certificates import Asked, Certificates, dual_value
from rpcag.solvers.dual_completion import DualColumns, DualCompletion, _excess, _norm
from rpcag.solvers.executor import Executor
from rpcag.solvers.factored import FactoredIterates
from rpcag.solvers.graph_copy import GraphCopy
from rpcag.solvers.problem import Problem


def point(problem, rng, size=2.0):
    """Any W and D_1, as `DualColumns`, and the completion of their problem."""
    X, lam, gamma = problem.X, problem.lam, problem.gamma
    D_1 = size * lam * rng.standard_normal(X.shape)
    W = size * rng.standard_normal(X.shape) / max(gamma, 1e-9)
    completion = DualCompletion(X.shape, gamma, ShiftedLaplacian(problem.Phi))
    return completion, columns_of(X, lam, D_1, W), D_1, W


def columns_of(X, lam, D_1, W):
    return DualColumns(X, L1(lam), D_1, W)


def complete(completion, *columns):
    (found,) = completion(Executor(), list(columns), completion.laplacian, 1e-9)
    return found.linear, found.quadratic, found.norm


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
    Phi, gamma, lam = problem.Phi, problem.gamma, problem.lam
    completion, columns, D_1, W = point(problem, rng)
    linear, quadratic, norm = complete(completion, columns)
    # All points whose C is this one: the least norm of them is that of C, and any is
    # D_1 + 2 gamma Phi W for some W; its term is that of the least such W.
    N = completion.null
    assert np.abs(Phi @ N).max(initial=0) < 1e-9 * max(np.abs(Phi).max(), 1e-300)
    D_1 = np.clip(D_1, -lam, lam)
    D_1[np.isnan(problem.X)] = 0
    (excess,) = _excess([columns.null_sums(N)])
    if excess is not None:
        before = np.linalg.norm(N.T @ D_1, 2)
        assert before > 1 - 1e-4
        D_1 = columns.inside(np.s_[:], N, excess)
        assert np.linalg.norm(N.T @ D_1, 2) < before
        assert np.abs(D_1).max() <= lam
        assert np.abs(D_1[np.isnan(problem.X)]).max(initial=0) == 0
    scale = linear / np.nansum(D_1 * problem.X)
    assert 0 < scale <= 1 + 1e-12
    assert norm <= 1 + 1e-6
    D = scale * (D_1 + 2 * gamma * Phi @ W)
    C = N.T @ D
    assert np.linalg.norm(C, 2) <= 1
    R = D - N @ C
    G = R @ np.linalg.inv(np.eye(C.shape[1]) - C.T @ C) @ R.T
    g, U = np.linalg.eigh(G)
    J = (U * (1 - 1 / np.sqrt(np.maximum(g, 1)))) @ U.T
    better = D - J @ D
    assert np.linalg.norm(better, 2) <= 1 + 1e-6
    left = better - scale * D_1
    least = np.vdot(left, np.linalg.pinv(Phi, rcond=1e-10) @ left) / (4 * gamma)
    assert quadratic == pytest.approx(least, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("k", GRAPHS[::3])
@pytest.mark.parametrize("size", [0.1, 1.0, 10.0])
def test_it_is_never_above_the_optimum(k, size, rng):
    problem = small_problem(k)
    best, exact = optimum(problem)
    completion, columns, _, _ = point(problem, rng, size)
    found = bound(*complete(completion, columns))
    assert found <= best * (1 + exact) + 1e-12


@pytest.mark.parametrize(
    ("offset", "c", "gamma"), [(1e4, 10, 1e6), (1e4, 10, 1e7), (100, 3, 1e9)]
)
def test_a_heavy_graph_far_from_zero_proves_nothing_wrong(offset, c, gamma):
    """gamma multiplies the rounding of what Phi should annihilate."""
    X = offset + np.random.default_rng(1).standard_normal((60, 60))
    Phi = 60 * np.eye(60) - 1
    lam = c / np.sqrt(60)
    found = Problem(X, lam, gamma, ShiftedLaplacian(Phi)).solve(tol=1e-3, max_iter=200)
    center = np.median(X, axis=0)
    above = np.sqrt(60) * np.linalg.norm(center) + lam * np.abs(X - center).sum()
    assert found.lower_bound <= above


@pytest.mark.filterwarnings("ignore:RPCAG stopped after")
@pytest.mark.parametrize(
    ("dtype", "c"), [("f4", 0.12), ("f4", 1.0), ("f4", 100.0), ("f4", 1e4), ("f8", 1e8)]
)
def test_a_step_of_lam_proves_nothing_wrong(dtype, c):
    """The first points after it are as large as lam, the bound is not."""
    X = np.ones((60, 60), dtype)
    model = RPCAG(lam=0.1 / 60, gamma=1.0, graph=1 - np.eye(60), warm_start=True)
    model.fit(X).set_params(lam=c / np.sqrt(60)).fit(X)
    best = min(60.0, c / np.sqrt(60) * 3600)  # of L = X and of L = 0
    assert model.objective_ * (1 - model.gap_) <= best * (1 + 1e-5)
    assert model.objective_ >= best * (1 - 1e-5)


def far(rng, missing=0.0, parts=1, shape=(120, 150)):
    """Much of lam and of gamma: the value of a dual point is large beside its norm."""
    X = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1]))
    X += rng.standard_normal(shape)
    A = CompleteGraph()(X)
    A[: shape[0] // 2, shape[0] // 2 :] *= parts == 1
    A[shape[0] // 2 :, : shape[0] // 2] *= parts == 1
    X[rng.random(shape) < missing] = np.nan
    return Problem(X, 6 / np.sqrt(max(shape)), 32.0, ShiftedLaplacian(laplacian(A)))


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(120, 150), (150, 120)])
def test_it_saves_iterations_where_a_graph_is_heavy(rng, monkeypatch, shape):
    """Three tenths of them; a single problem may gain nothing."""
    problems = [
        far(rng, missing, parts, shape) for missing in (0, 0.2) for parts in (1, 2)
    ]
    relieved = [problem.solve(tol=1e-3, max_iter=2000) for problem in problems]
    monkeypatch.setattr(DualCompletion, "is_due", lambda *_: False)
    without = [problem.solve(tol=1e-3, max_iter=2000) for problem in problems]
    for problem, result in zip(problems, relieved, strict=True):
        exact = problem.solve(tol=1e-5, max_iter=20_000)
        assert result.gap <= 1e-3
        assert result.lower_bound <= exact.objective
        assert result.objective >= exact.lower_bound
    saved = 1 - sum(r.n_iter for r in relieved) / sum(r.n_iter for r in without)
    assert saved >= 0.3, saved


def test_the_solver_with_factors_gives_its_own_point(rng):
    """There W is a product, and D_1 half of V and E."""
    X = far(rng, missing=0.1).X
    shifted = ShiftedLaplacian(laplacian(KNNGraph(5)(np.nan_to_num(X))))
    lam, gamma, penalties = 0.2, 0.3, (0.1, 0.15)
    iterates = FactoredIterates(X, L1(lam), gamma, shifted)
    iterates.begin(penalties)
    H = rng.standard_normal((len(X), 1))
    R, _ = np.linalg.qr(rng.standard_normal((X.shape[1], 1)))
    iterates.R, iterates.graph = [R], GraphCopy(gamma, H, H)
    asked = Asked(tol=5e-8, objective=1e9, n_iter=1000, is_near=True, is_warm=True)
    found, plain = iterates.bounds(penalties, asked)
    U = iterates.copies()[1][0]
    columns = columns_of(X, lam, penalties[0] * U, H @ R.T)
    same = complete(DualCompletion(X.shape, gamma, shifted), columns)
    assert found[:3] == pytest.approx(same, rel=1e-6)
    assert found.value > plain.value
    # In two parts it is the same.
    halves = [
        columns_of(X[:, at], lam, penalties[0] * U[:, at], H @ R[at].T)
        for at in (np.s_[:70], np.s_[70:])
    ]
    parts = complete(DualCompletion(X.shape, gamma, shifted), *halves)
    assert parts == pytest.approx(same, rel=1e-6)


def test_a_path_starts_near_the_next_answer(rng):
    """Multipliers follow lam: a step of 3 % of it takes a few iterations."""
    problem = far(rng)
    lam, gamma = problem.lam, problem.gamma
    state = problem.solve(tol=1e-3, max_iter=2000).state
    for step in (1.03, 1.06, 1.09):
        problem = Problem(problem.X, step * lam, gamma, problem.laplacian)
        result = problem.solve(tol=1e-3, max_iter=2000, start=state)
        state = result.state
        assert result.gap <= 1e-3
        assert result.n_iter <= 15


def test_a_graph_without_a_null_space_carries_everything(rng):
    problem = small_problem(3)
    completion = DualCompletion(problem.X.shape, 1.0, ShiftedLaplacian(np.eye(4)))
    D_1 = np.clip(rng.standard_normal((4, 12)), -problem.lam, problem.lam)
    W = 3 * rng.standard_normal((4, 12))
    columns = columns_of(problem.X, problem.lam, D_1, W)
    _, quadratic, norm = complete(completion, columns)
    assert norm <= 1 + 1e-6
    U, s, V = np.linalg.svd(D_1 + 2 * W, full_matrices=False)
    left = (U * np.minimum(s, 1)) @ V - D_1
    assert quadratic == pytest.approx(np.vdot(left, left) / 4)


def test_what_is_no_number_is_no_proof():
    assert _norm(np.full((3, 3), np.nan), 1e-9) == np.inf
    bound = dual_value(-1.0, 0.0, np.nan)
    progress = Certificates(1e-3).record(1, 2.0, 0.0, bound, (0.1, 0.1), 1)
    assert progress.lower_bound == 0
