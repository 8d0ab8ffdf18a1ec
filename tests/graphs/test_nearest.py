"""The search finds what comparing all pairs in double precision finds."""

import numpy as np
import pytest

from rpcag.graphs import nearest
from rpcag.graphs.distances import distances_within, observed
from rpcag.graphs.nearest import nearest_rows

RNG = np.random.default_rng(3)


def normal(n, p):
    return RNG.standard_normal((n, p))


def clusters():
    return normal(300, 4) + 1e6 * RNG.integers(0, 3, (300, 1))


def with_outlier():
    X = normal(300, 9)
    X[7, 2] = 1e18
    return X


DATA = {
    "few": lambda: normal(12, 3),
    "flat": lambda: normal(400, 2) @ normal(2, 30) + 1e-3 * normal(400, 30),
    "many features": lambda: normal(200, 300),
    "integers": lambda: RNG.integers(0, 3, (400, 5)).astype(float),
    "duplicates": lambda: np.repeat(normal(9, 5), 40, axis=0),
    "zeros": lambda: np.zeros((100, 3)),
    "clusters": clusters,
    "outlier": with_outlier,
    "tiny": lambda: 1e-200 * normal(300, 8),
    "huge": lambda: 1e200 * normal(300, 8),
}


@pytest.mark.parametrize("missing", [0.0, 0.2, 0.8])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("leaf", [16, 100])
def test_no_neighbor_is_missed(monkeypatch, data, missing, leaf):
    monkeypatch.setattr(nearest, "LEAF", leaf)
    X = DATA[data]()
    if missing:
        X[RNG.random(X.shape) < missing] = np.nan
        X[5] = np.nan
    k = min(10, len(X) - 1)
    neighbors, distances = nearest_rows(observed(X), k)
    D = np.empty((len(X), len(X)))
    seen, scale = ~np.isnan(X), np.nanmax(np.abs(X)) or 1.0
    for i, x in enumerate(X):  # by differences: nothing cancels
        both = seen & seen[i]
        squares = np.where(both, (X - x) / scale, 0.0) ** 2
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = squares.sum(axis=1) / both.sum(axis=1)
        D[i] = np.where(both.any(axis=1), np.sqrt(mean) * scale, np.inf)
    np.fill_diagonal(D, np.inf)
    expected = np.sort(D, axis=1)[:, :k]
    typical = np.nanmedian(np.abs(X)) or 1.0
    np.testing.assert_allclose(distances, expected, rtol=1e-6, atol=1e-9 * typical)
    found = np.take_along_axis(D, neighbors, axis=1)
    np.testing.assert_allclose(found, distances, rtol=1e-6, atol=1e-9 * typical)
    assert all(len(set(row)) == k for row in neighbors)


def test_neighbors_do_not_depend_on_the_leaves(monkeypatch):
    X = normal(900, 20)
    D = distances_within(observed(X), np.inf)
    expected = np.argsort(D, axis=1)[:, :5]
    for leaf in (32, 512):
        monkeypatch.setattr(nearest, "LEAF", leaf)
        np.testing.assert_array_equal(nearest_rows(observed(X), 5)[0], expected)
