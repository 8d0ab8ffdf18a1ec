"""certify: a proof for anybody's L, and its check with plain NumPy."""

import numpy as np
import pytest

import rpcag
from problems import candes, optimum, small_problem
from rpcag import RPCA, RPCAG, certify
from test_losses import optimum as optimum_of_loss
from test_losses import spoiled, stated


@pytest.mark.parametrize("k", range(20))
def test_bound_is_below_the_optimum_and_near_it(k):
    problem = small_problem(k)
    best, accuracy = optimum(problem)
    options = {"lam": problem.lam, "gamma": problem.gamma, "graph": problem.adjacency}
    model = RPCAG(**options, laplacian=problem.kind, tol=1e-8, max_iter=20_000)
    L = model.fit(problem.X).low_rank_
    found = certify(
        problem.X, L, **options, laplacian=problem.kind, tol=1e-5, max_iter=3000
    )
    assert found.lower_bound <= best * (1 + accuracy)
    assert found.objective == pytest.approx(model.objective_, rel=1e-9)
    assert found.gap <= 1e-5
    assert found.check() == pytest.approx(found.gap, abs=1e-9)


@pytest.mark.parametrize("k", range(14))
def test_every_loss_is_certified(k):
    problem, model, _ = stated(k)
    model.fit(problem.X)
    best, accuracy = optimum_of_loss(problem, model, None)
    found = certify(
        problem.X,
        model.low_rank_,
        lam=model.lam_,
        gamma=model.gamma_,
        graph=problem.adjacency,
        laplacian=problem.kind,
        loss=model.loss,
        lam_rows=model.lam_rows_ or 0.0,
        mu=model.mu_ or 0.0,
        tol=1e-4,
        max_iter=3000,
    )
    assert found.lower_bound <= best * (1 + accuracy)
    assert found.gap <= 1e-4
    assert found.check() == pytest.approx(found.gap, abs=1e-9)


@pytest.mark.parametrize("k", range(6))
def test_any_matrix_gets_a_valid_bound(k):
    """Far from the optimum: the bound holds, and the gap says so."""
    problem = small_problem(k)
    best, accuracy = optimum(problem)
    rng = np.random.default_rng(k)
    L = problem.unit * rng.standard_normal(problem.X.shape)
    options = {"gamma": problem.gamma, "graph": problem.adjacency}
    found = certify(
        problem.X, L, lam=problem.lam, **options, laplacian=problem.kind, max_iter=5
    )
    assert found.lower_bound <= best * (1 + accuracy)
    assert found.objective >= best * (1 - accuracy)
    above = (found.objective - best) / found.objective
    assert found.gap >= above - 1e-9
    assert found.check() == pytest.approx(found.gap, abs=1e-9)


@pytest.mark.parametrize("n", [60, 200])
def test_the_truth_is_certified_where_theory_says_it_is_optimal(n):
    L, S = candes(n, 0.05, 0.05)
    found = certify(L + S, L, lam=1 / np.sqrt(n))
    assert found.gap <= 1e-3
    assert found.check() <= 1e-3


@pytest.mark.parametrize("gamma", [0.0, 0.02])
def test_a_matrix_of_high_rank_is_certified(gamma):
    """As of real data: L has more than half of the largest rank."""
    X, _ = spoiled(150, 120, noise=0.5)
    lam = 2 / np.sqrt(150)
    model = RPCAG(lam=lam, gamma=gamma, graph="knn", tol=1e-5, max_iter=5000).fit(X)
    assert model.rank_ > 60
    found = certify(X, model.low_rank_, lam=lam, gamma=gamma, graph=model.adjacency_)
    assert found.gap <= 1e-3
    assert found.check() == pytest.approx(found.gap, abs=1e-9)


@pytest.mark.parametrize("shape", [(60, 40), (120, 150)])
@pytest.mark.parametrize("gamma", [0.0, 0.02])
def test_the_dual_point_of_a_model_proves_its_gap(shape, gamma):
    X, _ = spoiled(*shape)
    model = RPCAG(lam="theory", gamma=gamma, graph="knn", tol=1e-5, max_iter=5000)
    model.fit(X)
    found = certify(
        X,
        model.low_rank_,
        lam=model.lam_,
        gamma=gamma,
        graph=model.adjacency_,
        dual=model.dual_,
        tol=1.1e-5,
        max_iter=1,
    )
    assert found.gap == pytest.approx(model.gap_, abs=1e-7)
    assert found.check() == pytest.approx(found.gap, abs=1e-9)


