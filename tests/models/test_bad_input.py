"""Every bad input gives a right answer or an error that names it."""

from decimal import Decimal

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

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
from rpcag.graphs import KNNGraph, KNNHypergraph

RNG = np.random.default_rng(3)
X = RNG.standard_normal((12, 2)) @ RNG.standard_normal((2, 9))
X += 0.1 * RNG.standard_normal(X.shape)
RULES = [
    RPCA(lam="theory"),
    RPCAG(gamma="clustering"),
    RPCAG(gamma="clustering", graph="complete"),
    FRPCAG(**UNIT),
]
CHOSEN = [RPCA(), RPCAG(), RPCAG(graph="complete"), FRPCAG()]
FACTORS = [GLPCA(), RGLPCA(), MMF(), MMMF(), MHMF(), GNMF()]
SPECTRAL = [NCuts(), LaplacianEigenmaps()]
every_model = pytest.mark.parametrize(
    "model",
    [*CHOSEN, RPCAGCV(gammas=[0, 0.1]), *FACTORS, *SPECTRAL],
    ids=repr,
)


def with_missing(index):
    holed = X.copy()
    holed[index] = np.nan
    return holed


REFUSED = {
    "empty": (np.empty((0, 5)), "0 sample"),
    "no features": (np.empty((5, 0)), "0 feature"),
    "one-dimensional": (np.arange(5.0), "Expected 2D array"),
    "infinite": (np.where(X == X[0, 0], np.inf, X), "infinity"),
    "strings": (np.array([["a", "b"], ["c", "d"]]), "could not convert|dtype"),
    "complex": (X + 1j, "Complex data not supported"),
    "all missing": (np.full((4, 3), np.nan), "X has no observed entry|contains NaN"),
}


@every_model
@pytest.mark.parametrize("case", REFUSED)
def test_bad_data_are_refused(model, case):
    data, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        model.fit(data)


@every_model
def test_sparse_data_are_refused(model):
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        model.fit(sparse.csr_array(X))


ACCEPTED = {
    "one sample": X[:1],
    "one feature": X[:, :1],
    "one entry": np.array([[2.0]]),
    "two samples": X[:2],
    "constant": np.full((6, 4), 3.0),
    "zero": np.zeros((6, 4)),
    "constant feature": np.hstack([X, np.ones((12, 1))]),
    "integers": np.arange(20).reshape(5, 4),
    "booleans": X > 0,
    "missing row": with_missing(3),
    "missing column": with_missing((slice(None), 2)),
    "one entry seen": np.where(np.arange(108).reshape(12, 9) == 40, 1.0, np.nan),
    "every row twice": np.repeat(X, 2, axis=0),
    "all rows equal": np.repeat(X[:1], 12, axis=0),
    "tiny": X * 1e-300,
    "subnormal": X * 1e-310,
    "huge": X * 1e300,
    "one huge entry": np.where(X == X[0, 0], 1e9, X),
    "single precision, huge": (X * 1e36).astype(np.float32),
    "list": X.tolist(),
    "read-only": np.lib.stride_tricks.as_strided(
        X, X.shape, X.strides, writeable=False
    ),
    "reversed": X[::-1, ::-1],
}


@pytest.mark.parametrize("model", [*RULES, *CHOSEN], ids=repr)
@pytest.mark.parametrize("case", ACCEPTED)
@pytest.mark.filterwarnings("error")
def test_odd_data_give_a_certified_answer(model, case):
    data = ACCEPTED[case]
    model.fit(data)
    assert model.gap_ <= 1e-3
    for part in (model.low_rank_, model.sparse_, model.embedding_, model.components_):
        assert np.isfinite(part).all()
    assert np.isfinite(model.transform(data)).all()
    data = np.asarray(data, dtype=np.float64)
    seen = ~np.isnan(data)
    total = (model.low_rank_.astype(float) + model.sparse_)[seen]
    size = np.abs(data[seen]).max(initial=0.0)
    np.testing.assert_allclose(total, data[seen], atol=1e-6 * size)


