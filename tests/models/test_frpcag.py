"""FRPCAG against an interior-point method, its certificate and its limits."""

import numpy as np
import pytest

from descent import random_graph
from problems import UNIT, least
from rpcag import FRPCAG
from rpcag.graphs import KNNGraph, laplacian

SHAPES = [(6, 9), (9, 5), (12, 4), (8, 8)]
GAMMAS = [1e-3, 0.05, 1.0, 20.0]


def small(k):
    rng = np.random.default_rng(k)
    n, p = SHAPES[k % 4]
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, p))
    X[rng.random(X.shape) < 0.15] += 5
    if k % 3 == 1:
        X[rng.random(X.shape) < 0.2] = np.nan
    rows, columns = random_graph(rng, n), random_graph(rng, p)
    if k % 5 == 2:  # a sample and a feature without neighbors
        rows[0] = rows[:, 0] = columns[1] = columns[:, 1] = 0
    kind = ["normalized", "combinatorial"][k % 2]
    return X, rows, columns, kind, GAMMAS[k % 4], GAMMAS[(k // 2) % 4]


def small_model(k, **options):
    _, rows, columns, kind, a, b = small(k)
    return FRPCAG(
        gamma=a,
        gamma_features=b,
        graph=rows,
        feature_graph=columns,
        laplacian=kind,
        **options,
    )


def optimum(X, Phi1, Phi2, a, b):
    import cvxpy as cp

    seen = ~np.isnan(X)
    L = cp.Variable(X.shape)

    def root(Phi):
        values, V = np.linalg.eigh(Phi)
        return (V * np.sqrt(np.maximum(values, 0))) @ V.T

    errors = cp.multiply(seen.astype(float), np.where(seen, X, 0) - L)
    objective = cp.sum(cp.abs(errors))
    objective += a * cp.sum_squares(root(Phi1) @ L)
    objective += b * cp.sum_squares(L @ root(Phi2))
    return least(objective)


@pytest.mark.parametrize("k", range(24))
def test_objective_and_bound_agree_with_an_interior_point_method(k):
    X, rows, columns, kind, a, b = small(k)
    Phi1, Phi2 = laplacian(rows, kind), laplacian(columns, kind)
    best, accuracy = optimum(X, Phi1, Phi2, a, b)
    model = small_model(k, tol=1e-6, max_iter=200_000).fit(X)
    scale = max(best, 1e-3)
    assert model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(best, abs=1e-5 * scale)
    assert model.lower_bound_ <= best + 10 * accuracy * scale


def test_objective_is_the_formula_at_the_answer():
    X, rows, columns, kind, a, b = small(4)
    model = small_model(4, tol=1e-3).fit(X)
    L = model.low_rank_
    value = np.nansum(np.abs(X - L))
    value += a * np.sum(L * (laplacian(rows, kind) @ L))
    value += b * np.sum(L * (L @ laplacian(columns, kind)))
    assert model.objective_ == pytest.approx(value, rel=1e-10)
    seen = ~np.isnan(X)
    np.testing.assert_allclose((L + model.sparse_)[seen], X[seen], atol=1e-12)
    assert np.all(model.sparse_[~seen] == 0)


def test_every_bound_on_the_way_is_a_bound():
    X, rows, columns, kind, a, b = small(7)  # with missing entries
    best, _ = optimum(X, laplacian(rows, kind), laplacian(columns, kind), a, b)
    model = small_model(7, tol=1e-9, max_iter=100_000).fit(X)
    bounds, objectives = (
        model.history_["lower_bound"],
        model.history_["objective"],
    )
    assert np.all(bounds <= best * (1 + 1e-7))
    assert np.all(objectives >= best * (1 - 1e-7))
    assert np.all(np.diff(bounds) >= 0)
    assert len(bounds) > 3


def test_without_smoothness_nothing_changes(rng):
    X = rng.standard_normal((12, 9))
    model = FRPCAG(gamma=0, gamma_features=0).fit(X)
    np.testing.assert_array_equal(model.low_rank_, X)
    assert model.objective_ == 0
    assert model.gap_ == 0


def test_transposing_the_data_transposes_the_answer(rng):
    X = rng.standard_normal((15, 12))
    rows, columns = random_graph(rng, 15), random_graph(rng, 12)
    options = {"tol": 1e-8, "max_iter": 100_000}
    model = FRPCAG(
        gamma=0.5,
        gamma_features=2.0,
        graph=rows,
        feature_graph=columns,
        **options,
    ).fit(X)
    other = FRPCAG(
        gamma=2.0,
        gamma_features=0.5,
        graph=columns,
        feature_graph=rows,
        **options,
    ).fit(X.T)
    assert other.objective_ == pytest.approx(model.objective_, rel=1e-7)


@pytest.mark.parametrize("c", [1e-200, 1e-6, 1e6, 1e200])
def test_the_answer_scales_with_the_data(rng, c):
    X = rng.standard_normal((15, 12))
    model, scaled = (FRPCAG(**UNIT, tol=1e-5).fit(data) for data in (X, c * X))
    np.testing.assert_allclose(scaled.low_rank_ / c, model.low_rank_, atol=1e-2)
    assert scaled.objective_ == pytest.approx(c * model.objective_, rel=1e-4)


@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
def test_fitted_rows_get_their_embedding_back(rng, kind):
    X = np.repeat(rng.standard_normal((3, 20)), 15, axis=0)
    X += 0.1 * rng.standard_normal(X.shape)
    X[rng.random(X.shape) < 0.05] += 8
    X[::4, 3] = np.nan
    model = FRPCAG(**UNIT, laplacian=kind, tol=1e-7, max_iter=50_000).fit(X)
    Z = model.transform(X)
    assert np.linalg.norm(Z - model.embedding_) < 1e-3 * np.linalg.norm(Z)


def test_gross_errors_go_into_the_sparse_part(rng):
    clean = np.outer(np.sin(np.linspace(0, 6, 60)), np.cos(np.linspace(0, 6, 50)))
    X = clean.copy()
    wrong = rng.random(X.shape) < 0.1
    X[wrong] += rng.choice([-3.0, 3.0], wrong.sum())
    chain = KNNGraph(4)
    model = FRPCAG(
        gamma=3.0,
        gamma_features=3.0,
        graph=chain(np.linspace(0, 1, 60)[:, None]),
        feature_graph=chain(np.linspace(0, 1, 50)[:, None]),
    ).fit(X)
    assert np.abs(model.low_rank_ - clean).mean() < 0.2 * np.abs(X - clean).mean()


def test_single_precision_is_certified_too(rng):
    X = rng.standard_normal((40, 30)).astype(np.float32)
    model = FRPCAG(**UNIT).fit(X)
    assert model.low_rank_.dtype == np.float32
    assert model.gap_ <= 1e-3


def test_the_callback_stops_it_and_sees_the_unit_of_the_data(rng):
    X = 1e5 * rng.standard_normal((20, 10))
    seen = []

    def stop_at_seven(progress):
        seen.append(progress)
        return progress.n_iter >= 7

    model = FRPCAG(**UNIT, tol=0, callback=stop_at_seven).fit(X)
    assert model.status_ == "stopped"
    assert model.n_iter_ == 7
    assert seen[-1].objective == pytest.approx(model.objective_, rel=0.1)


# -- Sizes near the limits of double precision -----------------------------------------


def low_rank_of_size(size):
    rng = np.random.default_rng(0)
    return size * (rng.standard_normal((60, 3)) @ rng.standard_normal((3, 12)))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [1e-320, 1e-310])
def test_weights_of_subnormal_data_are_chosen(size):
    model = FRPCAG().fit(low_rank_of_size(size))
    assert model.gap_ <= 1e-3
    assert model.explained_ > 0.7
    assert np.isfinite([model.gamma_, model.gamma_features_]).all()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("weights", "largest"), [("auto", "6.81"), ("unit", "6.24")])
