"""The `graph` argument of the models, and how new rows are connected to the graph."""

import math
from collections.abc import Iterator
from functools import cached_property
from itertools import chain, pairwise
from typing import Any, TypeGuard

import numpy as np
from scipy import sparse
from sklearn.base import clone

from rpcag.graphs.builder import GraphBuilder, digest
from rpcag.graphs.chain import Chain
from rpcag.graphs.check import as_matrix, check_graph, check_weights
from rpcag.graphs.complete import CompleteGraph
from rpcag.graphs.laplacian import degree, laplacian
from rpcag.graphs.neighbors import KNNGraph
from rpcag.linalg.blocks import row_blocks
from rpcag.linalg.null_space import NullSpace
from rpcag.models.messages import Stage
from rpcag.models.parts import connected_rows, random_rows
from rpcag.models.robust_graph import RobustGraph

BUILDERS: dict[str, type[GraphBuilder]] = {
    "robust": RobustGraph,
    "knn": KNNGraph,
    "complete": CompleteGraph,
    "chain": Chain,
}
# The degree of a new row is limited to between half and twice that of its neighbors
# (the square of this). Smaller values change ordinary rows, whose weights sum to
# between 0.7 and 1.6. With larger values, outliers shrink a row further.
SPAN = math.sqrt(2)


def as_builder(graph, argument: str = "graph") -> GraphBuilder | None:
    """The builder given or named by a `graph` argument; None for other arguments."""
    if not isinstance(graph, str):
        return graph if isinstance(graph, GraphBuilder) else None
    if graph not in BUILDERS:
        raise ValueError(
            f"{argument} must be one of {tuple(BUILDERS)}, a builder of rpcag.graphs "
            f"or an adjacency, got {graph!r}"
        )
    return BUILDERS[graph]()


def compares_rows(builder: GraphBuilder | None) -> TypeGuard[GraphBuilder]:
    """Whether the graph depends on the values of X, so that some rows have one too."""
    return builder is not None and not builder.by_order


def trial_adjacency(builder: GraphBuilder, X: np.ndarray, L: np.ndarray):
    """The graph of X, given L of Robust PCA with the theory's lam."""
    builder = clone(builder)
    if hasattr(builder, "_of_low_rank"):
        return builder._of_low_rank(X, L)
    return builder.fit(X).adjacency_


