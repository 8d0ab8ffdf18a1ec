"""Gaps are filled, wrong cells are found, everything else stays as it is."""

import importlib
import tracemalloc
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from rpcag.datasets import make_sensors
from rpcag.tables import OutlierDetector, RobustImputer, repair_matrix
from rpcag.tables.cross_prediction import CELLS, FEWEST, MOST, Folds
from rpcag.tables.false_discoveries import score_threshold
from rpcag.tables.fill_values import fill_values
from rpcag.tables.intervals import chances_correct
from rpcag.tables.prediction_error import PredictionError, _median_of_others


@pytest.fixture
def spoiled(rng):
    """Truth of rank 3 with noise; 10 % gaps, 3 % wrong cells."""
    truth = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 12))
    truth += 0.1 * rng.normal(size=truth.shape)
    wrong = rng.random(truth.shape) < 0.03
    X = truth + wrong * rng.choice([-1, 1], truth.shape) * 5
    gaps = rng.random(truth.shape) < 0.1
    X[gaps] = np.nan
    return X, truth, gaps, wrong & ~gaps


def test_observed_values_come_back_bit_for_bit(spoiled):
    X, _, gaps, _ = spoiled
    filled = RobustImputer().fit_transform(X)
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[~gaps], X[~gaps])


def test_wrong_cells_are_found_and_replaced(spoiled):
    X, truth, gaps, wrong = spoiled
    imputer = RobustImputer(repair=True)
    repaired = imputer.fit_transform(X)
    found = imputer.outliers_
    assert (found & wrong).sum() >= 0.98 * wrong.sum()
    assert (found & wrong).sum() >= 0.95 * found.sum()
    np.testing.assert_array_equal(repaired[~gaps & ~found], X[~gaps & ~found])
    error = np.sqrt(np.mean((repaired - truth)[gaps | found] ** 2))
    assert error < 0.2  # noise of 0.1 in every predictor
    scores = imputer.outlier_scores_
    assert np.nanmin(scores[found]) >= imputer.threshold_
    np.testing.assert_array_equal(np.isnan(scores), gaps)


def test_hardly_any_cell_of_clean_data_is_wrong(rng):
    X = rng.normal(size=(500, 3)) @ rng.normal(size=(3, 20))
    X += 0.3 * rng.normal(size=X.shape)
    assert RobustImputer().fit(X).outliers_.mean() < 1e-3


def test_the_unit_of_a_feature_does_not_matter(spoiled):
    X, _, _, _ = spoiled
    units = 2.0 ** np.arange(-6, 6)
    a, b = RobustImputer().fit(X), RobustImputer().fit(X * units)
    np.testing.assert_array_equal(a.outliers_, b.outliers_)
    np.testing.assert_allclose(a.low_rank() * units, b.low_rank(), rtol=1e-6)


@pytest.mark.parametrize("errors", [0.0, 0.1])
def test_intervals_cover_the_truth(errors, rng):
    hit = []
    for _ in range(5):
        truth = rng.normal(size=(400, 3)) @ rng.normal(size=(3, 10))
        truth += 0.3 * rng.normal(size=truth.shape)
        wrong = rng.random(truth.shape) < errors
        X = truth + wrong * rng.uniform(3, 10, truth.shape)
        gaps = rng.random(truth.shape) < 0.1
        X[gaps] = np.nan
        lower, upper = RobustImputer().fit(X).predict_interval(alpha=0.1)
        assert np.isnan(lower[~gaps]).any()
        assert not np.isnan(lower[gaps]).any()
        hit.append(((lower <= truth) & (truth <= upper))[gaps].mean())
    assert 0.88 < np.mean(hit) < (0.94 if errors else 0.92)


@pytest.mark.parametrize("rank", [2, 4])
def test_exactly_low_rank_tables_are_filled_exactly(rank, rng):
    truth = rng.normal(size=(200, rank)) @ rng.normal(size=(rank, 15))
    gaps = rng.random(truth.shape) < 0.1
    filled = RobustImputer().fit_transform(np.where(gaps, np.nan, truth))
    assert np.sqrt(np.mean((filled - truth)[gaps] ** 2)) < 2e-3 * truth.std()


