"""Masks, tables, Dask arrays and odd numbers are read right or refused by name."""

import datetime
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from problems import UNIT
from rpcag import (
    FRPCAG,
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
from rpcag.graphs import (
    Chain,
    CompleteGraph,
    KNNGraph,
    KNNHypergraph,
    check_graph,
    laplacian,
)
from rpcag.metrics import clustering_error, recovery_error
from rpcag.tables import OutlierDetector, RobustImputer
from rpcag.video import separate

RNG = np.random.default_rng(11)
X = np.abs(np.repeat(RNG.standard_normal((3, 6)), 5, axis=0))
X += 0.1 * RNG.random(X.shape)
HIDDEN = RNG.random(X.shape) < 0.1
HOLED = np.where(HIDDEN, np.nan, X)
# What is under the mask must not be seen.
MASKED = np.ma.masked_array(np.where(HIDDEN, 1e6, X), HIDDEN)
EDGES = np.ma.masked_array(np.ones((15, 15)), np.eye(15, dtype=bool))

GAPS = [
    RPCA(lam="theory"),
    RPCAG(gamma="clustering"),
    RPCAG(),
    RPCAGCV(gammas=[0.1], n_splits=1),
    FRPCAG(**UNIT),
    NCuts(),
    LaplacianEigenmaps(),
]
FACTORS = [GLPCA(), RGLPCA(), MMF(), MMMF(), MHMF(), GNMF()]


def assert_same(a, b):
    np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


# -- masked arrays ---------------------------------------------------------------------


@pytest.mark.parametrize("model", GAPS, ids=repr)
def test_masked_entries_are_missing(model):
    plain = clone(model).fit(HOLED)
    assert_same(clone(model).fit(MASKED).embedding_, plain.embedding_)
    assert_same(plain.transform(MASKED), plain.transform(HOLED))


def test_masked_integers_are_missing_and_single_precision_stays():
    whole = np.ma.masked_array(
        np.where(HIDDEN, 999, np.round(9 * X)).astype(int), HIDDEN
    )
    plain = RPCA(lam="theory").fit(np.where(HIDDEN, np.nan, np.round(9 * X)))
    assert_same(RPCA(lam="theory").fit(whole).low_rank_, plain.low_rank_)
    single = RPCA(lam="theory").fit(MASKED.astype(np.float32))
    assert single.low_rank_.dtype == np.float32
    assert np.abs(single.low_rank_).max() < 10
    open_mask = np.ma.masked_array(X, False)
    assert_same(GLPCA().fit(open_mask).embedding_, GLPCA().fit(X).embedding_)


@pytest.mark.parametrize("model", FACTORS, ids=repr)
def test_masked_entries_are_refused_where_nothing_may_be_missing(model):
    message = f"X has masked entries; {type(model).__name__} does not support missing"
    with pytest.raises(ValueError, match=message):
        model.fit(MASKED)
    with pytest.raises(ValueError, match=message):
        model.fit(X).transform(MASKED)


def test_graphs_do_not_see_under_the_mask():
    for builder in (KNNGraph(4), CompleteGraph()):
        assert_same(_dense(builder(MASKED)), _dense(builder(HOLED)))
        fitted = builder.fit(X)
        assert_same(_dense(fitted.connect(MASKED)), _dense(fitted.connect(HOLED)))
    assert_same(KNNHypergraph()(MASKED).toarray(), KNNHypergraph()(HOLED).toarray())


def _dense(A):
    return A.toarray() if hasattr(A, "toarray") else A


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: RPCAG(graph=EDGES).fit(X), "graph"),
        (lambda: MMMF(graphs=[EDGES]).fit(X), r"graphs\[0\]"),
        (lambda: MHMF(graphs=[EDGES]).fit(X), r"graphs\[0\]"),
        (lambda: FRPCAG(feature_graph=EDGES[:6, :6]).fit(X), "feature_graph"),
        (
            lambda: RPCAG(gamma="clustering").fit(X).transform(X, adjacency=EDGES),
            "adjacency",
        ),
        (lambda: RPCA(2, lam="theory").fit(X).inverse_transform(MASKED[:, :2]), "Z"),
        (lambda: check_graph(EDGES), "graph"),
        (lambda: laplacian(EDGES), "adjacency"),
        (lambda: KNNGraph()(X, mask=np.ma.masked_array(~HIDDEN, HIDDEN)), "mask"),
        (lambda: separate(np.ma.masked_array(np.ones((15, 4, 6)), True)), "frames"),
        (lambda: recovery_error(MASKED, X), "L"),
        (lambda: recovery_error(X, MASKED), "truth"),
        (lambda: clustering_error(EDGES[0], np.ones(15)), "y_true"),
        (lambda: clustering_error(np.ones(15), EDGES[0]), "y_pred"),
    ],
)
def test_masked_entries_are_refused_by_the_name_of_the_argument(call, name):
    with pytest.raises(ValueError, match=rf"^{name} has masked entries; "):
        call()