def test_a_wrong_dual_point_does_not_prove_anything_wrong():
    X, _ = spoiled(40, 30)
    model = RPCA(lam="theory", tol=1e-6, max_iter=5000).fit(X)
    rng = np.random.default_rng(0)
    for size in (0.1, 1e3):
        D = size * rng.standard_normal(X.shape)
        dual = rpcag.solvers.DualPoint(D, None)
        found = certify(X, model.low_rank_, lam=model.lam_, dual=dual, max_iter=1)
        assert found.lower_bound <= model.objective_
        assert found.check() >= model.gap_ - 1e-6


@pytest.mark.parametrize("unit", [1e-290, 1e-200, 1e-15, 1.0, 1e20, 1e200, 1e300])
@pytest.mark.parametrize("gamma", [0.0, 0.02])
def test_units_do_not_matter(unit, gamma):
    X, _ = spoiled(120, 150)
    model = RPCAG(lam="theory", gamma=gamma, graph="knn", tol=1e-5, max_iter=5000)
    L = model.fit(X).low_rank_
    stated = {"lam": model.lam_, "gamma": gamma / unit, "graph": model.adjacency_}
    found = certify(unit * X, unit * L, **stated)
    assert found.objective == pytest.approx(unit * model.objective_, rel=1e-6)
    assert found.lower_bound <= unit * model.objective_
    assert found.gap <= 1e-3
    assert found.check() == pytest.approx(found.gap, abs=1e-9)
    again = certify(unit * X, unit * L, **stated, dual=found.dual, max_iter=1)
    assert again.gap == pytest.approx(found.gap, abs=1e-9)


def test_an_objective_that_overflows_is_refused():
    X = np.ones((5, 4))
    for size, other in ((1e308, 1.0), (1.0, 1e200)):
        with pytest.raises(ValueError, match="the objective overflows for L"):
            certify(size * X, other * X, lam=1.0, gamma=1.0, graph=np.ones((5, 5)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lam": 0.0}, r"'lam' parameter of certify must be a float in .*\(0.0, inf\)"),
        (
            {"lam": 0.1, "gamma": 0.1},
            "needs the edge weights of the graph, got None",
        ),
        ({"lam": 0.1, "gamma": -1}, "'gamma' parameter of certify must be a float"),
        ({"lam": 0.1, "loss": "l2"}, "'loss' parameter of certify must be a str among"),
        ({"lam": 0.1, "loss": "both"}, "needs lam_rows"),
        ({"lam": 0.1, "mu": -1.0}, "'mu' parameter of certify must be a float"),
    ],
)
def test_bad_arguments_are_refused(options, message):
    X = np.ones((5, 4))
    with pytest.raises(ValueError, match=message):
        certify(X, X, **options)


@pytest.mark.parametrize("name", ["lam", "gamma", "lam_rows", "mu", "dual"])
def test_words_are_no_weights_and_no_dual_points(name):
    X = np.eye(3)
    with pytest.raises(TypeError, match=f"'{name}' parameter of certify must be an? "):
        certify(X, X, **{"lam": 0.1, name: "auto"})


def test_a_dual_point_of_other_data_is_refused():
    X, dual = np.eye(3), rpcag.solvers.DualPoint(np.zeros((2, 3)), None)
    with pytest.raises(ValueError, match=r"dual.D must have the shape of X, \(3, 3\)"):
        certify(X, X, lam=0.1, dual=dual)


def test_bad_matrices_are_refused():
    X = np.ones((5, 4))
    with pytest.raises(ValueError, match=r"L must have the shape of X, \(5, 4\)"):
        certify(X, X[:3], lam=0.1)
    with pytest.raises(ValueError, match="Input L contains NaN"):
        certify(X, np.full_like(X, np.nan), lam=0.1)
    with pytest.raises(ValueError, match="every value is NaN"):
        certify(np.full_like(X, np.nan), X, lam=0.1)


@pytest.mark.parametrize("noise", [0.0, 1e-11, 1e-9])
def test_leftovers_of_an_iteration_do_not_matter(noise):
    """L from other software has a low rank up to small singular values."""
    L, S = candes(150, 0.04, 0.05)
    X = L + S
    scale = np.abs(L).mean()
    L = L + noise * scale * np.random.default_rng(0).standard_normal(L.shape)
    found = certify(X, L, lam=1 / np.sqrt(150), max_iter=1)
    assert found.gap <= 1e-3
    assert found.check() == pytest.approx(found.gap, abs=1e-6)
