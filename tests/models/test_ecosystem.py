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

from problems import UNIT
from rpcag import FRPCAG, MHMF, MMMF, RPCA, RPCAG, RPCAGCV
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


def as_networkx(A, names=None, seed=0):
    """With its nodes in no order at all."""
    nx = pytest.importorskip("networkx")
    names = list(range(len(A))) if names is None else names
    shuffled = np.random.default_rng(seed).permutation(len(A))
    graph = nx.Graph()
    graph.add_nodes_from(names[i] for i in shuffled)
    for i, j in np.argwhere(np.triu(A)):
        graph.add_edge(names[i], names[j], weight=A[i, j])
    return graph


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


@pytest.mark.parametrize("order", [None, [3, 1, 0, 2, 11, 10, 9, 8, 7, 6, 5, 4]])
def test_nodes_are_found_by_the_names_of_the_rows(X, A, order):
    frame = named(X, order)
    model = RPCAG(gamma="clustering", graph=as_networkx(A, NAMES)).fit(frame)
    rows = np.arange(12) if order is None else np.array(order)
    np.testing.assert_array_equal(model.adjacency_.toarray(), A[rows][:, rows])


def test_nodes_that_are_numbers_are_places(X, A):
    graph = as_networkx(A)
    assert list(graph) != sorted(graph)
    for data in (X, named(X), pd.DataFrame(X), pd.DataFrame(X, range(5, 17))):
        model = RPCAG(gamma="clustering", graph=graph).fit(data)
        np.testing.assert_array_equal(model.adjacency_.toarray(), A)


def test_numbers_that_could_be_names_or_places_are_refused(X, A):
    shuffled = pd.DataFrame(X).iloc[::-1]
    with pytest.raises(ValueError, match=r"names or places .*sort_index\(\) for names"):
        RPCAG(gamma="clustering", graph=as_networkx(A)).fit(shuffled)
    by_name = RPCAG(gamma="clustering", graph=as_networkx(A)).fit(shuffled.sort_index())
    by_place = RPCAG(gamma="clustering", graph=as_networkx(A)).fit(
        shuffled.reset_index(drop=True)
    )
    np.testing.assert_array_equal(
        by_name.sparse_, RPCAG(gamma="clustering", graph=A).fit(X).sparse_
    )
    np.testing.assert_array_equal(
        by_place.sparse_, RPCAG(gamma="clustering", graph=A).fit(X[::-1]).sparse_
    )


def test_nodes_that_match_nothing_are_named(X, A):
    graph = as_networkx(A, NAMES)
    with pytest.raises(ValueError, match=r"nodes such as 'sample .* rows .* no names"):
        RPCAG(gamma="clustering", graph=graph).fit(X)
    with pytest.raises(ValueError, match="index of X has 'other', which is not a node"):
        RPCAG(gamma="clustering", graph=graph).fit(
            named(X).rename({"sample 4": "other"})
        )
    with pytest.raises(ValueError, match="the index of X has duplicate names"):
        RPCAG(gamma="clustering", graph=graph).fit(named(X, [0, *range(11)]))
    with pytest.raises(ValueError, match="graph has 12 vertices but X has 9 samples"):
        RPCAG(gamma="clustering", graph=graph).fit(named(X)[:9])
    with pytest.raises(ValueError, match=r"graphs\[0\] has nodes such as"):
        MMMF(graphs=[graph]).fit(X)