# -- tables ----------------------------------------------------------------------------

FRAME = pd.DataFrame(X, columns=list("abcdef"))
DAYS = pd.date_range("2024-01-01", periods=15)
WRONG = {
    "datetime": (DAYS, r"datetime64\[\w+\]"),
    "time zone": (DAYS.tz_localize("UTC"), r"datetime64\[\w+, UTC\]"),
    "timedelta": (DAYS - DAYS[0], r"timedelta64\[\w+\]"),
    "period": (DAYS.to_period("D"), r"period\[D\]"),
    "string": (pd.Series(["low"] * 15, dtype="string"), "string"),
    "words": (["low"] * 15, "object|str"),
    "categories": (pd.Categorical(["low"] * 15), "category"),
    "objects": ([object()] * 15, "object"),
    "dates": ([datetime.date(2024, 1, 1)] * 15, "object"),
    "complex": (np.full(15, 1j), "complex128"),
}


@pytest.mark.parametrize("case", WRONG)
@pytest.mark.parametrize(
    "model", [RPCAG(gamma="clustering"), GLPCA(), KNNGraph()], ids=repr
)
def test_a_column_that_is_no_number_is_named(model, case):
    values, dtype = WRONG[case]
    frame = FRAME.assign(when=values)
    message = (
        rf"column 'when' of dtype ({dtype}), which is not numeric; drop it \(X\.drop"
    )
    with pytest.raises(TypeError, match=message):
        model.fit(frame)
    with pytest.raises(TypeError, match=message):
        model.fit(frame[["when"]])
    model.fit(frame.drop(columns="when"))


def test_a_column_of_new_rows_is_named_too():
    model = RPCA(lam="theory").fit(FRAME)
    with pytest.raises(TypeError, match="column 'c' of dtype"):
        model.transform(FRAME.assign(c="low"))
    with pytest.raises(TypeError, match="Z has a column 'c' of dtype"):
        model.inverse_transform(FRAME.assign(c="low"))


@pytest.mark.parametrize("kind", ["M8[D]", "m8[s]"])
def test_arrays_of_dates_are_refused(kind):
    dates = np.arange(15).astype(kind).reshape(5, 3)
    for model in (RPCAG(), GLPCA(), KNNGraph()):
        with pytest.raises(
            TypeError, match=r"X has dtype (datetime|timedelta)64.*conv"
        ):
            model.fit(dates)


def test_a_polars_column_that_is_no_number_is_named():
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({c: X[:, i] for i, c in enumerate("abcdef")})
    for value, dtype in (
        (datetime.date(2024, 1, 1), "Date"),
        (datetime.datetime(2024, 1, 1), "Datetime"),
        (datetime.timedelta(1), "Duration"),
        ("low", "String"),
        ([1.0, 2.0], "List"),
    ):
        wrong = frame.with_columns(when=pl.lit(value))
        with pytest.raises(TypeError, match=f"column 'when' of dtype {dtype}"):
            RPCAG().fit(wrong)
    right = frame.with_columns(
        flag=pl.lit(True),
        none=pl.lit(None),
        price=pl.lit(Decimal("1.5")),
        word=pl.lit("2"),
    )
    assert RPCA(lam="theory").fit(right).n_features_in_ == 10


@pytest.mark.parametrize(
    "model", [RPCA(lam="theory"), GLPCA(), RobustImputer(), KNNGraph()], ids=repr
)
def test_frames_that_are_no_tables_of_numbers_say_what_to_do(model):
    pl = pytest.importorskip("polars")
    with pytest.raises(TypeError, match=r"X is a LazyFrame; pass X\.collect\(\)"):
        model.fit(pl.DataFrame(X).lazy())
    with pytest.raises(ValueError, match="X has several columns called 'a'; rename"):
        model.fit(FRAME.set_axis(list("abcdea"), axis=1))
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(15, 0\)\)"):
        model.fit(FRAME[[]])


def test_sparse_columns_are_numbers():
    for fill in (0.0, np.nan):
        frame = FRAME.astype(pd.SparseDtype(float, fill))
        some = RPCA(lam="theory").fit(frame)
        assert_same(some.low_rank_, RPCA(lam="theory").fit(FRAME).low_rank_)


