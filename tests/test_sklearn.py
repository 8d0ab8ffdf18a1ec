"""The estimators are scikit-learn estimators."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rpcag import RPCA, RPCAG, RPCAGCV
from rpcag.graphs import CompleteGraph, KNNGraph

MODELS = [RPCA(), RPCAG(), RPCAGCV()]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([*MODELS, RPCAG(graph="complete"), RPCAG(3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return StandardScaler().fit_transform(X[:150]), y[:150]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_pickle_and_clone_keep_the_model(model, digits):
    X, _ = digits
    fitted = clone(model).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.low_rank_, fitted.low_rank_)
    np.testing.assert_array_equal(again.transform(X[:5]), fitted.transform(X[:5]))
    assert clone(fitted).get_params().keys() == fitted.get_params().keys()


def test_pipeline_and_grid_search_reach_the_graph(digits):
    X, y = digits
    pipeline = make_pipeline(
        StandardScaler(), RPCAG(5, graph=KNNGraph()), KMeans(10, n_init=1)
    )
    search = GridSearchCV(
        pipeline,
        {"rpcag__gamma": [0.01, 0.1], "rpcag__graph__n_neighbors": [5, 10]},
        cv=2,
    ).fit(X, y)
    assert search.best_estimator_["rpcag"].embedding_.shape[1] == 5
    assert len(search.cv_results_["params"]) == 4


def test_pandas_in_and_out(digits):
    X = pd.DataFrame(digits[0][:, :10], columns=[f"pixel{i}" for i in range(10)])
    model = RPCAG(3).set_output(transform="pandas").fit(X)
    Z = model.transform(X)
    assert list(Z.columns) == ["rpcag0", "rpcag1", "rpcag2"]
    assert list(model.feature_names_in_) == list(X.columns)
    assert list(model.get_feature_names_out()) == list(Z.columns)


@pytest.mark.parametrize("graph", [KNNGraph(), CompleteGraph(sigma2=1.0)])
@pytest.mark.parametrize("laplacian", ["normalized", "combinatorial"])
def test_transform_gives_fitted_rows_their_embedding_back(digits, graph, laplacian):
    """The row problem has the fitted rows as its solutions: its derivation, tested."""
    X = digits[0].copy()
    X[::3, 5] = np.nan
    model = RPCAG(graph=graph, laplacian=laplacian, gamma=0.02, tol=1e-7, max_iter=5000)
    Z = model.fit_transform(X)
    again = model.transform(X)
    assert np.linalg.norm(again - Z) < 2e-3 * np.linalg.norm(Z)


def test_transform_is_not_the_stored_answer(digits):
    X = digits[0]
    model = RPCAG().fit(X)
    changed = X[:1].copy()
    changed[0, 30:34] += 50.0  # a gross error in four pixels
    clean = model.transform(X[:1])
    moved = np.linalg.norm(model.transform(changed) - clean)
    plain = np.linalg.norm((changed - X[:1]) @ model.components_.T)
    assert 0 < moved < 0.2 * plain


def test_transform_pulls_new_rows_towards_their_neighbours(digits):
    X = digits[0]
    smooth = RPCAG(gamma=5.0).fit(X[:100])
    edges = smooth._graph.builder.connect(X[100:])
    Z = smooth.transform(X[100:])
    free = smooth.transform(X[100:], adjacency=np.zeros((50, 100)))
    Phi_row = edges.multiply(1 / edges.sum(axis=1)[:, None])
    mean = Phi_row @ smooth.embedding_
    assert np.linalg.norm(Z - mean) < 0.7 * np.linalg.norm(free - mean)


def test_rows_are_transformed_one_by_one(digits):
    X = digits[0].copy()
    X[7, :20] = np.nan
    X[9] *= 1e3
    model = RPCAG().fit(X[:100])
    whole = model.transform(X)
    single = np.vstack([model.transform(X[i : i + 1]) for i in range(0, 150, 10)])
    np.testing.assert_allclose(whole[::10], single, rtol=1e-6, atol=1e-6)


def test_inverse_transform_maps_back_to_the_low_rank_rows(digits):
    X = digits[0]
    model = RPCAG().fit(X)
    np.testing.assert_allclose(
        model.inverse_transform(model.embedding_), model.low_rank_, atol=1e-8
    )
    np.testing.assert_allclose(
        model.components_ @ model.components_.T, np.eye(model.rank_), atol=1e-10
    )
