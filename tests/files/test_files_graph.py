"""Graphs from files: every form gives the same adjacency."""

import numpy as np
import pytest
from scipy import sparse

from rpcag.files.graph import read_graph

NAMES = ["a", "b", "c", "d", "e"]
A = np.zeros((5, 5))
for i, j, w in ((0, 1, 1.0), (1, 2, 0.5), (3, 4, 2.0)):
    A[i, j] = A[j, i] = w


def dense(graph):
    return graph.toarray() if sparse.issparse(graph) else graph


def text(path, content):
    path.write_text(content)


FORMS = {
    "sparse.npz": lambda p: sparse.save_npz(p, sparse.csr_matrix(A)),
    "dense.npz": lambda p: np.savez(p, W=A),
    "dense.npy": lambda p: np.save(p, A),
    "numbers.txt": lambda p: text(p, "0 1 1\n1 2 .5\n3 4 2\n"),
    "names.tsv": lambda p: text(p, "a\tb\t1\nb\tc\t0.5\nd\te\t2\n"),
    "header.csv": lambda p: text(p, "source,target,weight\na,b,1\nb,c,.5\nd,e,2\n"),
    "both.csv": lambda p: text(p, "0,1,1\n1,0,1\n1,2,.5\n2,1,.5\n3,4,2\n0,1,1\n"),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_graph(name, tmp_path):
    FORMS[name](tmp_path / name)
    found = dense(read_graph(tmp_path / name, NAMES))
    np.testing.assert_array_equal(found, A)


def test_edges_without_weights_and_loops(tmp_path):
    (tmp_path / "e.csv").write_text("0,1\n1,2\n3,4\n3,3\n")
    found = dense(read_graph(tmp_path / "e.csv", NAMES))
    np.testing.assert_array_equal(found, (A > 0) + np.diag([0, 0, 0, 1.0, 0]))


def test_names_that_are_numbers_come_before_places(tmp_path):
    (tmp_path / "e.csv").write_text("1,2\n")
    found = dense(read_graph(tmp_path / "e.csv", ["1", "2", "3", "4"]))
    assert found[0, 1] == found[1, 0] == 1
    assert found.sum() == 2


def test_three_samples_are_not_three_columns(tmp_path):
    (tmp_path / "e.csv").write_text("0,1,5\n1,2,6\n")
    found = dense(read_graph(tmp_path / "e.csv", ["x", "y", "z"]))
    np.testing.assert_array_equal(found, [[0, 5, 0], [5, 0, 6], [0, 6, 0]])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        (
            "0,9\n",
            "line 1: '9' is neither .* nor a number from 0 to 4",
        ),
        ("1,2\n4,5\n", "line 2: '5' is neither .* a number from 0 to 4; count from 0"),
        ("a,b\nb,x\n", "line 2: 'x' is neither the name of a sample"),
        ("0,1,much\n1,2,.5\n1,3,1\n", "'much' is not a weight"),
        ("0,1,1\n1,2,NA\n", "'NA' is not a weight"),
        ("0,1,1\n1,0,2\n", "line 2: the edge between 'a' and 'b' has weight 1 in one"),
        ("0,1,1\n" + "0,0,0,0,0\n" * 5, "line 2 has 5 fields: an edge has two samples"),
    ],
)
def test_errors_say_where(content, message, tmp_path):
    (tmp_path / "e.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        read_graph(tmp_path / "e.csv", NAMES)


def test_other_files(tmp_path):
    with pytest.raises(
        FileNotFoundError, match="takes robust, knn, complete, chain or a file"
    ):
        read_graph("nearest", NAMES)
    (tmp_path / "g.gml").write_text("graph []")
    with pytest.raises(ValueError, match=r"no reader for .gml"):
        read_graph(tmp_path / "g.gml", NAMES)
    (tmp_path / "g.npz").write_text("no archive")
    with pytest.raises(ValueError, match="cannot be read as NumPy"):
        read_graph(tmp_path / "g.npz", NAMES)
