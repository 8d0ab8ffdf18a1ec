"""Counts with many zeros need a larger lam."""

import warnings

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from rpcag import RPCA, RPCAG
from rpcag.models import PoorFitWarning


def counts(rng, depth=25):
    """Log-normalized counts of four kinds of cells, and the kinds."""
    kinds = rng.integers(4, size=200)
    programs = rng.gamma(1, size=150) * np.exp(1.5 * rng.standard_normal((4, 150)))
    rates = programs / programs.sum(axis=1, keepdims=True)
    found = rng.poisson(depth * rng.gamma(2, 0.5, (200, 150)) * rates[kinds])
    found = found[:, found.any(axis=0)]
    total = np.maximum(found.sum(axis=1, keepdims=True), 1)
    return np.log1p(found / total * np.median(total)), kinds


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def agreement(model, kinds):
    labels = KMeans(4, n_init=10, random_state=0).fit_predict(model.embedding_)
    return adjusted_rand_score(kinds, labels)


@pytest.mark.parametrize("prepare", [lambda X: X, standardized])
def test_kinds_of_cells_are_found_among_zeros(prepare, rng):
    X, kinds = counts(rng)
    assert np.mean(X == 0) > 0.85
    model = RPCA(4).fit(prepare(X))
    assert model.lam_ > 1.5 / np.sqrt(len(X))
    assert agreement(model, kinds) > 0.7
    assert 0 < model.explained_ < 0.5


def test_a_graph_of_cells_is_tried(rng):
    X, kinds = counts(rng)
    model = RPCAG(4, graph="knn").fit(X)
    assert (model.weights_.trials["gamma"] > 0).any()
    assert agreement(model, kinds) > 0.7


def constant_but_for_errors(rng, share):
    L = np.outer(np.ones(120), rng.uniform(0, 10, 90))
    return L, np.where(rng.random(L.shape) < share, rng.uniform(-20, 20, L.shape), L)


@pytest.mark.filterwarnings("ignore::rpcag.models.PoorFitWarning")
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
def test_errors_in_constant_features_stay_errors(share, rng):
    L, X = constant_but_for_errors(rng, share)
    model = RPCAG().fit(X)
    np.testing.assert_allclose(model.low_rank_, L, atol=0.1)


def test_errors_in_constant_features_cannot_be_predicted(rng):
    _, X = constant_but_for_errors(rng, 0.1)
    with pytest.warns(PoorFitWarning, match="90 % of the entries equal the median"):
        RPCAG().fit(X)


def test_a_few_errors_in_constant_features_do_not_warn():
    X = np.outer(np.ones(20), np.arange(1.0, 11.0))
    X[3, 4] = 50.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RPCA(lam="theory").fit(X)
