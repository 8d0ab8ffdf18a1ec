"""Hypergraphs: edges that join any number of samples."""

from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from rpcag.graphs.builder import Estimator
from rpcag.graphs.check import as_matrix, check_weights
from rpcag.graphs.inputs import refuse_masked
from rpcag.graphs.laplacian import degree, inverse, laplacian
from rpcag.graphs.neighbors import KNNGraph


class NewVertices(NamedTuple):
    """Edges between new rows and a hypergraph."""

    weights: sparse.csr_array  # sum of We / De over the edges shared with every vertex
    degrees: np.ndarray  # weight of all their edges
    loops: np.ndarray  # sum of We / De over their edges
    doubles: np.ndarray  # index of the equal row in the hypergraph, or -1


@dataclass(eq=False, repr=False)
class KNNHypergraph(Estimator):
    """Hypergraph with one edge per sample, which joins it and its nearest neighbors.

    Called with X, and optionally a mask of observed entries, it returns the incidence
    matrix H, with H[i, e] = 1 if sample i belongs to the edge around sample e.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors in the edge of every sample.
    image_shape : tuple of int, optional
        As in `KNNGraph`.

    Attributes
    ----------
    incidence_ : csr_array of shape (n_samples, n_edges)

    Examples
    --------
    >>> from rpcag.graphs import KNNHypergraph
    >>> KNNHypergraph(n_neighbors=1)([[0.0], [0.1], [5.0]]).toarray()
    array([[1., 1., 0.],
           [1., 1., 1.],
           [0., 0., 1.]])
    """

    n_neighbors: int = 10
    _: KW_ONLY
    image_shape: tuple[int, ...] | None = None

    def __call__(self, X, mask=None):
        """Incidence of the hypergraph of the rows of X, as a csr_array."""
        return clone(self).fit(X, mask=mask).incidence_

    def fit(self, X, y=None, *, mask=None):
        """Build the hypergraph of the rows of X; `incidence_` holds it."""
        options = self.get_params(deep=False)
        self._graph = KNNGraph(**options, weights="binary").fit(X, mask=mask)
        neighbors = self._graph.nearest_
        # Column e holds the neighbors of e, and e itself.
        itself = sparse.eye_array(neighbors.shape[0])
        self.incidence_ = sparse.csr_array(neighbors.T + itself)
        return self

    def connect(self, X, mask=None) -> NewVertices:
        """Connect new rows by an edge of their own and by the edges that reach them.

        An edge reaches as far as the last neighbor of its sample. A row that equals
        a row of the hypergraph gets the edges of that row (of the first such row).
        """
        check_is_fitted(self, "incidence_")
        H = self.incidence_
        doubles, nearest, reached = self._graph.reach(X, mask=mask)
        shares = 1 / degree(H.T)  # We / De of every edge
        is_new = (doubles < 0).astype(np.float64)
        own = is_new / (1 + degree(nearest))  # the same for a new row's edge
        place = np.arange(len(doubles)), np.maximum(doubles, 0)
        equal = sparse.csr_array((1 - is_new, place), shape=reached.shape)
        joined = sparse.csr_array(reached + equal @ H)
        weights = sparse.diags_array(own) @ nearest
        weights = weights + joined @ sparse.diags_array(shares) @ H.T
        weights = sparse.csr_array(weights - weights * equal)  # without loops
        weights.eliminate_zeros()
        degrees, loops = is_new + degree(joined), own + joined @ shares
        return NewVertices(weights, degrees, loops, doubles)


def hypergraph_laplacian(
    incidence, weights=None, *, name: str = "incidence"
) -> sparse.csr_array:
    """Phi_h = I - Dv^-1/2 H We De^-1 H^T Dv^-1/2, zero at vertices in no edge.

    Parameters
    ----------
    incidence : array or sparse array of shape (n_vertices, n_edges)
        H, one where a vertex belongs to an edge.
    weights : array of shape (n_edges,), optional
        Edge weights We; ones by default.
    name : str
        Name of the incidence in error messages.

    Examples
    --------
    An edge of two vertices gives half the Laplacian of the graph:

    >>> from rpcag.graphs import hypergraph_laplacian
    >>> hypergraph_laplacian([[1.0], [1.0]]).toarray().round(2)
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    refuse_masked("use 0 for no edge", weights=weights)
    H = check_incidence(incidence, name=name)
    n_edges = H.shape[1]
    w = np.ones(n_edges) if weights is None else np.asarray(weights, dtype=np.float64)
    if w.shape != (n_edges,) or not (np.isfinite(w).all() and (w >= 0).all()):
        raise ValueError(
            f"weights must be {n_edges} finite numbers of at least 0, one per edge"
        )
    # The normalized Laplacian of a graph with loops, whose degrees are those of H.
    return laplacian(H @ sparse.diags_array(w * inverse(degree(H.T))) @ H.T, name=name)


def check_incidence(
    incidence, n_vertices: int | None = None, *, name: str = "incidence"
) -> sparse.csr_array:
    """The incidence of a hypergraph, with one row per vertex, in double precision."""
    kinds = "a KNNHypergraph of rpcag.graphs or an incidence (n_samples, n_edges)"
    H = as_matrix(incidence, name, kinds)
    if n_vertices is not None and H.shape[0] != n_vertices:
        raise ValueError(
            f"{name} must have one row per sample, {n_vertices}, and one column per "
            f"edge, got an incidence of shape {H.shape}"
        )
    return sparse.csr_array(check_weights(H, name))
