"""A graph between features beside the nuclear norm."""

import numpy as np
import pytest

from problems import least, small_problem
from rpcag import RPCAG
from rpcag.graphs import laplacian
from test_losses import bound_of, spoiled


def two_graphs(k):
    problem = small_problem(k)
    rng = np.random.default_rng(k)
    p = problem.X.shape[1]
    A = np.triu(rng.random((p, p)) * (rng.random((p, p)) < 0.5), 1)
    model = RPCAG(
        lam=problem.lam,
        gamma=problem.gamma,
        graph=problem.adjacency,
        laplacian=problem.kind,
        feature_graph=A + A.T,
        gamma_features=[0.01, 0.3, 3.0][k % 3] / problem.unit,
        noise=[None, 0.1 * problem.unit][k % 2],
        tol=1e-7,
        max_iter=30_000,
    )
    return problem, model


def root(Phi):
    values, vectors = np.linalg.eigh(np.asarray(Phi))
    return (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T


@pytest.mark.parametrize("k", range(12))
def test_objective_and_bound_agree_with_an_interior_point_method(k):
    import cvxpy as cp

    problem, model = two_graphs(k)
    model.fit(problem.X)
    X, unit = problem.X / problem.unit, problem.unit
    seen = ~np.isnan(X)
    L = cp.Variable(X.shape)
    rest = cp.multiply(seen.astype(float), np.where(seen, X, 0) - L)
    objective = cp.normNuc(L)
    objective += problem.gamma * unit * cp.sum_squares(root(problem.Phi) @ L)
    Phi_f = laplacian(model.feature_graph, problem.kind)
    objective += model.gamma_features_ * unit * cp.sum_squares(L @ root(Phi_f))
    if model.mu_ is not None:
        N = cp.Variable(X.shape)
        rest = rest - N
        objective += cp.sum_squares(N) / (2 * model.mu_ / unit)
    best, accuracy = least(objective + model.lam_ * cp.sum(cp.abs(rest)))
    assert model.gap_ <= 1e-7
    assert model.objective_ == pytest.approx(best * unit, rel=1e-6)
    assert model.lower_bound_ <= best * unit * (1 + accuracy)
    proven = bound_of(model, problem.X, problem.Phi)
    assert proven == pytest.approx(model.lower_bound_, rel=1e-6)


def smooth_images(n=60, side=12, seed=0):
    """Blurred images that are not of low rank, with hidden pixels."""
    rng = np.random.default_rng(seed)
    images = rng.standard_normal((n, side, side))
    for _ in range(2):
        images = sum(
            np.roll(images, step, axis) for axis in (1, 2) for step in (-1, 0, 1)
        )
        images /= images.std()
    truth = images.reshape(n, -1)
    X = np.where(rng.random(truth.shape) < 0.3, np.nan, truth)
    return X, truth


def test_the_grid_predicts_hidden_pixels_of_smooth_images():
    X, truth = smooth_images()
    hidden = np.isnan(X)
    plain = RPCAG(gamma=0).fit(X)
    model = RPCAG(gamma=0, feature_graph="grid", image_shape=(12, 12)).fit(X)
    assert model.gamma_features_ > 0

    def error(fit):
        return np.linalg.norm((fit.low_rank_ - truth)[hidden])

    assert error(model) < 0.8 * error(plain)


def test_a_graph_that_does_not_help_is_not_used():
    X, _ = spoiled(60, 64, noise=0.0)
    model = RPCAG(gamma=0, feature_graph="grid", image_shape=(8, 8)).fit(X)
    assert model.gamma_features_ == 0
    assert model.feature_adjacency_.shape == (64, 64)


@pytest.mark.parametrize("gamma", [0.0, 0.05])
def test_new_rows_get_what_fitted_rows_got(gamma):
    X, _ = smooth_images()
    model = RPCAG(
        lam=0.3,
        gamma=gamma,
        graph=np.ones((60, 60)) - np.eye(60),
        feature_graph="grid",
        gamma_features=0.2,
        image_shape=(12, 12),
        tol=1e-8,
        max_iter=10_000,
    ).fit(X)
    Z = model.transform(X, adjacency=model.adjacency_)
    size = np.abs(model.embedding_).max()
    np.testing.assert_allclose(Z, model.embedding_, atol=5e-3 * size)


def test_without_weight_the_second_graph_changes_nothing():
    X, _ = spoiled(60, 40)
    options = {"lam": 0.15, "gamma": 0.01, "graph": "knn"}
    plain = RPCAG(**options).fit(X)
    model = RPCAG(**options, feature_graph="knn", gamma_features=0).fit(X)
    np.testing.assert_array_equal(model.low_rank_, plain.low_rank_)


@pytest.mark.parametrize("unit", [1e-20, 1e15])
def test_the_unit_of_X_does_not_matter(unit):
    X, _ = spoiled(40, 36)
    model = RPCAG(lam=0.2, gamma=0, feature_graph="grid", image_shape=(6, 6))
    first = model.set_params(gamma_features=0.1).fit(X).objective_
    other = model.set_params(gamma_features=0.1 / unit).fit(unit * X).objective_
    assert other == pytest.approx(unit * first, rel=2e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feature_graph": "pixels"}, "feature_graph must be one of .* got 'pixels'"),
        ({"feature_graph": "grid"}, "feature_graph='grid' needs image_shape"),
        (
            {"feature_graph": "grid", "image_shape": (3, 3)},
            r"image_shape \(3, 3\) has 9 pixels but X has 8 features",
        ),
        ({"feature_graph": np.eye(3)}, "feature_graph"),
        ({"gamma_features": "much"}, "'gamma_features' .* a float"),
    ],
)
def test_bad_options_are_refused(options, message):
    X = np.random.default_rng(0).standard_normal((6, 8))
    with pytest.raises(ValueError, match=message):
        RPCAG(lam=0.3, gamma=0, graph=np.ones((6, 6)) - np.eye(6), **options).fit(X)


@pytest.mark.dask
def test_dask_refuses_a_second_graph():
    da = pytest.importorskip("dask.array")
    X = da.from_array(np.ones((8, 6)), (8, 3))
    with pytest.raises(ValueError, match="feature_graph needs X in memory"):
        RPCAG(graph="chain", feature_graph="knn").fit(X)
    with pytest.raises(ValueError, match=r"gamma_features=1\.0 needs a graph"):
        RPCAG(graph="chain", gamma_features=1.0).fit(X)
