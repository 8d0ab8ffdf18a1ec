"""The grid search for lam and gamma without labels."""

import numpy as np
import pytest

from rpcag import RPCAG, RPCAGCV
from rpcag.graphs import KNNGraph
from rpcag.linalg.typical import typical_size
from rpcag.models.rules import clustering_gamma, theory_lam


def clustered(noise, seed=0):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.standard_normal((4, 30)), 12, axis=0)
    return X + noise * rng.standard_normal(X.shape)


def test_the_search_reports_its_scores_and_takes_the_best():
    X = clustered(0.5)
    model = RPCAGCV(gammas=[0.3, 0.0, 0.03], lams=[0.1, 0.2], n_splits=2).fit(X)
    found = model.cv_results_
    assert list(found["param_gamma"]) == [0.0, 0.03, 0.3] * 2
    assert list(found["param_lam"]) == [0.1] * 3 + [0.2] * 3
    assert found["params"][4] == {"lam": 0.2, "gamma": 0.03}
    np.testing.assert_allclose(
        found["mean_test_score"],
        (found["split0_test_score"] + found["split1_test_score"]) / 2,
    )
    best = np.nanargmax(found["mean_test_score"])
    assert model.best_index_ == best
    assert found["rank_test_score"][best] == 1
    assert model.best_score_ == found["mean_test_score"][best] < 0
    assert model.best_params_ == {"lam": model.lam_, "gamma": model.gamma_}
    same = RPCAG(lam=model.lam_, gamma=model.gamma_).fit(X)
    np.testing.assert_array_equal(model.low_rank_, same.low_rank_)


def test_the_default_grid_has_four_lams_and_eight_gammas():
    X = clustered(0.7)
    found = RPCAGCV(n_splits=1).fit(X).cv_results_
    lams, gammas = np.unique(found["param_lam"]), np.unique(found["param_gamma"])
    np.testing.assert_allclose(lams / theory_lam(X.shape), [1, 2, 4, 8])
    unit = clustering_gamma(X.shape, typical_size(X))
    np.testing.assert_allclose(gammas[1:] / unit, 4.0 ** np.arange(-4, 3))
    assert gammas[0] == 0
    assert len(found["params"]) == 32


def test_noisy_clusters_ask_for_smoothness():
    model = RPCAGCV().fit(clustered(0.7))
    assert model.gamma_ > 0
    first = model.cv_results_["split0_test_score"]
    without = first[model.cv_results_["param_gamma"] == 0].max()
    assert first.max() > 0.97 * without


@pytest.mark.parametrize("gamma", [0.0, 0.1])
def test_the_scores_are_those_of_a_model_that_never_saw_the_entries(gamma):
    X = clustered(0.5)
    options = {"lams": [0.4], "n_splits": 1, "holdout": 0.2, "random_state": 4}
    model = RPCAGCV(gammas=[gamma], **options).fit(X)
    hidden = np.random.RandomState(4).choice(X.size, round(0.2 * X.size), replace=False)
    seen = X.copy()
    seen.flat[hidden] = np.nan
    L = RPCAG(lam=0.4, gamma=gamma, tol=1e-6).fit(seen).low_rank_
    expected = np.sqrt(np.mean((L - X).flat[hidden] ** 2))
    assert -model.best_score_ == pytest.approx(expected, rel=0.03)


def test_gross_errors_do_not_decide():
    X = clustered(0.7)
    rng = np.random.default_rng(1)
    spoiled = X.copy()
    spoiled[rng.random(X.shape) < 0.03] = 1e4
    options = {"lams": [0.3], "gammas": [0, 0.01, 0.1, 1], "graph": KNNGraph()(X)}
    clean = RPCAGCV(**options).fit(X)
    dirty = RPCAGCV(**options).fit(spoiled)
    assert dirty.gamma_ == clean.gamma_