def test_weights_of_a_networkx_graph(X):
    nx = pytest.importorskip("networkx")
    several = nx.MultiGraph([(0, 1), (0, 1), (1, 2), (2, 2)])
    np.testing.assert_array_equal(
        check_graph(several).toarray(), [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    )
    with pytest.raises(ValueError, match="graph is not symmetric"):
        check_graph(nx.DiGraph([(0, 1)]))
    with pytest.raises(ValueError, match="graph has edges whose weight is not a num"):
        check_graph(nx.Graph([(0, 1, {"weight": "thick"})]))
    with pytest.raises(ValueError, match="graph has 0 vertices but X has 12"):
        RPCAG(gamma="clustering", graph=nx.Graph()).fit(X)

    class Mine(nx.Graph):
        pass

    assert check_graph(Mine([(0, 1)])).nnz == 2


WITH_GRAPH = [m for m in (*MODELS, RPCAGCV) if m not in (RPCA, MHMF)]


@pytest.mark.parametrize("model", WITH_GRAPH, ids=lambda model: model.__name__)
def test_every_model_with_a_graph_takes_one_of_networkx(X, A, model):
    options = {"gammas": [0.1], "n_splits": 1} if model is RPCAGCV else {}
    if model is MMMF:
        kinds = {"graphs": [as_networkx(A, NAMES)]}, {"graphs": [sparse.csr_array(A)]}
    else:
        kinds = {"graph": as_networkx(A, NAMES)}, {"graph": sparse.csr_array(A)}
    theirs, ours = (model(n_components=2, **options, **kind) for kind in kinds)
    np.testing.assert_array_equal(theirs.fit_transform(named(X)), ours.fit_transform(X))


def test_the_graph_between_features_is_matched_with_the_columns(X, rng):
    A = np.triu(rng.uniform(0.5, 2.0, (7, 7)), 1)
    A += A.T
    frame = named(X)[[f"feature {j}" for j in (6, 5, 4, 3, 2, 1, 0)]]
    graph = as_networkx(A, [f"feature {j}" for j in range(7)])
    model = FRPCAG(**UNIT, feature_graph=graph).fit(frame)
    np.testing.assert_array_equal(model.feature_adjacency_.toarray(), A[::-1, ::-1])
    with pytest.raises(ValueError, match="feature_graph has nodes such as 'feature"):
        FRPCAG(**UNIT, feature_graph=graph).fit(X)


def test_data_frames_are_graphs(X, A):
    frame = pd.DataFrame(A, NAMES, NAMES)
    shuffled = frame.sample(frac=1, random_state=0)
    model = RPCAG(gamma="clustering", graph=shuffled).fit(named(X))
    np.testing.assert_array_equal(model.adjacency_, A)
    plain = pd.DataFrame(A)  # in the order of the rows, whatever these are called
    np.testing.assert_array_equal(
        RPCAG(gamma="clustering", graph=plain).fit(named(X)).adjacency_, A
    )
    with pytest.raises(ValueError, match="weight is not a number"):
        check_graph(pd.DataFrame([["a", "b"], ["c", "d"]]))


def test_igraph(X, A):
    ig = pytest.importorskip("igraph")
    graph = ig.Graph.Weighted_Adjacency(A.tolist(), mode="undirected")
    np.testing.assert_allclose(check_graph(graph, 12).toarray(), A)
    graph.vs["name"] = NAMES
    model = RPCAG(gamma="clustering", graph=graph).fit(named(X, range(11, -1, -1)))
    np.testing.assert_allclose(model.adjacency_.toarray(), A[::-1, ::-1])
    np.testing.assert_allclose(
        RPCAG(gamma="clustering", graph=graph).fit(X).adjacency_.toarray(), A
    )
    ring = check_graph(ig.Graph.Ring(5))
    np.testing.assert_array_equal(ring.sum(axis=1), 2)


def test_pygsp(X, A):
    graphs = pytest.importorskip("pygsp").graphs
    model = RPCAG(gamma="clustering", graph=graphs.Graph(A)).fit(X)
    np.testing.assert_allclose(model.adjacency_.toarray(), A)


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


def test_refitting_on_an_array_forgets_the_names(X, A):
    model = RPCAG(gamma="clustering", graph=as_networkx(A, NAMES)).fit(named(X))
    with pytest.raises(ValueError, match="rows of X have no names"):
        model.fit(X)


def test_models_are_shown_as_diagrams(X, A):
    with sklearn.config_context(display="diagram"):
        for model in (
            RPCAG(gamma="clustering", graph=as_networkx(A)),
            RPCAG(gamma="clustering", graph=KNNGraph()).fit(X),
        ):
            assert "RPCAG" in model._repr_html_()