@pytest.mark.parametrize("weights", [{"gamma": "clustering"}, {}], ids=repr)
def test_huge_and_tiny_data_have_the_scaled_answer(weights):
    reference = RPCAG(**weights, tol=1e-5).fit(X)
    for c in (1e-300, 1e300):
        scaled = RPCAG(**weights, tol=1e-5).fit(c * X)
        difference = np.linalg.norm(scaled.low_rank_ / c - reference.low_rank_)
        assert difference < 1e-2 * np.linalg.norm(reference.low_rank_)


def test_constant_data_are_all_low_rank():
    model = RPCAG(lam=1.0, gamma="clustering").fit(np.full((6, 4), 3.0))
    assert model.rank_ == 1
    np.testing.assert_allclose(model.low_rank_, 3.0, rtol=1e-2)


def test_overflow_names_the_argument():
    with pytest.raises(ValueError, match=r"gamma=1e\+10 is out of range for X"):
        RPCAG(lam="theory", gamma=1e10).fit(X * 1e300)
    with pytest.raises(ValueError, match=r"X .* overflows; rescale X"):
        RPCA(lam="theory").fit(np.full((40, 40), 1e307))


LARGE = np.random.default_rng(0).uniform(0.5, 1, size=(60, 12)) * 3e38


@pytest.mark.parametrize("model", [*FACTORS, *RULES], ids=repr)
def test_factors_beyond_single_precision_are_refused_not_infinite(model):
    """Warnings are errors here, so NumPy does not tell of an overflow either."""
    data = LARGE.astype(np.float32)
    model = clone(model).set_params(n_components=1)
    said = rf"X has entries of size {data.max():.3g}: .* overflow float32; rescale X"
    said = said.replace("+", r"\+")
    with pytest.raises(ValueError, match=said):
        model.fit(data)
    assert not hasattr(model, "components_")
    model.fit(data.astype(np.float64))
    assert np.isfinite(model.low_rank_).all()


@pytest.mark.parametrize("name", ["MMF", "GLPCA"])
def test_a_product_of_the_factors_beyond_single_precision_is_refused(name):
    """Both factors are in range, and so is X, but embedding_ @ components_ is not."""
    model = {"MMF": MMF(1), "GLPCA": GLPCA(1)}[name]
    top = float(np.finfo(np.float32).max)
    data = np.full((2, 2), 0.5 * top, np.float32)
    Q, U = np.array([[0.6 * top], [0.1]]), np.array([[0.1], [1.8]])
    with pytest.raises(ValueError, match=r"overflow float32; rescale X"):
        model._set_factors(Q, U, data)
    model._set_factors(Q, U / 2, data)
    assert np.isfinite(model.low_rank_).all()


def test_an_entry_far_from_the_others_is_not_blamed_on_the_graph():
    for size in (1.0, 1e-10, 1e100):
        data = size * X
        data[3, 4] = 1.34e300
        said = r"X\[3, 4\] is 1\.34e\+300, so far from the other values that they are"
        models = [RPCA(lam="theory"), RPCA(), RPCAGCV(), FRPCAG(**UNIT)]
        if size >= 1:  # else the scaled entry overflows
            models.append(RPCA(scale="robust"))
        for model in models:
            with pytest.raises(ValueError, match=said):
                model.fit(data)


def test_extreme_degrees_and_weights_are_blamed_on_themselves():
    graph = np.ones((12, 12)) - np.eye(12)
    said = r"graph with degrees up to 1\.1e\+121 and X with .* divide the weights of"
    with pytest.raises(ValueError, match=said):
        FRPCAG(**UNIT, graph=1e120 * graph, laplacian="combinatorial").fit(X)
    for name in ("gamma", "gamma_features"):
        with pytest.raises(
            ValueError, match=rf"{name}=1e\+200, .* or use {name}='auto'"
        ):
            FRPCAG(**UNIT | {name: 1e200}).fit(X)


def test_messages_tell_the_largest_entry():
    data = 1e200 * X / np.abs(X).max()
    with pytest.raises(ValueError, match=r"X has entries of size 1e\+200, whose"):
        GLPCA().fit(data)
    for model in (MMMF(weight_penalty=1.0), GLPCA(gamma=1.0)):
        said = "=1 is out of range for X, whose entries reach 1e-200; rescale X"
        with pytest.raises(ValueError, match=said):
            model.fit(1e-200 * X / np.abs(X).max())


