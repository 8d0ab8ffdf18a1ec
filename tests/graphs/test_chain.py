"""Chains: rows in time order, joined to the rows before and after them."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from command_line import call
from rpcag import (
    FRPCAG,
    GLPCA,
    GNMF,
    MMF,
    MMMF,
    RGLPCA,
    RPCA,
    RPCAG,
    RPCAGCV,
    LaplacianEigenmaps,
    NCuts,
)
from rpcag.graphs import Chain, check_graph, laplacian
from rpcag.models import parts
from test_sklearn import not_equivalent

CHAINS = [
    Chain(),
    Chain(3),
    Chain(period=4),
    Chain(2, period=5),
    Chain(6, period=4),
    Chain(0, period=3),
    Chain(0, period=2, n_periods=4),
    Chain(5, period=3, n_periods=10**12),
]
GAP = np.full(5, np.nan)


def weight(chain, lag):
    """The definition, for one pair of rows."""
    near = 1 / lag if 1 <= lag <= chain.steps else 0.0
    if lag == 0 or chain.period is None or lag % chain.period:
        return near
    k = lag // chain.period
    return 1 / k if k <= chain.n_periods else near


def expected(chain, times, n):
    """Weights between rows at some times and rows at times 0, ..., n - 1."""
    return np.array([[weight(chain, abs(i - j)) for j in range(n)] for i in times])


def series(rng, n, p, rank=3):
    """Smooth in time, and of low rank."""
    time = np.arange(n)[:, None] * rng.uniform(0.01, 0.06, rank)
    return np.sin(time + rng.uniform(0, 6, rank)) @ rng.standard_normal((rank, p))


def error(model, truth, hidden):
    return np.sqrt(np.mean((model.low_rank_ - truth)[hidden] ** 2))


# -- The graph -------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 5, 30])
@pytest.mark.parametrize("chain", CHAINS, ids=repr)
def test_the_adjacency_is_that_of_the_definition(chain, n):
    A = chain(np.zeros((n, 2)))
    assert isinstance(A, sparse.csr_array)
    assert A.has_canonical_format
    np.testing.assert_array_equal(A.toarray(), expected(chain, range(n), n))
    np.testing.assert_array_equal(check_graph(A, n).toarray(), A.toarray())


@pytest.mark.parametrize("chain", [Chain(9), Chain(10**12), Chain(period=10**12)])
def test_lags_beyond_the_series_make_no_edges(chain):
    A = chain(np.zeros((5, 2))).toarray()
    np.testing.assert_array_equal(A, expected(chain, range(5), 5))
    assert np.isfinite(laplacian(Chain(period=7)(np.zeros((1, 2)))).toarray()).all()


def test_a_long_chain_has_a_few_edges_per_row():
    A = Chain(2, period=24)(np.zeros((100_000, 1)))
    assert A.nnz == 2 * (3 * 100_000 - 1 - 2 - 24)


@pytest.mark.parametrize("chain", CHAINS, ids=repr)
def test_the_smoothness_is_the_weighted_sum_of_squared_differences(chain, rng):
    Z = rng.standard_normal((20, 3))
    Phi = laplacian(chain(Z), "combinatorial")
    pairs = [(i, j) for i in range(20) for j in range(i)]
    total = sum(weight(chain, i - j) * np.sum((Z[i] - Z[j]) ** 2) for i, j in pairs)
    assert np.trace(Z.T @ (Phi @ Z)) == pytest.approx(total)


def test_values_gaps_and_errors_do_not_change_the_graph(rng):
    X = rng.standard_normal((12, 5))
    spoiled = 100 * X
    spoiled[3] = spoiled[7, 2] = np.nan
    chain = Chain(2, period=6)
    np.testing.assert_array_equal(chain(spoiled).toarray(), chain(X).toarray())
    reversed_rows = chain(X).toarray()[::-1, ::-1]
    np.testing.assert_array_equal(reversed_rows, chain(X).toarray())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": 0}, "steps=0 needs a period"),
        ({"steps": -1}, r"'steps' .* Chain must be an int .* \[0, inf\). Got -1"),
        ({"steps": 1.0}, "Got 1.0"),
        ({"steps": None}, "Got None"),
        ({"period": 1}, r"'period' .* an int in the range \[2, inf\) or None. Got 1"),
        ({"period": 24.0}, "or None. Got 24.0"),
        ({"period": "day"}, "or None. Got 'day'"),
        ({"period": 4, "n_periods": 0}, r"'n_periods' .* \[1, inf\). Got 0"),
        ({"n_periods": 2.0}, "'n_periods' .* must be an int .* Got 2.0"),
    ],
    ids=str,
)
def test_other_options_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        Chain(**options).fit(np.zeros((4, 2)))
    with pytest.raises(ValueError, match=message):
        RPCAG(graph=Chain(**options)).fit(np.eye(4))


def test_a_chain_can_be_cloned_pickled_and_searched(rng):
    X = rng.standard_normal((9, 3))
    chain = Chain(np.int64(2), period=np.int32(4))
    assert clone(chain).get_params() == {"steps": 2, "period": 4, "n_periods": 1}
    model = RPCAG(graph=Chain()).set_params(graph__steps=2, graph__period=4)
    np.testing.assert_array_equal(
        model.graph(X).toarray(), chain.fit(X).adjacency_.toarray()
    )
    again = pickle.loads(pickle.dumps(chain))
    new = rng.standard_normal((3, 3))
    np.testing.assert_array_equal(
        again.connect(new).toarray(), chain.connect(new).toarray()
    )


# -- New rows --------------------------------------------------------------------------


def new_rows(rng):
    """Rows of `fit`, new rows, and the times at which a chain takes new rows to be."""
    X = rng.standard_normal((12, 5))
    X[4:7] = X[9] = GAP  # outages
    X[10] = X[2]
    new = rng.standard_normal((4, 5))
    return X, {
        "new rows follow the last one": (new, [12, 13, 14, 15]),
        "a row that is not known, in an outage": ([GAP, GAP, new[0]], [12, 13, 14]),
        "all rows": (X, range(12)),
        "all rows and new ones": ([*X, *new], range(16)),
        "the end, and new ones": ([*X[8:], *new], range(8, 16)),
        "from an outage on": (X[5:9], range(5, 9)),
        "a part in which a row has changed": ([*X[:3], new[0], *X[4:8]], range(8)),
        "in another order": (X[[8, 0, 11, 3]], [8, 0, 11, 3]),
        "before the first": ([new[0], X[0]], [-1, 0]),
        "one": (X[7:8], [7]),
    }


@pytest.mark.parametrize("name", new_rows(np.random.default_rng(0))[1])
@pytest.mark.parametrize("chain", CHAINS, ids=repr)
def test_new_rows_continue_the_series_and_known_ones_keep_their_time(chain, name, rng):
    X, parts = new_rows(rng)
    rows, times = parts[name]
    A = clone(chain).fit(X).connect(rows)
    assert isinstance(A, sparse.csr_array)
    np.testing.assert_array_equal(A.toarray(), expected(chain, times, 12))


def test_equal_rows_that_are_all_given_again_keep_their_time():
    X = np.ones((6, 2))
    chain = Chain().fit(X)
    np.testing.assert_array_equal(
        chain.connect(X).toarray(), chain.adjacency_.toarray()
    )


def test_a_mask_is_as_good_as_nan(rng):
    X = rng.standard_normal((8, 3))
    seen = rng.random(X.shape) < 0.8
    chain = Chain().fit(X, mask=seen)
    again = chain.connect(np.where(seen, X, np.nan)[3:6])
    np.testing.assert_array_equal(again.toarray(), chain.adjacency_[3:6].toarray())


@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
def test_rows_of_fit_get_their_embedding_back_also_in_outages(kind, rng):
    X = series(rng, 80, 12) + 0.1 * rng.standard_normal((80, 12))
    X[30:33] = X[50] = np.nan
    options = {"lam": 0.3, "gamma": 0.3, "tol": 1e-7, "max_iter": 5000}
    model = RPCAG(graph="chain", laplacian=kind, **options)
    Z = model.fit_transform(X)
    assert np.linalg.norm(model.transform(X) - Z) < 2e-3 * np.linalg.norm(Z)
    assert np.linalg.norm(Z[31]) > 0.3 * np.linalg.norm(Z[29])


def test_blocks_of_new_rows_are_one_series(rng, monkeypatch):
    X = series(rng, 100, 12)
    model = RPCAG(graph=Chain(period=24), lam=0.3, gamma=0.3).fit(X[:60])
    multiple = MMMF(3, graphs=[Chain(), "knn"]).fit(X[:60])
    whole = model.transform(X), multiple.transform(X)
    monkeypatch.setattr(
        "rpcag.models.base.row_blocks",
        lambda shape: [slice(i, i + 7) for i in range(0, shape[0], 7)],
    )
    np.testing.assert_allclose(model.transform(X), whole[0], atol=1e-8)
    np.testing.assert_allclose(multiple.transform(X), whole[1], atol=1e-8)


def test_weights_that_are_given_come_before_those_of_the_chain(rng):
    X = series(rng, 60, 12)
    model = RPCAG(graph="chain", lam=0.3, gamma=1.0).fit(X[:50])
    alone = model.transform(X[50:], adjacency=np.zeros((10, 50)))
    assert np.abs(model.transform(X[50:]) - alone)[0].max() > 1e-3
    np.testing.assert_allclose(model.transform(X[50:])[1:], alone[1:], atol=1e-8)


# -- Models ----------------------------------------------------------------------------


def test_a_chain_fills_gaps_of_a_smooth_series_better_than_no_graph(rng):
    truth = series(rng, 300, 20, rank=8)
    X = truth + 0.5 * rng.standard_normal(truth.shape)
    hidden = rng.random(X.shape) < 0.1
    hidden[40] = hidden[200] = True  # times without any value
    X[hidden] = np.nan
    with_chain = RPCAG(graph="chain").fit(X)
    assert with_chain.gamma_ > 0
    assert error(with_chain, truth, hidden) < 0.8 * error(RPCA().fit(X), truth, hidden)
    outage = np.linalg.norm((with_chain.low_rank_ - truth)[[40, 200]])
    assert outage < 0.6 * np.linalg.norm(truth[[40, 200]])


def test_a_period_fills_days_without_values(rng):
    """Every sensor has its own drift, so that other sensors do not tell it."""
    models = [RPCAG(graph=Chain(period=24)), RPCAG(graph="chain"), RPCA()]
    errors = np.zeros(3)
    hours = 2 * np.pi * np.arange(480)[:, None] / 24
    for _ in range(4):  # on average: a chain says little about the middle of a day
        drift = series(rng, 480, 20, rank=20) / 4
        truth = np.sin(hours + rng.uniform(0, 6, 20)) + drift
        X = truth + 0.5 * rng.standard_normal(truth.shape)
        hidden = np.repeat(rng.random((20, 20)) < 0.1, 24, axis=0)
        X[hidden] = np.nan
        errors += [error(model.fit(X), truth, hidden) for model in models]
    with_period, with_chain, without = errors
    assert with_period < 0.95 * with_chain
    assert with_chain < 0.99 * without


def test_the_same_hour_of_several_days_fills_two_peaks_a_day():
    """Narrow peaks are not smooth in time, but they come again every day."""
    models = [
        RPCAG(graph=Chain(0, period=24, n_periods=3)),
        RPCAG(graph=Chain(period=24)),
        RPCAG(graph="chain"),
    ]
    errors = np.zeros((3, 2))
    for seed in range(2):
        rng = np.random.default_rng(seed)
        hours = np.arange(480)[:, None] % 24
        peaks = [
            rng.uniform(1, 3, 12) * np.exp(-((hours - rng.uniform(*when, 12)) ** 2) / 4)
            for when in ((6, 9), (16, 20))
        ]
        heights = np.repeat(1 + 0.15 * rng.standard_normal((20, 12)), 24, axis=0)
        truth = heights * (peaks[0] + peaks[1])
        X = truth + 0.3 * rng.standard_normal(truth.shape)
        single = rng.random(X.shape) < 0.05
        days = np.repeat(rng.random((20, 12)) < 0.08, 24, axis=0)
        X[single | days] = np.nan
        for k, model in enumerate(models):
            model.fit(X)
            errors[k] += [error(model, truth, gaps) for gaps in (single, days)]
    several, nearest, chain = errors
    assert several[1] < 0.85 * nearest[1] < 0.7 * chain[1]
    assert several[0] < 1.05 * nearest[0] < 0.9 * chain[0]


def test_the_name_is_the_builder_is_the_matrix(rng):
    X = series(rng, 60, 10) + 0.2 * rng.standard_normal((60, 10))
    fits = [RPCAG(graph=graph).fit(X) for graph in ("chain", Chain(), Chain()(X))]
    for model in fits:
        np.testing.assert_array_equal(model.low_rank_, fits[0].low_rank_)
        np.testing.assert_array_equal(
            model.adjacency_.toarray(), expected(Chain(), range(60), 60)
        )


@pytest.mark.parametrize("chain", [Chain(), Chain(period=24)], ids=repr)
def test_weights_are_chosen_on_rows_that_follow_each_other(chain, rng, monkeypatch):
    """Large data are judged by some rows, and random ones do not make a chain."""
    monkeypatch.setattr(parts, "ENTRIES", 4000)
    X = series(rng, 2000, 10) + 0.3 * rng.standard_normal((2000, 10))
    trials = []
    monkeypatch.setattr(
        "rpcag.models.rpcag.laplacian",
        lambda A, kind: trials.append(A) or laplacian(A, kind),
    )
    model = RPCAG(graph=chain).fit(X)
    assert model.weights_.n_rows == 400
    A = trials[0]
    rows = parts.connected_rows(model.adjacency_, X.shape)
    times = np.abs(rows[:, None] - rows)
    by_time = np.vectorize(lambda lag: weight(chain, lag))(times)
    np.testing.assert_array_equal(A.toarray(), by_time)
    assert A.sum() > 0.7 * model.adjacency_[rows].sum()  # most edges are kept
    assert model.gamma_ > 0
    assert model.adjacency_.shape == (2000, 2000)


def test_a_chain_that_does_not_help_has_no_weight(rng):
    X = rng.standard_normal((80, 3)) @ rng.standard_normal((3, 40))
    X += 0.05 * rng.standard_normal(X.shape)
    model = RPCAG(graph="chain").fit(X)
    assert model.gamma_ == 0
    alone = RPCA(lam=model.lam_).fit(X)
    np.testing.assert_allclose(model.low_rank_, alone.low_rank_, atol=1e-8)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "model",
    [
        RPCAG(graph="chain"),
        RPCAGCV(graph="chain", gammas=[0.1]),
        FRPCAG(graph="chain"),
        GLPCA(graph="chain"),
        RGLPCA(graph="chain"),
        MMF(graph="chain"),
        MMMF(graphs=["chain", "knn"]),
        GNMF(graph="chain"),
        NCuts(graph="chain"),
        LaplacianEigenmaps(graph="chain"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_every_model_takes_a_chain_and_embeds_the_next_rows(model, rng):
    X = np.abs(series(rng, 50, 8))
    Z = model.fit(X[:40]).transform(X[40:])
    assert Z.shape == (10, model.embedding_.shape[1])
    assert np.isfinite(Z).all()


@parametrize_with_checks([RPCAG(graph="chain")], expected_failed_checks=not_equivalent)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_ordered_features_are_smoothed_by_a_chain(rng):
    """Spectra: features are wavelengths. Without their order the chain is no help."""
    truth = rng.uniform(0.5, 1.5, (40, 3)) @ series(rng, 120, 3).T
    X = truth + 0.3 * rng.standard_normal(truth.shape)
    hidden = rng.random(X.shape) < 0.1
    X[hidden] = np.nan
    unit = {"gamma": "unit", "gamma_features": "unit"}
    model = FRPCAG(**unit, feature_graph="chain").fit(X)
    found = model.feature_adjacency_.toarray()
    np.testing.assert_array_equal(found, expected(Chain(), range(120), 120))
    order = rng.permutation(120)
    mixed = clone(model).fit(X[:, order])
    at_gaps = error(model, truth, hidden)
    assert at_gaps < 0.5 * error(mixed, truth[:, order], hidden[:, order])


# -- Dask ------------------------------------------------------------------------------


@pytest.fixture
def chunks():
    pytest.importorskip("distributed")
    arrays = pytest.importorskip("dask.array")
    with pytest.importorskip("dask").config.set(scheduler="synchronous"):
        yield lambda X: arrays.from_array(X, chunks=(len(X), 40))


@pytest.mark.dask
def test_a_chain_of_a_dask_array_is_that_of_numpy(rng, chunks):
    X = series(rng, 60, 80) + 0.1 * rng.standard_normal((60, 80))
    model = RPCAG(graph=Chain(2, period=24), lam=0.2, gamma=0.2)
    there = clone(model).fit(chunks(X))
    here = model.fit(X)
    np.testing.assert_array_equal(there.adjacency_.toarray(), here.adjacency_.toarray())
    scale = np.linalg.norm(here.low_rank_)
    assert np.linalg.norm(there.low_rank_.compute() - here.low_rank_) < 3e-2 * scale
    assert there.transform(X[:3] + 0.1).shape == (3, there.rank_)


@pytest.mark.dask
def test_weights_of_a_dask_array_are_chosen_with_the_chain(rng, chunks):
    X = series(rng, 60, 80, rank=8) + rng.standard_normal((60, 80))
    model = RPCAG(graph="chain", tol=1e-2)
    there = clone(model).fit(chunks(X))
    assert there.gamma_ > 0
    assert there.gamma_ == pytest.approx(model.fit(X).gamma_)


@pytest.mark.dask
def test_new_rows_of_a_dask_array_have_no_common_time(rng, chunks):
    X = series(rng, 60, 80)
    model = RPCAG(graph="chain", lam=0.2, gamma=0.2).fit(X)
    with pytest.raises(ValueError, match=r"graph='chain' needs rows .* X.compute\(\)"):
        model.transform(chunks(X))
    with pytest.raises(ValueError, match="give 'chain' if its rows are in time order"):
        RPCAG(graph="knn").fit(chunks(X))


# -- Commands --------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("decompose", "-o", "r"), ("cluster", "-k", "2")])
def test_commands_take_the_name(command, rng, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savetxt("table.csv", series(rng, 40, 8), delimiter=",")
    word, *options = command
    result = call(word, "table.csv", "--no-header", "--graph", "chain", *options)
    assert result.exit_code == 0, result.output
    if word == "decompose":
        A = sparse.load_npz("r/graph.npz").toarray()
        np.testing.assert_array_equal(A, expected(Chain(), range(40), 40))
