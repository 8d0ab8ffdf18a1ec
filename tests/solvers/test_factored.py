"""The solver with factors against the one without."""

import numpy as np
import pytest

from rpcag import RPCA, RPCAG
from rpcag.graphs import KNNGraph, laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.losses import L1, DataTerm
from rpcag.penalties import GraphSmoothness
from rpcag.solvers import solve
from rpcag.solvers.dense import DenseIterates
from rpcag.solvers.factored import FactoredIterates
from rpcag.solvers.penalties import FactoredPenalties
from rpcag.solvers.problem import Problem
from rpcag.solvers.tangent_space import Change


def spoiled(rng, n, p, rank=6, noise=0.05, missing=0.0):
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p)) / rank**0.5
    X += noise * rng.standard_normal((n, p))
    X[rng.random(X.shape) < 0.1] += 6 * rng.standard_normal()
    if missing:
        X[rng.random(X.shape) < missing] = np.nan
    return X


def graph_of(X):
    return laplacian(KNNGraph(5)(np.nan_to_num(X)))


def exact(X, lam, gamma, tol):
    terms = [DataTerm(X, L1(lam))]
    if gamma:
        terms.append(GraphSmoothness(ShiftedLaplacian(graph_of(X)), gamma))
    make = {"exact": lambda _: DenseIterates(terms)}
    return solve(make, ratio=lam, tol=tol, max_iter=20_000)


def factored(X, lam, gamma, tol, dtype=None, **options):
    shifted = ShiftedLaplacian(graph_of(X)) if gamma else None
    iterates = FactoredIterates(X, L1(lam), gamma, shifted, dtype, share=1)
    make = {"factored": lambda _: iterates}
    return solve(make, **{"ratio": lam, "tol": tol, "max_iter": 5000, **options})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "missing"), [((120, 260), 0.0), ((260, 120), 0.2), ((150, 150), 0.2)]
)
@pytest.mark.parametrize("gamma", [0.0, 0.02, 1.0])
def test_both_solvers_have_one_optimum(rng, shape, gamma, missing):
    X = spoiled(rng, *shape, missing=missing)
    lam = 0.7 / np.sqrt(max(shape))
    reference = exact(X, lam, gamma, 1e-6)
    result = factored(X, lam, gamma, 1e-5)
    assert result.status == "converged"
    assert result.objective == pytest.approx(reference.objective, rel=1.2e-5)
    assert result.lower_bound <= reference.objective * (1 + 1e-9)
    for progress in result.history:
        assert progress.lower_bound <= reference.objective * (1 + 1e-9)
        assert progress.objective >= reference.lower_bound * (1 - 1e-9)


def test_its_objective_is_that_of_its_answer(rng):
    X, lam, gamma = spoiled(rng, 110, 140), 0.08, 0.1
    result = factored(X, lam, gamma, 1e-4)
    L, Phi = result.x, graph_of(X)
    nuclear = np.linalg.svd(L, compute_uv=False).sum()
    direct = nuclear + lam * np.abs(X - L).sum() + gamma * np.sum(L * (Phi @ L))
    assert result.objective == pytest.approx(direct, rel=1e-9)
    assert np.linalg.matrix_rank(L) == result.rank
    basis = result.basis
    np.testing.assert_allclose(basis.T @ basis, np.eye(result.rank), atol=1e-10)
    np.testing.assert_allclose(basis @ (basis.T @ L), L, atol=1e-9)


@pytest.mark.parametrize("gamma", [0.0, 0.1])
@pytest.mark.slow
def test_single_precision_starts_and_double_ends(rng, gamma):
    X = spoiled(rng, 130, 170)
    dtypes = []
    shifted = ShiftedLaplacian(graph_of(X)) if gamma else None
    iterates = FactoredIterates(X, L1(0.06), gamma, shifted, np.float32)
    result = solve(
        {"factored": lambda _: iterates},
        ratio=0.06,
        tol=1e-6,
        max_iter=5000,
        callback=lambda _: dtypes.append(iterates.dtype),
    )
    assert result.gap <= 1e-6
    assert {np.dtype(np.float32), np.dtype(np.float64)} == set(dtypes)
    assert result.x.dtype == np.float64


