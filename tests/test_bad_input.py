"""Every bad input gives a right answer or an error that names it."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from rpcag import RPCA, RPCAG, RPCAGCV

RNG = np.random.default_rng(3)
X = RNG.standard_normal((12, 2)) @ RNG.standard_normal((2, 9))
X += 0.1 * RNG.standard_normal(X.shape)
MODELS = [RPCA(), RPCAG(), RPCAG(graph="complete"), RPCAGCV(gammas=[0, 0.1])]
NAMES = ["RPCA", "RPCAG", "RPCAG-complete", "RPCAGCV"]
every_model = pytest.mark.parametrize("model", MODELS, ids=NAMES)


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
    "all missing": (np.full((4, 3), np.nan), "X has no observed entry"),
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


@pytest.mark.parametrize("model", MODELS[:3], ids=NAMES[:3])
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


def test_huge_and_tiny_data_have_the_scaled_answer():
    reference = RPCAG(tol=1e-5).fit(X)
    for c in (1e-300, 1e300):
        scaled = RPCAG(tol=1e-5).fit(c * X)
        difference = np.linalg.norm(scaled.low_rank_ / c - reference.low_rank_)
        assert difference < 1e-2 * np.linalg.norm(reference.low_rank_)


def test_constant_data_are_all_low_rank():
    model = RPCAG(lam=1.0).fit(np.full((6, 4), 3.0))
    assert model.rank_ == 1
    np.testing.assert_allclose(model.low_rank_, 3.0, rtol=1e-2)


def test_overflow_names_the_argument():
    with pytest.raises(ValueError, match=r"gamma=1e\+10 is out of range for X"):
        RPCAG(gamma=1e10).fit(X * 1e300)
    with pytest.raises(ValueError, match=r"X .* overflows; rescale X"):
        RPCA().fit(np.full((40, 40), 1e307))


OPTIONS = [
    ({"lam": -1.0}, ValueError, "lam must be a number of at least 0, got -1.0"),
    ({"lam": 0}, ValueError, "lam must be positive"),
    ({"lam": np.nan}, ValueError, "lam must be a number"),
    ({"lam": "large"}, ValueError, "lam must be 'auto' or a number, got 'large'"),
    ({"lam": None}, TypeError, "lam must be a number, got None"),
    ({"gamma": np.nan}, ValueError, "gamma must be a number"),
    ({"gamma": -0.1}, ValueError, "gamma must be a number of at least 0"),
    ({"gamma": np.inf}, ValueError, "gamma must be a number"),
    ({"gamma": "small"}, ValueError, "gamma must be 'auto' or a number"),
    ({"max_iter": 0}, ValueError, "max_iter must be an int of at least 1, got 0"),
    ({"max_iter": 2.5}, TypeError, "max_iter must be an int, got 2.5"),
    ({"tol": -1e-3}, ValueError, "tol must be a number of at least 0"),
    ({"tol": np.nan}, ValueError, "tol must be a number"),
    ({"n_components": 0}, ValueError, "n_components must be an int of at least 1"),
    ({"n_components": 1.5}, TypeError, "n_components must be an int"),
    ({"laplacian": "random walk"}, ValueError, "laplacian must be one of"),
    ({"callback": 3}, TypeError, "callback must be callable"),
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


CV_OPTIONS = [
    ({"gammas": []}, "gammas must be finite numbers"),
    ({"gammas": [-1.0]}, "gammas must be finite numbers"),
    ({"gammas": "all"}, "gammas must be 'auto' or numbers"),
    ({"lams": [0.0]}, "lams must be positive"),
    ({"holdout": 0.0}, "holdout must lie between 0 and 1"),
    ({"holdout": 1.0}, "holdout must lie between 0 and 1"),
    ({"holdout": 1e-9}, "holdout=1e-09 of 108 observed entries hides 0"),
    ({"n_splits": 0}, "n_splits must be an int of at least 1"),
]


@pytest.mark.parametrize(("options", "message"), CV_OPTIONS)
def test_bad_options_of_the_search_are_refused_by_name(options, message):
    with pytest.raises(ValueError, match=message):
        RPCAGCV(**options).fit(X)


def test_new_rows_must_have_the_same_features():
    model = RPCAG().fit(X)
    with pytest.raises(ValueError, match="8 features, but RPCAG is expecting 9"):
        model.transform(X[:, :8])
    with pytest.raises(ValueError, match=r"adjacency must have shape \(12, 12\)"):
        model.transform(X, adjacency=np.ones((12, 3)))
    with pytest.raises(ValueError, match="Z must have"):
        model.inverse_transform(np.ones((2, 50)))


def test_new_rows_without_any_entry_are_zero_or_their_neighbours():
    model = RPCA().fit(X)
    assert np.all(model.transform(np.full((1, 9), np.nan)) == 0)


def test_a_failed_fit_is_no_fit():
    model = RPCAG(lam=-1)
    with pytest.raises(ValueError, match="lam"):
        model.fit(X)
    with pytest.raises(NotFittedError):
        model.transform(X)


def test_the_model_does_not_change_with_its_input_or_options():
    data = X.copy()
    model = RPCAG().fit(data)
    before = model.transform(X[:3])
    data[:] = 0
    model.set_params(laplacian="combinatorial", gamma=5.0)
    np.testing.assert_array_equal(model.transform(X[:3]), before)


def test_transform_never_returns_nan():
    huge = RPCA().fit(X * 1e40)
    assert np.isfinite(huge.transform(X[:2].astype(np.float32))).all()
    model = RPCAG().fit(X)
    with pytest.raises(ValueError, match="adjacency must hold weights from 0 to 1e100"):
        model.transform(X[:2], adjacency=np.full((2, 12), 1e308))
    with pytest.raises(ValueError, match="adjacency is for models with a graph"):
        huge.transform(X[:2], adjacency=np.ones((2, 12)))
