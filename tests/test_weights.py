"""lam="predict" and gamma="predict": weights that predict hidden entries."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from rpcag import RPCA, RPCAG
from rpcag.models.weights import choose, connected_rows, random_rows

PREDICT = {"lam": "predict", "gamma": "predict"}


def spoilt(X, rng, *, gaps=0.2, errors=0.0):
    """Standardized, with gaps and gross errors; and where the gaps are."""
    Z = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
    wrong = rng.random(Z.shape) < errors
    shifts = rng.choice([-1, 1], Z.shape) * rng.uniform(3, 10, Z.shape)
    hidden = rng.random(Z.shape) < gaps
    return Z, np.where(hidden, np.nan, Z + wrong * shifts), hidden


def error(model, Z, hidden):
    return np.sqrt(np.mean((model.low_rank_ - Z)[hidden] ** 2))


@pytest.mark.slow
@pytest.mark.parametrize("errors", [0.0, 0.05])
@pytest.mark.parametrize("load", [load_wine, load_breast_cancer, load_digits])
def test_predicted_weights_fill_gaps_better_than_the_rules(load, errors, rng):
    Z, X, hidden = spoilt(load().data[:400], rng, errors=errors)
    found = error(RPCAG(**PREDICT).fit(X), Z, hidden)
    without = error(RPCA(lam="predict").fit(X), Z, hidden)
    assert found < 0.97 * error(RPCA().fit(X), Z, hidden)
    assert found < 0.97 * error(RPCAG().fit(X), Z, hidden)
    assert found < 1.02 * without


@pytest.mark.parametrize("shape", [(60, 50), (120, 110)])
def test_an_exact_matrix_is_found_with_the_lam_of_the_theory(shape, rng):
    L = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
    S = np.where(rng.random(shape) < 0.05, rng.uniform(-20, 20, shape), 0.0)
    model = RPCAG(**PREDICT, tol=1e-6).fit(L + S)
    assert len(model.weights_.trials["lam"]) == 1
    assert model.lam_ == pytest.approx(1 / np.sqrt(max(shape)))
    assert model.explained_ > 0.999
    assert np.linalg.norm(model.low_rank_ - L) < 1e-3 * np.linalg.norm(L)


def test_a_graph_that_does_not_help_is_not_built(rng):
    X = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 40))
    X += 0.05 * rng.standard_normal(X.shape)
    model = RPCAG(**PREDICT).fit(X)
    assert model.gamma_ == 0
    assert model.adjacency_ is None
    alone = RPCA(lam=model.lam_).fit(X)
    np.testing.assert_array_equal(model.low_rank_, alone.low_rank_)
    np.testing.assert_array_equal(model.transform(X[:5]), alone.transform(X[:5]))


def test_a_plot_of_a_graph_that_was_not_built_says_so(rng):
    pytest.importorskip("matplotlib")
    from rpcag import plots

    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 50))
    model = RPCAG(**PREDICT).fit(X)
    with pytest.raises(ValueError, match="RPCAG without a graph: gamma=0"):
        plots.graph(model)


def chain(n):
    return np.eye(n, k=1) + np.eye(n, k=-1)


def test_a_graph_from_elsewhere_is_used_where_it_helps(rng):
    time = np.linspace(0, 6, 300)
    Z = np.array([np.sin(rng.uniform(0.5, 3) * time + k) for k in range(12)]).T
    X = Z + 0.3 * rng.standard_normal(Z.shape)
    hidden = rng.random(Z.shape) < 0.5
    X[hidden] = np.nan
    model = RPCAG(**PREDICT, graph=chain(300)).fit(X)
    assert model.gamma_ > 0
    without = error(RPCA(lam="predict").fit(X), Z, hidden)
    assert error(model, Z, hidden) < 0.8 * without


def test_the_winner_has_the_smallest_error_of_the_trials(rng):
    _, X, _ = spoilt(load_wine().data, rng)
    model = RPCAG(**PREDICT).fit(X)
    trials = model.weights_.trials
    best = np.argmin(trials["error"])
    assert (trials["lam"][best], trials["gamma"][best]) == (model.lam_, model.gamma_)
    assert 0 < model.weights_.explained_error < 0.2
    assert model.explained_ == model.weights_.explained


def test_the_same_data_get_the_same_weights_in_any_unit(rng):
    _, X, _ = spoilt(load_wine().data, rng)
    one, two = RPCAG(**PREDICT).fit(X), RPCAG(**PREDICT).fit(64 * X)
    again = RPCAG(**PREDICT).fit(X)
    assert (one.lam_, one.gamma_) == (again.lam_, again.gamma_)
    assert two.lam_ == one.lam_
    assert 64 * two.gamma_ == pytest.approx(one.gamma_)
    assert two.explained_ == pytest.approx(one.explained_)


def test_errors_made_with_a_common_seed_are_not_just_those_that_are_hidden():
    X = load_wine().data
    spoilt_entries = np.random.default_rng(0).random(X.shape) < 0.15
    Z = np.where(spoilt_entries, np.nan, X)
    # Hidden are 15 % of what is left; with the same draws it would be nothing.
    share = choose(Z).n_hidden / np.count_nonzero(~spoilt_entries)
    assert 0.12 < share < 0.18


def test_noise_explains_nothing(rng):
    X = rng.standard_normal((200, 30))
    model = RPCA(lam="predict").fit(X)
    assert model.explained_ < 0.1


def test_one_weight_may_be_given(rng):
    _, X, _ = spoilt(load_wine().data, rng)
    model = RPCAG(lam=0.2, gamma="predict").fit(X)
    assert model.lam_ == 0.2
    assert set(model.weights_.trials["lam"]) == {0.2}
    model = RPCAG(lam="predict", gamma=0.05, graph="knn").fit(X)
    assert model.gamma_ == 0.05
    np.testing.assert_allclose(model.weights_.trials["gamma"], 0.05)
    model = RPCAG().fit(X)
    assert model.weights_ is None
    assert model.explained_ is None


def test_large_data_are_judged_by_some_of_their_rows():
    assert len(random_rows((64_000, 50))) == 4000
    assert len(random_rows((600, 30))) == 600
    rows = connected_rows(sparse.csr_array(chain(3000)), (3000, 500))
    assert len(rows) == 500
    # Few pieces: most rows have both neighbors.
    assert np.mean(np.diff(rows) == 1) > 0.9


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2)])
def test_tiny_data_get_weights_too(shape, rng):
    X = rng.standard_normal(shape)
    assert np.isfinite(RPCA(lam="predict").fit(X).low_rank_).all()


def test_hiding_leaves_something_in_every_row_and_column(rng):
    X = np.full((30, 20), np.nan)
    X[np.arange(30), np.arange(30) % 20] = rng.standard_normal(30)
    X[0], X[:, 0] = 1.0, 1.0
    choice = choose(X)
    assert 0 < choice.n_hidden < 49
    assert np.isfinite(choice.lam)


def test_a_callback_sees_the_choice_and_can_end_it(rng):
    _, X, _ = spoilt(load_wine().data, rng)
    stages = []

    def callback(progress):
        stages.append(progress.stage)
        return progress.stage == "weights" and len(stages) == 3

    model = RPCA(lam="predict", callback=callback).fit(X)
    assert stages[:3] == ["weights"] * 3
    assert set(stages[3:]) == {"fit"}
    assert model.status_ == "converged"


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="lam must be 'auto', 'predict' or a number"):
        RPCA(lam="best").fit(np.eye(3))


@pytest.mark.dask
@pytest.mark.slow
def test_weights_are_chosen_on_dask_too(rng):
    da = pytest.importorskip("dask.array")
    _, X, _ = spoilt(load_wine().data, rng)
    near = RPCA(lam="predict").fit(X)
    far = RPCA(lam="predict").fit(da.from_array(X, chunks=(len(X), 5)))
    assert far.lam_ == pytest.approx(near.lam_)
    assert far.explained_ == pytest.approx(near.explained_)
