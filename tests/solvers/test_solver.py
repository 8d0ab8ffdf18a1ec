"""How the solver runs, stops and tells."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from rpcag import RPCA, RPCAG
from rpcag.graphs import KNNGraph, laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.losses import L1, DataTerm, Rows
from rpcag.models.rules import CLUSTERING_LAM
from rpcag.penalties import GraphSmoothness, NuclearNorm
from rpcag.solvers import solve
from rpcag.solvers.dense import DenseIterates
from rpcag.solvers.problem import Problem


@pytest.fixture(scope="module")
def X():
    return StandardScaler().fit_transform(load_digits().data[:120])


def terms(X, lam=0.1, gamma=0.1):
    shifted = ShiftedLaplacian(laplacian(KNNGraph(5)(X)))
    return [DataTerm(X, L1(lam)), GraphSmoothness(shifted, gamma)]


@pytest.mark.parametrize("features", [False, True])
@pytest.mark.parametrize("gamma", [1e-3, 0.02])
def test_a_linear_graph_gives_the_answer_of_a_copied_one(X, gamma, features):
    """Also from one to the other, as along a path of gamma."""
    parts = terms(X, gamma=gamma)
    if features:
        shifted = ShiftedLaplacian(laplacian(KNNGraph(5)(X.T)))
        parts.append(GraphSmoothness(shifted, gamma, axis=1))

    def solved(mild, start=None):
        make = {"exact": lambda _: DenseIterates(parts, mild=mild)}
        return solve(make, ratio=0.1, tol=1e-7, max_iter=5000, start=start)

    copied, linear = solved(0.0), solved(np.inf)
    assert linear.state.n_copies == 1 < copied.state.n_copies
    again = solved(np.inf, copied.state), solved(0.0, linear.state)
    for result in (copied, linear, *again):
        assert result.status == "converged"
        assert result.objective == pytest.approx(copied.objective, rel=2e-7)
        assert result.lower_bound <= copied.objective
    assert max(result.n_iter for result in again) < copied.n_iter


@pytest.mark.parametrize("mild", [0.0, np.inf])
@pytest.mark.parametrize("gamma", [0.0, 0.02])
def test_the_change_of_what_is_thresholded_is_bounded(X, monkeypatch, gamma, mild):
    """Corrections of the last decomposition rely on it; L may move more than copies."""
    prox, seen, ratios = NuclearNorm.prox_in_place, [], []

    def watched(self, A, step, scratch=None, change=np.inf):
        if np.isfinite(change):
            ratios.append(np.linalg.norm(A - seen[-1]) / change)
        seen.append(A.copy())
        return prox(self, A, step, scratch, change)

    monkeypatch.setattr(NuclearNorm, "prox_in_place", watched)
    parts = terms(X, gamma=gamma)[: 2 if gamma else 1]
    make = {"exact": lambda _: DenseIterates(parts, mild=mild)}
    solve(make, ratio=0.1, tol=1e-5, max_iter=60)
    assert len(ratios) > 20
    assert max(ratios) <= 1 + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [0.001, 1.0])
def test_the_first_penalty_does_not_change_the_answer(X, penalty):
    result = solve(
        {"exact": lambda _: DenseIterates(terms(X))},
        ratio=penalty,
        tol=1e-5,
        max_iter=10_000,
    )
    reference = solve(
        {"exact": lambda _: DenseIterates(terms(X))},
        ratio=0.1,
        tol=1e-6,
        max_iter=10_000,
    )
    assert result.status == "converged"
    assert result.objective == pytest.approx(reference.objective, rel=1e-5)
    assert np.linalg.norm(result.x - reference.x) < 5e-3 * np.linalg.norm(result.x)


def test_other_terms_are_solved_and_certified_too(X):
    """Outlier pursuit: a norm per row in place of one per entry."""
    import cvxpy as cp

    small = X[:8, 20:26]
    result = solve(
        {"exact": lambda _: DenseIterates([DataTerm(small, Rows(0.6))])},
        ratio=0.1,
        tol=1e-8,
        max_iter=5000,
    )
    L = cp.Variable(small.shape)
    loss = 0.6 * cp.sum(cp.norm(small - L, 2, axis=1))
    best = cp.Problem(cp.Minimize(cp.normNuc(L) + loss)).solve(solver=cp.CLARABEL)
    assert result.objective == pytest.approx(best, rel=1e-6)


def test_the_certificate_only_gets_better(X):
    model = RPCAG(gamma="clustering", tol=1e-6, max_iter=5000).fit(X)
    history = model.history_
    assert np.all(np.diff(history["lower_bound"]) >= 0)
    assert np.all(history["lower_bound"] <= model.objective_)
    assert history["gap"][-1] == model.gap_ <= 1e-6
    assert np.all(np.diff(history["n_iter"]) > 0)


def test_a_callback_sees_every_iteration_and_stops(X):
    seen = []

    def callback(progress):
        if progress.stage != "fit":
            return False
        seen.append(progress.n_iter)
        return progress.n_iter == 7

    model = RPCAG(gamma="clustering", callback=callback).fit(X)
    assert seen == list(range(1, 8))
    assert model.n_iter_ == 7
    assert model.status_ == "stopped"
    assert 0 < model.gap_ < 1  # certified all the same


def test_running_out_of_iterations_warns_with_the_gap(X):
    with pytest.warns(
        ConvergenceWarning,
        match=r"RPCAG stopped after 3 iterations "
        r"with a certified gap of .*Increase max_iter",
    ):
        RPCAG(gamma="clustering", max_iter=3).fit(X)


@pytest.mark.slow
def test_precision_that_is_not_there_is_said(X):
    with pytest.warns(ConvergenceWarning, match="precision of float32.*use float64"):
        model = RPCA(lam="theory", tol=0, max_iter=20_000).fit(X.astype(np.float32))
    assert model.gap_ < 1e-4


def test_verbose_shows_certificates_where_logging_does_not(X, capsys):
    model = RPCAG(gamma="clustering", tol=1e-5, verbose=1).fit(X)
    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    of_fit = [line for line in lines if line.startswith("RPCAG iteration")]
    assert len(of_fit) == len(model.history_["gap"]) >= 2
    assert all("certified gap" in line for line in lines)
    assert shown.out == ""


@pytest.mark.parametrize(("verbose", "level"), [(1, "INFO"), (0, "DEBUG")])
def test_certificates_go_through_logging(X, caplog, capsys, verbose, level):
    with caplog.at_level(level, logger="rpcag"):
        model = RPCAG(gamma="clustering", verbose=verbose, graph="knn").fit(X)
    assert {(r.name, r.levelname) for r in caplog.records} == {("rpcag", level)}
    assert len(caplog.records) == len(model.history_["gap"])
    assert f"certified gap {model.gap_:.1e}" in caplog.messages[-1]
    assert capsys.readouterr() == ("", "")


def test_a_level_given_to_the_logger_is_obeyed(X, caplog, capsys):
    with caplog.at_level("WARNING", logger="rpcag"):
        RPCAG(verbose=1).fit(X)
    assert not caplog.records
    assert capsys.readouterr() == ("", "")


def test_warm_start_goes_on_where_it_ended(X):
    model = RPCAG(lam="theory", gamma=0.1, tol=1e-5, warm_start=True).fit(X)
    cold = model.n_iter_
    model.set_params(gamma=0.11).fit(X)
    assert model.n_iter_ < cold / 2
    fresh = RPCAG(lam="theory", gamma=0.11, tol=1e-5).fit(X)
    assert model.objective_ == pytest.approx(fresh.objective_, rel=2e-5)


def test_warm_start_survives_another_shape(X):
    model = RPCAG(gamma="clustering", warm_start=True).fit(X)
    np.testing.assert_array_equal(
        model.fit(X[:50]).low_rank_, RPCAG(gamma="clustering").fit(X[:50]).low_rank_
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(300, 8000), (8000, 300), (1200, 1200)])
@pytest.mark.slow
def test_memory_stays_below_eight_times_the_data(dtype, shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((shape[0], 5)) @ rng.standard_normal((5, shape[1]))
    X[rng.random(shape) < 0.05] += 10
    X[rng.random(shape) < 0.05] = np.nan
    X = X.astype(dtype)
    A = KNNGraph(5)(np.nan_to_num(X[:, :20]))
    tracemalloc.start()
    RPCAG(lam="theory", gamma=0.01, graph=A, tol=1e-2).fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 8 * X.nbytes


def test_result_is_frozen(X):
    result = Problem(X, 0.1).solve(tol=1e-2, max_iter=100)
    with pytest.raises(AttributeError):
        result.gap = 0.0


def test_overflow_is_an_error_not_a_nan():
    loss = DataTerm(np.full((4, 4), 1e200), L1(1e200))
    with pytest.raises(FloatingPointError, match="range of float64"):
        solve(
            {"exact": lambda _: DenseIterates([loss])},
            ratio=1.0,
            tol=1e-3,
            max_iter=50,
        )


def uncentered_video(rng):
    """Frames of gray values around a still background, as in the paper's videos."""
    still = np.clip(120 + 50 * rng.standard_normal(900), 0, 255)
    frames = np.tile(still, (150, 1)) + 3 * rng.standard_normal((150, 900))
    frames[40:60, 100:140] = 200
    return frames


