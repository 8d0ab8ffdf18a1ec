"""The default weights: those that predict hidden entries best."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

from rpcag import RPCA, RPCAG, RPCAGCV
from rpcag.graphs import CompleteGraph, KNNGraph
from rpcag.graphs.laplacian import laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.models import PoorFitWarning, RobustGraph, parts, weights
from rpcag.models.hidden_entries import hide
from rpcag.models.parts import (
    ENTRIES,
    FEATURES,
    LIMIT,
    ROWS,
    connected_rows,
    random_rows,
)
from rpcag.models.trials import Trials
from rpcag.models.weights import choose


def spoiled(X, rng, *, gaps=0.2, errors=0.0):
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
def test_chosen_weights_fill_gaps_better_than_the_rules(load, errors, rng):
    Z, X, hidden = spoiled(load().data[:400], rng, errors=errors)
    found = error(RPCAG().fit(X), Z, hidden)
    without = error(RPCA().fit(X), Z, hidden)
    assert found < 0.97 * error(RPCA(lam="theory").fit(X), Z, hidden)
    rules = RPCAG(lam="theory", gamma="clustering")
    assert found < 0.97 * error(rules.fit(X), Z, hidden)
    # A graph has to help clearly: without it, wine with errors is a little worse.
    assert found < 1.01 * error(RPCAG(gamma="clustering").fit(X), Z, hidden)
    assert found < 1.02 * without


@pytest.mark.parametrize("shape", [(60, 50), (120, 110)])
def test_an_exact_matrix_is_found_with_the_lam_of_the_theory(shape, rng):
    L = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
    S = np.where(rng.random(shape) < 0.05, rng.uniform(-20, 20, shape), 0.0)
    model = RPCAG(tol=1e-6).fit(L + S)
    # With few features a second lam is tried: rows with large factors may need it.
    assert len(model.weights_.trials["lam"]) <= 2
    assert model.lam_ == pytest.approx(1 / np.sqrt(max(shape)))
    assert model.explained_ > 0.999
    assert np.linalg.norm(model.low_rank_ - L) < 1e-3 * np.linalg.norm(L)


@pytest.mark.parametrize("share", [0.05, 0.1])
@pytest.mark.parametrize("model", [RPCA(), RPCAG()], ids=repr)
def test_gross_errors_beside_noise_do_not_get_into_the_low_rank_part(model, share):
    rng = np.random.default_rng(5)
    L = rng.standard_normal((120, 4)) @ rng.standard_normal((4, 150))
    X = L + 0.1 * rng.standard_normal(L.shape)
    X[rng.random(L.shape) < share] = 9.0
    theory = RPCA(lam="theory").fit(X).low_rank_
    found = model.fit(X).low_rank_
    assert np.linalg.norm(found - L) < 2 * np.linalg.norm(theory - L)


def test_a_graph_that_does_not_help_is_not_built(rng):
    X = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 40))
    X += 0.05 * rng.standard_normal(X.shape)
    model = RPCAG().fit(X)
    assert model.gamma_ == 0
    assert model.adjacency_ is None
    alone = RPCA(lam=model.lam_).fit(X)
    np.testing.assert_array_equal(model.low_rank_, alone.low_rank_)
    np.testing.assert_array_equal(model.transform(X[:5]), alone.transform(X[:5]))


def test_a_graph_that_harms_is_tried_once(rng):
    X = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 20))
    model = RPCAG().fit(X + 0.5 * rng.standard_normal(X.shape))
    assert model.gamma_ == 0
    assert np.count_nonzero(model.weights_.trials["gamma"]) == 1


@pytest.mark.parametrize(("gamma", "method"), [("auto", "cg"), (0.1, "inverse")])
def test_only_a_gamma_that_is_given_is_tried_with_an_inverse(
    gamma, method, rng, monkeypatch
):
    methods = []
    build = Trials._rough
    monkeypatch.setattr(
        Trials, "_rough", lambda *a: methods.append(build(*a)) or methods[-1]
    )
    X = np.repeat(rng.standard_normal((4, 12)), 15, axis=0)
    RPCAG(gamma=gamma).fit(X + 0.3 * rng.standard_normal(X.shape))
    assert {graph.method for graph in methods} == {method}


def test_a_plot_of_a_graph_that_was_not_built_says_so(rng):
    pytest.importorskip("matplotlib")
    from rpcag import plots

    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 50))
    model = RPCAG().fit(X)
    with pytest.raises(ValueError, match="RPCAG without a graph: gamma=0"):
        plots.graph(model)


def graph_of_rows(n_neighbors):
    """What `choose` calls for the graph of the rows it looks at."""
    return lambda Y, L: ShiftedLaplacian(laplacian(KNNGraph(n_neighbors)(L)))


def chain(n):
    return np.eye(n, k=1) + np.eye(n, k=-1)


def test_a_graph_from_elsewhere_is_used_where_it_helps(rng):
    time = np.linspace(0, 6, 300)
    Z = np.array([np.sin(rng.uniform(0.5, 3) * time + k) for k in range(12)]).T
    X = Z + 0.3 * rng.standard_normal(Z.shape)
    hidden = rng.random(Z.shape) < 0.5
    X[hidden] = np.nan
    model = RPCAG(graph=chain(300)).fit(X)
    assert model.gamma_ > 0
    without = error(RPCA().fit(X), Z, hidden)
    assert error(model, Z, hidden) < 0.8 * without


@pytest.mark.parametrize("has_graph", [False, True])
def test_the_winner_has_the_smallest_error_of_the_trials(has_graph, rng):
    if has_graph:
        X = load_digits().data[:400]
    else:  # a graph knows nothing that the factors do not
        X = rng.standard_normal((400, 5)) @ rng.standard_normal((5, 20))
        X += rng.standard_normal(X.shape)
    _, X, _ = spoiled(X, rng)
    model = RPCAG().fit(X)
    assert (model.gamma_ > 0) == has_graph
    trials = model.weights_.trials
    # A graph that does not help clearly is no candidate.
    errors = np.where(has_graph | (trials["gamma"] == 0), trials["error"], np.inf)
    best = np.argmin(errors)
    assert (trials["lam"][best], trials["gamma"][best]) == (model.lam_, model.gamma_)
    assert 0 < model.weights_.explained_error < 0.2
    assert model.explained_ == model.weights_.explained


def test_the_same_data_get_the_same_weights_in_any_unit(rng):
    _, X, _ = spoiled(load_wine().data, rng)
    one, two = RPCAG().fit(X), RPCAG().fit(64 * X)
    again = RPCAG().fit(X)
    assert (one.lam_, one.gamma_) == (again.lam_, again.gamma_)
    assert two.lam_ == one.lam_
    assert 64 * two.gamma_ == pytest.approx(one.gamma_)
    assert two.explained_ == pytest.approx(one.explained_)


def test_errors_made_with_a_common_seed_are_not_just_those_that_are_hidden():
    X = load_wine().data
    spoiled_entries = np.random.default_rng(0).random(X.shape) < 0.15
    Z = np.where(spoiled_entries, np.nan, X)
    # Hidden are 15 % of what is left; with the same draws it would be nothing.
    share = hide(Z).sum() / np.count_nonzero(~spoiled_entries)
    assert 0.12 < share < 0.18


def test_small_tables_are_judged_by_several_draws_that_do_not_overlap(rng):
    X = load_wine().data
    hidden = [hide(X, k) for k in range(weights.MOST_DRAWS)]
    assert np.sum(hidden, axis=0).max() == 1
    assert choose(X).n_hidden == np.sum(hidden[:3])  # these are enough
    large = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 60))
    large += rng.standard_normal(large.shape)
    assert choose(large).n_hidden == hide(large).sum()


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_more_draws_choose_better_weights_for_small_tables(load, monkeypatch):
    """The error of the chosen weights at entries that no draw has seen."""
    X = StandardScaler().fit_transform(load().data)
    excess = []
    for most in (1, weights.MOST_DRAWS):
        monkeypatch.setattr(weights, "MOST_DRAWS", most)
        errors = []
        for seed in range(12):
            gaps = np.random.default_rng((9, seed)).random(X.shape) < 0.3
            L = RPCAG().fit(np.where(gaps, np.nan, X)).low_rank_
            errors.append(np.mean((L - X)[gaps] ** 2))
        excess.append(np.mean(errors))
    assert excess[1] < excess[0]


def test_noise_explains_nothing(rng):
    X = rng.standard_normal((200, 30))
    with pytest.warns(PoorFitWarning, match="no low-rank structure was found"):
        model = RPCA().fit(X)
    assert abs(model.explained_) < 0.1


def test_one_weight_may_be_given(rng):
    _, X, _ = spoiled(load_wine().data, rng)
    model = RPCAG(lam=0.2).fit(X)
    assert model.lam_ == 0.2
    assert set(model.weights_.trials["lam"]) == {0.2}
    model = RPCAG(gamma=0.05, graph="knn").fit(X)
    assert model.gamma_ == 0.05
    np.testing.assert_allclose(model.weights_.trials["gamma"], 0.05)


@pytest.mark.parametrize(
    "model",
    [
        RPCA(lam="theory"),
        RPCA(lam=0.2),
        RPCAG(gamma="clustering"),
        RPCAG(lam="theory", gamma="clustering"),
        RPCAG(lam=0.2, gamma=0.05),
    ],
    ids=repr,
)
def test_weights_that_are_given_are_not_chosen(model, rng):
    _, X, _ = spoiled(load_wine().data, rng)
    shape, observed = X.shape, np.mean(~np.isnan(X))
    model.fit(X)
    assert model.weights_ is None
    assert model.explained_ is None
    lam = 1 / np.sqrt(observed * max(shape))
    expected = {0.2: 0.2, "theory": lam, "auto": 2 * lam}  # auto with "clustering"
    assert model.lam_ == pytest.approx(expected[model.lam])


@pytest.mark.parametrize("weights", [{}, {"gamma": 0.05}, {"lam": "theory"}], ids=repr)
def test_a_model_forgets_the_choice_of_an_earlier_fit(weights, rng):
    _, X, _ = spoiled(load_wine().data, rng)
    model = RPCAG(**weights, graph="knn").fit(X)
    assert model.weights_ is not None
    model.set_params(lam=0.2, gamma=0.05).fit(X)
    assert model.weights_ is None
    assert model.explained_ is None
    assert model.adjacency_ is not None


def test_large_data_are_judged_by_some_of_their_rows():
    assert len(random_rows((64_000, 50))) == LIMIT
    assert len(random_rows((600, 30))) == 600
    # At least ROWS, however wide they are, and a quarter of them up to twice FEATURES.
    assert len(random_rows((1000, 50_000))) == ROWS
    assert len(random_rows((8000, 50_000))) == 2000
    assert len(random_rows((10**6, 50_000))) == 2 * FEATURES
    rows = connected_rows(sparse.csr_array(chain(3000)), (3000, 500))
    assert len(rows) == ENTRIES // 500
    # Few pieces: most rows have both neighbors.
    assert np.mean(np.diff(rows) == 1) > 0.9


@pytest.mark.parametrize("shape", [(5000, 80), (5000, 300)])
def test_rows_with_nothing_observed_do_not_decide(shape, rng, monkeypatch):
    monkeypatch.setattr(parts, "ENTRIES", 40_000)
    X = np.full(shape, np.nan)
    others = np.setdiff1d(np.arange(len(X)), random_rows(shape))[:2]
    X[others] = rng.standard_normal((2, shape[1]))
    model = RPCA(tol=0.1).fit(X)
    assert model.status_ == "converged"
    assert model.lam_ == pytest.approx(1 / np.sqrt(2))


def test_a_given_lam_means_the_same_for_some_of_the_rows(rng, monkeypatch):
    X = rng.standard_normal((4000, 3)) @ rng.standard_normal((3, 20))
    X += 0.3 * rng.standard_normal(X.shape)
    given = {"lam": 1 / np.sqrt(4000), "gamma": None, "build": graph_of_rows(7)}
    monkeypatch.setattr(parts, "LIMIT", 4000)
    whole = choose(X, **given)
    monkeypatch.setattr(parts, "ENTRIES", 20_000)
    some = choose(X, **given)
    assert (whole.n_rows, some.n_rows) == (4000, 1000)
    assert some.lam == given["lam"]
    # Half as large relative to the theory's lam of 1000 rows, it would predict nothing.
    assert some.explained == pytest.approx(whole.explained, abs=0.02)
    assert some.trials["error"][0] == pytest.approx(whole.trials["error"][0], rel=0.15)


def test_only_the_weight_that_is_given_is_tried(rng):
    """The L from which the graph is built has another lam or gamma."""
    _, X, _ = spoiled(load_wine().data, rng)
    build, free = graph_of_rows(7), choose(X)
    useless = choose(X, lam=0.002, gamma=None, build=build)
    assert min(useless.trials["error"]) > 1.2 * min(free.trials["error"])
    stiff = choose(X, gamma=1e4, build=build)
    assert min(stiff.trials["error"]) > 1.2 * min(free.trials["error"])


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (5, 1), (2, 2)])
def test_tiny_data_get_weights_too(shape, rng):
    X = rng.standard_normal(shape)
    for model in (RPCA(), RPCAG()):
        model.fit(X)
        assert np.isfinite(model.low_rank_).all()
        assert model.lam_ == pytest.approx(1 / np.sqrt(max(shape)))
        # There is nothing to predict: hiding an entry would empty its row or column.
        assert model.weights_.n_hidden == 0
        assert model.explained_ is None


def test_hiding_leaves_something_in_every_row_and_column(rng):
    X = np.full((30, 20), np.nan)
    X[np.arange(30), np.arange(30) % 20] = rng.standard_normal(30)
    X[0], X[:, 0] = 1.0, 1.0
    choice = choose(X)
    assert choice.n_hidden > 0
    for draw in range(weights.MOST_DRAWS):
        seen = ~np.isnan(X) & ~hide(X, draw)
        assert seen.any(axis=0).all()
        assert seen.any(axis=1).all()
    assert np.isfinite(choice.lam)


def test_a_callback_sees_the_choice_and_can_end_it(rng):
    _, X, _ = spoiled(load_wine().data, rng)
    stages = []

    def callback(progress):
        stages.append(progress.stage)
        return progress.stage == "weights" and len(stages) == 3

    model = RPCA(callback=callback).fit(X)
    assert stages[:3] == ["weights"] * 3
    assert set(stages[3:]) == {"fit"}
    assert model.status_ == "converged"


def test_other_words_are_refused():
    with pytest.raises(ValueError, match=r"'lam' .*'theory'.* Got 'best'"):
        RPCA(lam="best").fit(np.eye(3))
    with pytest.raises(ValueError, match=r"'gamma' .*'clustering'.* Got"):
        RPCAG(gamma="theory").fit(np.eye(3))


@pytest.mark.dask
@pytest.mark.slow
def test_weights_are_chosen_on_dask_too(rng):
    da = pytest.importorskip("dask.array")
    _, X, _ = spoiled(load_wine().data, rng)
    near = RPCA().fit(X)
    far = RPCA().fit(da.from_array(X, chunks=(len(X), 5)))
    assert far.lam_ == pytest.approx(near.lam_)
    assert far.explained_ == pytest.approx(near.explained_)


@pytest.mark.dask
@pytest.mark.slow
@pytest.mark.parametrize(
    "weights",
    [
        {},
        {"lam": "theory"},
        {"lam": 0.2},
        {"gamma": 0.3},
        {"gamma": "clustering"},
        {"lam": 0.2, "gamma": "clustering"},
    ],
    ids=repr,
)
def test_every_pair_of_words_and_numbers_means_the_same_on_dask(weights, rng):
    da = pytest.importorskip("dask.array")
    _, X, _ = spoiled(load_wine().data, rng)
    A = KNNGraph(5)(X)
    near = RPCAG(**weights, graph=A, tol=0.1).fit(X)
    far = RPCAG(**weights, graph=A, tol=0.1).fit(da.from_array(X, chunks=(len(X), 5)))
    assert far.lam_ == pytest.approx(near.lam_)
    assert far.gamma_ == pytest.approx(near.gamma_)
    assert (far.weights_ is None) == (near.weights_ is None)


def exactly_low_rank(rng, n=60, p=24):
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, p))


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (KNNGraph(n_neighbors=-3), "'n_neighbors' .* must be an int"),
        (KNNGraph(weights="cosine"), "'weights' .* must be a str among"),
        (RobustGraph(n_neighbors=0), "'n_neighbors' .* must be an int"),
        (CompleteGraph(sigma2=-1.0), "'sigma2' .* must be a float"),
    ],
)
def test_options_of_a_graph_are_checked_even_if_none_is_built(graph, message, rng):
    X = exactly_low_rank(rng)
    assert RPCAG().fit(X).adjacency_ is None
    for model in (RPCAG(graph=graph), RPCAGCV(graph=graph, gammas=[0.0])):
        with pytest.raises(ValueError, match=message):
            model.fit(X)