class ModelGraph:
    """A graph between the rows of X, its Laplacian Phi, and the ties of new rows.

    Its builder, fitted to X, is None where the adjacency was given.
    """

    def __init__(self, builder, adjacency, kind="normalized", *, name="graph") -> None:
        self.builder, self.adjacency, self.kind = builder, adjacency, kind
        self.by_order = builder is not None and builder.by_order
        self.laplacian = laplacian(adjacency, kind, name=name)

    @classmethod
    def of(
        cls,
        graph,
        X: np.ndarray,
        kind: str = "normalized",
        *,
        name: str = "graph",
        vertices: str = "samples",
        stage: Stage | None = None,
    ) -> "ModelGraph":
        """From a `graph` argument and X."""
        builder = as_builder(graph, name)
        if builder is not None:
            builder = clone(builder)
            if stage is not None and hasattr(builder, "_stage"):
                builder._stage = stage
            return cls(builder, builder.fit(X).adjacency_, kind, name=name)
        if isinstance(graph, type):
            raise TypeError(
                f"{name} must be a graph between {vertices} or an instance of its "
                f"builder, got {graph!r}"
            )
        given = graph(X) if callable(graph) else graph
        adjacency = check_graph(given, len(X), name=name, vertices=vertices)
        return cls(None, adjacency, kind, name=name)

    def some(self, shape: tuple[int, int]) -> np.ndarray:
        """Rows from which weights are chosen; most of their neighbors are included."""
        if compares_rows(self.builder):
            return random_rows(shape)
        return connected_rows(self.adjacency, shape)

    def part(self, rows: np.ndarray, X: np.ndarray) -> "ModelGraph":
        """The graph of these rows; a builder that compares rows makes it from X."""
        if not compares_rows(self.builder):
            return ModelGraph(None, self.adjacency[rows][:, rows], self.kind)
        return ModelGraph.of(self.builder, np.ascontiguousarray(X), self.kind)

    @cached_property
    def null(self) -> NullSpace:
        """The null space of the Laplacian."""
        is_normalized = self.kind == "normalized"
        roots = np.sqrt(degree(self.adjacency)) if is_normalized else None
        return NullSpace(self.adjacency, roots)

    @cached_property
    def _places(self) -> dict[bytes, int]:
        """Index of the first row of the graph with given weights, by their digest."""
        A, places = self.adjacency, dict[bytes, int]()
        parts = (_keys(_positive(A[rows])) for rows in row_blocks(A.shape))
        for i, key in enumerate(chain.from_iterable(parts)):
            places.setdefault(key, i)
        return places

    def places(self, A: sparse.csr_array) -> np.ndarray:
        """The first fitted row with the same weights, or -1."""
        return np.array([self._places.get(key, -1) for key in _keys(A)], dtype=int)

    def edges(self, X: np.ndarray, adjacency) -> sparse.csr_array | None:
        """Positive weights of new rows to fitted ones; None if they are not known."""
        if adjacency is None and self.builder is None:
            return None
        return _positive(self.builder.connect(X) if adjacency is None else adjacency)

    def ties(self, X: np.ndarray, adjacency, values: np.ndarray) -> tuple[Any, Any]:
        """Smoothness of new rows z next to fitted ones with the given values z_j.

        Seen as a function of one row z with degree d, tr(Z^T Phi Z) is

            normalized     ||z||^2 - 2 z sum_j w_j z_j + const,  w_j = a_j / sqrt(d d_j)
            combinatorial  d ||z||^2 - 2 z sum_j a_j z_j + const

        These terms are used for a row with the weights of a fitted row, so it gets its
        fitted embedding. For other rows `_pull` limits the normalized w_j. The norm of
        their pull is at most sqrt(2) c max_j ||z_j||.

        Returns the curvature c (1 or d, and 0 for rows without neighbors) and the pull
        (the sum): zeros if the weights of new rows are not known.
        """
        A = self.edges(X, adjacency)
        return (0.0, 0.0) if A is None else self.ties_of(A, values)

    def ties_of(
        self, A: sparse.csr_array, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """`ties` of rows with the weights A."""
        degrees = degree(A)
        if self.kind == "combinatorial":
            return degrees, A @ values
        curvature = (degrees > 0).astype(np.float64)
        known = self.places(A) >= 0
        fitted = degree(self.adjacency)
        return curvature, _pull(A, degrees, fitted, curvature, known, values)


def _pull(A, degrees, fitted, curvature, known, values) -> np.ndarray:
    """sum_j w_j z_j with w_j = a_j / sqrt(d d_j), bounded for rows not in `fit`.

    1. d_j does not include the new edge. A degree that does is at least a_j, so
       w_j = a_j / sqrt(d max(d_j, a_j)) <= sqrt(a_j / d) is used.
    2. sum_j w_j is about the square root of d over the degrees of the neighbors. For
       ordinary rows it is near the curvature c. It tends to zero with the weights, such
       as for an outlier, which is far from all other rows. It is kept between c / SPAN
       and c SPAN. A larger sum is scaled down. To a smaller sum, a multiple of the mean
       of the neighbors (weights a_j / d) is added.
    """
    shares = A.data / _per_entry(A, degrees)
    # Two roots, because the product under one root could underflow.
    weights = A.data / np.sqrt(_per_entry(A, degrees))
    weights /= np.sqrt(np.maximum(fitted[A.indices], A.data))
    W = sparse.csr_array((weights, A.indices, A.indptr), shape=A.shape)
    sums = degree(W)
    most = np.where(known, np.inf, SPAN * curvature)
    least = np.where(known, 0.0, curvature / SPAN)
    shrink = np.divide(most, sums, out=np.ones_like(sums), where=sums > most)
    W.data *= _per_entry(A, shrink)
    W.data += shares * _per_entry(A, np.maximum(least - sums, 0.0))
    return W @ values


def mean_of_neighbors(A: sparse.csr_array, values: np.ndarray) -> np.ndarray:
    """Means of the neighbors' values, weighted by the edges; 0 without neighbors."""
    shares = A.data / _per_entry(A, degree(A))
    return sparse.csr_array((shares, A.indices, A.indptr), shape=A.shape) @ values


def _positive(adjacency) -> sparse.csr_array:
    """A copy with sorted indices that stores only the positive weights."""
    A = sparse.csr_array(adjacency, dtype=np.float64, copy=True)
    A.sum_duplicates()
    A.eliminate_zeros()
    return A


def _per_entry(A: sparse.csr_array, rows: np.ndarray) -> np.ndarray:
    """Repeat a number per row for every stored entry of the row."""
    return np.repeat(rows, np.diff(A.indptr))


def _keys(A: sparse.csr_array) -> Iterator[bytes]:
    """Digests of the rows of weights; equal rows have equal digests."""
    indices = A.indices.astype(np.int64)
    for i, j in pairwise(A.indptr):
        yield digest(indices[i:j].tobytes() + A.data[i:j].tobytes())


def check_edges(adjacency, n_new: int, n_samples: int):
    """Weights between new rows and those of the graph."""
    shape = f"({n_new}, {n_samples}): new rows by rows of fit"
    A = as_matrix(adjacency, "adjacency", f"an array of shape {shape}")
    if A.shape != (n_new, n_samples):
        raise ValueError(f"adjacency must have shape {shape}, got {A.shape}")
    A = check_weights(A, "adjacency")
    if A.max() > 1e100:
        raise ValueError(
            f"adjacency must hold weights from 0 to 1e100, got up to {A.max():.3g}"
        )
    return A
