"""What must not change the answer does not."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from rpcag import RPCA, RPCAG
from rpcag.graphs import KNNGraph

TIGHT = {"tol": 1e-6, "max_iter": 5000}
OPTIONS = {"lam": "theory", **TIGHT}
every_weight = pytest.mark.parametrize(
    "weights", [{}, {"gamma": "clustering"}], ids=["chosen", "rules"]
)


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    X = StandardScaler().fit_transform(load_digits().data[:80])
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def close(A, B, tolerance=2e-3):
    return np.linalg.norm(A - B) <= tolerance * np.linalg.norm(B)


def test_permuted_rows_and_columns_give_permuted_answers(X):
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(80), rng.permutation(64)
    model = RPCAG(gamma=0.1, **OPTIONS).fit(X)
    moved = RPCAG(gamma=0.1, **OPTIONS).fit(X[rows][:, columns])
    assert moved.objective_ == pytest.approx(model.objective_, rel=2e-6)
    assert close(moved.low_rank_, model.low_rank_[rows][:, columns])


@pytest.mark.parametrize("c", [1e-6, -3.0, 1e5])
def test_another_unit_scales_the_answer(X, c):
    model = RPCAG(gamma=0.1, **OPTIONS).fit(X)
    other = RPCAG(gamma=0.1 / abs(c), **OPTIONS).fit(c * X)
    assert other.objective_ == pytest.approx(abs(c) * model.objective_, rel=2e-6)
    assert close(other.low_rank_, c * model.low_rank_)


@every_weight
def test_weights_follow_the_unit(X, weights):
    model = RPCAG(**weights, **TIGHT).fit(X)
    other = RPCAG(**weights, **TIGHT).fit(1000 * X)
    assert other.lam_ == pytest.approx(model.lam_)
    assert other.gamma_ == pytest.approx(model.gamma_ / 1000)
    assert close(other.low_rank_, 1000 * model.low_rank_)


def test_gamma_zero_is_robust_pca(X):
    np.testing.assert_array_equal(
        RPCAG(lam="theory", gamma=0).fit(X).low_rank_,
        RPCA(lam="theory").fit(X).low_rank_,
    )


def test_small_gamma_comes_close_to_robust_pca(X):
    rpca = RPCA(**OPTIONS).fit(X)
    near = RPCAG(gamma=1e-7, **OPTIONS).fit(X)
    assert near.objective_ == pytest.approx(rpca.objective_, rel=1e-5)


@pytest.mark.slow
def test_a_graph_is_the_same_in_every_form(X):
    model = RPCAG(gamma="clustering", graph=KNNGraph(5), **OPTIONS).fit(X)
    A = KNNGraph(5)(X)
    forms = [A, sparse.coo_matrix(A), A.toarray(), sparse.csc_array(A), lambda X: A]
    for form in forms:
        other = RPCAG(gamma="clustering", graph=form, **OPTIONS).fit(X)
        assert close(other.low_rank_, model.low_rank_, 1e-6)


def test_single_precision_stays_single_and_close(X):
    double = RPCAG(lam="theory", gamma=0.1, tol=1e-5, max_iter=5000).fit(X)
    single = RPCAG(lam="theory", gamma=0.1, tol=1e-5, max_iter=5000).fit(
        X.astype(np.float32)
    )
    for name in ("low_rank_", "sparse_", "embedding_", "components_"):
        assert getattr(single, name).dtype == np.float32
    assert single.transform(X[:3].astype(np.float32)).dtype == np.float32
    assert single.objective_ == pytest.approx(double.objective_, rel=1e-4)
    assert close(single.low_rank_, double.low_rank_, 1e-3)


@every_weight
def test_repeated_fits_are_identical(X, weights):
    first, second = RPCAG(**weights).fit(X), RPCAG(**weights).fit(X)
    np.testing.assert_array_equal(first.low_rank_, second.low_rank_)
    np.testing.assert_array_equal(first.embedding_, second.embedding_)
    assert first.gap_ == second.gap_


@every_weight
def test_inputs_are_never_modified(X, weights):
    A = KNNGraph(5)(X)
    before, edges = X.copy(), A.copy()
    model = RPCAG(**weights, graph=A).fit(X)
    model.transform(X)
    np.testing.assert_array_equal(X, before)
    assert (A != edges).nnz == 0
    assert not np.shares_memory(model.low_rank_, X)
    assert not np.shares_memory(model.sparse_, X)


@every_weight
def test_parts_add_up_where_observed(X, weights):
    model = RPCAG(**weights).fit(X)
    seen = ~np.isnan(X)
    total = model.low_rank_ + model.sparse_
    np.testing.assert_allclose(total[seen], X[seen], atol=1e-12)
    assert np.all(model.sparse_[~seen] == 0)
    assert np.isfinite(model.low_rank_).all()


def test_fixed_graph_ignores_the_order_of_memory(X):
    np.testing.assert_array_equal(
        RPCA(lam="theory").fit(np.asfortranarray(X)).low_rank_,
        RPCA(lam="theory").fit(X).low_rank_,
    )
