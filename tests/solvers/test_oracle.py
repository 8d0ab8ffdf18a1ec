"""The answers against an independent solver, and the recovery that theory promises."""

import numpy as np
import pytest

from problems import candes, optimum, small_problem
from rpcag import RPCA, RPCAG


def model_of(problem, **options):
    return RPCAG(
        lam=problem.lam,
        gamma=problem.gamma,
        graph=problem.adjacency,
        laplacian=problem.kind,
        **options,
    )


@pytest.mark.parametrize("k", range(50))
def test_objective_and_bound_agree_with_an_interior_point_method(k):
    problem = small_problem(k)
    best, accuracy = optimum(problem)
    model = model_of(problem, tol=1e-7, max_iter=20_000).fit(problem.X)
    assert model.gap_ <= 1e-7
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert model.lower_bound_ <= best * (1 + accuracy)


def test_most_small_problems_are_not_trivial():
    ranks = []
    for k in range(50):
        problem = small_problem(k)
        model = model_of(problem, tol=1e-2, max_iter=5000)
        ranks.append(model.fit(problem.X).rank_)
    assert np.mean(np.array(ranks) > 0) > 0.6


def test_objective_is_the_formula_at_the_answer():
    problem = small_problem(22)
    model = RPCAG(
        lam=0.4, gamma=0.3, graph=problem.adjacency, laplacian=problem.kind
    ).fit(problem.X)
    L = model.low_rank_
    direct = (
        np.linalg.svd(L, compute_uv=False).sum()
        + 0.4 * np.nansum(np.abs(problem.X - L))
        + 0.3 * np.trace(L.T @ problem.Phi @ L)
    )
    assert model.objective_ == pytest.approx(direct, rel=1e-10)


@pytest.mark.parametrize("n", [200, 500])
@pytest.mark.parametrize("errors", [0.05, 0.10])
@pytest.mark.parametrize("model", [RPCA(lam="theory"), RPCA(), RPCAG()], ids=repr)
def test_the_matrices_of_candes_are_recovered(model, n, errors):
    L, S = candes(n, 0.05, errors)
    model.set_params(tol=1e-7, max_iter=5000).fit(L + S)
    assert model.lam_ == pytest.approx(1 / np.sqrt(n))
    assert np.linalg.norm(model.low_rank_ - L) < 1e-5 * np.linalg.norm(L)
    assert model.rank_ == round(0.05 * n)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_bound_holds_in_single_precision():
    for k in range(20):
        problem = small_problem(k)
        X = problem.X.astype(np.float32)
        exact = model_of(problem, tol=1e-9, max_iter=20_000).fit(X.astype(float))
        single = model_of(problem, tol=1e-4, max_iter=5000).fit(X)
        assert single.lower_bound_ <= exact.objective_ * (1 + 1e-5)