def test_a_reason_is_words_not_a_tuple():
    with pytest.raises(
        ValueError, match=r"together \(Numerical result out of range\);"
    ):
        RPCAG(lam=1e-300, gamma="clustering").fit(X)


@pytest.mark.parametrize(
    "model",
    [GNMF(), RPCAGCV(gammas=[0.1])],
    ids=repr,
)
@pytest.mark.parametrize("seed", [-1, 2**32, 0.5, "a", np.random.default_rng(0)])
def test_a_bad_seed_is_refused_by_name(model, seed):
    said = "'random_state' parameter of .* must be an int in the range"
    with pytest.raises(ValueError, match=said):
        clone(model).set_params(random_state=seed).fit(np.abs(X))


NUMBER = r"a float in the range \[0.0, inf\)"
OPTIONS = [
    # Checked by scikit-learn: wrong kinds and values raise the same error.
    ({"lam": np.array(0.3)}, TypeError, "'lam' parameter of RPCAG must be a str among"),
    (
        {"lam": -1.0},
        ValueError,
        r"'lam' .* a float in .*\(0.0, inf\). Got -1.0",
    ),
    ({"lam": 0}, ValueError, "'lam' parameter of RPCAG must be"),
    ({"lam": np.nan}, ValueError, "'lam' parameter of RPCAG must be"),
    ({"lam": "large"}, ValueError, "'lam' .*'theory'.* Got 'large'"),
    ({"lam": None}, TypeError, "'lam' .* Got None"),
    ({"gamma": np.nan}, ValueError, f"'gamma' .*{NUMBER}"),
    ({"gamma": -0.1}, ValueError, f"'gamma' .*{NUMBER}"),
    ({"gamma": np.inf}, ValueError, f"'gamma' .*{NUMBER}"),
    ({"gamma": "small"}, ValueError, "'gamma' .*'clustering'.* Got 'small'"),
    ({"max_iter": 0}, ValueError, r"'max_iter' .* an int in the range \[1, inf\)"),
    ({"max_iter": 2.5}, TypeError, "'max_iter' .* an int .* Got 2.5"),
    ({"tol": -1e-3}, ValueError, f"'tol' .*{NUMBER}"),
    ({"tol": np.nan}, ValueError, f"'tol' .*{NUMBER}"),
    ({"tol": Decimal("0.1")}, TypeError, f"'tol' .*{NUMBER}. Got Decimal"),
    ({"n_components": 0}, ValueError, r"'n_components' .* an int in the range \[1"),
    ({"n_components": 1.5}, TypeError, "'n_components' .* an int"),
    ({"laplacian": "random walk"}, ValueError, "'laplacian' .* a str among"),
    ({"laplacian": np.eye(12)}, ValueError, "'laplacian' .* a str among"),
    ({"callback": 3}, TypeError, "'callback' .* a callable"),
    ({"scale": "max"}, ValueError, "'scale' .* a str among .*'standard'"),
    (
        {"gamma_features": 1.0},
        ValueError,
        "gamma_features=1.0 needs a graph between features: pass feature_graph",
    ),
    ({"graph": "nearest"}, ValueError, "graph must be one of .* got 'nearest'"),
    ({"graph": None}, ValueError, "graph must be"),
    ({"graph": 3.0}, ValueError, "graph must be a square matrix"),
    ({"graph": np.eye(11)}, ValueError, "graph has 11 vertices but X has 12 samples"),
    ({"graph": np.ones((12, 3))}, ValueError, "graph must be a square matrix"),
    ({"graph": np.triu(np.ones((12, 12)))}, ValueError, "graph is not symmetric"),
    ({"graph": -np.ones((12, 12))}, ValueError, "graph has negative weights"),
    (
        {"graph": np.full((12, 12), np.nan)},
        ValueError,
        "graph has weights that are NaN",
    ),
    ({"graph": np.full((12, 12), 1j)}, ValueError, "graph must be .* complex"),
    ({"graph": sparse.triu(np.ones((12, 12)))}, ValueError, "graph is not symmetric"),
]


