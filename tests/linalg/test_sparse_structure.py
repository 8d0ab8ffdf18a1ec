"""Sparse matrices with index arrays that point elsewhere are refused, not followed."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from rpcag.linalg.sparse_structure import check_structure

N = 12
FORMATS = ("csr", "csc", "bsr", "coo", "dia", "lil", "dok")
# In a process of their own: what is not refused may end it.
SCRIPT = f"""
import json
import numpy as np
from scipy import sparse
from rpcag import GLPCA, MHMF, RPCAG
from rpcag.graphs import check_graph, laplacian
from rpcag.models.graph import check_edges

X = np.random.default_rng(0).standard_normal(({N}, 5))
chain = sparse.diags_array([np.ones({N - 1})] * 2, offsets=[-1, 1], format="csr")


def bad(rows={N}):
    A = chain[:rows].copy()
    A.indices[3] = 10**5
    return A


fitted = GLPCA(n_components=2, graph=chain).fit(X)
ways = {{
    "check_graph": lambda: check_graph(bad()),
    "laplacian": lambda: laplacian(bad()),
    "graph": lambda: RPCAG(graph=bad()).fit(X),
    "hypergraph": lambda: MHMF(n_components=2, graphs=[bad()]).fit(X),
    "adjacency": lambda: fitted.transform(X[:4], adjacency=bad(4)),
    "check_edges": lambda: check_edges(bad(4), 4, {N}),
}}
said = {{}}
for name, way in ways.items():
    try:
        said[name] = f"accepted: {{way()}}"
    except ValueError as error:
        said[name] = str(error)
print(json.dumps(said))
"""


@pytest.fixture
def A(rng):
    return sparse.csr_array(
        (rng.random((6, 4)) < 0.5) * rng.standard_normal((6, 4)).round(2)
    )


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", ["array", "matrix"])
def test_matrices_of_scipy_are_accepted(A, format, kind):
    made = getattr(sparse, f"{format}_{kind}")(A)
    assert check_structure(made, "A") is made
    assert check_structure(getattr(sparse, f"{format}_{kind}")((0, 3)), "A").nnz == 0


def test_room_at_the_end_of_the_arrays_is_allowed(A):
    before = A.toarray()
    roomy = sparse.csr_array(A.shape)
    roomy.indptr = A.indptr
    roomy.indices = np.concatenate([A.indices, [10**5]]).astype(np.int32)
    roomy.data = np.concatenate([A.data, [7.0]])
    np.testing.assert_array_equal(check_structure(roomy, "A").toarray(), before)


def changed(A, format, **arrays):
    made = getattr(sparse, f"{format}_array")(A)
    for name, change in arrays.items():
        setattr(made, name, change(getattr(made, name).copy()))
    return made


def put(place, value):
    def change(array):
        array[place] = value
        return array

    return change


def spoil_lists(A):
    made = sparse.lil_array(A)
    made.rows[2] = [0, 9]
    made.data[2] = [1.0, 2.0]
    return made


def short_lists(A):
    made = sparse.lil_array(A)
    made.rows[2] = [0, 1]
    made.data[2] = [1.0]
    return made


def spoil_keys(A):
    made = sparse.dok_array(A)
    # Of SciPy 1.12 it is a dict itself.
    dict.__setitem__(getattr(made, "_dict", made), (6, 0), 1.0)
    return made


MALFORMED = {
    "csr column": lambda A: changed(A, "csr", indices=put(0, 4)),
    "csr negative": lambda A: changed(A, "csr", indices=put(0, -1)),
    "csr start": lambda A: changed(A, "csr", indptr=put(0, 1)),
    "csr order": lambda A: changed(A, "csr", indptr=put(2, 0)),
    "csr overflow": lambda A: changed(A, "csr", indptr=put(2, -(2**31))),
    "csr end": lambda A: changed(A, "csr", indptr=put(-1, 50)),
    "csr length": lambda A: changed(A, "csr", indptr=lambda old: old[:-1]),
    "csr values": lambda A: changed(A, "csr", data=lambda old: old[:-1]),
    "csr dtype": lambda A: changed(A, "csr", indices=lambda old: old.astype(float)),
    "csc row": lambda A: changed(A, "csc", indices=put(0, 6)),
    "csc length": lambda A: changed(A, "csc", indptr=lambda old: np.append(old, 9)),
    "bsr block": lambda A: changed(
        sparse.bsr_array(A, blocksize=(2, 2)), "bsr", indices=put(0, 2)
    ),
    "bsr axes": lambda A: changed(A, "bsr", data=lambda old: old.ravel()),
    "coo row": lambda A: changed(A, "coo", row=put(0, 6)),
    "coo values": lambda A: changed(A, "coo", data=lambda old: old[:-1]),
    "dia offsets": lambda A: changed(A, "dia", offsets=lambda old: old[:-1]),
    "dia twice": lambda A: changed(A, "dia", offsets=put(slice(None), 0)),
    "lil column": spoil_lists,
    "lil lengths": short_lists,
    "dok key": spoil_keys,
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_arrays_are_refused(A, case):
    A = sparse.csr_array(A.toarray() + np.eye(6, 4))  # every row has an entry or two
    bad = MALFORMED[case](A)
    with pytest.raises(ValueError, match=rf"G is a malformed .* format {bad.format}: "):
        check_structure(bad, "G")


@pytest.mark.slow
def test_a_malformed_graph_is_refused_wherever_one_can_be_given():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for name, said in json.loads(done.stdout).items():
        assert "malformed sparse matrix" in said, (name, said)


def test_a_sparse_graph_of_a_huge_shape_is_refused_before_it_is_converted():
    from rpcag.graphs import check_graph
    from rpcag.models.graph import check_edges

    huge = sparse.coo_array(([1.0], ([0], [1])), shape=(10**12, 10**12))
    with pytest.raises(
        ValueError, match="graph has 1000000000000 vertices but X has 5"
    ):
        check_graph(huge, 5)
    with pytest.raises(ValueError, match=r"adjacency must have shape \(2, 5\)"):
        check_edges(huge, 2, 5)