def test_data_that_overflow_are_refused_without_warnings(weights, largest):
    """Automatic weights are for centered features."""
    model = FRPCAG(gamma=weights, gamma_features=weights)
    with pytest.raises(ValueError, match=rf"of size {largest}e\+307: .* rescale X"):
        model.fit(low_rank_of_size(1e307))


@pytest.mark.parametrize("weights", ["auto", "unit"])
def test_automatic_weights_do_not_depend_on_the_offsets_of_features(weights, rng):
    X = rng.standard_normal((150, 3)) @ rng.standard_normal((3, 12))
    X += 0.3 * rng.standard_normal(X.shape)
    offsets = 2.0 ** rng.integers(6, 10, 12)
    X = np.round(X * 2**20) / 2**20  # so that the offsets change no digit of X
    one, two = (
        FRPCAG(gamma=weights, gamma_features="auto").fit(Y) for Y in (X, X + offsets)
    )
    np.testing.assert_allclose(two.low_rank_ - offsets, one.low_rank_, atol=1e-6)
    assert two.gamma_ == pytest.approx(one.gamma_)
    assert two.explained_ == pytest.approx(one.explained_)
    assert one.explained_ > 0.6
    new = X[:5] + 0.1
    moved = two.inverse_transform(two.transform(new + offsets)) - offsets
    expected = one.inverse_transform(one.transform(new))
    np.testing.assert_allclose(moved, expected, atol=1e-4)


@pytest.mark.filterwarnings("error")
def test_sizes_too_far_apart_are_refused_before_weights_are_tried():
    X = low_rank_of_size(1e-310)
    X[3, 4] = 1.0
    with pytest.raises(ValueError, match=r"X\[3, 4\] is 1, so far from the other"):
        FRPCAG().fit(X)