def test_dropped_pairs_could_not_win():
    """Each split alone, on which all pairs are tried, has the same winner."""
    X = clustered(0.7)
    options = {"lams": [0.15, 0.3, 0.6], "gammas": [0, 0.03, 0.1, 0.3, 3]}
    model = RPCAGCV(**options, n_splits=3).fit(X)
    found = model.cv_results_
    assert np.isnan(found["mean_test_score"]).any()
    kept = np.isfinite(found["mean_test_score"])
    assert np.isfinite(found["split0_test_score"]).all()
    # The worst that was kept is better than the best that was dropped.
    first = found["split0_test_score"]
    assert first[kept].max() > first[~kept].max()
    rng = np.random.RandomState(0)
    observed, errors = np.arange(X.size), []
    for _ in range(3):  # the splits of random_state=0
        hidden = rng.choice(observed, round(0.1 * X.size), replace=False)
        seen = X.copy()
        seen.flat[hidden] = np.nan
        fits = [RPCAG(**pair, tol=1e-2).fit(seen) for pair in found["params"]]
        errors.append([np.mean((fit.low_rank_ - X).flat[hidden] ** 2) for fit in fits])
    full = np.sqrt(np.mean(errors, axis=0))
    assert full[model.best_index_] <= 1.01 * full.min()


def test_threads_do_not_change_the_answer():
    X = clustered(0.6)
    one, two = RPCAGCV(n_jobs=1).fit(X), RPCAGCV(n_jobs=2).fit(X)
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )
    np.testing.assert_array_equal(one.low_rank_, two.low_rank_)


def test_one_standard_error_takes_a_simpler_pair_that_is_nearly_as_good():
    X = clustered(0.7)
    best = RPCAGCV(random_state=1).fit(X)
    simple = RPCAGCV(random_state=1, rule="one_se").fit(X)
    assert simple.gamma_ <= best.gamma_
    assert simple.lam_ <= best.lam_
    assert best.best_score_ >= simple.best_score_ >= 1.1 * best.best_score_


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"rule": "two"}, "'rule' .* Got 'two'"),
        ({"rule": "one_se", "n_splits": 1}, "needs n_splits of at least 2"),
        ({"n_jobs": 0}, "n_jobs == 0"),
        ({"lams": "clustering"}, "lams must be 'auto', 'theory' or numbers"),
        ({"lams": [0.0]}, "lams must be positive, got 0"),
        ({"gammas": []}, "gammas must be finite numbers"),
        ({"holdout": 1.5}, "'holdout' .* a float"),
    ],
)
def test_bad_options_are_refused(options, match):
    with pytest.raises(ValueError, match=match):
        RPCAGCV(**options).fit(clustered(0.5))


def test_the_unit_of_x_does_not_matter():
    X = clustered(0.6)
    one, two = RPCAGCV(n_splits=1).fit(X), RPCAGCV(n_splits=1).fit(2.0**20 * X)
    assert one.lam_ == two.lam_
    assert one.gamma_ == pytest.approx(2.0**20 * two.gamma_)
    np.testing.assert_allclose(
        2.0**20 * one.cv_results_["split0_test_score"],
        two.cv_results_["split0_test_score"],
        rtol=1e-6,
    )


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-250, 1e200])
@pytest.mark.filterwarnings("error")
def test_scores_of_extreme_units_neither_overflow_nor_vanish(unit):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 8))
    X += 0.1 * rng.standard_normal(X.shape)
    options = {"graph": "chain", "rule": "one_se"}
    plain, model = (RPCAGCV(**options).fit(data) for data in (X, X * unit))
    for name in ("mean_test_score", "std_test_score"):
        score = model.cv_results_[name] / unit
        np.testing.assert_allclose(score, plain.cv_results_[name], rtol=0.05)
    assert model.best_index_ == plain.best_index_
    with pytest.raises(ValueError, match="gammas='auto' is out of range for X"):
        RPCAGCV(graph="chain").fit(X * 1e-310)


def test_same_state_same_choice():
    X = clustered(0.5)
    first, second = RPCAGCV(random_state=1).fit(X), RPCAGCV(random_state=1).fit(X)
    np.testing.assert_array_equal(
        first.cv_results_["mean_test_score"], second.cv_results_["mean_test_score"]
    )


def test_gammas_beside_which_the_data_are_lost_are_refused():
    X = np.repeat(np.random.default_rng(0).standard_normal((4, 14)), 5, axis=0)
    X = (1e25 * X).astype(np.float32)
    model = RPCAGCV(gammas=[0.0, 0.1], n_splits=1, graph="knn")
    with pytest.raises(ValueError, match=r"gammas up to 0.1 and X.*out of range"):
        model.fit(X)