@pytest.mark.parametrize(
    ("options", "error", "message"), OPTIONS, ids=[repr(o[0])[:30] for o in OPTIONS]
)
def test_bad_options_are_refused_by_name(options, error, message):
    with pytest.raises(error, match=message):
        RPCAG(**options).fit(X)
    if not {"lam", "gamma"} & set(options):  # also where no graph is needed
        with pytest.raises(error, match=message):
            RPCAG(**options).fit(np.outer(np.arange(12.0), np.arange(9.0)))


CV_OPTIONS = [
    ({"gammas": []}, "gammas must be finite numbers"),
    ({"gammas": [-1.0]}, "gammas must be finite numbers"),
    ({"gammas": "all"}, "gammas must be 'auto', 'clustering' or numbers"),
    ({"lams": [0.0]}, "lams must be positive"),
    ({"holdout": 0.0}, r"'holdout' .* a float in the range \(0.0, 1.0\)"),
    ({"holdout": 1.0}, r"'holdout' .* a float in the range \(0.0, 1.0\)"),
    ({"holdout": 1e-9}, "holdout=1e-09 of 108 observed entries hides 0"),
    ({"n_splits": 0}, "'n_splits' parameter of RPCAGCV must be an int"),
]


@pytest.mark.parametrize(("options", "message"), CV_OPTIONS)
def test_bad_options_of_the_search_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        RPCAGCV(**options).fit(X)


def test_new_rows_must_have_the_same_features():
    model = RPCAG(gamma="clustering").fit(X)
    with pytest.raises(ValueError, match="8 features, but RPCAG is expecting 9"):
        model.transform(X[:, :8])
    with pytest.raises(ValueError, match=r"adjacency must have shape \(12, 12\)"):
        model.transform(X, adjacency=np.ones((12, 3)))
    with pytest.raises(ValueError, match="Z must have"):
        model.inverse_transform(np.ones((2, 50)))


def test_rows_without_components_are_zero():
    model = RPCA(lam="theory").fit(np.zeros((4, 3)))
    Z = model.transform(np.ones((2, 3)))
    assert Z.shape == (2, 0)
    np.testing.assert_array_equal(model.inverse_transform(Z), np.zeros((2, 3)))


def test_new_rows_without_any_entry_are_zero_or_their_neighbors():
    model = RPCA(lam="theory").fit(X)
    assert np.all(model.transform(np.full((1, 9), np.nan)) == 0)


def test_a_failed_fit_is_no_fit():
    model = RPCAG(lam=-1)
    with pytest.raises(ValueError, match="lam"):
        model.fit(X)
    with pytest.raises(NotFittedError):
        model.transform(X)


def test_the_model_does_not_change_with_its_input_or_options():
    data = X.copy()
    model = RPCAG(gamma="clustering").fit(data)
    before = model.transform(X[:3])
    data[:] = 0
    model.set_params(laplacian="combinatorial", gamma=5.0)
    np.testing.assert_array_equal(model.transform(X[:3]), before)


def test_transform_never_returns_nan():
    huge = RPCA(lam="theory").fit(X * 1e40)
    with pytest.warns(ConvergenceWarning, match="in the unit of the rows of fit"):
        found = huge.transform(X[:2].astype(np.float32))
    assert np.isfinite(found).all()
    model = RPCAG(gamma="clustering").fit(X)
    with pytest.raises(ValueError, match="adjacency must hold weights from 0 to 1e100"):
        model.transform(X[:2], adjacency=np.full((2, 12), 1e308))
    with pytest.raises(ValueError, match="adjacency is for models with a graph"):
        huge.transform(X[:2], adjacency=np.ones((2, 12)))


@pytest.mark.parametrize("model", [*FACTORS, *SPECTRAL], ids=repr)
@pytest.mark.parametrize("case", ACCEPTED)
@pytest.mark.filterwarnings("error")
def test_odd_data_give_an_answer_or_an_error_that_names_them(model, case):
    data = np.asarray(ACCEPTED[case])
    if isinstance(model, GNMF):
        data = np.abs(data)
    model.set_params(n_components=1)
    missing = np.isnan(data.astype(float)).any()
    if missing and model in FACTORS:
        with pytest.raises(ValueError, match="Input X contains NaN"):
            model.fit(data)
        return
    alone = len(data) == 1 or case == "one entry seen"
    if alone and isinstance(model, LaplacianEigenmaps):
        with pytest.raises(ValueError, match="n_samples=1"):
            model.fit(data)
        return
    if case == "huge" and model in FACTORS:
        if not isinstance(model, RGLPCA):  # squares overflow, norms do not
            with pytest.raises(ValueError, match="whose squares are near overflow"):
                model.fit(data)
        return
    model.fit(data)
    assert np.isfinite(model.objective_)
    assert np.isfinite(model.embedding_).all()
    assert np.isfinite(model.transform(data)).all()
    if model in FACTORS:
        assert np.isfinite(model.components_).all()
        assert model.low_rank_.shape == data.shape


