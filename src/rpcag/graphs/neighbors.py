"""Graphs of nearest neighbors."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from rpcag.graphs.builder import GraphBuilder
from rpcag.graphs.distances import (
    center_and_scale,
    distance_blocks,
    observed,
    take_rows,
)
from rpcag.graphs.inputs import check_rows
from rpcag.graphs.nearest import FEW, nearest_rows, smallest, without_self
from rpcag.graphs.options import COUNT
from rpcag.linalg.blocks import row_blocks

# Up to this many features a tree is faster than matrix products; with more, it visits
# most rows, which takes longer if there are more than SMALL entries. Leaves of so many
# rows take half the time of SciPy's default.
TREE, SMALL, LEAF = 8, 5000, 48
# Up to this many complete rows, scikit-learn's comparison of all pairs is as fast.
BRUTE = 16_000


@dataclass(eq=False, repr=False)
class KNNGraph(GraphBuilder):
    """Join every sample to its nearest neighbors.

    Two samples are joined if either is among the neighbors of the other. Distances are
    root mean squares over the features that both rows observe.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbors of every row.
    weights : {"heat", "binary", "correlation"}, default="heat"
        "heat": exp(-d_ij^2 / (width_i width_j)), where the width of a row is its
        distance to the farthest of its neighbors, which adapts to the density of the
        data. "binary": 1. "correlation": the correlation of the two rows if it is
        positive.

    Attributes
    ----------
    adjacency_ : csr_array of shape (n_samples, n_samples)

    Examples
    --------
    >>> from rpcag.graphs import KNNGraph
    >>> KNNGraph(n_neighbors=1, weights="binary")([[0.0], [0.1], [5.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """

    _parameter_constraints: ClassVar = {
        "n_neighbors": [COUNT],
        "weights": [StrOptions({"heat", "binary", "correlation"})],
    }

    n_neighbors: int = 10
    _: KW_ONLY
    weights: str = "heat"

    def reach(self, X, mask=None) -> tuple[np.ndarray, Any, Any]:
        """Nearest neighbors of new rows in the graph, and whose neighbors they are.

        Returns the row of the graph that each row equals, or -1, and ones at the
        neighbors and at the rows whose neighbors they are; none for rows of the graph.
        """
        check_is_fitted(self, "adjacency_")
        rows = observed(check_rows(X), mask)
        doubles = self._doubles(rows)
        new = np.flatnonzero(doubles < 0)
        n = len(self._rows[0])
        nearest, reached = [sparse.csr_array((0, n))], [sparse.csr_array((0, n))]
        for block, neighbors, distances, linked in self._links(take_rows(rows, new)):
            i, j = _pairs(neighbors, distances)
            nearest.append(_ones(i, j, block.shape))
            reached.append(sparse.csr_array(linked.astype(np.float64)))
        place = sparse.eye_array(len(doubles), format="csc")[:, new]
        return doubles, place @ sparse.vstack(nearest), place @ sparse.vstack(reached)

    def _build(self, rows):
        n = len(rows[0])
        k = min(self.n_neighbors, n - 1)
        neighbors, distances = self._search(rows, k)
        self._radius = distances.max(axis=1, initial=0.0)
        i, j = _pairs(neighbors, distances)
        self.nearest_ = _ones(i, j, (n, n))
        finite = distances[np.isfinite(distances)]
        widths = _farthest(distances)
        widths = widths[widths > 0]
        self._mean_width = float(widths.mean()) if widths.size else 1.0
        self._width = self._widths(distances)
        W = self._edges(rows, i, j, finite, self._width, rows)
        # An edge found from both sides has one weight; the larger differs by rounding.
        return sparse.csr_array(W.maximum(W.T))

    def _search(self, rows, k):
        """Indices and RMS distances of k neighbors of every row, nearest first."""
        X, M = rows
        if k == 0:
            return np.empty((len(X), 0), int), np.empty((len(X), 0))
        is_large = X.shape[1] > TREE and len(X) > BRUTE and k <= FEW
        if is_large or M is not None:
            return nearest_rows(rows, k)
        # RMS distances are Euclidean ones in another unit.
        center, size = center_and_scale(X, None)
        scaled = X / size - center
        if X.shape[1] > TREE and X.size > SMALL:
            search = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(scaled)
            distances, neighbors = search.kneighbors(scaled)
        else:
            order = KDTree(scaled, LEAF).indices  # by leaves: they are contiguous then
            some = scaled[order]
            place, found = np.argsort(order), KDTree(some, LEAF).query(some, k + 1)
            distances, neighbors = found[0][place], order[found[1][place]]
        neighbors, distances = without_self(neighbors, distances)
        return neighbors, distances * (size / np.sqrt(X.shape[1]))

    def _widths(self, distances):
        """Widths of rows with these distances to their neighbors.

        Rows that coincide with all their neighbors get the mean width.
        """
        local = _farthest(distances)
        return np.where(local > 0, local, self._mean_width)

    def _edges(self, rows, i, j, d, width, others):
        """Weighted edges from rows i to others j at distances d."""
        if self.weights == "binary":
            w = np.ones(len(d))
        elif self.weights == "heat":
            w = np.exp(-(d / width[i]) * (d / self._width[j]))
        else:
            w = np.maximum(_correlations(rows, others, i, j), 0.0)
        W = sparse.csr_array((w, (i, j)), shape=(len(rows[0]), len(others[0])))
        W.eliminate_zeros()
        return W

    def _connect(self, rows):
        parts, first = [], 0
        for block, neighbors, distances, linked in self._links(rows):
            # Both directions, as within the graph.
            np.put_along_axis(linked, neighbors, True, axis=1)
            i, j = np.nonzero(linked & np.isfinite(block))
            part = take_rows(rows, slice(first, first + len(block)))
            width = self._widths(distances)
            parts.append(self._edges(part, i, j, block[i, j], width, self._rows))
            first += len(block)
        return sparse.csr_array(sparse.vstack(parts))

    def _links(self, rows):
        """Distances of new rows to the graph, neighbors, and whose neighbors they are.

        A row of the graph would have a new row as a neighbor if that is no farther than
        its last neighbor. Yields the result for some rows at a time.
        """
        k = min(self.n_neighbors, len(self._rows[0]))
        for block in distance_blocks(rows, self._rows):
            reached = np.isfinite(block) & (block <= self._radius * (1 + 1e-12))
            yield block, *smallest(block, k), reached


def _ones(i, j, shape):
    return sparse.csr_array((np.ones(len(i)), (i, j)), shape=shape)


def _pairs(neighbors, distances):
    """Indices of rows and of their neighbors, those at infinity left out."""
    near = np.isfinite(distances)
    return np.nonzero(near)[0], neighbors[near]


def _farthest(distances):
    """Distance of every row to the last neighbor that it has."""
    return np.where(np.isfinite(distances), distances, 0.0).max(axis=1, initial=0.0)


def _correlations(rows, others, i, j):
    """Pearson correlation of row pairs over the features both observe."""
    found = np.empty(len(i))
    for part in row_blocks((len(i), rows[0].shape[1])):
        pairs = take_rows(rows, i[part]), take_rows(others, j[part])
        seen = np.ones(pairs[0][0].shape)
        for _, mask in pairs:
            seen *= 1.0 if mask is None else mask
        x, y = (_centered(values * seen, seen) for values, _ in pairs)
        sizes = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
        products = np.einsum("ij,ij->i", x, y)
        found[part] = products / np.where(sizes > 0, sizes, 1.0)
    return found


def _centered(x, seen):
    """Rows less their means, in units in which squares are safe."""
    x = x / np.maximum(np.abs(x).max(axis=1, keepdims=True), 1e-300)
    count = np.maximum(seen.sum(axis=1, keepdims=True), 1)
    return (x - x.sum(axis=1, keepdims=True) / count) * seen
