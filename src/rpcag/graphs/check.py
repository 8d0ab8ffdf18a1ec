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
    """Return `graph` as a symmetric, non-negative adjacency with a zero diagonal.

    Parameters
    ----------
    graph : array or sparse array of shape (n, n)
        Edge weights. The diagonal is ignored: a vertex is not its own neighbor.
    n_vertices : int, optional
        The number of vertices it must have.
    name, vertices : str
        Name of the graph and of its vertices in error messages.

    Returns
    -------
    ndarray or csr_array
        A copy in double precision, sparse if the graph is.

    Examples
    --------
    >>> from rpcag.graphs import check_graph
    >>> check_graph([[1.0, 2.0], [2.0, 0.0]])
    array([[0., 2.],
           [2., 0.]])
    """
    refuse_masked("weights cannot be missing: use 0 for no edge", **{name: graph})
    # Check the shape first: a sparse matrix of a wrong shape may be too large to
    # convert.
    A = graph if sparse.issparse(graph) else _as_float(graph, name)
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        what = f"an array of shape {A.shape}" if A.ndim else repr(graph)
        raise ValueError(
            f"{name} must be a square matrix of edge weights, or 'robust', 'knn', "
            f"'complete' or a builder of rpcag.graphs, got {what}"
        )
    if n_vertices is not None and A.shape[0] != n_vertices:
        raise ValueError(
            f"{name} has {A.shape[0]} vertices but X has {n_vertices} {vertices}; "
            f"a precomputed graph must be built from the same {vertices}"
        )
    if sparse.issparse(A):
        A = _as_float(check_structure(A, name), name)
    weights = A.data if sparse.issparse(A) else A
    if not np.isfinite(weights).all():
        raise ValueError(f"{name} has weights that are NaN or infinite; drop the edges")
    if weights.size and weights.min() < 0:
        raise ValueError(
            f"{name} has negative weights (down to {weights.min():.3g}); "
            "weights are similarities of samples and must be at least 0"
        )
    asymmetry = abs(A - A.T).max() if A.shape[0] else 0.0
    if asymmetry > 1e-8 * (weights.max() if weights.size else 1.0):
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


def _as_float(graph, name: str):
    try:
        if np.iscomplexobj(graph):
            raise TypeError("complex weights")
        if sparse.issparse(graph):
            return sparse.csr_array(graph, dtype=np.float64)
        return np.asarray(graph, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be 'robust', 'knn', 'complete', a builder of rpcag.graphs or "
            f"a square matrix of edge weights, got {type(graph).__name__}: {error}"
        ) from error
