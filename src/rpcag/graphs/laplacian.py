"""The Laplacian of a graph."""

import numpy as np
from scipy import sparse

from rpcag.linalg.sparse_structure import check_structure

KINDS = ("normalized", "combinatorial")


def laplacian(adjacency, kind: str = "normalized"):
    """Laplacian Phi of a graph: I - D^-1/2 A D^-1/2, or D - A.

    Vertices without neighbours have a zero row and column in both: nothing ties them
    to anything, and nothing is divided by zero.

    Parameters
    ----------
    adjacency : ndarray or sparse array of shape (n, n)
        As `check_graph` returns it.
    kind : {"normalized", "combinatorial"}

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.graphs import laplacian
    >>> laplacian(np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    array([[ 1., -1.,  0.],
           [-1.,  1.,  0.],
           [ 0.,  0.,  0.]])
    """
    if kind not in KINDS:
        raise ValueError(f"laplacian must be one of {KINDS}, got {kind!r}")
    if sparse.issparse(adjacency):
        check_structure(adjacency, "adjacency")
    else:
        adjacency = np.asarray(adjacency, dtype=np.float64)
    degrees = degree(adjacency)
    diagonal = degrees
    if kind == "normalized":
        half = inverse_sqrt(degrees)
        diagonal = (degrees > 0).astype(np.float64)
        if sparse.issparse(adjacency):
            D = sparse.diags_array(half)
            adjacency = D @ adjacency @ D
        else:
            adjacency = half[:, None] * adjacency * half
    if sparse.issparse(adjacency):
        return sparse.csr_array(sparse.diags_array(diagonal) - adjacency)
    Phi = 0.0 - adjacency  # not -adjacency, whose zeros would be negative
    np.fill_diagonal(Phi, diagonal)
    return Phi


def degree(adjacency) -> np.ndarray:
    """Sum of the weights at every vertex."""
    return np.asarray(adjacency.sum(axis=1)).reshape(-1)


def inverse_sqrt(degrees: np.ndarray) -> np.ndarray:
    """d^-1/2, zero where d is zero."""
    positive = degrees > 0
    return np.where(positive, 1 / np.sqrt(np.where(positive, degrees, 1)), 0.0)
