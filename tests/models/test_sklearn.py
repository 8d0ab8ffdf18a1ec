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

from rpcag import (
    GLPCA,
    GNMF,
    MHMF,
    MMF,
    MMMF,
    RGLPCA,
    RPCA,
    RPCAG,
    RPCAGCV,
    LaplacianEigenmaps,
    NCuts,
)
from rpcag.graphs import CompleteGraph, KNNGraph, KNNHypergraph
from rpcag.models import MODELS as CLASSES

MODELS = [
    *(model() for model in CLASSES),
    RPCA(lam="theory"),
    RPCAG(gamma="clustering"),
    RPCAGCV(),
]


def not_equivalent(model) -> dict[str, str]:
    """Checks that a model is known to fail."""
    if not isinstance(model, RPCA):
        return {}
    reason = "the loss of a sample counts twice, its nuclear norm once"
    return {"check_sample_weight_equivalence_on_dense_data": reason}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::rpcag.PoorFitWarning")  # data of noise
@parametrize_with_checks(
    [
        *MODELS,
        RPCAG(gamma="clustering", graph="complete"),
        RPCAG(3),
        RPCA(noise="auto"),
        RPCA(loss="rows"),
        RPCAG(gamma="clustering", loss="both", noise=0.1),
    ],
    expected_failed_checks=not_equivalent,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return StandardScaler().fit_transform(X[:150]), y[:150]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_pickle_and_clone_keep_the_model(model, digits):
    X, _ = digits
    X = X - X.min()
    fitted = clone(model).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.embedding_, fitted.embedding_)
    np.testing.assert_array_equal(again.transform(X[:5]), fitted.transform(X[:5]))
    assert clone(fitted).get_params().keys() == fitted.get_params().keys()


