"""Hypergraphs: edges that join any number of samples."""

import numpy as np
from scipy import sparse

from rpcag.graphs.laplacian import degree, inverse_sqrt
from rpcag.graphs.neighbors import KNNGraph


def knn_hypergraph(X, n_neighbors: int = 10, *, mask=None) -> sparse.csr_array:
    """Incidence H of the hypergraph with one edge per sample: it and its neighbours.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        NaN marks a missing entry; distances skip it.
    n_neighbors : int, default=10
    mask : boolean array of the shape of X, optional
        True where an entry is observed.

    Returns
    -------
    csr_array of shape (n_samples, n_samples)
        H[i, e] = 1 if sample i belongs to the edge around sample e.

    Examples
    --------
    >>> from rpcag.graphs import knn_hypergraph
    >>> knn_hypergraph([[0.0], [0.1], [5.0]], n_neighbors=1).toarray()
    array([[1., 1., 0.],
           [1., 1., 1.],
           [0., 0., 1.]])
    """
    builder = KNNGraph(n_neighbors)
    neighbors, distances = builder.neighbors(X, mask=mask)
    n, k = neighbors.shape
    e = np.repeat(np.arange(n), k)
    near = np.isfinite(distances.ravel())
    i = np.concatenate([np.arange(n), neighbors.ravel()[near]])
    e = np.concatenate([np.arange(n), e[near]])
    return sparse.csr_array((np.ones(len(i)), (i, e)), shape=(n, n))


def hypergraph_laplacian(incidence, weights=None) -> sparse.csr_array:
    """Phi_h = I - Dv^-1/2 H We De^-1 H^T Dv^-1/2, zero at vertices in no edge.

    Parameters
    ----------
    incidence : array or sparse array of shape (n_vertices, n_edges)
        H, one where a vertex belongs to an edge.
    weights : array of shape (n_edges,), optional
        Edge weights We; ones by default.

    Examples
    --------
    An edge of two vertices gives half the Laplacian of the graph:

    >>> from rpcag.graphs import hypergraph_laplacian
    >>> hypergraph_laplacian([[1.0], [1.0]]).toarray().round(2)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    H = sparse.csr_array(incidence, dtype=np.float64)
    if not np.isfinite(H.data).all() or (H.data < 0).any():
        raise ValueError("incidence must hold finite numbers of at least 0")
    n_edges = H.shape[1]
    w = np.ones(n_edges) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (n_edges,) or not (np.isfinite(w).all() and (w >= 0).all()):
        raise ValueError(
            f"weights must be {n_edges} finite numbers of at least 0, one per edge"
        )
    sizes = np.asarray(H.sum(axis=0)).reshape(-1)
    shares = np.divide(w, sizes, out=np.zeros(n_edges), where=sizes > 0)
    degrees = degree(H @ sparse.diags_array(w))
    half = sparse.diags_array(inverse_sqrt(degrees)) @ H
    identity = sparse.diags_array((degrees > 0).astype(np.float64))
    return sparse.csr_array(identity - half @ sparse.diags_array(shares) @ half.T)