@pytest.mark.slow
def test_memory_is_a_few_tables():
    """Without a graph; with one, tables of this size take about three times as much."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(21_000, 3)) @ rng.normal(size=(3, 50))
    X += rng.normal(size=X.shape)
    X[rng.random(X.shape) < 0.01] += 30
    X[rng.random(X.shape) < 0.07] = np.nan
    tracemalloc.start()
    RobustImputer(repair=True, gamma=0.0).fit_transform(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10 * X.nbytes


def test_cells_are_predicted_without_the_neighbors_that_they_chose(rng):
    """Pure noise: whatever predicts it has seen it."""
    X = rng.normal(size=(120, 8))
    imputer = RobustImputer(lam=0.3, gamma=0.5).fit(X)
    assert imputer.explained_.max() < 0.15


def test_the_scale_of_a_cell_does_not_depend_on_its_own_error(rng):
    errors, predicted = rng.normal(size=(2, 50, 4))
    counted = np.ones(errors.shape, bool)
    sizes = PredictionError(errors, predicted, counted)
    scale = sizes.scale(predicted, sizes.row_factors(errors, predicted))
    errors[7, 2] *= 1000
    moved = sizes.scale(predicted, sizes.row_factors(errors, predicted))
    assert moved[7, 2] == scale[7, 2]
    assert (moved[7, [0, 1, 3]] >= scale[7, [0, 1, 3]]).all()
    others = [np.median(np.abs(np.delete(row, 2))) for row in errors]
    found, n_others = _median_of_others(np.abs(errors))
    np.testing.assert_array_equal(found[:, 2], others)
    assert (n_others == 3).all()


def test_few_values_among_zeros_are_not_wrong(rng):
    X = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 6))
    X[:, 3] = np.where(rng.random(300) < 0.05, rng.integers(1, 17, 300), 0)
    assert not RobustImputer().fit(X).outliers_[:, 3].any()


def test_new_rows_are_filled_and_repaired(spoiled):
    X, truth, gaps, wrong = spoiled
    imputer = RobustImputer(repair=True).fit(X[:200])
    repaired = imputer.transform(X[200:])
    found = imputer.find_outliers(X[200:])
    changed = gaps[200:] | found
    error = (repaired - truth[200:])[changed]
    assert np.sqrt(np.mean(error**2)) < 0.2
    assert (found & wrong[200:]).sum() >= 0.9 * wrong[200:].sum()
    lower, upper = imputer.predict_interval(X[200:])
    assert (lower <= upper)[changed].all()


def test_what_is_found_in_a_row_does_not_depend_on_others(spoiled):
    X, *_ = spoiled
    imputer = RobustImputer(repair=True).fit(X[:200])
    together = imputer.score_cells(X[200:])
    alone = np.vstack([imputer.score_cells(row[None]) for row in X[200:210]])
    np.testing.assert_allclose(together[:10], alone, rtol=1e-3)


def test_columns_that_cannot_be_predicted_get_the_median(spoiled, rng):
    X, *_ = spoiled
    noise = rng.normal(size=(len(X), 1))
    noise[::7] = np.nan
    imputer = RobustImputer()
    filled = imputer.fit_transform(np.hstack([X, noise]))
    assert imputer.explained_[-1] <= 0.02
    assert imputer.explained_[:-1].min() > 0.8
    if imputer.explained_[-1] <= 0:
        np.testing.assert_allclose(filled[::7, -1], np.nanmedian(noise))


def test_a_rare_class_is_not_wrong(spoiled, rng):
    X, *_ = spoiled
    rare = (rng.random((len(X), 1)) < 0.04).astype(float)
    imputer = RobustImputer().fit(np.hstack([X, rare]))
    assert not imputer.outliers_[:, -1].any()


def test_empty_and_constant_features_are_as_in_other_imputers(spoiled):
    X, *_ = spoiled
    X = np.hstack([X, np.full((len(X), 1), np.nan), np.full((len(X), 1), 7.0)])
    X[0, -1] = np.nan
    with pytest.warns(UserWarning, match="observed value are dropped: 'x12'; keep"):
        filled = RobustImputer().fit_transform(X)
    assert filled.shape[1] == X.shape[1] - 1
    assert (filled[:, -1] == 7).all()
    kept = RobustImputer(keep_empty_features=True).fit_transform(X)
    assert kept.shape == X.shape
    assert (kept[:, -2] == 0).all()


def test_mistakes_are_told_before_the_fit(spoiled):
    X, *_ = spoiled
    for method in ("transform", "score_cells", "find_outliers", "predict_cells"):
        with pytest.raises(NotFittedError, match="RobustImputer instance is not"):
            getattr(RobustImputer(), method)(X)
    with pytest.raises(NotFittedError, match="RobustImputer instance is not"):
        RobustImputer().predict_interval()
    for name in ("repair", "round_integers", "clip", "lam", "gamma", "tol", "callback"):
        told = f"'{name}' parameter of RobustImputer must be .* Got 'no' instead"
        with pytest.raises(ValueError, match=told):
            RobustImputer(**{name: "no"}).fit(X[:3])
    with pytest.raises(ValueError, match="'tol' parameter of OutlierDetector"):
        OutlierDetector(tol="no").fit(X[:3])


def test_integers_and_ranges_are_kept_where_asked(rng):
    X = np.rint(10 * rng.normal(size=(200, 2)) @ rng.normal(size=(2, 6)))
    X[rng.random(X.shape) < 0.1] = np.nan
    filled = RobustImputer(round_integers=True, clip=True).fit_transform(X)
    np.testing.assert_array_equal(filled, np.rint(filled))
    assert (filled <= np.nanmax(X, axis=0)).all()
    assert (filled >= np.nanmin(X, axis=0)).all()


def test_the_marker_of_pandas_is_accepted(spoiled):
    X = spoiled[0][:60]
    expected = RobustImputer().fit_transform(X)
    frame = pd.DataFrame(X).astype("Float64")
    assert frame.isna().any(axis=None)
    imputer = RobustImputer(missing_values=pd.NA)
    np.testing.assert_array_equal(imputer.fit_transform(frame), expected)
    np.testing.assert_array_equal(imputer.fit_transform(X), expected)
    with pytest.raises(
        ValueError, match=r"'missing_values' .* numpy.nan or pandas.NA or None"
    ):
        RobustImputer(missing_values="?").fit(X)


def test_numbers_of_numpy_are_shares():
    X = np.eye(6)
    RobustImputer(alpha=np.float32(0.1)).fit(X)
    OutlierDetector(contamination=np.float32(0.25)).fit(X)
    for share in (np.float32(1.5), np.True_, True, "0.1"):
        with pytest.raises(
            ValueError, match=r"'alpha' .* a float in the range \(0.0, 1.0\)"
        ):
            RobustImputer(alpha=share).fit(X)


@pytest.mark.filterwarnings("ignore:features without any observed value")
@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
@pytest.mark.parametrize("keep", [False, True])
def test_statistics_are_those_of_simple_imputer(keep, spoiled):
    X = spoiled[0][:60].copy()
    X[:, 2] = np.nan
    imputer = RobustImputer(keep_empty_features=keep).fit(X)
    simple = SimpleImputer(strategy="median", keep_empty_features=keep).fit(X)
    np.testing.assert_array_equal(imputer.statistics_, simple.statistics_)
    assert (imputer.low_rank()[:, 2] == 0).all()
    assert np.isfinite(imputer.transform(X)).all()


@pytest.mark.filterwarnings("ignore:features without any observed value")
@pytest.mark.parametrize("keep", [0, 1])
def test_keep_empty_features_may_be_a_number(keep, spoiled):
    X = spoiled[0][:60].copy()
    X[:, 2] = np.nan
    np.testing.assert_array_equal(
        RobustImputer(keep_empty_features=keep).fit_transform(X),
        RobustImputer(keep_empty_features=bool(keep)).fit_transform(X),
    )


def test_other_markers_of_missing_values(spoiled):
    X, *_ = spoiled
    marked = np.nan_to_num(X, nan=-999)
    np.testing.assert_array_equal(
        RobustImputer(missing_values=-999).fit_transform(marked),
        RobustImputer().fit_transform(X),
    )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_in_and_out(spoiled, library):
    frames = pytest.importorskip(library)
    X, *_ = spoiled
    names = [f"s{j}" for j in range(X.shape[1])]
    if library == "pandas":
        frame = frames.DataFrame(X, columns=names)
    else:
        frame = frames.DataFrame(X, schema=names)
    imputer = RobustImputer(add_indicator=True).set_output(transform=library)
    filled = imputer.fit_transform(frame)
    assert list(filled.columns[: len(names)]) == names
    assert filled.columns[len(names)] == "missingindicator_s0"
    assert not np.isnan(np.asarray(filled, dtype=float)).any()


def test_masked_arrays_and_nullable_integers(rng):
    pandas = pytest.importorskip("pandas")
    X = np.rint(10 * rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)))
    gaps = rng.random(X.shape) < 0.1
    expected = RobustImputer().fit_transform(np.where(gaps, np.nan, X))
    masked = RobustImputer().fit_transform(np.ma.array(X, mask=gaps))
    np.testing.assert_array_equal(masked, expected)
    frame = pandas.DataFrame(X).astype("Int64").mask(gaps)
    np.testing.assert_array_equal(RobustImputer().fit_transform(frame), expected)


def test_a_pipeline_is_searched(spoiled, rng):
    X, truth, *_ = spoiled
    y = truth[:, 0] + 0.1 * rng.normal(size=len(truth))
    model = make_pipeline(RobustImputer(), HistGradientBoostingRegressor(max_iter=20))
    grid = {"robustimputer__repair": [False, True]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.5


@pytest.mark.parametrize("alpha", [0, 1, -0.1, "small", True])
def test_alpha_is_a_share(alpha):
    with pytest.raises(
        ValueError, match=r"'alpha' .* a float in the range \(0.0, 1.0\)"
    ):
        RobustImputer(alpha=alpha).fit(np.eye(6))


@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (3, 3), (2, 1)])
def test_tiny_tables_get_medians(rng, shape):
    X = rng.normal(size=shape)
    if X.size > 1:
        X.flat[0] = np.nan
    imputer = RobustImputer(keep_empty_features=True)
    filled = imputer.fit_transform(X)
    assert np.isfinite(filled).all()
    assert not imputer.outliers_.any()


# ---- the pieces ----


def test_folds_imitate_runs_of_gaps(rng):
    missing = np.zeros((400, 6), bool)
    assert set(np.unique(Folds.draw(missing).of_all)) == set(range(MOST))
    large = np.zeros((CELLS // FEWEST // 50, 50), bool)
    assert set(np.unique(Folds.draw(large).of_all)) == set(range(FEWEST))
    for j in range(6):
        missing[50 * j : 50 * j + 12, j] = True
    folds = Folds.draw(missing).of_all
    changes = np.count_nonzero(np.diff(folds, axis=0), axis=0)
    assert changes.max() <= 400 / 12 + 2


@pytest.mark.parametrize("p", [5, 90])
def test_a_cell_that_is_hidden_like_a_gap_is_the_only_one_of_its_row(p, rng):
    missing = rng.random((60, p)) < 0.1
    folds = Folds.draw(missing)
    places = folds.like_gaps(missing)
    np.testing.assert_array_equal(places < 0, ~missing & (folds.places >= folds.n))
    for fold in range(folds.n):
        assert ((places == fold) & ~missing).sum(axis=1).max() == 1
    assert folds.is_like_gap.mean() == min(1, folds.n / p)


def test_thresholds_separate_two_groups(rng):
    correct = np.abs(rng.normal(size=20_000))
    wrong = rng.uniform(10, 20, 300)
    t = score_threshold(np.r_[correct, wrong], 0.05)
    assert correct.max() * 0.8 < t <= wrong.min()
    assert score_threshold(correct, 0.05) == np.inf
    assert score_threshold(np.zeros(0), 0.05) == np.inf


def test_many_wrong_cells_among_the_candidates_are_found(rng):
    # As in a table of zeros and ones: only cells between them are candidates, and most
    # of these are wrong.
    reference = np.abs(rng.normal(size=2000))
    wrong = rng.uniform(8, 30, 2000)
    threshold = score_threshold(np.r_[reference, wrong], 0.05, reference)
    assert threshold < wrong.min()
    assert np.sum(reference >= threshold) < 0.05 * len(wrong)


def test_scales_of_errors_follow_the_predictions(rng):
    predicted = rng.uniform(1, 10, size=(4000, 1))
    errors = predicted * rng.normal(size=(4000, 1))
    sizes = PredictionError(errors, predicted, np.ones(errors.shape, bool))
    found = sizes.scale(np.array([[2.0], [8.0]]), np.ones((2, 1)))
    assert found[1, 0] / found[0, 0] == pytest.approx(4, rel=0.25)


def test_chances_make_up_for_wrong_cells_below_the_threshold(rng):
    correct = np.abs(rng.normal(size=(5000, 4)))
    wrong = rng.uniform(0, 10, size=(800, 4))
    scores = np.r_[correct, wrong]
    chances = chances_correct(scores, 5.0, np.zeros(4))
    assert chances.sum() == pytest.approx(correct.size, rel=0.01)
    assert (chances[scores >= 5] < 0.01).all()
    order = np.argsort(scores, axis=None)
    assert (np.diff(chances.ravel()[order]) <= 0).all()
    scores[:3] = np.nan  # levels
    assert (chances_correct(scores, 5.0, np.arange(4))[:3] == 1).all()
    assert (chances_correct(scores, np.inf, np.zeros(4)) == 1).all()


def test_correct_cells_above_the_threshold_count_if_the_tail_is_heavy(rng):
    """Of a Pareto tail of index 1, half of the cells of every octave are in the next
    one; wrong cells are far out."""
    correct = rng.uniform(size=(20_000, 1)) ** -1.0
    wrong = rng.uniform(1000, 2000, size=(2000, 1))
    scores = np.r_[correct, wrong]
    chances = chances_correct(scores, 20.0, np.zeros(1))
    assert chances[scores >= 20].sum() == pytest.approx((correct >= 20).sum(), rel=0.2)


def test_errors_are_larger_where_a_needed_value_is_missing(rng):
    """The third feature is the sum of the first two."""
    n = 400
    Z = rng.normal(size=(n, 4))
    Z[:, 2] = Z[:, 0] + Z[:, 1]
    Z[rng.random(Z.shape) < 0.1] = np.nan
    missing = np.isnan(Z)
    is_vague = missing[:, [0, 1, 2]].any(axis=1)[:, None] & ~missing
    is_vague[:, 3] = False
    errors = np.where(is_vague, 1.0, 0.01) * rng.normal(size=Z.shape)
    errors[missing] = np.nan
    sizes = PredictionError(errors, np.zeros(Z.shape), ~missing)
    scale = sizes.scale(np.zeros(Z.shape), sizes.row_factors(errors, 0 * errors))
    for j in range(3):
        known = ~missing[:, j]
        vague = np.median(scale[known & is_vague[:, j], j])
        exact = np.median(scale[known & ~is_vague[:, j], j])
        assert 30 < vague / exact < 300
    assert not sizes.needed[:, 3].any()


def test_wrong_cells_among_levels_do_not_widen_intervals(rng):
    factors = rng.normal(size=(500, 2))
    truth = (factors @ rng.normal(size=(2, 12)) > 0.3).astype(float)
    wrong = rng.random(truth.shape) < 0.1
    X = truth + wrong * rng.choice([-1, 1], truth.shape) * rng.uniform(
        1, 5, truth.shape
    )
    gaps = rng.random(truth.shape) < 0.1
    X[gaps] = np.nan
    imputer = RobustImputer().fit(X)
    assert (imputer.outliers_ & wrong).sum() > 0.5 * (wrong & ~gaps).sum()
    assert (imputer.outliers_ & ~wrong).sum() <= 0.07 * imputer.outliers_.sum()
    lower, upper = imputer.predict_interval()
    assert 0.87 < ((lower <= truth) & (truth <= upper))[gaps].mean() < 0.93


def test_cells_that_are_odd_but_right_stay_in_the_model(rng):
    """A few rows are far out in a direction of their own, and gaps of theirs are
    predicted from the other cells of such rows."""
    truth = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 12))
    truth[::20] += 6 * rng.normal(size=(20, 1)) * rng.normal(size=(1, 12))
    truth += 0.1 * rng.normal(size=truth.shape)
    gaps = rng.random(truth.shape) < 0.1
    filled = RobustImputer().fit_transform(np.where(gaps, np.nan, truth))
    assert np.sqrt(np.mean((filled - truth)[gaps] ** 2)) < 0.25 * truth.std()


# ---- rows ----


def test_rows_that_do_not_fit_are_found(rng):
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 10))
    odd = np.arange(300) < 15
    X[odd] = 4 * rng.normal(size=(15, 10))
    X[rng.random(X.shape) < 0.05] = np.nan
    detector = OutlierDetector(contamination=0.05).fit(X)
    found = detector.predict(X) == -1
    assert (found & odd).sum() >= 13
    assert detector.decision_function(X)[found].max() < 0
    assert detector.find_cells(X).shape == X.shape


@pytest.mark.parametrize("contamination", [0.1, "auto"])
@pytest.mark.parametrize("constant", [0.0, 0.1])
def test_another_value_in_a_constant_feature_is_an_outlier(
    constant, contamination, rng
):
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 30))
    X[:, 4], X[:, 7] = constant, np.nan
    plain = OutlierDetector(contamination=contamination)
    plain.fit(np.delete(X, [4, 7], axis=1))
    detector = OutlierDetector(contamination=contamination).fit(X)
    np.testing.assert_array_equal(detector.labels_, plain.labels_)
    usual = np.flatnonzero(detector.labels_ == 0)[:3]
    new = X[usual]
    new[0, 4] = 1e6
    new[1, 4] = np.nan
    new[:, 7] = 3.0  # nothing is known about this feature
    assert detector.predict(new).tolist() == [-1, 1, 1]
    assert detector.find_cells(new)[:, 4].tolist() == [True, False, False]
    assert (detector.predict(X[usual].astype(np.float32)) == 1).all()


@pytest.mark.parametrize("contamination", [0.1, "auto"])
def test_a_row_without_values_is_neither_usual_nor_an_outlier(contamination, rng):
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 8))
    X = np.column_stack([X, np.ones(200)])
    X[:40, :8] = np.nan
    X[:20] = np.nan
    detector = OutlierDetector(contamination=contamination).fit(X)
    scores = detector.score_samples(X)
    middle = np.median(scores[40:])
    np.testing.assert_allclose(scores[:40], middle)
    assert (detector.predict(X[:40]) == 1).all()
    if contamination != "auto":
        assert (detector.labels_[40:] == 1).mean() == 0.1
    X[0, 8] = 2.0
    assert detector.predict(X[:1]) == [-1]


def test_a_table_without_values_has_no_outliers():
    detector = OutlierDetector().fit(np.full((6, 2), np.nan))
    assert (detector.labels_ == 0).all()
    assert (detector.predict([[1.0, np.nan]]) == 1).all()


def test_the_attributes_of_pyod_agree_with_those_of_scikit_learn(rng):
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 6))
    detector = OutlierDetector().fit(X)
    np.testing.assert_array_equal(detector.decision_scores_, -detector.score_samples(X))
    assert detector.threshold_ == -detector.offset_
    np.testing.assert_array_equal(detector.labels_ == 1, detector.predict(X) == -1)
    assert detector.labels_.sum() == 10


@pytest.mark.parametrize("share", [0, 0.6, "none"])
def test_contamination_is_a_share(share):
    with pytest.raises(ValueError, match=r"'contamination' .* \(0.0, 0.5\]"):
        OutlierDetector(contamination=share).fit(np.eye(6))


# ---- repair ----


@pytest.mark.parametrize("size", [(6, 20), (1.5, 5)])
def test_a_sensor_table_is_repaired(size):
    s = make_sensors(size=size)
    repaired = repair_matrix(s.X, times=np.arange(len(s.X), dtype=float))
    unit = np.std(s.signal, axis=0)
    live = unit > 0
    wrong = ((repaired.values - s.signal) / np.where(live, unit, 1))[s.is_gap & live]
    assert np.sqrt(np.mean(wrong**2)) <= 0.075
    hit = repaired.replaced & s.is_spike
    assert hit.sum() >= 0.98 * repaired.replaced.sum()
    assert hit.sum() >= 0.98 * (s.is_spike & live).sum()
    same = ~(repaired.filled | repaired.replaced)
    np.testing.assert_array_equal(repaired.values[same], s.X[same])


def test_rows_may_be_in_any_order(rng):
    s = make_sensors(n=400, p=12)
    times = np.arange(400, dtype=float)
    mixed = rng.permutation(400)
    a = repair_matrix(s.X, times=times)
    b = repair_matrix(s.X[mixed], times=times[mixed])
    np.testing.assert_array_equal(a.values[mixed], b.values)


def test_only_gaps_or_only_errors(spoiled):
    X, _, gaps, _ = spoiled
    only_gaps = repair_matrix(X, errors=False)
    assert not only_gaps.replaced.any()
    np.testing.assert_array_equal(only_gaps.filled, gaps)
    only_errors = repair_matrix(X, gaps=False)
    assert not only_errors.filled.any()
    assert only_errors.replaced.any()
    np.testing.assert_array_equal(np.isnan(only_errors.values), gaps)


@pytest.mark.parametrize(
    ("value", "dtype"), [(1e14, "f8"), (1e40, "f8"), (-1.79e308, "f8"), (3e38, "f4")]
)
def test_a_cell_of_any_size_is_wrong_and_otherwise_missing(value, dtype, spoiled):
    X, _, _, _ = spoiled
    X[:, 7] = np.where(np.abs(X[:, 7]) < 2, 0, X[:, 7])  # mostly zeros
    X = X.astype(dtype)
    far = np.zeros(X.shape, bool)
    far[8, 3] = far[40, 7] = True
    X[far] = np.nan
    missing = RobustImputer(repair=True).fit(X)
    gone = missing.fit_transform(X)
    X[far] = value
    imputer = RobustImputer(repair=True)
    np.testing.assert_array_equal(imputer.fit_transform(X), gone)
    np.testing.assert_array_equal(imputer.outliers_, missing.outliers_ | far)
    np.testing.assert_array_equal(imputer.statistics_, missing.statistics_)
    assert (imputer.outlier_scores_[far] >= 1e10).all()
    np.testing.assert_array_equal(imputer.find_outliers(X)[far], True)
    new = np.where(far, np.nan, X)
    np.testing.assert_array_equal(imputer.transform(X), missing.transform(new))
    for some, other in zip(
        imputer.predict_interval(), missing.predict_interval(), strict=True
    ):
        np.testing.assert_array_equal(some, other)
    detector = OutlierDetector(contamination="auto").fit(X)
    assert np.isfinite(detector.decision_scores_).all()
    np.testing.assert_array_equal(detector.find_cells(X)[far], True)


def test_absurd_cells_may_be_nearly_half_of_a_column(spoiled, rng):
    X, truth, _, _ = spoiled
    far = np.zeros(X.shape, bool)
    far[:, 3] = rng.random(len(X)) < 0.4
    far[far] = ~np.isnan(X[far])
    X[far] = rng.choice([1e40, -1e60, 1e300], far.sum())
    imputer = RobustImputer(repair=True).fit(X)
    np.testing.assert_array_equal(imputer.outliers_[far], True)
    error = (imputer.transform(X) - truth)[far]
    assert np.sqrt(np.mean(error**2)) < 0.5


@pytest.mark.parametrize("values", [[0, 0, 0, 0, 1, 2], [1, 2, 3], [2, 3]], ids=str)
def test_an_absurd_cell_is_found_among_few_values(values, spoiled):
    X, _, _, _ = spoiled
    X[:, 3] = np.nan
    X[: len(values), 3], X[-1, 3] = values, 1e40
    imputer = RobustImputer(repair=True).fit(X)
    assert imputer.outliers_[:, 3].nonzero()[0].tolist() == [len(X) - 1]
    assert imputer.transform(X)[-1, 3] < 10


@pytest.mark.parametrize("share", [0.005, 0.15, 0.6])
@pytest.mark.parametrize("value", [1e20, -9.96921e36, 1.79e308])
def test_fill_values_are_found_and_replaced(value, share, spoiled, rng):
    X, truth, _, _ = spoiled
    cells = np.zeros(X.shape, dtype=bool)
    cells[:, 4] = rng.random(len(X)) < share
    cells[0, 4], cells[1, 4] = True, False
    X = np.where(cells, value, X)
    repaired = repair_matrix(X)
    assert repaired.replaced[cells].all()
    error = np.sqrt(np.mean((repaired.values - truth)[cells] ** 2))
    assert error < 0.3  # noise of 0.1 in every predictor
    assert np.isfinite(repaired.scores[cells]).all()
    assert (repaired.scores[cells] > 1e15).all()
    kept = repair_matrix(X, errors=False)
    np.testing.assert_array_equal(kept.values[cells], X[cells])


@pytest.mark.parametrize("value", [-999.0, 9999.0, -1.0, 32767.0, 99.99])
def test_repeated_fill_values_are_replaced_and_named(value, spoiled, rng):
    X, truth, _, _ = spoiled
    X[:, 4], truth[:, 4] = X[:, 4] / 10 + 5, truth[:, 4] / 10 + 5
    cells = np.zeros(X.shape, dtype=bool)
    cells[rng.choice(len(X), 30, replace=False), 4] = True
    X[cells] = value
    repaired = repair_matrix(X)
    assert repaired.replaced[cells].all()
    assert [some.tolist() for some in repaired.fill_values] == [
        [value] if j == 4 else [] for j in range(X.shape[1])
    ]
    assert np.abs(repaired.values - truth)[cells].mean() < 0.05


def test_values_that_occur_once_or_nearby_are_not_fill_values(rng):
    x = rng.normal(20, 4, 300)
    assert not fill_values(np.append(x, 999.0)[:, None]).any()
    assert not fill_values(np.append(x, 3 * [-1.0])[:, None]).any()
    assert not fill_values(np.append(x, 3 * [54.0])[:, None]).any()
    heavy = np.append(rng.pareto(1.0, 500), 3 * [99.0])
    assert not fill_values(heavy[:, None]).any()
    assert not fill_values(np.repeat([0.0, 1.0, 99.0], [90, 5, 3])[:, None])[:95].any()


def test_large_data_is_not_taken_for_fill_values(rng):
    powers = rng.uniform(-5, 40, (200, 1))
    columns = {
        "many orders of magnitude": 10**powers,
        "one small value among large ones": np.append(1e23 + 1e20 * powers[1:], 6.02),
        "large numbers": 1e30 * powers,
        "rounding beside numbers": np.where(powers > 0, powers, 1e-17 * powers),
        "all equal": np.full(200, 1e20),
    }
    for name, x in columns.items():
        assert not fill_values(x.reshape(-1, 1)).any(), name
    x = np.array([[0.0], [0.0], [1e20], [np.nan], [0.0]])
    assert fill_values(x).ravel().tolist() == [False, False, True, False, False]


def test_every_wrong_value_of_the_first_steps_is_found(monkeypatch):
    """One column has four among 54, which also raise the errors of its median."""
    docs = Path(__file__).parents[2] / "docs"
    monkeypatch.syspath_prepend(docs)
    sent, truth = importlib.import_module("make_first_steps").temperatures()
    imputer = RobustImputer(alpha=0.02).fit(np.round(sent, 1))
    np.testing.assert_array_equal(imputer.outliers_, np.abs(sent - truth) > 20)


def test_a_larger_alpha_finds_at_least_as_many_cells(rng):
    X = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 10))
    X += 0.1 * rng.normal(size=X.shape)
    X[rng.random(X.shape) < 0.03] += 5
    found = [RobustImputer(alpha=a).fit(X).outliers_.sum() for a in (0.05, 0.5, 0.9)]
    assert 0 < found[0] <= found[1] <= found[2]