@pytest.mark.parametrize("model", FACTORS, ids=repr)
def test_more_components_than_the_matrix_has(model):
    data = np.abs(X)
    message = "n_components=10 must be at most 9 for n_samples=12 and n_features=9"
    with pytest.raises(ValueError, match=message):
        model.set_params(n_components=10).fit(data)
    model.set_params(n_components=9).fit(data)
    assert model.embedding_.shape == (12, 9)


@pytest.mark.parametrize("model", [*FACTORS, *SPECTRAL], ids=repr)
@pytest.mark.parametrize("wrong", [0, -1, 1.5, None, "two"])
def test_components_must_be_a_positive_int(model, wrong):
    with pytest.raises(ValueError, match=r"'n_components' .* must be an int"):
        model.set_params(n_components=wrong).fit(np.abs(X))


A = np.ones((12, 12))
A_COMPLEX = A + 1j
MODEL_OPTIONS = [
    (GLPCA(beta=1.0), ValueError, r"'beta' .* a float in the range \[0.0, 1.0\)"),
    (GLPCA(beta=-0.1), ValueError, r"'beta' .* a float in the range \[0.0, 1.0\)"),
    (RGLPCA(beta=1.5), ValueError, r"'beta' .* a float in the range \[0.0, 1.0\)"),
    (GLPCA(beta=np.nan), ValueError, r"'beta' .* a float in the range \[0.0, 1.0\)"),
    (GLPCA(beta="half"), TypeError, "'beta' .* Got 'half'"),
    (GLPCA(gamma=-1), ValueError, f"'gamma' .*{NUMBER}"),
    (GLPCA(beta=0.5, gamma=1), ValueError, "give beta or gamma, not both"),
    (RGLPCA(tol=-1), ValueError, f"'tol' .*{NUMBER}"),
    (RGLPCA(max_iter=0), ValueError, "'max_iter' .* an int"),
    (MMF(gamma=None), TypeError, f"'gamma' .*{NUMBER}. Got None"),
    (MMF(gamma=1e20), ValueError, r"gamma=1e\+20 is out of range: times the size of"),
    (GNMF(gamma=1e30), ValueError, r"gamma=1e\+30 is out of range"),
    (GNMF(random_state="x"), ValueError, "'random_state' .* Got 'x'"),
    (GLPCA(drop_constant="no"), TypeError, "'drop_constant' .* 'bool'"),
    (NCuts(drop_first="no"), TypeError, "'drop_first' .* 'bool'"),
    (MHMF(graphs=[None]), ValueError, r"graphs\[0\] must be a KNNHypergraph .*None"),
    (MHMF(graphs=[A_COMPLEX]), ValueError, r"graphs\[0\] must be a KNNHypergraph"),
    (MMF(graph="near"), ValueError, "graph must be one of"),
    (MMF(graph=KNNHypergraph), TypeError, "graph must be a graph between samples or"),
    (
        MMMF(weight_penalty=-1),
        ValueError,
        f"'weight_penalty' .*{NUMBER}",
    ),
    (MMMF(graphs=[]), ValueError, "graphs must hold at least one graph, got an empty"),
    (MHMF(graphs=()), ValueError, "graphs must hold at least one graph, got an empty"),
    (MMMF(graphs=A), TypeError, r"graphs must be 'auto' or a list .* write \[graph\]"),
    (MMMF(graphs="knn"), TypeError, "graphs must be 'auto' or a list"),
    (
        MMMF(graphs=[A, np.ones((9, 9))]),
        ValueError,
        r"graphs\[1\] has 9 vertices but X",
    ),
    (MMMF(graphs=["knn", "x"]), ValueError, r"graphs\[1\] must be one of"),
    (MHMF(graphs=[np.ones((9, 3))]), ValueError, r"graphs\[0\] must have one row per"),
    (
        MHMF(graphs=[-A]),
        ValueError,
        r"graphs\[0\] has negative weights .* must be at least 0",
    ),
    (MHMF(graphs=[KNNGraph()]), TypeError, r"graphs\[0\] must be a KNNHypergraph"),
    (MHMF(graphs=["knn"]), TypeError, r"graphs\[0\] must be a KNNHypergraph"),
    (MHMF(graphs=[["a"]]), ValueError, r"graphs\[0\] must be a KNNHypergraph .* list"),
    (GNMF(gamma=np.inf), ValueError, f"'gamma' .*{NUMBER}"),
    (NCuts(13), ValueError, "n_components=13 must be at most 12 for n_samples=12"),
    (NCuts(12, drop_first=True), ValueError, "must be at most 11 for n_samples=12"),
    (LaplacianEigenmaps(12), ValueError, "must be at most 11 for n_samples=12"),
    (NCuts(graph=np.ones((5, 5))), ValueError, "graph has 5 vertices but X has 12"),
    (FRPCAG(gamma=-1), ValueError, f"'gamma' .*{NUMBER}"),
    (
        FRPCAG(gamma_features="x"),
        ValueError,
        "'gamma_features' .*'unit'",
    ),
    (
        FRPCAG(feature_graph=np.ones((12, 12))),
        ValueError,
        "feature_graph has 12 vertices but X has 9 features",
    ),
    (FRPCAG(callback=1), TypeError, "'callback' .* a callable"),
    (FRPCAG(0), ValueError, "'n_components' .* an int"),
]