def test_pipeline_and_grid_search_reach_the_graph(digits):
    X, y = digits
    pipeline = make_pipeline(
        StandardScaler(), RPCAG(5, lam="theory", graph=KNNGraph()), KMeans(10, n_init=1)
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
    model = RPCAG(3, gamma="clustering").set_output(transform="pandas").fit(X)
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
    options = {"lam": "theory", "gamma": 0.02, "tol": 1e-7, "max_iter": 5000}
    model = RPCAG(graph=graph, laplacian=laplacian, **options)
    Z = model.fit_transform(X)
    again = model.transform(X)
    assert np.linalg.norm(again - Z) < 2e-3 * np.linalg.norm(Z)


def test_transform_is_not_the_stored_answer(digits):
    X = digits[0]
    model = RPCAG(gamma="clustering").fit(X)
    changed = X[:1].copy()
    changed[0, 30:34] += 50.0  # a gross error in four pixels
    clean = model.transform(X[:1])
    moved = np.linalg.norm(model.transform(changed) - clean)
    plain = np.linalg.norm((changed - X[:1]) @ model.components_.T)
    assert 0 < moved < 0.2 * plain


def test_transform_pulls_new_rows_toward_their_neighbors(digits):
    X = digits[0]
    smooth = RPCAG(lam="theory", gamma=5.0).fit(X[:100])
    edges = smooth._graphs[0].builder.connect(X[100:])
    Z = smooth.transform(X[100:])
    free = smooth.transform(X[100:], adjacency=np.zeros((50, 100)))
    Phi_row = edges.multiply(1 / edges.sum(axis=1)[:, None])
    mean = Phi_row @ smooth.embedding_
    assert np.linalg.norm(Z - mean) < 0.7 * np.linalg.norm(free - mean)


def test_rows_are_transformed_one_by_one(digits):
    X = digits[0].copy()
    X[7, :20] = np.nan
    X[9] *= 1e3
    model = RPCAG(gamma="clustering").fit(X[:100])
    whole = model.transform(X)
    single = np.vstack([model.transform(X[i : i + 1]) for i in range(0, 150, 10)])
    np.testing.assert_allclose(whole[::10], single, rtol=1e-6, atol=1e-6)


def test_inverse_transform_maps_back_to_the_low_rank_rows(digits):
    X = digits[0]
    model = RPCAG(gamma="clustering").fit(X)
    np.testing.assert_allclose(
        model.inverse_transform(model.embedding_), model.low_rank_, atol=1e-8
    )
    np.testing.assert_allclose(
        model.components_ @ model.components_.T, np.eye(model.rank_), atol=1e-10
    )


FITTED_AGAIN = [
    GLPCA(6, beta=0.3),
    GLPCA(6, beta=0.3, laplacian="combinatorial"),
    GLPCA(6, beta=0.7, laplacian="combinatorial", drop_constant=True),
    GLPCA(6, graph=CompleteGraph(sigma2=1.0)),
    RGLPCA(6, beta=0.3, tol=1e-7, max_iter=3000),
    RGLPCA(6, beta=0.6, laplacian="combinatorial", tol=1e-7, max_iter=3000),
    RGLPCA(6, gamma=0.0, tol=1e-6),
    MMF(6, gamma=3.0),
    MMF(6, gamma=3.0, laplacian="combinatorial"),
    MMMF(6),
    MMMF(6, laplacian="combinatorial", graphs=["knn", CompleteGraph(sigma2=1.0)]),
    MHMF(6),
    MHMF(6, graphs=[KNNHypergraph(3)]),
    GNMF(6, gamma=3.0, tol=1e-8, max_iter=5000),
    GNMF(6, gamma=0.3, laplacian="combinatorial", tol=1e-8, max_iter=5000),
    NCuts(6),
    NCuts(6, graph=CompleteGraph(sigma2=1.0), drop_first=True),
    LaplacianEigenmaps(6),
]


@pytest.mark.parametrize("model", FITTED_AGAIN, ids=repr)
def test_every_model_gives_fitted_rows_their_embedding_back(digits, model):
    """The equations of a single row have the fitted rows as their solutions."""
    X = digits[0] - digits[0].min()
    Q = model.fit_transform(X)
    again = model.transform(X)
    assert np.linalg.norm(again - Q) < 2e-3 * np.linalg.norm(Q)
    one = model.transform(X[7:8])
    np.testing.assert_allclose(one, again[7:8], atol=1e-6 * np.abs(Q).max())


@pytest.mark.parametrize("model", FITTED_AGAIN, ids=repr)
def test_new_rows_of_every_model_land_near_their_like(digits, model):
    """Rows that were held out are closer to the mean of their digit than to others'."""
    X, y = digits[0] - digits[0].min(), digits[1]
    model.fit(X[:120])
    Z = model.transform(X[120:])
    means = np.array([model.embedding_[y[:120] == c].mean(axis=0) for c in range(10)])
    nearest = np.linalg.norm(Z[:, None] - means, axis=2).argmin(axis=1)
    assert np.mean(nearest == y[120:]) > 0.6


@pytest.mark.slow
def test_single_precision_in_and_out(digits):
    X = (digits[0] - digits[0].min()).astype(np.float32)
    for model in MODELS:
        fitted = clone(model).fit(X)
        assert fitted.embedding_.dtype == np.float32
        assert fitted.transform(X).dtype == np.float32


WITHOUT_UNIT = (GLPCA, RGLPCA, NCuts)  # orthonormal embeddings, eigenmaps included


@pytest.mark.parametrize("model", MODELS[:-1], ids=repr)
@pytest.mark.parametrize("c", [2.0**-600, 2.0**400])
def test_the_unit_of_the_data_does_not_matter(digits, model, c):
    """Not even where squares of X vanish, or are as large as numbers get."""
    X = digits[0][:60] - digits[0].min()
    plain, scaled = (
        clone(model).set_params(n_components=3).fit(data) for data in (X, c * X)
    )
    unit = 1 if isinstance(model, WITHOUT_UNIT) else c
    np.testing.assert_allclose(
        scaled.embedding_ / unit, plain.embedding_, atol=1e-2, rtol=1e-2
    )