@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
@pytest.mark.parametrize(
    ("gamma", "dtype"), [(0.1, np.float32), (0.1, np.float64), (10.0, np.float64)]
)
def test_data_with_a_large_mean_converge(rng, kind, gamma, dtype):
    frames = uncentered_video(rng).astype(dtype)
    model = RPCAG(lam="theory", gamma=gamma, laplacian=kind, tol=2e-3).fit(frames)
    assert model.status_ == "converged"
    L = model.low_rank_.astype(float)
    rough = np.sum(L * (model.laplacian_ @ L))
    direct = np.linalg.svd(L, compute_uv=False).sum() + gamma * rough
    direct += model.lam_ * np.abs(frames - L).sum()
    assert model.objective_ == pytest.approx(direct, rel=1e-4)


def test_a_hopeless_scale_is_an_error_or_a_gap_never_a_false_proof(rng):
    X = rng.standard_normal((60, 40)) + 1e6
    for gamma in (1e5, 1e7, 1e12):
        model = RPCAG(lam="theory", gamma=gamma, laplacian="combinatorial", max_iter=50)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model.fit(X)
            except ValueError as error:
                message = str(error)
            else:
                message = (
                    "gamma=" if 0 <= model.lower_bound_ <= model.objective_ else ""
                )
        assert "gamma=" in message