@pytest.mark.parametrize(
    ("model", "error", "message"),
    MODEL_OPTIONS,
    ids=[repr(o[0]) for o in MODEL_OPTIONS],
)
def test_bad_options_of_every_model_are_refused_by_name(model, error, message):
    with pytest.raises(error, match=message):
        model.fit(np.abs(X))


def test_negative_data_have_no_non_negative_factors():
    with pytest.raises(ValueError, match=r"Negative values .* X goes down to -\d"):
        GNMF().fit(X)
    model = GNMF().fit(np.abs(X))
    with pytest.raises(ValueError, match=r"Negative values .* X goes down to -\d"):
        model.transform(X)


@pytest.mark.parametrize("model", [GLPCA(graph=A), NCuts(graph=A)], ids=repr)
def test_new_rows_of_a_given_graph_need_their_edges(model):
    model.fit(X)
    with pytest.raises(ValueError, match="new rows need adjacency="):
        model.transform(X)
    edges = A - np.eye(12)
    np.testing.assert_allclose(
        np.abs(model.transform(X, adjacency=edges)), np.abs(model.embedding_), atol=1e-6
    )


def test_edges_of_new_rows_are_checked():
    model = MMMF(graphs=[A, A]).fit(X)
    with pytest.raises(ValueError, match="adjacency must be a list of 2 arrays"):
        model.transform(X, adjacency=A)
    with pytest.raises(ValueError, match=r"adjacency must have shape \(12, 12\)"):
        model.transform(X, adjacency=[A, A[:, :3]])
    with pytest.raises(ValueError, match="adjacency must be a list of 3 arrays"):
        MHMF().fit(X).transform(X, adjacency=A)


@pytest.mark.parametrize(("lam", "n"), [("auto", 400), ("auto", 450), ("theory", 450)])
def test_a_gamma_in_another_unit_is_blamed(rng, lam, n):
    """Without the identity, which is lost to rounding, the system is singular."""
    X = 1e25 * rng.standard_normal((n, 2)) @ rng.standard_normal((2, 8))
    pairs = np.kron(np.diag(rng.uniform(1, 2, n // 2)), [[0, 1], [1, 0]])
    graph = sparse.csr_array(pairs)  # 400 rows have an inverse, 450 a sparse factor
    model = RPCAG(lam=lam, gamma=0.1, graph=graph, laplacian="combinatorial")
    with pytest.raises(ValueError, match=r"gamma=0\.1 .*X, whose typical .*nearer to"):
        model.fit(X)