def test_a_high_rank_is_handed_over_and_solved(rng):
    X = rng.standard_normal((120, 150))
    result = Problem(X, 0.2).solve(tol=1e-6, max_iter=5000)
    assert result.objective == pytest.approx(exact(X, 0.2, 0, 1e-7).objective, rel=2e-6)
    assert result.solver == "factored, exact"
    iterations = [progress.n_iter for progress in result.history]
    assert iterations == sorted(set(iterations))


@pytest.mark.parametrize("gamma", [0.0, 0.02])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_a_high_rank_is_certified_from_single_precision(rng, gamma, missing):
    """Bounds, objective and rank are those of double precision data."""
    X = rng.standard_normal((120, 150)) + 3 * rng.standard_normal(150)
    X[rng.random(X.shape) < missing] = np.nan
    Phi = ShiftedLaplacian(graph_of(X)) if gamma else None
    problem = Problem(X, 0.2, gamma, Phi)
    result = problem.solve(tol=1e-3, max_iter=1000)
    best = problem.solve(tol=1e-7, max_iter=20_000)
    assert result.status == best.status == "converged"
    assert {A.dtype for A in result.state.arrays.values()} == {np.dtype(np.float32)}
    assert {A.dtype for A in best.state.arrays.values()} == {np.dtype(np.float64)}
    assert all(p.lower_bound <= best.objective for p in result.history)
    assert result.x.dtype == np.float64
    assert np.linalg.matrix_rank(result.x) == result.rank
    objective = np.linalg.svd(result.x, compute_uv=False).sum()
    objective += 0.2 * np.nansum(np.abs(X - result.x))
    if Phi is not None:
        objective += gamma * np.sum(result.x * (Phi.laplacian @ result.x))
    assert result.objective == pytest.approx(objective, rel=1e-12)


def test_exact_recovery_is_certified(rng):
    n, rank = 200, 8
    L = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n))
    S = np.zeros((n, n))
    wrong = rng.random((n, n)) < 0.1
    S[wrong] = rng.uniform(-30, 30, wrong.sum())
    for model in (RPCA(lam="theory", tol=1e-6), RPCA(tol=1e-6), RPCAG(tol=1e-6)):
        model.fit(L + S)
        assert model.gap_ <= 1e-6
        assert model.rank_ == rank
        assert np.linalg.norm(model.low_rank_ - L) <= 1e-5 * np.linalg.norm(L)


@pytest.mark.parametrize("changed", [{"gamma": 0.5}, {"lam": 0.1}, {"gamma": 0.0}])
@pytest.mark.slow
def test_a_warm_start_ends_at_the_same_optimum(rng, changed):
    X = spoiled(rng, 120, 150)
    first = {"lam": 0.07, "gamma": 0.05, "tol": 1e-6, "graph": KNNGraph(5)}
    cold = RPCAG(**{**first, **changed}).fit(X)
    warm = RPCAG(**first, warm_start=True).fit(X).set_params(**changed).fit(X)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-6)
    assert warm.fit(X).n_iter_ <= 15


def test_a_zero_answer_is_found(rng):
    """lam so small that the best L is zero."""
    X = rng.standard_normal((110, 120))
    result = factored(X, 1e-3, 0.0, 1e-6)
    assert result.rank == 0
    assert not result.x.any()
    assert result.gap <= 1e-6


