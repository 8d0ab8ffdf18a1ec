"""Hypergraphs: edges that join any number of samples."""

from dataclasses import dataclass
from typing import ClassVar

from scipy import sparse
from sklearn.base import clone

from rpcag.graphs.builder import GraphBuilder
from rpcag.graphs.check import as_matrix, check_weights
from rpcag.graphs.laplacian import degree, inverse
from rpcag.graphs.neighbors import KNNGraph
from rpcag.graphs.options import COUNT


@dataclass(eq=False, repr=False)
class KNNHypergraph(GraphBuilder):
    """Hypergraph with one edge per sample, which joins it and its nearest neighbors.

    Called with X, and optionally a mask of observed entries, it returns the incidence
    matrix H, with H[i, e] = 1 if sample i belongs to the edge around sample e.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors in the edge of every sample.

    Attributes
    ----------
    incidence_ : csr_array of shape (n_samples, n_edges)
    adjacency_ : csr_array of shape (n_samples, n_samples)
        Each edge that two samples share adds one over the size of the edge. The
        diagonal is not zero: the Laplacian of this graph is that of the hypergraph.

    Examples
    --------
    >>> from rpcag.graphs import KNNHypergraph
    >>> KNNHypergraph(n_neighbors=1)([[0.0], [0.1], [5.0]]).toarray()
    array([[1., 1., 0.],
           [1., 1., 1.],
           [0., 0., 1.]])
    """

    _parameter_constraints: ClassVar = {"n_neighbors": [COUNT]}

    n_neighbors: int = 10

    def __call__(self, X, mask=None):
        """Incidence of the hypergraph of the rows of X, as a csr_array."""
        return clone(self).fit(X, mask=mask).incidence_

    def _build(self, rows):
        X, mask = rows
        self._graph = KNNGraph(self.n_neighbors, weights="binary").fit(X, mask=mask)
        neighbors = self._graph.nearest_
        # Column e holds the neighbors of e, and e itself.
        itself = sparse.eye_array(neighbors.shape[0])
        self.incidence_ = sparse.csr_array(neighbors.T + itself)
        return expansion(self.incidence_)

    def _connect(self, rows):
        """By an edge of their own and by the edges that reach them.

        An edge reaches as far as the last neighbor of its sample.
        """
        X, mask = rows
        _, nearest, reached = self._graph.reach(X, mask=mask)
        own = sparse.diags_array(1 / (1 + degree(nearest)))
        H = self.incidence_
        shares = sparse.diags_array(1 / degree(H.T))
        return sparse.csr_array(own @ nearest + reached @ shares @ H.T)


def expansion(H: sparse.csr_array):
    """H De^-1 H^T: a graph with loops whose Laplacian is that of the hypergraph.

    This is Phi_h = I - Dv^-1/2 H De^-1 H^T Dv^-1/2, and zero at vertices in no edge.
    """
    return sparse.csr_array(H @ sparse.diags_array(inverse(degree(H.T))) @ H.T)


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
