"""Check that an argument is a valid graph."""

import numpy as np
from scipy import sparse

from rpcag.graphs.inputs import refuse_masked
from rpcag.linalg.sparse_structure import check_structure


def check_graph(
    graph,
    n_vertices: int | None = None,
    *,
    name: str = "graph",
    vertices: str = "samples",
):
    """Return a symmetric, non-negative adjacency with a zero diagonal.

    It is a copy in double precision, sparse if the graph is.

    Parameters
    ----------
    graph : array or sparse array of shape (n, n)
        Edge weights. The diagonal is ignored: a vertex is not its own neighbor.
    n_vertices : int, optional
        The number of vertices it must have.
    name, vertices : str
        Name of the graph and of its vertices in error messages.

    Examples
    --------
    >>> from rpcag.graphs import check_graph
    >>> check_graph([[1.0, 2.0], [2.0, 0.0]])
    array([[0., 2.],
           [2., 0.]])
    """
    kinds = (
        "a square matrix of edge weights (models also take 'robust', 'knn', "
        "'complete', 'chain' and builders of rpcag.graphs)"
    )
    A = as_matrix(graph, name, kinds)
    if A.shape[0] != A.shape[1]:
        raise ValueError(f"{name} must be {kinds}, got a matrix of shape {A.shape}")
    if n_vertices is not None and A.shape[0] != n_vertices:
        raise ValueError(
            f"{name} has {A.shape[0]} vertices but X has {n_vertices} {vertices}; "
            f"a precomputed graph must be built from the same {vertices}"
        )
    A = check_weights(A, name)
    asymmetry = abs(A - A.T).max() if A.shape[0] else 0.0
    if asymmetry > 1e-8 * (A.max() if A.shape[0] else 1.0):
        raise ValueError(
            f"{name} is not symmetric (weights of (i, j) and (j, i) differ by up to "
            f"{asymmetry:.3g}); pass (A + A.T) / 2 or np.maximum(A, A.T)"
        )
    A = A * 0.5 + A.T * 0.5
    if sparse.issparse(A):
        A = sparse.csr_array(A - sparse.diags_array(A.diagonal()))
        A.eliminate_zeros()
        A.sort_indices()
    else:
        np.fill_diagonal(A, 0.0)
    return A


def as_matrix(given, name: str, kinds: str):
    """The argument as a matrix of floats.

    Sparse matrices are converted by `check_weights`, after their shape is checked: one
    of a wrong shape may be too large.
    """
    refuse_masked("weights cannot be missing: use 0 for no edge", **{name: given})
    try:
        if np.iscomplexobj(given):
            raise TypeError("it is complex")
        A = given if sparse.issparse(given) else np.asarray(given, dtype=np.float64)
        if A.ndim != 2:
            raise TypeError(f"its shape is {A.shape}" if A.ndim else repr(given))
        return A
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be {kinds}, got {type(given).__name__}: {error}"
        ) from error


def check_weights(A, name: str):
    """A as a csr_array if it is sparse; its weights are finite and at least 0."""
    if sparse.issparse(A):
        A = sparse.csr_array(check_structure(A, name), dtype=np.float64)
    weights = A.data if sparse.issparse(A) else A
    if not np.isfinite(weights).all():
        raise ValueError(f"{name} has weights that are NaN or infinite; drop the edges")
    if weights.size and weights.min() < 0:
        raise ValueError(
            f"{name} has negative weights (down to {weights.min():.3g}); weights must "
            "be at least 0"
        )
    return A
