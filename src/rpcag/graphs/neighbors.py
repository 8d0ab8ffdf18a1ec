"""Graphs of nearest neighbors."""

from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from rpcag.graphs.builder import GraphBuilder, check_positive, take_rows
from rpcag.graphs.distances import center_and_scale, distance_blocks
from rpcag.graphs.inputs import check_rows
from rpcag.graphs.nearest import FEW, nearest_rows, smallest, without_self

WEIGHTS = ("heat", "binary", "correlation")
WIDTHS = ("local", "mean")
# Up to this many features a tree is faster than matrix products. With more, it visits
# most rows.
TREE = 6
# Up to this many complete rows, scikit-learn's comparison of all pairs is as fast.
BRUTE = 16_000


class Reach(NamedTuple):
    """Neighbors of new rows in a graph."""

    doubles: np.ndarray  # the row of the graph that a row equals, or -1
    equal: sparse.csr_array  # a one at that row
    nearest: sparse.csr_array  # ones at the nearest neighbors of the other rows
    reached: sparse.csr_array  # ones at the rows whose neighbors the other rows are


@dataclass(eq=False, repr=False)
class KNNGraph(GraphBuilder):
    """Join every sample to its nearest neighbors.

    Two samples are joined if either is among the neighbors of the other. Distances are
    root mean squares over the features that both rows observe.

    Parameters
    ----------
    n_neighbors : int, default=10
    weights : {"heat", "binary", "correlation"}, default="heat"
        "heat": exp(-d_ij^2 / (width_i width_j)). "binary": 1. "correlation": the
        correlation of the two rows if it is positive.
    width : {"local", "mean"} or float, default="local"
        Width of the heat kernel. "local": the distance of each row to its last
        neighbor, which adapts to the density of the data. "mean": the mean distance to
        neighbors.
    image_shape : tuple of int, optional
        Shape of the images in the rows. Missing pixels are then inpainted by total
        variation before distances are computed.

    Examples
    --------
    >>> from rpcag.graphs import KNNGraph
    >>> KNNGraph(n_neighbors=1, weights="binary")([[0.0], [0.1], [5.0]]).toarray()
    array([[0., 1., 0.],
           [1., 0., 1.],
           [0., 1., 0.]])
    """

    n_neighbors: int = 10
    _: KW_ONLY
    weights: str = "heat"
    width: float | str = "local"
    image_shape: tuple[int, ...] | None = None

    def reach(self, X, mask=None) -> Reach:
        """Nearest neighbors of new rows in the graph, and whose neighbors they are.

        A row that equals a row of the graph is treated as that row.
        """
        check_is_fitted(self, "adjacency_")
        X = check_rows(X)
        rows = self._prepare(X, mask)
        doubles = self._doubles(rows)
        known, new = np.flatnonzero(doubles >= 0), np.flatnonzero(doubles < 0)
        n = len(self._rows[0])
        nearest, reached = [sparse.csr_array((0, n))], [sparse.csr_array((0, n))]
        for block, neighbors, distances, linked in self._links(take_rows(rows, new)):
            near = np.isfinite(distances)
            nearest.append(_ones(np.nonzero(near)[0], neighbors[near], block.shape))
            reached.append(sparse.csr_array(linked.astype(np.float64)))
        place = _ones(new, np.arange(len(new)), (len(X), len(new)))
        return Reach(
            doubles,
            _ones(known, doubles[known], (len(X), n)),
            sparse.csr_array(place @ sparse.vstack(nearest)),
            sparse.csr_array(place @ sparse.vstack(reached)),
        )

    def _build(self, rows):
        n = len(rows[0])
        k = min(self.n_neighbors, n - 1)
        if k < 1:
            self.nearest_ = sparse.csr_array((n, n))
            self._radius, self._width, self._mean_width = np.zeros(n), np.ones(n), 1.0
            return sparse.csr_array((n, n))
        neighbors, distances = self._search(rows, k)
        self._radius = distances[:, -1]
        near = np.isfinite(distances)
        self.nearest_ = _ones(np.nonzero(near)[0], neighbors[near], (n, n))
        self._width = self._widths(distances)
        # Rows that coincide with all their neighbors get the others' mean width.
        zero = self._width <= 0
        self._mean_width = 1.0 if zero.all() else float(self._width[~zero].mean())
        self._width[zero] = self._mean_width
        i = np.repeat(np.arange(n), k)
        W = self._edges(
            rows, i, neighbors.ravel(), distances.ravel(), self._width, rows
        )
        # An edge found from both sides has one weight; the larger differs by rounding.
        return sparse.csr_array(W.maximum(W.T))

    def _check(self, X) -> None:
        super()._check(X)
        k = self.n_neighbors
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise ValueError(f"n_neighbors must be an int of at least 1, got {k!r}")
        if self.weights not in WEIGHTS:
            raise ValueError(f"weights must be one of {WEIGHTS}, got {self.weights!r}")
        if isinstance(self.width, str):
            if self.width not in WIDTHS:
                raise ValueError(
                    f"width must be one of {WIDTHS} or a number, got {self.width!r}"
                )
        else:
            check_positive("width", self.width)

    def _search(self, rows, k):
        """Indices and RMS distances of k neighbors of every row, nearest first."""
        X, M = rows
        is_large = X.shape[1] > TREE and len(X) > BRUTE and k <= FEW
        if is_large or M is not None:
            return nearest_rows(rows, k)
        # RMS distances are Euclidean ones in another unit.
        center, size = center_and_scale(X, None)
        scaled = X / size - center
        if X.shape[1] > TREE:
            search = NearestNeighbors(n_neighbors=k + 1, algorithm="brute").fit(scaled)
            distances, neighbors = search.kneighbors(scaled)
        else:
            distances, neighbors = KDTree(scaled).query(scaled, k + 1)
        neighbors, distances = without_self(neighbors, distances)
        return neighbors, distances * (size / np.sqrt(X.shape[1]))

    def _widths(self, distances):
        if self.width == "local":
            # The last neighbor there is.
            return np.where(np.isfinite(distances), distances, 0.0).max(axis=1)
        width = self.width
        if width == "mean":
            finite = distances[np.isfinite(distances)]
            width = finite.mean() if finite.size else 1.0
        return np.full(len(distances), float(width))

    def _edges(self, rows, i, j, distances, width, others):
        """Weighted edges from rows i to others j, those at infinity left out."""
        finite = np.isfinite(distances)
        i, j, d = i[finite], j[finite], distances[finite]
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
            i, j = np.nonzero(linked)
            width = np.full(len(block), self._mean_width)
            if self.width == "local":
                local = self._widths(distances)
                width = np.where(local > 0, local, width)
            part = take_rows(rows, slice(first, first + len(block)))
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
            yield block, *smallest(block, k), block <= self._radius * (1 + 1e-12)


