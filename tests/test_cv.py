"""The search for gamma without labels."""

import numpy as np
import pytest

from rpcag import RPCAG, RPCAGCV
from rpcag.graphs import KNNGraph


def clustered(noise, seed=0):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.standard_normal((4, 30)), 12, axis=0)
    return X + noise * rng.standard_normal(X.shape)


def test_the_search_reports_its_curve_and_takes_the_least_error():
    X = clustered(0.5)
    model = RPCAGCV(gammas=[0.3, 0.0, 0.03], lams=[0.1, 0.2], n_splits=2).fit(X)
    curve = model.cv_results_
    assert list(curve["gamma"]) == [0.0, 0.03, 0.3] * 2
    assert list(curve["lam"]) == [0.1] * 3 + [0.2] * 3
    np.testing.assert_allclose(
        curve["mean_error"], (curve["split0_error"] + curve["split1_error"]) / 2
    )
    assert model.best_error_ == curve["mean_error"].min()
    best = curve["mean_error"].argmin()
    assert (model.lam_, model.gamma_) == (curve["lam"][best], curve["gamma"][best])
    same = RPCAG(lam=model.lam_, gamma=model.gamma_).fit(X)
    np.testing.assert_array_equal(model.low_rank_, same.low_rank_)


def test_noisy_clusters_ask_for_smoothness():
    """The error curve falls from gamma = 0: the graph predicts what was hidden."""
    model = RPCAGCV().fit(clustered(0.7))
    assert model.gamma_ > 0
    assert model.best_error_ < 0.97 * model.cv_results_["mean_error"][0]


def test_the_errors_are_those_of_a_model_that_never_saw_the_entries():
    X = clustered(0.5)
    model = RPCAGCV(gammas=[0.1], n_splits=1, holdout=0.2, random_state=4).fit(X)
    hidden = np.random.RandomState(4).choice(X.size, round(0.2 * X.size), replace=False)
    seen = X.copy()
    seen.flat[hidden] = np.nan
    L = RPCAG(lam=model.lam_, gamma=0.1).fit(seen).low_rank_
    expected = np.abs(L - X).flat[hidden].mean()
    assert model.cv_results_["mean_error"][0] == pytest.approx(expected, rel=1e-6)


def test_gross_errors_do_not_decide():
    X = clustered(0.7)
    rng = np.random.default_rng(1)
    spoilt = X.copy()
    spoilt[rng.random(X.shape) < 0.03] = 1e4
    options = {"gammas": [0, 0.01, 0.1, 1], "graph": KNNGraph()(X)}
    clean = RPCAGCV(**options).fit(X)
    dirty = RPCAGCV(**options).fit(spoilt)
    assert dirty.gamma_ == clean.gamma_


@pytest.mark.slow
def test_same_state_same_choice():
    X = clustered(0.5)
    first, second = RPCAGCV(random_state=1).fit(X), RPCAGCV(random_state=1).fit(X)
    np.testing.assert_array_equal(
        first.cv_results_["mean_error"], second.cv_results_["mean_error"]
    )