def test_a_callback_stops_it_and_the_answer_is_certified(rng):
    X = spoiled(rng, 120, 150)
    result = factored(X, 0.07, 0.1, 1e-9, callback=lambda p: p.n_iter == 4)
    assert result.status == "stopped"
    assert result.n_iter == 4
    assert 0 < result.gap < 1


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_is_found_in_nothing(rng, missing, dtype):
    X = np.zeros((130, 110), dtype)
    X[rng.random(X.shape) < missing] = np.nan
    graph = np.ones((130, 130)) - np.eye(130)
    for model in (
        RPCA(lam="theory"),
        RPCAG(gamma="clustering", graph=graph),
        RPCA(),
        RPCAG(graph=graph),
    ):
        model.fit(X)
        assert model.status_ == "converged"
        assert not model.low_rank_.any()


@pytest.mark.parametrize("axis", [0, 1])
def test_rows_or_columns_of_very_different_size_converge(axis):
    rng = np.random.default_rng(3)
    X = spoiled(rng, 260, 180, noise=0.3)
    shape = (260, 1) if axis == 0 else (1, 180)
    model = RPCA(lam="theory").fit(X * 10 ** rng.uniform(-3, 3, shape))
    assert model.status_ == "converged"


def test_a_path_comes_back_to_factors(monkeypatch):
    """Once the rank has fallen, factors from scratch beat L from the last end.

    That is so where the shorter side is long; a short one goes on without.
    """
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 130)) + 4 * np.outer(
        rng.standard_normal(120), rng.standard_normal(130)
    )
    shifted = ShiftedLaplacian(laplacian(KNNGraph()(X)))
    problem = Problem(X, 0.2, 1e-3, shifted)
    full = problem.solve(tol=1e-3, max_iter=1000)
    assert full.state.kind == "exact"
    assert full.state.rank == full.rank > 0.3 * 120
    problem = Problem(X, 0.1, 3.0, shifted)
    between = problem.solve(tol=1e-3, max_iter=1000, start=full.state)
    assert between.rank < 0.3 * 120
    for long, kind in ((500, "exact"), (100, "factored")):
        monkeypatch.setattr("rpcag.solvers.problem.LONG", long)
        problem = Problem(X, 0.1, 8.0, shifted)
        last = problem.solve(tol=1e-3, max_iter=1000, start=between.state)
        assert last.state.kind == kind
        assert last.gap <= 1e-3


def test_a_polished_multiplier_is_that_of_the_tangent_space(rng):
    X = spoiled(rng, 90, 130, rank=4, noise=0.0)
    lam = 1 / np.sqrt(130)
    iterates = FactoredIterates(X, L1(lam))
    make = {"factored": lambda _: iterates}
    result = solve(make, ratio=lam, tol=1e-3, max_iter=500)
    penalty = result.state.penalties[0]
    (tile,) = iterates.tiles
    tile.reflect(penalty)
    before = tile.multiplier(penalty, [])
    D = tile.multiplier(penalty, iterates.polish(penalty, 1e-9))
    U, _, Vt = np.linalg.svd(result.x, full_matrices=False)
    U, Vt = U[:, : result.rank], Vt[: result.rank]
    # P_T D = -U V^T is D V = -U and U^T D = -V^T.
    assert np.abs(D @ Vt.T + U).max() < 1e-6 < np.abs(before @ Vt.T + U).max()
    assert np.abs(U.T @ D + Vt).max() < 1e-6
    assert np.abs(D).max() <= lam
    on_support = np.abs(before) >= lam * (1 - 1e-12)
    assert 0.05 < on_support.mean() < 0.2
    np.testing.assert_array_equal(D[on_support], before[on_support])