def _ones(i, j, shape):
    return sparse.csr_array((np.ones(len(i)), (i, j)), shape=shape)


def _correlations(rows, others, i, j, chunk=4096):
    """Pearson correlation of row pairs over the features both observe."""
    (X, M), (Y, N) = rows, others
    result = np.zeros(len(i))
    for start in range(0, len(i), chunk):
        a, b = i[start : start + chunk], j[start : start + chunk]
        seen = np.ones((len(a), X.shape[1]))
        if M is not None:
            seen *= M[a]
        if N is not None:
            seen *= N[b]
        count = np.maximum(seen.sum(axis=1, keepdims=True), 1)
        x, y = X[a] * seen, Y[b] * seen
        x, y = _centered(x, seen, count), _centered(y, seen, count)
        sizes = np.linalg.norm(x, axis=1) * np.linalg.norm(y, axis=1)
        products = np.einsum("ij,ij->i", x, y)
        result[start : start + chunk] = np.divide(
            products, sizes, out=np.zeros(len(a)), where=sizes > 0
        )
    return result


def _centered(x, seen, count):
    """Rows less their means, in units in which squares are safe."""
    x = x / np.maximum(np.abs(x).max(axis=1, keepdims=True), 1e-300)
    return (x - x.sum(axis=1, keepdims=True) / count) * seen
