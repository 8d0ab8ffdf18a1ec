"""score: the share of the spread of hidden entries that is predicted."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.preprocessing import StandardScaler

from rpcag import FRPCAG, RPCA, RPCAG
from rpcag.models.hidden_entries import SEED, hide, spread_of
from rpcag.models.weights import choose
from rpcag.solvers.problem import Problem

MODELS = [RPCA(), RPCAG(graph="knn"), FRPCAG(scale="robust")]
by_name = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


@pytest.fixture(scope="module")
def X():
    return StandardScaler().fit_transform(load_wine().data)


@by_name
def test_the_score_is_the_ratio_of_truncated_squares(model, X):
    """By another way: entry by entry, with the public methods."""
    X = np.round(X, 1)  # some entries equal the median
    fitted = clone(model).fit(X[::2])
    new = X[1::2]
    drawn = np.random.default_rng(SEED).random(new.shape) < 0.15
    L = fitted.inverse_transform(fitted.transform(np.where(drawn, np.nan, new)))
    scale = np.ones(X.shape[1]) if fitted.scale_ is None else fitted.scale_
    old, new, L = X[::2] / scale, new / scale, L / scale
    units, left, median, mean, features = {}, [], [], [], []
    for i, j in zip(*np.nonzero(drawn), strict=True):
        middle = np.quantile(old[:, j], 0.5, method="nearest")
        distances = np.abs(old[:, j] - middle)
        distances = distances[distances > 0]
        units[j] = np.quantile(distances, 0.75, method="nearest") / 1.15
        left.append(abs(new[i, j] - L[i, j]))
        median.append(abs(new[i, j] - middle))
        mean.append(abs(new[i, j] - old[:, j].mean()))
        features.append(j)
    left, median, mean, features = map(np.array, (left, median, mean, features))
    assert len(left) > 100
    apart = median > 0
    tied = 1 - apart.mean()
    assert 0 < tied < 1
    middle = np.median(list(units.values()))
    unit = [units[j] ** (1 - tied) * middle**tied for j in features]
    left, median, mean = left / unit, median / unit, mean / unit
    gross = 3 * np.quantile(median[apart], 0.75) / 1.15
    total = 0.0
    for j in set(features):
        of = features == j
        total += min(np.sum(np.minimum(m[of], gross) ** 2) for m in (median, mean))
    gross = 3 * np.quantile(left[apart], 0.75) / 1.15
    expected = 1 - np.sum(np.minimum(left, gross) ** 2) / total
    assert fitted.score(X[1::2]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_features_of_which_half_are_ties_are_measured_alike(seed):
    rng = np.random.default_rng(seed)
    full = rng.standard_normal((300, 2)) @ rng.standard_normal((2, 6))
    truth = np.round(10 * (full + 0.1 * rng.standard_normal(full.shape))).clip(0)
    unit, squares, shares = truth.std(axis=0), np.zeros(2), []
    for _ in range(4):  # one has few gaps, whose errors have long tails
        gaps = rng.random(truth.shape) < 0.1
        X = np.where(gaps, np.nan, truth)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = RPCA().fit(X)
        for k, predicted in enumerate((model.low_rank_, np.nanmean(X, axis=0))):
            squares[k] += np.sum(((truth - predicted) / unit)[gaps] ** 2)
        shares.append(model.explained_)
        assert model.weights_.explained_error < 0.05
    expected = 1 - squares[0] / squares[1]
    assert np.mean(shares) == pytest.approx(expected, abs=0.15)


def test_the_share_changes_little_with_the_share_of_ties(rng):
    X = rng.standard_normal((3000, 1))
    shares = []
    for height in np.linspace(-2, 1.3, 34):  # 2 to 90 % of the entries are ties
        tied = np.maximum(X, height)
        noisy = tied + 0.4 * tied.std() * rng.standard_normal(X.shape)
        columns = np.zeros(len(X), int)
        shares.append(spread_of(tied).explained(tied[:, 0], noisy[:, 0], columns)[0])
    assert np.abs(np.diff(shares)).max() < 0.1
    assert 0.7 < min(shares) <= max(shares) < 0.95


def test_gross_errors_among_hidden_entries_count_little(rng):
    truth = rng.standard_normal((4000, 1))
    predicted = (truth + 0.3 * rng.standard_normal(truth.shape))[:, 0]
    columns = np.zeros(len(truth), int)
    for size in (5.0, 1e3, 1e300):
        wrong = rng.random(truth.shape) < 0.1
        X = np.where(wrong, size, truth)
        share, _ = spread_of(X).explained(X[:, 0], predicted, columns)
        assert share == pytest.approx(1 - 0.3**2, abs=0.03)


def test_explained_is_the_same_measure(X):
    """That of the last iterate of a trial; here the problem is solved."""
    choice = choose(X)
    truth, predicted, columns, seen = [], [], [], []
    for draw in range(6):
        if sum(map(len, truth)) == choice.n_hidden:
            break
        hidden = hide(X, draw)
        Y = np.where(hidden, np.nan, X)
        # The theory's lam grows as the share of the observed entries falls.
        lam = choice.lam / np.sqrt((~np.isnan(Y)).mean())
        L = Problem(Y, lam).solve(tol=1e-4, max_iter=2000).x
        truth.append(X[hidden])
        predicted.append(L[hidden])
        columns.append(draw * X.shape[1] + np.nonzero(hidden)[1])
        seen.append(Y)
    parts = (np.concatenate(part) for part in (truth, predicted, columns))
    share, error = spread_of(np.hstack(seen)).explained(*parts)
    assert share == pytest.approx(choice.explained, abs=0.02)
    assert error == pytest.approx(choice.explained_error, abs=0.02)


def test_perfect_is_one_and_a_constant_is_zero(rng):
    truth = rng.exponential(size=(3000, 3))
    hidden = hide(truth)
    spread, columns = spread_of(truth), np.nonzero(hidden)[1]
    constants = spread.center, spread.mean, 3 * spread.mean
    perfect, median, mean, wrong = (
        spread.explained(truth[hidden], predicted, columns)
        for predicted in (truth[hidden], *(c[columns] for c in constants))
    )
    assert perfect == (1, 0)
    # Not above zero: the better of the median and the mean is the measure.
    assert -0.25 < min(median[0], mean[0]) <= max(median[0], mean[0]) < 0.05
    share, error = wrong
    assert share + 2 * error < 0


def test_new_rows_of_a_low_rank_matrix_are_predicted(rng):
    V = rng.standard_normal((3, 40))
    model = RPCA(lam="theory").fit(rng.standard_normal((100, 3)) @ V)
    new = rng.standard_normal((50, 3)) @ V
    assert model.score(new) > 0.99
    wrong = rng.random(new.shape) < 0.05
    assert model.score(np.where(wrong, 100.0, new)) > 0.95
    assert model.score(rng.standard_normal((50, 40))) < 0.2


@pytest.mark.parametrize("scale", [None, "robust"])
def test_the_score_does_not_depend_on_the_unit(scale, X):
    one = RPCA(scale=scale, lam=0.2).fit(X[::2])
    for unit in (1e-3, 64.0, 1e9):
        other = RPCA(scale=scale, lam=0.2).fit(X[::2] * unit)
        assert other.score(X[1::2] * unit) == pytest.approx(
            one.score(X[1::2]), abs=1e-3
        )


@by_name
def test_scores_are_repeatable_and_take_gaps(model, X, rng):
    gaps = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    fitted = clone(model).fit(gaps[::2])
    assert fitted.score(gaps[1::2]) == fitted.score(gaps[1::2], y=None)
    assert 0.2 < fitted.score(gaps[1::2]) < 1


def test_a_grid_search_needs_no_scorer(X):
    search = GridSearchCV(RPCA(), {"lam": [0.01, 0.1, 0.2]}, cv=3).fit(X)
    assert search.best_params_["lam"] > 0.01
    assert search.score(X) == search.best_estimator_.score(X)
    scores = cross_val_score(RPCAG(graph="knn"), X, cv=3)
    assert scores.shape == (3,)
    assert (scores > 0.3).all()


def test_noise_has_no_predictable_spread(rng):
    X = rng.standard_normal((300, 20))
    assert abs(RPCA(lam="theory").fit(X[:200]).score(X[200:])) < 0.1


def test_names_and_data_frames_do_not_matter(X):
    frame = pd.DataFrame(X, columns=load_wine().feature_names)
    model = RPCA(lam=0.2).set_output(transform="pandas").fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model.score(frame) == RPCA(lam=0.2).fit(X).score(X)
    with pytest.raises(ValueError, match="feature names"):
        model.score(frame[frame.columns[::-1]])


def test_given_edges_are_used(X):
    graph = RPCAG(graph="knn", lam=0.2, gamma=0.1).fit(X[::2])
    edges = graph._graphs[0].builder.connect(X[1::2])
    given = RPCAG(graph=graph.adjacency_, lam=0.2, gamma=0.1).fit(X[::2])
    with_edges = given.score(X[1::2], adjacency=edges)
    assert with_edges > given.score(X[1::2])


def test_data_from_which_nothing_can_be_hidden_are_refused(X):
    model = RPCA().fit(X[:, :1])
    with pytest.raises(ValueError, match=r"shape \(3, 1\) has too few observed entr"):
        model.score(X[:3, :1])


def test_constant_and_unseen_features_do_not_count(rng):
    X = rng.standard_normal((100, 2)) @ rng.standard_normal((2, 20))
    more = np.column_stack([X, np.ones(100), np.full(100, np.nan)])
    score = RPCA().fit(more).score(more)
    assert score == pytest.approx(1, abs=0.01)
    assert RPCA().fit(np.ones((30, 4))).score(np.ones((5, 4))) == 0


def test_mostly_zeros_are_measured_by_mean_squares(rng):
    X = np.where(rng.random((400, 5)) < 0.1, rng.uniform(1, 2, (400, 5)), 0.0)
    spread, columns = spread_of(X), np.repeat(np.arange(5), 400)
    truth, means = X.T.ravel(), X.mean(axis=0)[columns]
    assert spread.explained(truth, truth, columns)[0] == 1
    share, error = spread.explained(truth, means, columns)
    assert share == pytest.approx(0, abs=1e-12)
    assert error < 0.02
    half = (truth + means) / 2
    assert 0.5 < spread.explained(truth, half, columns)[0] <= 0.75
    assert np.isnan(spread.explained(truth[:0], truth[:0], columns[:0])[0])
    constant = spread_of(np.zeros((9, 5)))
    assert constant.explained(truth, truth + 1, columns)[0] == 0


def test_features_that_hardly_vary_count_little():
    """Digits have dark edges, where the median is as good as anything."""
    X = load_digits().data[:300]
    model = RPCA().fit(X)
    assert model.explained_ > 0.5
    assert model.weights_.explained_error < 0.05
    some = X[:, [1, 20, 27]]
    assert (some[:, 0] == 0).mean() > 0.8
    columns = np.repeat([0, 1, 2], 300)
    truth = some.T.ravel()
    spread = spread_of(some)

    def share(of):
        predicted = np.where(columns == of, spread.center[columns], truth)
        return spread.explained(truth, predicted, columns)[0]

    assert share(0) > 0.8
    assert share(1) < 0.7


def test_every_row_keeps_an_entry(rng):
    X = np.where(rng.random((400, 6)) < 0.7, np.nan, 1.0)
    hidden = hide(X, axes=(1,))
    seen = ~np.isnan(X)
    assert hidden.any()
    assert (hidden <= seen).all()
    assert ((seen & ~hidden).any(axis=1) == seen.any(axis=1)).all()


@pytest.mark.dask
def test_a_dask_array_is_refused(X):
    da = pytest.importorskip("dask.array")
    model = RPCA(lam=0.2).fit(X)
    with pytest.raises(TypeError, match=r"needs it in memory; pass X\.compute\(\)"):
        model.score(da.from_array(X))


@pytest.mark.slow
def test_more_structure_scores_higher():
    X = load_digits().data[:400]
    scores = [RPCA(d).fit(X[:300]).score(X[300:]) for d in (1, 5, None)]
    assert scores == sorted(scores)
