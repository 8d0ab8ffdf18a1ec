"""Objectives of all models in extended precision, from adjacencies alone.

Nothing here uses the Laplacians, the solvers or the linear algebra of the package.
Every value comes with `rounding`: how far double-precision arithmetic on the same
numbers may be from it.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

EPS = float(np.finfo(np.float64).eps)


def extended(A):
    return np.asarray(A).astype(np.longdouble)


def dense(A):
    return A.toarray() if sparse.issparse(A) else np.asarray(A)


def singular_values(L):
    """By one-sided Jacobi rotations: LAPACK has nothing longer than double.

    Rotations start from the right singular vectors V in double precision, made
    orthonormal by a Newton step V (3 I - V^T V) / 2. Columns are paired in a
    round-robin, so that the pairs of a round are disjoint and are rotated together.
    """
    L = extended(L)
    if L.shape[0] < L.shape[1]:
        L = L.T
    largest = np.abs(L).max(initial=0.0)
    if largest == 0:
        return np.zeros(L.shape[1], np.longdouble)
    B = L / largest
    V = extended(np.linalg.svd(B.astype(np.float64), full_matrices=False)[2].T)
    B = B @ (V @ (3 * np.eye(V.shape[1]) - V.T @ V) / 2)
    if B.shape[1] % 2:
        B = np.column_stack([B, np.zeros(len(B), np.longdouble)])
    order = np.arange(B.shape[1])
    half = len(order) // 2
    eps = np.finfo(np.longdouble).eps
    # Columns this short are rounding errors, which stay at any angle to each other.
    negligible = (64 * eps) ** 2 * (B * B).sum()
    for _ in range(30):
        turned = False
        for _ in range(len(order) - 1):
            i, j = order[:half], order[half:][::-1]
            x, y = B[:, i], B[:, j]
            a, b = (x * x).sum(axis=0), (y * y).sum(axis=0)
            c = (x * y).sum(axis=0)
            turn = np.abs(c) > 8 * eps * np.sqrt(a * b)
            turn &= np.minimum(a, b) > negligible
            if turn.any():
                turned = True
                zeta = (b - a) / (2 * np.where(turn, c, 1))
                t = np.where(zeta >= 0, 1, -1) / (np.abs(zeta) + np.hypot(1, zeta))
                t = np.where(turn, t, 0)
                cos = 1 / np.sqrt(1 + t * t)
                B[:, i], B[:, j] = cos * x - cos * t * y, cos * t * x + cos * y
            order = np.concatenate([order[:1], np.roll(order[1:], 1)])
        if not turned:
            break
    values = np.sqrt((B * B).sum(axis=0))
    return np.sort(values)[::-1][: L.shape[1]] * largest


class Graph:
    """tr(Q^T Phi Q) as a sum over the edges, for either Laplacian."""

    def __init__(self, adjacency, kind="normalized"):
        A = extended(dense(adjacency))
        self.adjacency, self.normalized = A, kind == "normalized"
        self.degrees = A.sum(axis=1)
        self.i, self.j = np.nonzero(np.triu(A, 1))
        self.weights = A[self.i, self.j][:, None]

    @property
    def root(self):
        """What Q is divided by: its ratios are compared along the edges."""
        if not self.normalized:
            return np.ones_like(self.degrees)
        return np.sqrt(np.where(self.degrees > 0, self.degrees, 1))

    def value(self, Q):
        u = extended(Q) / self.root[:, None]
        return (self.weights * (u[self.i] - u[self.j]) ** 2).sum()

    def sharp_rounding(self, Q):
        """Of the differences along the edges, whose ends are rounded."""
        u = extended(Q) / self.root[:, None]
        apart = np.abs(u[self.i] - u[self.j])
        error = 4 * EPS * (np.abs(u[self.i]) + np.abs(u[self.j]))
        return (self.weights * (2 * apart * error + error**2)).sum()

    def rounding(self, Q):
        """Of |q|^T |Phi| |q|: the stored Laplacian is rounded entry by entry."""
        u = np.abs(extended(Q)) / self.root[:, None]
        return 8 * EPS * (self.weights * (u[self.i] + u[self.j]) ** 2).sum()

    def matrix(self):
        A, d = self.adjacency, self.degrees
        if not self.normalized:
            return np.diag(d) - A
        r = self.root
        return np.diag((d > 0).astype(np.longdouble)) - A / r[:, None] / r

    def components(self):
        """The number of the connected component of every vertex."""
        return sparse.csgraph.connected_components(
            sparse.csr_array((self.adjacency > 0).astype(float)), directed=False
        )[1]


class Hypergraph:
    """tr(Q^T Phi_h Q) for an incidence, with edge weights of one."""

    def __init__(self, incidence):
        H = extended(dense(incidence))
        sizes = H.sum(axis=0)
        degrees = H.sum(axis=1)
        root = np.sqrt(np.where(degrees > 0, degrees, 1))
        half = H / root[:, None]
        shares = np.where(sizes > 0, 1 / np.where(sizes > 0, sizes, 1), 0)
        identity = np.diag((degrees > 0).astype(np.longdouble))
        product = (half * shares) @ half.T
        self._matrix, self._sizes = identity - product, identity + product

    def matrix(self):
        return self._matrix

    def value(self, Q):
        Q = extended(Q)
        return (Q * (self._matrix @ Q)).sum()

    def rounding(self, Q):
        Q = np.abs(extended(Q))
        return 8 * EPS * (Q * (self._sizes @ Q)).sum()


@dataclass(frozen=True)
class LowRank:
    """||L||_* (or not) + lam ||M o (X - L)||_1 + sums of gamma tr(.)."""

    X: np.ndarray
    lam: float
    nuclear: bool
    rows: tuple[float, Graph] | None = None
    columns: tuple[float, Graph] | None = None

    def _terms(self, L):
        if self.rows is not None and self.rows[0] > 0:
            yield np.longdouble(self.rows[0]), self.rows[1], L
        if self.columns is not None and self.columns[0] > 0:
            yield np.longdouble(self.columns[0]), self.columns[1], np.transpose(L)

    def value(self, L):
        L, X = extended(L), extended(self.X)
        total = np.longdouble(self.lam) * np.abs(X - L)[~np.isnan(X)].sum()
        if self.nuclear:
            total += singular_values(L).sum()
        return total + sum(gamma * g.value(Q) for gamma, g, Q in self._terms(L))

    def rounding(self, L, sharp=False):
        """Eight units in the last place of every term that is added.

        A proof has no excuse for a Laplacian that does not annihilate what is constant
        on the graph: for bounds, `sharp`, only the differences count.
        """
        L, X = extended(L), np.nan_to_num(extended(self.X))
        total = np.longdouble(self.lam) * (np.abs(X) + np.abs(L)).sum()
        if self.nuclear:
            total += np.sqrt(min(L.shape) * (L * L).sum())
        total = 8 * EPS * total
        for gamma, g, Q in self._terms(L):
            total += gamma * (g.sharp_rounding(Q) if sharp else g.rounding(Q))
        return total


@dataclass(frozen=True)
class Factors:
    """||X - Q U^T||^2 (or the l2,1 norm) + sum_g gamma_g tr(Q^T Phi_g Q) + more."""

    X: np.ndarray
    graphs: list  # pairs of weight and graph
    l21: bool = False
    constant: float = 0.0  # times n ||mean of Q||^2
    more: float = 0.0

    def value(self, Q, U):
        Q, U = extended(Q), extended(U)
        R = extended(self.X) - Q @ U.T
        total = np.sqrt((R * R).sum(axis=1)).sum() if self.l21 else (R * R).sum()
        for gamma, graph in self.graphs:
            total += np.longdouble(gamma) * graph.value(Q)
        mean = Q.mean(axis=0)
        return total + self.constant * len(Q) * (mean * mean).sum() + self.more

    def rounding(self, Q, U, eps):
        """Of factors that are stored with a relative error of eps.

        For the squares that is 2 <|R|, E> + ||E||^2 with the error E of Q U^T.
        """
        R = np.abs(extended(self.X) - extended(Q) @ extended(U).T)
        Q, U = np.abs(extended(Q)), np.abs(extended(U))
        E = eps * (2 * Q @ U.T + np.abs(extended(self.X)))
        if self.l21:
            total = np.sqrt((E * E).sum(axis=1)).sum()
        else:
            total = (2 * R * E + E * E).sum() + EPS * (R * R).sum()
        for gamma, graph in self.graphs:
            total += np.longdouble(gamma) * graph.rounding(Q) * (eps / EPS)
        mean = Q.mean(axis=0)
        total += 1e-6 * abs(self.constant) * len(Q) * (mean * mean).sum()
        return 16 * total + 8 * EPS * abs(self.more)