def test_polishing_saves_certificates_and_gives_none_away(rng, monkeypatch):
    X = spoiled(rng, 150, 180, rank=5, noise=0.0, missing=0.1)
    lam = 1 / np.sqrt(180)
    polished = factored(X, lam, 0.0, 1e-6)
    nothing = [Change(np.zeros((150, 1)), np.zeros((180, 1)))]
    monkeypatch.setattr(FactoredIterates, "polish", lambda *_: nothing)
    plain = factored(X, lam, 0.0, 1e-6)
    assert polished.n_iter < 0.8 * plain.n_iter
    assert polished.objective == pytest.approx(plain.objective, rel=2e-6)
    assert polished.lower_bound <= plain.objective
    assert plain.lower_bound <= polished.objective


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_far_from_zero_it_starts_at_the_medians(rng, missing, monkeypatch):
    X = spoiled(rng, 150, 220, missing=missing) + 60 * rng.random(220)
    Phi = ShiftedLaplacian(graph_of(X))
    lam, gamma = 1 / np.sqrt(220), 0.02
    # A start is seen in the iterates; a relief would certify those of both sooner.
    monkeypatch.setattr("rpcag.solvers.dual_completion.AFTER", 10_000)

    def started():
        return Problem(X, lam, gamma, Phi).solve(tol=1e-3, max_iter=2000)

    ours = started()
    monkeypatch.setattr("rpcag.solvers.problem.FAR", 0.0)
    from_zero = started()
    assert ours.gap <= 1e-3
    assert ours.objective == pytest.approx(from_zero.objective, rel=2e-3)
    assert ours.n_iter < from_zero.n_iter


def test_a_doubled_penalty_saves_iterations(rng, monkeypatch):
    X = spoiled(rng, 150, 220)
    Phi = ShiftedLaplacian(graph_of(X))

    def doubled():
        return Problem(X, 1 / np.sqrt(220), 0.02, Phi).solve(tol=1e-4, max_iter=2000)

    monkeypatch.setattr("rpcag.solvers.loop.HIGH", 1.0)  # where the rank is low
    ours = doubled()
    monkeypatch.setattr(FactoredPenalties, "DOUBLED", -1)
    plain = doubled()
    assert ours.objective == pytest.approx(plain.objective, rel=2e-4)
    assert ours.n_iter < plain.n_iter


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_the_copy_of_the_loss_is_the_answer_where_it_is_better(
    rng, monkeypatch, missing
):
    """At a high rank its objective is lower than that of L, and S is sparse."""
    X = spoiled(rng, 120, 150, noise=0.5, missing=missing)
    lam = 3 / np.sqrt(150)
    ours = Problem(X, lam).solve(tol=1e-3, max_iter=2000)
    residual = np.nan_to_num(X - ours.x)
    nuclear = np.linalg.svd(ours.x, compute_uv=False).sum()
    direct = nuclear + lam * np.abs(residual).sum()
    assert ours.objective == pytest.approx(direct, rel=1e-9)
    assert ours.rank == np.linalg.matrix_rank(ours.x)
    assert np.mean(residual == 0) > 0.5
    monkeypatch.setattr("rpcag.solvers.dense.HIGH", np.inf)
    of_L = Problem(X, lam).solve(tol=1e-3, max_iter=2000)
    assert np.mean(np.nan_to_num(X - of_L.x) == 0) < 0.2
    assert ours.n_iter <= of_L.n_iter
    assert max(ours.lower_bound, of_L.lower_bound) <= ours.objective


def test_small_singular_values_are_dropped_and_can_come_back(rng):
    X = spoiled(rng, 120, 150, noise=0.0)
    lam = 1 / np.sqrt(150)
    iterates = FactoredIterates(X, L1(lam))
    make = {"factored": lambda _: iterates}
    result = solve(make, ratio=lam, tol=1e-6, max_iter=500)
    values = np.linalg.svd(result.x, compute_uv=False)[: result.rank]
    share = 1.001 * values[-2:].sum() / values.sum()
    assert iterates.cut(0.0) is None
    restore = iterates.cut(share)
    L, basis = iterates.answer()
    assert iterates.rank == np.linalg.matrix_rank(L) == result.rank - 2
    assert basis.shape[1] == result.rank - 2
    found = np.linalg.svd(L, compute_uv=False)[: iterates.rank]
    np.testing.assert_allclose(found, values[:-2], rtol=1e-9)
    restore()
    np.testing.assert_array_equal(iterates.answer()[0], result.x)
