"""scale="robust" and scale="standard": features in one unit, answers in that of X."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from rpcag import FRPCAG, RPCA, RPCAG, RPCAGCV
from rpcag.models.scaling import center_and_scale, ratio_of_scales, standardize
from test_sklearn import not_equivalent

PRECISE = {"tol": 1e-7, "max_iter": 20000}
MODELS = [
    RPCA(lam=0.2, **PRECISE),
    RPCAG(lam=0.2, gamma=0.02, **PRECISE),
    FRPCAG(**PRECISE | {"tol": 1e-6}),
]
by_name = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
by_kind = pytest.mark.parametrize("kind", ["robust", "standard"])


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [RPCA(scale="robust"), FRPCAG(scale="standard")],
    expected_failed_checks=not_equivalent,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def X():
    """Features in units from 0.1 to 1000, with gaps and a few gross errors."""
    rng = np.random.default_rng(0)
    X = load_wine().data.copy()
    X[rng.random(X.shape) < 0.05] = np.nan
    X[rng.integers(0, len(X), 10), rng.integers(0, 13, 10)] *= 20
    return X


def close(A, B, unit, tolerance=1e-4):
    return np.linalg.norm((A - B) / unit) <= tolerance * np.linalg.norm(B / unit)


@by_name
def test_standard_is_a_fit_to_the_output_of_the_standard_scaler(model, X):
    scaler = StandardScaler().fit(X)
    if isinstance(model, FRPCAG):  # automatic weights would center by medians again
        model = clone(model).set_params(gamma="unit", gamma_features="unit")
    ours = clone(model).set_params(scale="standard").fit(X)
    oracle = clone(model).fit(scaler.transform(X))
    np.testing.assert_allclose(ours.center_, scaler.mean_)
    np.testing.assert_allclose(ours.scale_, scaler.scale_)
    L = scaler.inverse_transform(oracle.low_rank_)
    np.testing.assert_allclose(ours.low_rank_, L, rtol=1e-5)
    S = oracle.sparse_ * scaler.scale_
    np.testing.assert_allclose(ours.sparse_ / ours.scale_, S / ours.scale_, atol=1e-5)
    assert ours.objective_ == pytest.approx(oracle.objective_, rel=1e-6)
    Z = oracle.transform(scaler.transform(X[:20]))
    np.testing.assert_allclose(ours.transform(X[:20]), Z, atol=1e-4)


def test_robust_is_a_clipped_mean_and_a_deviation_of_the_tails(X):
    center, scale = center_and_scale(X, "robust")
    for j, column in enumerate(X.T):
        seen = np.sort(column[~np.isnan(column)])
        low, middle, high = np.quantile(seen, [0.25, 0.5, 0.75])
        quartile = (high - low) / 1.349
        low, high = middle - 2.5 * quartile, middle + 2.5 * quartile
        clipped = [min(max(x, low), high) for x in seen]
        assert center[j] == pytest.approx(sum(clipped) / len(clipped))
        tail = np.quantile(np.abs(seen - middle), 0.95) / 1.96
        assert scale[j] == pytest.approx(min(max(tail, quartile), 2.5 * quartile))
    spoiled = X.copy()
    spoiled[::5] *= 1e9
    moved, stretched = center_and_scale(spoiled, "robust")
    assert (np.abs(moved - center) < scale).all()
    assert (stretched < 5 * scale).all()


@by_kind
@by_name
def test_parts_add_up_in_the_unit_of_X(model, kind, X):
    fitted = clone(model).set_params(scale=kind, tol=1e-3).fit(X)
    seen = ~np.isnan(X)
    total = fitted.low_rank_ + fitted.sparse_
    np.testing.assert_allclose(total[seen], X[seen], rtol=1e-12, atol=1e-12)
    assert (fitted.sparse_[~seen] == 0).all()
    product = fitted.embedding_ @ fitted.components_
    assert close(
        product * fitted.scale_ + fitted.center_, fitted.low_rank_, fitted.scale_, 1e-9
    )
    back = fitted.inverse_transform(fitted.embedding_)
    assert close(back, fitted.low_rank_, fitted.scale_, 1e-9)


@by_kind
@by_name
def test_the_unit_of_a_feature_does_not_matter(model, kind, X):
    units, offsets = np.ones(13), np.zeros(13)
    units[3], units[7], offsets[5] = 1000, 1e-4, 50
    model = clone(model).set_params(scale=kind)
    one, two = clone(model).fit(X), clone(model).fit(X * units + offsets)
    L = one.low_rank_ * units + offsets
    assert close(two.low_rank_, L, two.scale_)
    np.testing.assert_allclose(two.low_rank_[:, 3], 1000 * one.low_rank_[:, 3], 1e-4)
    new = X[:10] * 1.1
    Z, W = one.transform(new), two.transform(new * units + offsets)
    restored = one.inverse_transform(Z) * units + offsets
    assert close(two.inverse_transform(W), restored, two.scale_)


@by_name
def test_the_order_of_features_does_not_matter(model, X):
    order = np.random.default_rng(1).permutation(13)
    model = clone(model).set_params(scale="robust")
    one, two = clone(model).fit(X), clone(model).fit(X[:, order])
    assert close(two.low_rank_, one.low_rank_[:, order], two.scale_)


def test_powers_of_two_change_nothing_but_the_unit(X):
    units = 2.0 ** np.arange(-300, 350, 50)
    one = RPCAG(scale="robust").fit(X)
    two = RPCAG(scale="robust").fit(X * units)
    np.testing.assert_array_equal(two.low_rank_, one.low_rank_ * units)
    np.testing.assert_array_equal(two.embedding_, one.embedding_)
    assert (two.gamma_, two.explained_) == (one.gamma_, one.explained_)


@by_kind
@pytest.mark.parametrize("unit", [1e-310, 1e-200, 1e200, 1e305])
def test_extreme_units_give_the_same_split(kind, unit, X):
    one, two = RPCA(scale=kind).fit(X), RPCA(scale=kind).fit(X * unit)
    assert two.explained_ == pytest.approx(one.explained_, abs=0.01)
    assert close(two.low_rank_ / unit, one.low_rank_, one.scale_, 0.01)


def test_single_precision_stays_single(X):
    single = RPCAG(scale="robust", lam=0.2, gamma=0.02).fit(X.astype(np.float32))
    double = RPCAG(scale="robust", lam=0.2, gamma=0.02).fit(X)
    for array in (single.low_rank_, single.sparse_, single.embedding_):
        assert array.dtype == np.float32
    Z = single.transform(X[:5].astype(np.float32))
    assert Z.dtype == single.inverse_transform(Z).dtype == np.float32
    assert close(single.low_rank_, double.low_rank_, double.scale_, 1e-2)


@by_kind
def test_constant_features_are_only_centered(kind, X):
    X = np.column_stack([X, np.full(len(X), 7.5), np.full(len(X), np.nan)])
    X[::2, 13] += 1e-15  # constant up to rounding
    model = RPCA(scale=kind).fit(X)
    np.testing.assert_array_equal(model.scale_[13:], 1)
    np.testing.assert_allclose(model.center_[13:], [7.5, 0], rtol=1e-12)
    np.testing.assert_allclose(model.low_rank_[:, 13], 7.5)
    np.testing.assert_allclose(model.low_rank_[:, 14], 0, atol=1e-12)


def test_graphs_are_built_from_the_scaled_data(X):
    seen = []

    def graph(rows):
        seen.append(rows)
        return np.ones((len(rows), len(rows))) - np.eye(len(rows))

    model = RPCAG(scale="robust", lam=0.2, gamma=0.02, graph=graph).fit(X)
    expected = (X - model.center_) / model.scale_
    np.testing.assert_allclose(seen[0], expected)
    automatic = RPCAG(scale="robust", lam=0.2, gamma=0.02, graph="knn").fit(X)
    other = RPCAG(lam=0.2, gamma=0.02, graph="knn").fit(expected)
    np.testing.assert_allclose(
        automatic.adjacency_.toarray(), other.adjacency_.toarray(), atol=1e-12
    )


@pytest.mark.parametrize("model", MODELS[1:], ids=lambda m: type(m).__name__)
def test_fitted_rows_are_embedded_where_they_were(model, X):
    fitted = clone(model).set_params(scale="robust", graph="knn").fit(X)
    Z = fitted.transform(X)
    assert np.linalg.norm(Z - fitted.embedding_) < 0.02 * np.linalg.norm(Z)


def test_a_warm_start_survives_another_unit(X):
    model = RPCA(lam=0.2, scale="robust", warm_start=True, tol=1e-6).fit(X)
    cold = model.n_iter_
    model.fit(X * 1000)
    assert model.n_iter_ < cold / 2


def test_a_stopped_fit_continues_from_its_checkpoint(X, tmp_path):
    path = tmp_path / "fit.npz"
    options = {"lam": 0.2, "gamma": 0.02, "graph": "knn", "scale": "robust"}
    options |= {"tol": 1e-6}
    whole = RPCAG(**options).fit(X)

    def killed(progress):
        if progress.n_iter == 20:
            raise KeyboardInterrupt

    saves = {"checkpoint": path, "checkpoint_seconds": 0}
    with pytest.raises(KeyboardInterrupt):
        RPCAG(**options, **saves, callback=killed).fit(X)
    assert path.exists()
    model = RPCAG(**options, checkpoint=path).fit(X)
    np.testing.assert_array_equal(model.low_rank_, whole.low_rank_)
    assert not path.exists()


def test_a_model_keeps_what_it_learned(X):
    model = RPCAG(scale="standard").fit(X)
    Z = model.transform(X[:5])
    again = pickle.loads(pickle.dumps(model)).set_params(scale=None)
    np.testing.assert_array_equal(again.transform(X[:5]), Z)
    np.testing.assert_array_equal(
        again.inverse_transform(Z), model.inverse_transform(Z)
    )
    again.set_params(lam=0.2, gamma=0).fit(X)
    assert again.center_ is None
    assert again.scale_ is None
    np.testing.assert_array_equal(again.low_rank_, RPCA(lam=0.2).fit(X).low_rank_)


@pytest.mark.slow
def test_the_search_on_a_grid_scales_too(X):
    options = {"gammas": [0.0, 0.02, 0.2]}
    scaler = StandardScaler().fit(X)
    ours = RPCAGCV(scale="standard", **options).fit(X)
    oracle = RPCAGCV(**options).fit(scaler.transform(X))
    assert ours.gamma_ == pytest.approx(oracle.gamma_)
    assert close(
        ours.low_rank_, scaler.inverse_transform(oracle.low_rank_), ours.scale_
    )


@pytest.mark.parametrize("wrong", ["max", True, 2.0, ("robust",)])
@by_name
def test_other_scales_are_refused(model, wrong):
    with pytest.raises(ValueError, match=r"'scale' .* must be a str among"):
        clone(model).set_params(scale=wrong).fit(np.eye(5))


def test_entries_that_cannot_be_scaled_are_named(X):
    far = X.copy()
    far[3, 4] = 1.7e308
    center, scale = center_and_scale(X * 1e-5, "robust")
    with pytest.raises(ValueError, match=r"1\.7e\+308 in row 3, column 4, .*; resc"):
        standardize(far, center, scale)
    model = RPCA(scale="robust").fit(X * 1e-5)
    with pytest.raises(ValueError, match=r"1\.7e\+308 in row 3, column 4, .*; resc"):
        model.transform(far)


def test_a_result_beyond_the_unit_of_X_is_refused(X):
    model = RPCA(1, scale="robust").fit(X * 1e300)
    with pytest.raises(ValueError, match="overflows float64 in the unit of X"):
        model.inverse_transform([[1e30]])


def test_units_are_told_apart():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3)) * [1, 1, 50]
    assert ratio_of_scales(X) == pytest.approx(50, rel=0.3)
    X = np.column_stack([X, np.ones(200), np.full(200, np.nan)])
    assert ratio_of_scales(X) == pytest.approx(50, rel=0.3)
    assert ratio_of_scales(np.ones((5, 2))) == 1
    assert ratio_of_scales(np.full((5, 2), np.nan)) == 1
    assert ratio_of_scales(load_wine().data) > 1000
    # Pixels of one camera, of which those at the edges hardly vary.
    assert ratio_of_scales(load_digits().data) < 10
    # One feature of many that is much larger counts, one that is much smaller does not.
    X = rng.standard_normal((200, 50))
    X[:, 3] *= 1000
    assert ratio_of_scales(X) > 300
    X[:, 3] *= 1e-6
    assert ratio_of_scales(X) < 3


@pytest.mark.dask
@pytest.mark.slow
@by_kind
def test_dask_arrays_are_scaled_where_they_are(kind, X):
    da = pytest.importorskip("dask.array")
    near = RPCA(scale=kind).fit(X)
    lazy = da.from_array(X, chunks=(60, 5))
    far = RPCA(scale=kind).fit(lazy)
    np.testing.assert_allclose(far.center_, near.center_)
    np.testing.assert_allclose(far.scale_, near.scale_)
    assert far.explained_ == pytest.approx(near.explained_)
    assert close(far.low_rank_.compute(), near.low_rank_, near.scale_, 1e-2)
    total = (far.low_rank_ + far.sparse_).compute()
    seen = ~np.isnan(X)
    np.testing.assert_allclose(total[seen], X[seen], rtol=1e-9)
    Z = far.transform(lazy)
    np.testing.assert_allclose(Z.compute(), far.transform(X))
    np.testing.assert_allclose(
        far.inverse_transform(Z).compute(), far.inverse_transform(Z.compute())
    )
    assert far.score(X) == pytest.approx(near.score(X), abs=0.05)
    with pytest.raises(ValueError, match="X contains infinity"):
        RPCA(scale=kind).fit(da.where(lazy > 20, np.inf, lazy))
