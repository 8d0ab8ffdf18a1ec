"""Dask gives the answer of NumPy, on every scheduler, also when a worker dies."""

import os
import signal
import warnings

import numpy as np
import pytest

from rpcag import RPCA, RPCAG
from rpcag.graphs import KNNGraph

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.dask,
    pytest.mark.slow,
    # Of the libraries, while processes come and go.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph"),
    pytest.mark.filterwarnings("ignore:Port .* is already in use"),
]


def spoiled(n, p, missing=0.0, noise=0.3):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 4)) @ rng.standard_normal((4, p)) / 2
    X += noise * rng.standard_normal(X.shape)
    wrong = rng.random(X.shape) < 0.08
    X[wrong] += rng.uniform(-5, 5, wrong.sum())
    if missing:
        X[rng.random(X.shape) < missing] = np.nan
    return X


def graph_of(X):
    return KNNGraph(6)(np.nan_to_num(X))


def smooth(X, **options):
    given = {"lam": "theory", "gamma": 0.5, "graph": graph_of(X), "tol": 1e-6}
    return RPCAG(**given | options)


def ten_iterations(X, chunks, **options):
    """On whatever scheduler is active."""
    model = smooth(X, max_iter=10, **options)
    with pytest.warns(UserWarning, match="stopped after 10 iterations"):
        return model.fit(da.from_array(X, chunks=chunks))


@pytest.fixture(scope="module")
def client():
    with (
        warnings.catch_warnings(),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        warnings.simplefilter("ignore")
        yield client


@pytest.mark.parametrize(
    ("shape", "missing", "noise", "smoothed"),
    [
        ((150, 120), 0.1, 0.0, False),
        ((120, 150), 0.1, 0.3, True),
    ],
)
def test_dask_gives_the_answer_of_numpy(shape, missing, noise, smoothed):
    X = spoiled(*shape, missing, noise)
    model = smooth(X) if smoothed else RPCA(lam=0.05, tol=1e-6)
    reference = model.fit(X)
    objective, L = reference.objective_, reference.low_rank_
    with dask.config.set(scheduler="synchronous"):
        model.fit(da.from_array(X, chunks=(shape[0], 50)))
    assert model.gap_ <= 1e-6
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    assert isinstance(model.low_rank_, da.Array)
    np.testing.assert_allclose(model.low_rank_, L, atol=1e-2)
    seen = ~np.isnan(X)
    total = (model.low_rank_ + model.sparse_).compute()
    np.testing.assert_allclose(total[seen], X[seen])
    assert not model.sparse_.compute()[~seen].any()
    product = model.embedding_ @ model.components_
    np.testing.assert_allclose(product, model.low_rank_, atol=1e-9)


def test_dask_tells_models_apart_that_differ_in_their_data_only():
    X = spoiled(20, 12)
    fitted = [
        RPCA(lam=0.3, callback=lambda progress: None).fit(X + shift) for shift in (0, 1)
    ]
    tokens = {dask.base.tokenize(model.transform) for model in fitted}
    assert len(tokens) == 2
    graphs = [KNNGraph(3).fit(Y) for Y in (X, X**2, X)]
    assert len({dask.base.tokenize(graph) for graph in graphs}) == 2


def test_two_processes_hold_a_share_each_and_give_the_answer(client):
    X = spoiled(120, 160)
    with dask.config.set(scheduler="synchronous"):
        here = ten_iterations(X, (120, 40))
    shares = []

    def watch(progress):
        if progress.n_iter == 6:
            shares.append(client.run(_largest_tile_and_sum))

    there = ten_iterations(X, (120, 40), callback=watch)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)
    assert there.lower_bound_ == pytest.approx(here.lower_bound_, rel=1e-9)
    (workers,) = shares
    assert len(workers) == 2
    for widest, total in workers.values():
        assert widest <= 40
        assert total <= 0.8 * 160  # of the columns
    exact = spoiled(120, 160, noise=0.0)
    model = RPCA(lam=0.05, tol=1e-3)
    reference = model.fit(exact).objective_
    model.fit(da.from_array(exact, chunks=(120, 40)))
    assert model.objective_ == pytest.approx(reference, rel=1e-3)


def _largest_tile_and_sum(dask_worker):
    from rpcag.solvers.tile import Tile

    tiles = {
        id(value.X): value.X.shape[1]
        for value in dask_worker.data.values()
        if isinstance(value, Tile)
    }
    return max(tiles.values(), default=0), sum(tiles.values())


@pytest.mark.kill
def test_a_killed_worker_costs_time_not_the_answer(client):
    X = spoiled(110, 130)
    with dask.config.set(scheduler="synchronous"):
        here = ten_iterations(X, (110, 33))
    killed = []

    def kill(progress):
        if progress.n_iter == 5:
            killed.extend(client.run(os.getpid).values())
            os.kill(killed[0], signal.SIGKILL)

    there = ten_iterations(X, (110, 33), callback=kill)
    assert killed
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)
    assert there.lower_bound_ == pytest.approx(here.lower_bound_, rel=1e-9)


def test_other_chunks_zarr_and_integers_are_read(tmp_path):
    zarr = pytest.importorskip("zarr")
    X = np.round(10 * spoiled(110, 120, noise=0.0)).astype(np.int64)
    reference = RPCA(lam="theory", tol=1e-4).fit(X.astype(float)).objective_
    path = str(tmp_path / "X.zarr")
    stored = zarr.open(path, mode="w", shape=X.shape, chunks=(30, 40), dtype="i8")
    stored[:] = X
    with dask.config.set(scheduler="synchronous"):
        model = RPCA(lam="theory", tol=1e-4).fit(da.from_zarr(path))
    assert model.objective_ == pytest.approx(reference, rel=1.1e-4)


def test_new_rows_are_transformed_as_after_numpy():
    X = spoiled(120, 110)
    options = {"n_components": 3, "tol": 1e-4}
    here = smooth(X, **options).fit(X)
    with dask.config.set(scheduler="synchronous"):
        there = smooth(X, **options).fit(da.from_array(X, chunks=(120, 60)))
    new, links = X[:5] + 0.1, graph_of(X)[:5]
    np.testing.assert_allclose(
        there.transform(new, adjacency=links),
        here.transform(new, adjacency=links),
        atol=5e-2,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"graph": "knn"}, "would need all features of X in one place"),
        ({"warm_start": True}, "warm_start needs X in memory"),
        ({"checkpoint": "fit.npz"}, "checkpoint needs X in memory"),
    ],
)
def test_what_dask_cannot_do_is_refused(change, message):
    X = da.from_array(spoiled(20, 30), chunks=(20, 10))
    options = {"graph": np.ones((20, 20)) - np.eye(20), **change}
    with pytest.raises(ValueError, match=message):
        RPCAG(**options).fit(X)


def test_bad_data_are_refused():
    X = spoiled(20, 30)
    X[2, 3] = np.inf
    with pytest.raises(ValueError, match="X contains infinity"):
        RPCA().fit(da.from_array(X))
    with pytest.raises(ValueError, match="every value is NaN"):
        RPCA().fit(da.from_array(np.full((5, 6), np.nan)))
    with pytest.raises(ValueError, match="two dimensions, got 1"):
        RPCA().fit(da.zeros(5))
    with pytest.raises(ValueError, match="real numbers"):
        RPCA().fit(da.zeros((5, 5), dtype=complex))
    with pytest.raises(ValueError, match="divide X"):
        RPCA().fit(da.from_array(1e30 * spoiled(20, 30)))
