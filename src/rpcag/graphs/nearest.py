"""Exact nearest neighbors of all rows, mostly by products in single precision.

The rows are split into leaves of rows near each other. The distances within a leaf give
every row a radius, its k-th smallest distance so far. Only rows within the radius can
be nearer. A product in single precision finds them among all other rows: a bound on its
rounding errors is subtracted, so that none is missed. The distances of the few pairs
that are found are computed in double precision.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg

from rpcag.graphs.distances import center_and_scale, distance_blocks, take_rows
from rpcag.linalg.blocks import row_blocks
from rpcag.linalg.threads import in_shares, one_blas_thread_each
from rpcag.linalg.typical import typical_size

# Rows of a leaf, and rows compared with a leaf at a time. Products of fewer are
# slow, and those of more do not stay in the processor's cache.
LEAF = 512
# The rows of this many leaves are searched first, because they shrink the radii.
FIRST = 8
# Number of principal directions that split the rows and bound distances. With more of
# them, more rows are known to be too far, but each bound takes longer.
DIRECTIONS = 12
# If more than this share of the pairs is within the radii, all distances are computed,
# because that is faster.
MANY = 1 / 16
# Number of entries that are compared in double precision at a time.
ENTRIES = 2**20
# For more neighbors than this, the radii spare few pairs, and all are compared.
FEW = 20
# In units of a typical entry: entries are limited to FAR before they are squared in
# single precision, and mean squares of at most TINY count as within every radius.
FAR, TINY = 1e14, 1e-30


def nearest_rows(rows, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices and RMS distances of the k nearest other rows, nearest first.

    Rows that share no feature are infinitely far apart.
    """
    X, M = rows
    if k > FEW:
        blocks = [smallest(block, k + 1) for block in distance_blocks(rows, rows)]
        return without_self(*map(np.vstack, zip(*blocks, strict=True)))
    center, unit = center_and_scale(X, M)
    scaled = (X / unit - center) * (1.0 if M is None else M)
    typical = max(typical_size(scaled), 1e-100)  # else squares may overflow
    scaled /= typical
    search = _Search(scaled, M, k + 1)
    leaves = _leaves(search.Z, np.arange(len(X)), max(LEAF, 2 * (k + 1)))
    neighbors = np.empty((len(X), k + 1), dtype=np.intp)
    squares = np.empty((len(X), k + 1))

    def fill(some: Sequence[np.ndarray]) -> None:
        for leaf in some:
            neighbors[leaf], squares[leaf] = search(leaf)

    with one_blas_thread_each():
        in_shares(fill, leaves, X.size * float(len(X)))
    return without_self(neighbors, np.sqrt(squares) * typical * unit)


