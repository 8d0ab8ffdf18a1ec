"""The `graph` argument of the models: what it may be, and how new rows join it."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_array

from rpcag.graphs.builder import GraphBuilder
from rpcag.graphs.check import check_graph
from rpcag.graphs.complete import CompleteGraph
from rpcag.graphs.hypergraph import KNNHypergraph, hypergraph_laplacian
from rpcag.graphs.laplacian import degree, inverse_sqrt, laplacian
from rpcag.graphs.neighbors import KNNGraph
from rpcag.linalg.sparse_structure import check_structure

BUILDERS = ("robust", "knn", "complete")


def builder_of(name: str) -> GraphBuilder:
    """The builder that a name of `BUILDERS` stands for."""
    if name == "robust":
        # Robust PCA is a model itself: loaded when there are models.
        from rpcag.models.robust_graph import RobustGraph

        return RobustGraph()
    return KNNGraph() if name == "knn" else CompleteGraph()


class ModelGraph:
    """A graph between the rows of X, its Laplacian Phi, and the ties of new rows.

    Attributes
    ----------
    builder : GraphBuilder or None
        Fitted to X; None where the adjacency was given.
    adjacency, laplacian : csr_array or ndarray
    """

    def __init__(
        self,
        graph,
        X: np.ndarray,
        kind: str = "normalized",
        *,
        name: str = "graph",
        vertices: str = "samples",
        labels: Sequence[Hashable] | None = None,
    ) -> None:
        self.builder, self.adjacency = _build(graph, X, name, vertices, labels)
        self.laplacian = laplacian(self.adjacency, kind)
        self.normalized = kind == "normalized"

    def edges(self, X: np.ndarray, adjacency, n_samples: int):
        """Weights of new rows to fitted ones: given, by the builder, or None."""
        if adjacency is not None:
            return check_edges(adjacency, len(X), n_samples)
        return None if self.builder is None else self.builder.connect(X)

    def ties(
        self, X: np.ndarray, adjacency, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Smoothness of new rows z next to fitted ones with the given values.

        With degrees d, tr(Z^T Phi Z) reads as a function of one row z:

            normalised     ||z||^2 - 2 z sum_j a_j z_j / sqrt(d d_j) + const
            combinatorial  d ||z||^2 - 2 z sum_j a_j z_j + const

        Returns the curvature (1 or d) and the pull (the sum) of every row, or None
        where nothing says how new rows are joined.
        """
        A = self.edges(X, adjacency, len(values))
        if A is None:
            return None
        degrees = degree(A)
        if not self.normalized:
            return degrees, A @ values
        fitted = inverse_sqrt(degree(self.adjacency))
        pull = A @ (values * fitted[:, None])
        return (degrees > 0).astype(np.float64), pull * inverse_sqrt(degrees)[:, None]


class ModelHypergraph:
    """A hypergraph on the rows of X, its Laplacian Phi_h, and the ties of new rows."""

    def __init__(self, graph, X: np.ndarray, *, name: str) -> None:
        self.builder = None
        if isinstance(graph, KNNHypergraph):
            self.builder = clone(graph).fit(X)
            graph = self.builder.incidence_
        elif isinstance(graph, (str, BaseEstimator, type)):
            raise TypeError(
                f"{name} must be a KNNHypergraph of rpcag.graphs or an incidence, "
                f"got {graph!r}"
            )
        try:
            if graph is None or np.iscomplexobj(graph):
                raise TypeError("a real matrix is needed")
            if sparse.issparse(graph):
                H = check_structure(graph, name)
            else:
                H = sparse.csr_array(graph, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"{name} must be a KNNHypergraph of rpcag.graphs or an incidence of "
                f"shape (n_samples, n_edges), got {type(graph).__name__}: {error}"
            ) from error
        if H.ndim != 2 or H.shape[0] != len(X):
            raise ValueError(
                f"{name} must have one row per sample, {len(X)}, and one column per "
                f"edge, got an incidence of shape {H.shape}"
            )
        # Converted last: in a wrong shape it may be too large for that.
        self.incidence = sparse.csr_array(H, dtype=np.float64)
        self.laplacian = hypergraph_laplacian(self.incidence, name=name)

    def ties(self, X: np.ndarray, adjacency, values: np.ndarray):
        """As of `ModelGraph`: Phi_h is the Laplacian of a graph with loops.

        ||z||^2 (1 - loop / d) - 2 z sum_j a_j z_j / sqrt(d d_j) + const
        """
        if self.builder is None:
            return None
        new = self.builder.connect(X)
        fitted = inverse_sqrt(degree(self.incidence))
        pull = new.weights @ (values * fitted[:, None])
        pull *= inverse_sqrt(new.degrees)[:, None]
        return 1 - new.loops / new.degrees, pull


def _build(graph, X, name: str, vertices: str, labels):
    if isinstance(graph, str):
        if graph not in BUILDERS:
            raise ValueError(
                f"{name} must be one of {BUILDERS}, a builder of rpcag.graphs "
                f"or an adjacency, got {graph!r}"
            )
        graph = builder_of(graph)
    if isinstance(graph, GraphBuilder):
        builder = clone(graph).fit(X)
        return builder, builder.adjacency_
    if isinstance(graph, KNNHypergraph):
        raise TypeError(f"{name} is a hypergraph, which only MHMF takes: {graph!r}")
    if isinstance(graph, type):
        raise TypeError(f"{name} must be an instance, got the class {graph.__name__}")
    if callable(graph):
        graph = graph(X)
    return None, check_graph(graph, len(X), name=name, vertices=vertices, labels=labels)


def check_edges(adjacency, n_new: int, n_samples: int):
    """Weights between new rows and those of the graph."""
    A: Any = adjacency
    shape = (n_new, n_samples)
    if sparse.issparse(A):
        check_structure(A, "adjacency")
    if not sparse.issparse(A) or A.shape == shape:  # else perhaps too large to convert
        A = check_array(
            A, accept_sparse="csr", dtype=np.float64, input_name="adjacency"
        )
    if A.shape != shape:
        raise ValueError(
            f"adjacency must have shape ({n_new}, {n_samples}): new rows by rows of "
            f"fit, got {A.shape}"
        )
    weights: np.ndarray = A.data if sparse.issparse(A) else A
    if (weights < 0).any() or (weights > 1e100).any():
        raise ValueError(
            "adjacency must hold weights from 0 to 1e100, got "
            f"{weights.min():.3g} to {weights.max():.3g}"
        )
    return A