def test_numbers_in_odd_columns_are_numbers():
    """Nullable, categories, numbers as words, Decimal, and pd.NA among objects."""
    holes = pd.Series([1.0, np.nan, 3.0] * 5)
    plain = RPCA(lam="theory").fit(FRAME.assign(extra=holes))
    for values in (
        holes.astype("Float64"),
        holes.astype("Int64"),
        pd.Categorical(holes),
        pd.Series([1, pd.NA, 3] * 5, dtype=object),
        pd.Series(["1", None, "3.0"] * 5, dtype=object),
        pd.Series([Decimal(1), None, Decimal(3)] * 5),
    ):
        frame = FRAME.assign(extra=values)
        before = frame.copy()
        assert_same(RPCA(lam="theory").fit(frame).low_rank_, plain.low_rank_)
        pd.testing.assert_frame_equal(frame, before)  # the caller's is as it was
    flags = pd.DataFrame(
        {c: pd.Series([True, pd.NA, False] * 5, dtype="boolean") for c in "ab"}
    )
    assert np.isfinite(RPCA(lam="theory").fit(flags).low_rank_).all()
    with pytest.raises(ValueError, match="Input X contains NaN"):
        GLPCA().fit(FRAME.assign(extra=pd.Series([1, pd.NA, 3] * 5, dtype="Int64")))


# -- numbers ---------------------------------------------------------------------------


def test_infinity_is_refused_with_what_to_do():
    wrong = X.copy()
    wrong[2, 3] = np.inf
    for call in (RPCAG().fit, FRPCAG().fit, NCuts().fit, KNNGraph()):
        with pytest.raises(
            ValueError, match=r"X contains infinity.*; mark missing values with NaN"
        ):
            call(wrong)
    with pytest.raises(ValueError, match=r"infinity.*; remove or replace it"):
        GLPCA().fit(wrong)
    with pytest.raises(ValueError, match="X has a number beyond the range of float64"):
        RPCA().fit([[10**400, 1], [2, 3]])


HUGE = [10**400, 10**5000, Fraction(10**400), np.longdouble("1e4000")]


@pytest.mark.parametrize(
    "value", HUGE, ids=["int", "long int", "Fraction", "longdouble"]
)
def test_numbers_beyond_floats_are_refused_by_name(value):
    if isinstance(value, np.longdouble) and not np.isfinite(value):
        pytest.skip("longdouble is double here")
    with pytest.raises(ValueError, match=r"^gammas must be") as caught:
        RPCAGCV(gammas=[value]).fit(X)
    assert len(str(caught.value)) < 120


NUMBERS = [
    (RPCA, ["lam", "noise", "tol", "max_iter", "n_components"]),
    (RPCAG, ["gamma"]),
    (FRPCAG, ["gamma_features"]),
    (GLPCA, ["beta"]),
    (RPCAGCV, ["holdout"]),
    (KNNGraph, ["n_neighbors"]),
    (KNNHypergraph, ["n_neighbors"]),
    (CompleteGraph, ["sigma2"]),
    (Chain, ["steps", "period", "n_periods"]),
    (RobustImputer, ["alpha"]),
    (OutlierDetector, ["contamination"]),
]
COUNTS = ("max_iter", "n_components", "n_neighbors", "steps", "period", "n_periods")


@pytest.mark.parametrize(
    ("estimator", "option"),
    [(estimator, option) for estimator, options in NUMBERS for option in options],
)
def test_what_is_no_number_of_floats_is_refused_by_name(estimator, option):
    """True would be 1."""
    values = [True, False, Fraction(10**400), Fraction(1, 3), 1j, math.nan]
    if option not in COUNTS:
        values += [10**400, -(10**400), np.longdouble("inf")]
    for value in values:
        with pytest.raises(ValueError, match=f"The '{option}' parameter of "):
            estimator(**{option: value}).fit(X)


@pytest.mark.filterwarnings("error")
def test_other_real_numbers_are_their_floats():
    plain = RPCAG(lam=0.125, gamma=0.5, tol=0.125).fit(X)
    for kind in (np.longdouble, np.float32, np.float16):
        model = RPCAG(lam=kind(0.125), gamma=kind(0.5), tol=kind(0.125)).fit(X)
        assert_same(model.low_rank_, plain.low_rank_)
    with pytest.raises(UserWarning, match=r"\(tol 1\.0e-01\)"):
        RPCA(lam="theory", tol=np.float32(0.1), max_iter=1).fit(
            RNG.standard_normal((40, 30))
        )


# -- Dask ------------------------------------------------------------------------------


@pytest.fixture
def da():
    pytest.importorskip("distributed")
    dask = pytest.importorskip("dask")
    array = pytest.importorskip("dask.array")
    with dask.config.set(scheduler="synchronous"):
        yield array