def test_the_warning_bounds_the_excess_over_the_best(X):
    with pytest.warns(ConvergenceWarning, match="% above the optimum") as caught:
        model = RPCAG(gamma="clustering", max_iter=12).fit(X)
    best = RPCAG(gamma="clustering", tol=1e-6, max_iter=5000).fit(X).objective_
    stated = float(str(caught[0].message).split("at most ")[1].split(" %")[0])
    assert 100 * (model.objective_ / best - 1) <= stated * 1.01
    assert caught[0].filename == __file__


def test_warm_start_in_another_unit_starts_afresh(X):
    model = RPCAG(gamma="clustering", warm_start=True).fit(X)
    cold = model.n_iter_
    assert model.fit(1e6 * X).n_iter_ == cold


def test_weights_of_the_rules_follow_what_is_observed():
    """lam = 1 / sqrt(w max(n, p)) and gamma times w, for a share w of the entries."""
    X = np.random.default_rng(0).standard_normal((30, 40))
    rules = RPCAG(lam="theory", gamma="clustering", tol=1e-2)
    whole = clone(rules).fit(X)
    X[:15] = np.where(np.arange(40) % 2, X[:15], np.nan)  # a quarter is missing
    part = clone(rules).fit(X)
    with_it = RPCAG(gamma="clustering", tol=1e-2).fit(X)
    assert with_it.lam_ == pytest.approx(CLUSTERING_LAM * part.lam_)
    assert with_it.gamma_ == part.gamma_
    assert whole.lam_ == pytest.approx(1 / np.sqrt(40))
    assert part.lam_ == pytest.approx(1 / np.sqrt(0.75 * 40))
    size = np.nanmedian(np.abs(X)) / 0.6745
    assert part.gamma_ == pytest.approx(0.75 * 4 / np.sqrt(40) / size, rel=1e-3)
