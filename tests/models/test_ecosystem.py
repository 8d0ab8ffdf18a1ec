"""Data and graphs of other libraries. (test_docs.py runs docs/ecosystem.md.)"""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone

from rpcag import RPCAG, RPCAGCV
from rpcag.graphs import KNNGraph, check_graph
from rpcag.models import MODELS

NAMES = [f"sample {i}" for i in range(12)]
FORMATS = ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"]


@pytest.fixture
def X(rng):
    return np.abs(
        np.repeat(rng.standard_normal((3, 7)), 4, axis=0)
        + 0.1 * rng.standard_normal((12, 7))
    )


@pytest.fixture
def A(rng):
    """A path with weights, so that no two vertices are alike."""
    weights = rng.uniform(0.5, 2.0, 11)
    return np.diag(weights, 1) + np.diag(weights, -1)


def named(X, order=None):
    frame = pd.DataFrame(X, NAMES, [f"feature {j}" for j in range(X.shape[1])])
    return frame if order is None else frame.iloc[order]


# -- graphs ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("form", FORMATS)
def test_sparse_arrays_and_matrices_of_every_format(A, form, kind):
    graph = getattr(sparse, f"{form}_{kind}")(A)
    checked = check_graph(graph, 12)
    assert isinstance(checked, sparse.csr_array)
    np.testing.assert_array_equal(checked.toarray(), A)
    whole = check_graph(getattr(sparse, f"{form}_{kind}")(A > 0), 12)
    np.testing.assert_array_equal(whole.toarray(), A > 0)


# -- tables ----------------------------------------------------------------------------


@pytest.mark.parametrize("model", [*MODELS, RPCAGCV], ids=lambda model: model.__name__)
def test_every_model_keeps_the_index(X, model):
    frame = named(X)
    fitted = model(n_components=2).set_output(transform="pandas")
    Z = fitted.fit_transform(frame)
    assert list(Z.index) == NAMES
    assert list(Z.columns) == list(fitted.get_feature_names_out())
    assert list(fitted.feature_names_in_) == list(frame.columns)
    new = fitted.transform(frame[3:5])
    assert list(new.index) == NAMES[3:5]
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame.rename(columns={"feature 0": "other"}))


def test_missing_values_of_every_kind_are_missing(X):
    holes = named(X)
    holes.iloc[2, 3] = np.nan
    plain = RPCAG(gamma="clustering", graph=KNNGraph()(X)).fit(holes)
    objects = holes.astype(object).where(holes.notna(), None)
    for frame in (holes.convert_dtypes(), objects):
        again = clone(plain).fit(frame)
        np.testing.assert_array_equal(again.low_rank_, plain.low_rank_)
    assert plain.sparse_[2, 3] == 0
    pl = pytest.importorskip("polars")
    table = pl.DataFrame(holes.reset_index(drop=True)).fill_nan(None)
    assert table.null_count().sum_horizontal().item() == 1
    again = clone(plain).set_output(transform="polars").fit(table)
    np.testing.assert_array_equal(again.low_rank_, plain.low_rank_)
    assert isinstance(again.transform(table), pl.DataFrame)


@pytest.mark.slow
def test_a_model_of_a_data_frame_is_loaded_without_pandas(X, tmp_path):
    path = tmp_path / "model.pickle"
    path.write_bytes(
        pickle.dumps(RPCAG(2, gamma="clustering", graph="knn").fit(named(X)))
    )
    code = (
        "import sys, pickle; sys.modules['pandas'] = None\n"
        f"print(pickle.load(open({str(path)!r}, 'rb')).embedding_.shape)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "(12, 2)\n", done.stderr


def test_models_are_shown_as_diagrams(X, A):
    with sklearn.config_context(display="diagram"):
        for model in (
            RPCAG(gamma="clustering", graph=A),
            RPCAG(gamma="clustering", graph=KNNGraph()).fit(X),
        ):
            assert "RPCAG" in model._repr_html_()
