"""The Laplacian of a graph."""

import numpy as np
from scipy import sparse

from rpcag.graphs.inputs import refuse_masked
from rpcag.linalg.sparse_structure import check_structure

# Degrees must be below this, so that small multiples of them do not overflow.
LARGEST = 1e300
KINDS = ("normalized", "combinatorial")


def laplacian(adjacency, kind: str = "normalized", *, name: str = "adjacency"):
    """Laplacian Phi of a graph: I - D^-1/2 A D^-1/2, or D - A.

    Vertices without neighbors have a zero row and column in both.

    Parameters
    ----------
    adjacency : ndarray or sparse array of shape (n, n)
        As `check_graph` returns it.
    kind : {"normalized", "combinatorial"}
    name : str
        Name of the adjacency in errors.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.graphs import laplacian
    >>> laplacian(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  0.]])
    """
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"laplacian must be one of {KINDS}, got {kind!r}")
    if sparse.issparse(adjacency):
        adjacency = sparse.csr_array(check_structure(adjacency, name))
    else:
        refuse_masked("use 0 for no edge", adjacency=adjacency)
        adjacency = np.asarray(adjacency, dtype=np.float64)
    if adjacency.ndim != 2 or adjacency.shape[0] != adjacency.shape[1]:
        raise ValueError(f"{name} must be a square matrix, got shape {adjacency.shape}")
    with np.errstate(over="ignore"):
        degrees = degree(adjacency)
    if not degrees.max(initial=0.0) < LARGEST:
        remedy = "" if kind == "normalized" else " and multiply gamma by it"
        raise ValueError(
            f"{name} has weights up to {adjacency.max():.3g}: degrees must be below "
            f"{LARGEST:.0e}; divide all weights by a constant{remedy}"
        )
    diagonal = degrees
    if kind == "normalized":
        half = inverse(np.sqrt(degrees))
        if sparse.issparse(adjacency):
            parts = adjacency.indices, adjacency.indptr
            left = np.repeat(half, np.diff(adjacency.indptr))
            data = adjacency.data * left * half[adjacency.indices]
            adjacency = sparse.csr_array((data, *parts), adjacency.shape)
        else:
            adjacency = adjacency * half[:, None] * half
        diagonal = (degrees > 0).astype(np.float64)
    Phi = sparse.diags_array(diagonal) - adjacency
    return sparse.csr_array(Phi) if sparse.issparse(Phi) else Phi


def degree(adjacency) -> np.ndarray:
    """Sum of the weights at every vertex."""
    return np.asarray(adjacency.sum(axis=1)).reshape(-1)


def inverse(roots: np.ndarray) -> np.ndarray:
    """1 / roots, and zero where roots are zero."""
    return np.divide(1, roots, out=np.zeros_like(roots), where=roots > 0)