def smallest(distances: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices and values of the k smallest distances of every row, in order."""
    if k < distances.shape[1]:
        neighbors = np.argpartition(distances, k - 1, axis=1)[:, :k]
    else:
        neighbors = np.broadcast_to(np.arange(k), (len(distances), k)).copy()
    order = np.argsort(np.take_along_axis(distances, neighbors, 1), axis=1)
    neighbors = np.take_along_axis(neighbors, order, 1)
    return neighbors, np.take_along_axis(distances, neighbors, 1)


def without_self(
    neighbors: np.ndarray, distances: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Drop every row from its own neighbors, or the last if it is not among them."""
    n, k = neighbors.shape
    others = neighbors != np.arange(n)[:, None]
    others[others.all(axis=1), -1] = False
    return neighbors[others].reshape(n, k - 1), distances[others].reshape(n, k - 1)


class _Search:
    """The k nearest rows, including itself, of every row of a leaf.

    With t the square of a radius, and m, n the masks of x and y, the sum

        sum_j m_j n_j ((x_j - y_j)^2 - t) = <(-2 x, x^2 - t m, m), (y, n, y^2)>

    over the features is negative if the RMS distance is below the radius. So a single
    product compares a leaf with other rows. Without missing values the second and the
    third part are summed over the features first, and are one column each.
    """

    def __init__(self, X: np.ndarray, M: np.ndarray | None, k: int) -> None:
        self.X, self.M, self.k = X, M, k
        self.seen = np.ones((len(X), 1)) if M is None else M
        self.Z = _principal(X)
        size = float(np.abs(self.Z).max())
        self.rounding = 8 * np.finfo(float).eps * X.shape[1] * size  # of distances in Z
        # Limits bring rows nearer to each other, so no neighbor is missed.
        self.limited = np.clip(X, -FAR, FAR) if np.abs(X).max() > FAR else X
        # A sum of w products of rounded factors is off by at most (w + 8) u times the
        # sum of their sizes (Higham, chapter 3), here at most 2 (x^2 + y^2) + t.
        width = X.shape[1] + 2 if M is None else 3 * X.shape[1]
        self.error = 2 * (width + 8) * 2.0**-24

    def __call__(self, leaf: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Neighbors and mean squares of the differences, smallest first."""
        rows = np.repeat(np.arange(len(leaf)), self.k)
        near = self._select(leaf, leaf).ravel()
        near, best = self._merge(leaf, rows, near, np.empty(0))
        # Lower bounds of the distances of all rows to the leaf: those to its box.
        Z = self.Z[leaf]
        outside = self.Z - np.clip(self.Z, Z.min(axis=0), Z.max(axis=0))
        far = np.sqrt(np.einsum("ij,ij->i", outside, outside))
        far[leaf] = np.inf
        first = min(FIRST * LEAF, len(far) - 1)
        for limit in (np.partition(far, first)[first], np.inf):
            if self.M is None:  # a box says nothing about the features both observe
                reach = np.sqrt(self.X.shape[1] * best[:, -1].max()) + self.rounding
                limit = min(limit, reach)
            others = np.flatnonzero((far <= limit) & (far < np.inf))
            if not len(others):
                break
            far[others] = np.inf
            i, j = self._within(leaf, others, best[:, -1])
            i, j = np.concatenate([rows, i]), np.concatenate([near.ravel(), j])
            near, best = self._merge(leaf, i, j, best.ravel())
        return near, best

    def _within(
        self, leaf: np.ndarray, others: np.ndarray, squares: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of a row of the leaf and another within its radius, and a few more."""
        p, share = self.X.shape[1], 1 - self.error
        center = self.limited[leaf].mean(axis=0)
        x, m = self._shifted(leaf, center)
        t = np.minimum(squares, 1e4 * FAR**2)[:, None] * (1 + self.error)
        if self.M is None:
            t *= p
        x2 = self._sums(x) * share
        A = np.hstack([-2 * x, x2 - (t + TINY) * m, m]).astype(np.float32)
        B = np.empty((LEAF, A.shape[1]), np.float32)
        found: list[tuple[np.ndarray, np.ndarray]] = []
        for start in range(0, len(others), LEAF):
            j = others[start : start + LEAF]
            y, n = self._shifted(j, center)
            B = B[: len(j)]
            B[:, :p], B[:, p : -m.shape[1]] = y, n
            B[:, -m.shape[1] :] = self._sums(y) * share
            hits = np.flatnonzero(A @ B.T < 0)
            if len(hits) > MANY * len(leaf) * len(j):
                near = self._select(leaf, j)
                i = np.repeat(np.arange(len(leaf)), near.shape[1])
                found.append((i, near.ravel()))
            else:
                found.append((hits // len(j), j[hits % len(j)]))
        i, j = zip(*found, strict=True)
        return np.concatenate(i), np.concatenate(j)

    def _shifted(
        self, rows: np.ndarray, center: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rows less a center, and their masks; a column of ones if none is missing."""
        seen = self.seen[rows]
        return (self.limited[rows] - center) * seen, seen

    def _sums(self, x: np.ndarray) -> np.ndarray:
        """Squares, summed over the features if none is missing."""
        return np.einsum("ij,ij->i", x, x)[:, None] if self.M is None else x * x

    def _select(self, leaf: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The others that are nearest to each row of the leaf."""
        x, y = (take_rows((self.X, self.M), rows) for rows in (leaf, others))
        distances = np.vstack(list(distance_blocks(x, y)))
        return others[smallest(distances, min(self.k, len(others)))[0]]

    def _merge(self, leaf, rows, others, known) -> tuple[np.ndarray, np.ndarray]:
        """The nearest of the others paired with each row; the first are `known`."""
        i, j = leaf[rows[len(known) :]], others[len(known) :]
        squares = np.concatenate([known, self._mean_squares(i, j)])
        order = np.argsort(squares)
        # Small integers are sorted in linear time.
        small = rows.astype(np.min_scalar_type(len(leaf)))
        order = order[np.argsort(small[order], kind="stable")]
        first = np.searchsorted(rows[order], np.arange(len(leaf)))
        nearest = order[first[:, None] + np.arange(self.k)]
        return others[nearest], squares[nearest]

    def _mean_squares(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """Of the differences of pairs of rows."""
        squares = np.empty(len(i))
        for pairs in row_blocks((len(i), self.X.shape[1]), ENTRIES):
            a, b = i[pairs], j[pairs]
            difference = self.X[a] - self.X[b]
            count: Any = float(self.X.shape[1])
            if self.M is not None:
                both = self.M[a] & self.M[b]
                difference *= both
                count = both.sum(axis=1)
            sums = np.einsum("ij,ij->i", difference, difference)
            with np.errstate(divide="ignore", invalid="ignore"):
                squares[pairs] = np.where(count > 0, sums / count, np.inf)
        return squares


def _principal(X: np.ndarray) -> np.ndarray:
    """Coordinates of the rows in orthonormal directions, about the principal ones."""
    width = min(DIRECTIONS, X.shape[1])
    start = np.random.default_rng(0).standard_normal((X.shape[1], width))
    Q, _ = linalg.qr(X.T @ (X @ start), mode="economic", check_finite=False)
    Z = X @ Q
    return Z @ linalg.eigh(Z.T @ Z, check_finite=False)[1]


def _leaves(Z: np.ndarray, rows: np.ndarray, size: int) -> list[np.ndarray]:
    """Split the rows at medians of their most variable coordinates."""
    if len(rows) <= size:
        return [rows]
    axis = int(Z[rows].var(axis=0).argmax())
    half = len(rows) // 2
    order = rows[np.argpartition(Z[rows, axis], half)]
    return _leaves(Z, order[:half], size) + _leaves(Z, order[half:], size)
