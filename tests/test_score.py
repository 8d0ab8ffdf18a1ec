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
from rpcag.models.problem import Problem
from rpcag.models.weights import choose

MODELS = [RPCA(), RPCAG(graph="knn"), FRPCAG(scale="robust")]
by_name = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


@pytest.fixture(scope="module")
def X():
    return StandardScaler().fit_transform(load_wine().data)


@by_name
def test_the_score_is_the_ratio_of_median_distances(model, X):
    """By another way: entry by entry, with the public methods."""
    fitted = clone(model).fit(X[::2])
    new = X[1::2]
    drawn = np.random.default_rng(SEED).random(new.shape) < 0.15
    L = fitted.inverse_transform(fitted.transform(np.where(drawn, np.nan, new)))
    left, total = [], []
    for i, j in zip(*np.nonzero(drawn), strict=True):
        middle = np.quantile(X[::2, j], 0.5, method="nearest")
        distances = np.abs(X[::2, j] - middle)
        deviation = np.quantile(distances, 0.95, method="nearest") / 1.96
        left.append(min(abs(new[i, j] - L[i, j]) / deviation, 5.0))
        total.append(min(abs(new[i, j] - middle) / deviation, 5.0))
    assert len(left) > 100
    expected = 1 - (np.median(left) / np.median(total)) ** 2
    assert fitted.score(new) == pytest.approx(expected, abs=1e-9)


def test_explained_is_the_same_measure(X):
    """That of the last iterate of a trial; here the problem is solved."""
    choice = choose(X)
    truth, predicted, columns = [], [], []
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
        columns.append(np.nonzero(hidden)[1])
    first = spread_of(np.where(hide(X), np.nan, X))
    parts = (np.concatenate(part) for part in (truth, predicted, columns))
    share, error = first.explained(*parts)
    assert share == pytest.approx(choice.explained, abs=0.02)
    assert error == pytest.approx(choice.explained_error, abs=0.02)


def test_perfect_is_one_and_the_median_is_zero(rng):
    truth = rng.standard_normal((200, 3))
    hidden = hide(truth)
    spread, columns = spread_of(truth), np.nonzero(hidden)[1]
    found = [
        spread.explained(truth[hidden], predicted, columns)
        for predicted in (truth[hidden], spread.center[columns], -3 * truth[hidden])
    ]
    assert found[:2] == [(1, 0), (0, 0)]
    share, error = found[2]
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
    edges = graph._graph.builder.connect(X[1::2])
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
    score = RPCA(lam="theory").fit(more).score(more)
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


def test_features_that_hardly_vary_do_not_count():
    """Digits have dark edges, where the median is as good as anything."""
    X = load_digits().data[:300]
    model = RPCA().fit(X)
    assert model.explained_ > 0.5
    assert model.weights_.explained_error < 0.05
    spread = spread_of(X[:, [0, 20, 27]])
    assert spread.common[0] > 0.9
    columns = np.repeat([0, 1, 2], 300)
    truth = X[:, [0, 20, 27]].T.ravel()
    wrong = np.where(columns == 0, 1e3, truth)  # the feature that hardly varies
    assert spread.explained(truth, wrong, columns)[0] == 1


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
    with pytest.raises(TypeError, match=r"score needs it in memory; pass some rows"):
        model.score(da.from_array(X))


@pytest.mark.slow
def test_more_structure_scores_higher():
    X = load_digits().data[:400]
    scores = [RPCA(d).fit(X[:300]).score(X[300:]) for d in (1, 5, None)]
    assert scores == sorted(scores)