@pytest.mark.parametrize("model", [*FACTORS, *GAPS[3:]], ids=repr)
def test_models_in_memory_say_what_to_do_with_a_dask_array(da, model):
    name = type(model).__name__
    message = rf"X is a Dask array .*{name} needs it in memory; pass X\.compute\(\)"
    with pytest.raises(TypeError, match=message):
        model.fit(da.from_array(X, chunks=(5, 3)))
    if isinstance(model, RPCAGCV):
        return
    with pytest.raises(TypeError, match=message):
        model.fit(X).transform(da.from_array(X))


@pytest.mark.parametrize(
    "model",
    [
        RPCA(2, lam="theory"),
        RPCAG(2, gamma="clustering"),
        RPCAG(2, gamma="clustering", graph="knn"),
        RPCAG(2, gamma="clustering", graph=np.ones((15, 15))),
    ],
    ids=repr,
)
@pytest.mark.parametrize("chunks", [(4, 6), (15, 6), (4, 2)])
def test_rows_of_a_dask_array_are_transformed_chunk_by_chunk(da, model, chunks):
    new = np.where(HIDDEN, np.nan, X + 0.05).astype(np.float32)
    expected = model.fit(X).transform(new)
    Z = model.transform(da.from_array(new, chunks=chunks))
    assert isinstance(Z, da.Array)
    assert Z.shape == (15, 2)
    assert Z.dtype == expected.dtype == np.float32
    assert Z.chunks[0] == da.from_array(new, chunks=chunks).chunks[0]
    np.testing.assert_allclose(Z.compute(), expected, rtol=1e-4, atol=1e-4)


def test_nothing_is_computed_before_it_is_asked_for(da):
    def fail(block):
        raise AssertionError("computed")

    model = RPCA(2, lam="theory").fit(X)
    lazy = da.from_array(X, chunks=(5, 6)).map_blocks(fail, dtype=float, meta=X[:0])
    assert model.transform(lazy).shape == (15, 2)
    assert model.inverse_transform(model.transform(lazy)).shape == X.shape


def test_a_model_of_a_dask_array_transforms_one(da):
    chunks = da.from_array(X, chunks=(15, 6))
    model = RPCAG(2, gamma="clustering", graph=np.ones((15, 15)), tol=0.1).fit(chunks)
    Z = model.transform(chunks)
    np.testing.assert_allclose(Z.compute(), model.transform(X), atol=1e-10)
    with pytest.raises(ValueError, match="adjacency needs rows in memory"):
        model.transform(chunks, adjacency=np.ones((15, 15)))
    with pytest.raises(ValueError, match="RPCAG is expecting 6 features"):
        model.transform(chunks[:, :5])


def test_dask_data_frames_are_refused(da):
    dd = pytest.importorskip("dask.dataframe")
    table = dd.from_pandas(FRAME, npartitions=2)
    for use in (RPCA().fit, RPCA(2, lam="theory").fit(FRAME).transform):
        with pytest.raises(TypeError, match=r"pass X\.to_dask_array\(lengths=True\)"):
            use(table)
    with pytest.raises(TypeError, match=r"pass X\.compute\(\)"):
        GLPCA().fit(table)


def test_inverse_transform_of_a_dask_array_is_one(da):
    for model in (RPCA(2, lam="theory"), FRPCAG(2), GLPCA(2), MMF(2), GNMF(2)):
        Z = model.fit(X).embedding_
        back = model.inverse_transform(da.from_array(Z, chunks=(5, 2)))
        assert isinstance(back, da.Array)
        np.testing.assert_allclose(back, model.inverse_transform(Z), atol=1e-12)
        with pytest.raises(ValueError, match="Z must have 2 columns"):
            model.inverse_transform(da.ones((5, 3)))


def test_masked_entries_of_a_dask_array_are_missing(da):
    masked = da.ma.masked_array(da.from_array(MASKED.data, (15, 6)), HIDDEN)
    model = RPCA(lam="theory", tol=0.1).fit(masked)
    plain = RPCA(lam="theory", tol=0.1).fit(da.from_array(HOLED, (15, 6)))
    np.testing.assert_array_equal(model.low_rank_, plain.low_rank_)


def test_arrays_of_xarray_and_zarr_are_read(da):
    xr, zarr = pytest.importorskip("xarray"), pytest.importorskip("zarr")
    plain = RPCA(lam="theory").fit(X)
    for array in (xr.DataArray(X), xr.DataArray(da.from_array(X)), zarr.array(X)):
        assert_same(RPCA(lam="theory").fit(array).low_rank_, plain.low_rank_)
        assert_same(plain.transform(array), plain.transform(X))
        assert_same(GLPCA().fit(array).embedding_, GLPCA().fit(X).embedding_)
