"""A better dual point for problems with a graph: the graph absorbs the excess norm.

A dual point is D = D_1 + 2 gamma Phi W with D_1 in the ball of the loss l and
||D||_2 <= 1; its value is -<D_1, X> - l*(D_1) - gamma tr(W^T Phi W). ADMM gives one
whose norm is slightly above one, and dividing it by the norm loses the same share of
the whole value. But W is free: it can produce any D with the same C = N^T D, where the
columns of N span the null space of Phi.
Let R = D - N C. For A = I - J with N^T J = 0, A D = N C + A R has at most norm one iff

    A G A <= I,   G = R (I - C^T C)^-1 R^T      (Parrott, 1978)

so J = U (1 - g^-1/2) U^T from the eigenvalues g > 1 of G suffices. W changes instead:
with Z = J D, W becomes W - Phi^+ Z / (2 gamma) and its term

    gamma tr(W^T Phi W) - <Z, W> + tr(Z^T Phi^+ Z) / (4 gamma),

This is of first order in the excess, and in L only, not in all of X. C itself is that
of D_1, the sums of its columns over every connected component. If it is too large,
entries of D_1 that are not at their bound are changed slightly. Everything is in double
precision and from W without its part in N, whose rounding errors gamma would multiply.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import add
from typing import Any

import numpy as np
from scipy import linalg

from rpcag.linalg.blocks import column_blocks
from rpcag.linalg.gram import is_below
from rpcag.linalg.rounding import PAIRWISE, UNIT, total, total_error
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.threads import in_shares
from rpcag.losses import Loss, nearest, part
from rpcag.penalties import GraphSmoothness
from rpcag.solvers.certificates import Asked, Bound
from rpcag.solvers.executor import Executor
from rpcag.solvers.graph_copy import GraphCopy
from rpcag.solvers.result import DualPoint

# Samples up to which the eigenvalues of their square are cheap.
LARGEST = 500
# Iterations before it is worthwhile; times the ratio of height and width if the data
# are tall. A warm start is near the optimum from the first iteration.
AFTER = 40
# Mean singular value above which a point is not completed: squares lose digits.
LIMIT = 1e3
# Eigenvalues of Phi below this share of the largest count as zero. D does not change
# along their vectors, which is always allowed.
NULL = 1e-7
# ||C|| is kept below one by this much, so that (I - C^T C)^-1 keeps its digits.
MARGIN = 1e-4
# Entries of a piece of D, and the size of X over that of all squares, one per thread.
PIECE, WIDE = 2**15, 4


@dataclass(frozen=True)
class Square:
    """Sums over columns that give norm and value of a dual point D."""

    K: np.ndarray  # D D^T
    along: np.ndarray  # D W^T
    linear: np.ndarray  # <D_1, X>, as a sum and a sum of sizes
    conjugate: float  # l*(D_1)
    smooth: float  # gamma tr(W^T Phi W), rounded up
    error: float  # that of 2 gamma Phi W, in the Frobenius norm
    size: float  # ||W||_F^2

    def __add__(self, other: "Square") -> "Square":
        pairs = zip(vars(self).values(), vars(other).values(), strict=True)
        return Square(*(a + b for a, b in pairs))


@dataclass(frozen=True)
class DualColumns:
    """Some columns of X, of a multiplier, and of the copy of L that the graph has."""

    X: np.ndarray  # NaN where missing
    loss: Loss  # a sum over entries
    D_1: np.ndarray
    H: np.ndarray  # W = H R^T
    R: np.ndarray | None = None  # orthonormal; None for the identity

    @classmethod
    def of_tile(
        cls, tile: Any, D_1: np.ndarray, copy: Any, R: np.ndarray
    ) -> "DualColumns":
        H, R = copy.H.astype(np.float64), R.astype(np.float64)
        return cls(tile.X, tile.loss, D_1, H, R)

    def pieces(self) -> list[slice]:
        return column_blocks(self.X.shape, PIECE, most=self.X.shape[1])

    def inside(self, at: slice, N: np.ndarray, excess) -> np.ndarray:
        """Some of D_1, in the dual ball, moved so that N^T D_1 loses its excess.

        Entries at a bound can move in one direction only. So a first step shows, for
        every column, how much longer the second has to be.
        """
        missing = np.isnan(self.X[:, at])
        loss = part(self.loss, (slice(None), at))
        D = self.D_1[:, at].astype(np.float64)
        np.copyto(D, 0, where=missing)
        D = nearest(loss, D)
        if excess is None:
            return D
        excess = excess[:, at]
        step = N @ excess
        np.copyto(step, 0, where=missing)
        moved = nearest(loss, D - step) - D
        wanted = np.einsum("ij,ij->j", excess, excess)
        got = -np.einsum("ij,ij->j", moved, step)
        longer = np.ones_like(wanted)
        np.divide(wanted, got, out=longer, where=got > 0.1 * wanted)
        return nearest(loss, D - longer * step)

    def without_null(self, N: np.ndarray) -> np.ndarray:
        """H without its part in N."""
        return self.H - N @ (N.T @ self.H)

    def null_sums(self, N: np.ndarray) -> np.ndarray:
        """C = N^T D_1."""
        return np.hstack([N.T @ self.inside(at, N, None) for at in self.pieces()])

    def square(
        self, laplacian: ShiftedLaplacian, gamma: float, N: np.ndarray, excess
    ) -> Square:
        n, p = self.X.shape
        H = self.without_null(N)
        if self.R is not None:
            B, rough = GraphCopy(gamma, H, H).dual(laplacian)
            common = self.R.T @ self.R

        def square(share: Sequence[slice]) -> Square:
            """Of some columns; the graph's part of them if W has no basis."""
            K = np.zeros((n, n))
            along = np.zeros((n, n if self.R is None else len(common)))
            linear, conjugate, smooth, error, size = np.zeros(2), 0.0, 0.0, 0.0, 0.0
            for at in share:
                D, x = self.inside(at, N, excess), self.X[:, at]
                linear += total(D * np.where(np.isnan(x), 0, x))
                conjugate += part(self.loss, (slice(None), at)).conjugate(D).sum()
                if self.R is None:
                    w = np.ascontiguousarray(H[:, at])
                    _, more, off = GraphSmoothness(laplacian, gamma).add_dual(w, D)
                    smooth, error = smooth + more, error + off
                    size += float(np.vdot(w, w))
                    along += D @ w.T
                else:
                    D += B @ self.R[at].T
                    along += D @ self.R[at]
                K += D @ D.T
            return Square(K, along, linear, conjugate, smooth, error, size)

        most = max(1, p // (WIDE * n))
        found = reduce(add, in_shares(square, self.pieces(), 3 * n * n * p, most))
        if self.R is None:
            return found
        smooth, error = rough.dual(common, p)
        size, along = float(np.sum(H.T @ H * common)), found.along @ H.T
        return replace(found, along=along, smooth=smooth, error=error, size=size)

    def point(self, laplacian, gamma, N, excess, step, scale: float):
        """-scale D_1 and scale W of the completed point."""
        shrunk, U, c, V = step
        better, smooth = np.empty(self.X.shape), np.empty(self.X.shape)
        R, H = self.R, self.without_null(N)
        graph = np.asarray(laplacian.laplacian @ H)
        V = V * (c / (2 * gamma))
        for at in self.pieces():
            D = self.inside(at, N, excess)
            w, rough = (A[:, at] if R is None else A @ R[at].T for A in (H, graph))
            w -= V @ (U.T @ (D + 2 * gamma * rough))
            better[:, at], smooth[:, at] = -scale * shrunk * D, scale * shrunk * w
        return better, smooth


@dataclass
class DualCompletion:
    """Completion of the dual points of one problem, whose columns are in tiles."""

    shape: tuple[int, int]
    gamma: float
    laplacian: ShiftedLaplacian

    def is_due(self, asked: Asked, is_exact: bool = False) -> bool:
        """Whether completion is worth its cost; exact iterates cost more anyway."""
        n, p = self.shape
        is_late = asked.is_warm or asked.n_iter > AFTER * max(1, n / p)
        return (is_late and n <= LARGEST) or (is_exact and n <= p)

    @cached_property
    def null(self) -> np.ndarray:
        """N, an orthonormal basis of the null space."""
        values, vectors = self.laplacian.spectrum
        return vectors[:, values <= NULL * values[-1]]

    @cached_property
    def inverse(self) -> np.ndarray:
        """Phi^+."""
        values, vectors = self.laplacian.spectrum
        above = values > NULL * values[-1]
        return (vectors[:, above] / values[above]) @ vectors[:, above].T

    def __call__(
        self, run: Executor, columns: list, laplacian: Any, accuracy: float
    ) -> list[Bound]:
        """A better point, from any `DualColumns`; none if they are too large."""
        C = run.get(*run.each(DualColumns.null_sums, columns, self.null))
        given = columns, laplacian, self.gamma, self.null, _excess(C)
        (square,) = run.get(run.total(run.each(DualColumns.square, *given)))
        if not np.trace(square.K) <= LIMIT**2 * len(square.K):
            return []
        numbers, step = self.relieved(square, accuracy)

        def point(scale: float) -> DualPoint:
            D, W = run.each(DualColumns.point, *given, step, scale, n=2)
            return DualPoint(run.whole(D), run.whole(W))

        return [Bound(*numbers, point)]

    def relieved(
        self, square: Square, accuracy: float
    ) -> tuple[tuple[float, float, float], tuple]:
        """Linear, quadratic and norm of the completed point, rounded up; its change.

        If C is still too large, the whole point is scaled down first. The change of W
        is V diag(c) U^T D / (2 gamma) with V = Phi^+ U. Then D changes by Phi V diag(c)
        U^T D. This holds for the rounded U and V too.
        """
        n, p = self.shape
        K, along = square.K, square.along
        count = -(-p // (PIECE // n or 1)) + 1
        c_Phi = self.laplacian.error
        linear = square.linear[0] + total_error(square.linear[1], count)
        quadratic = square.conjugate + total_error(square.conjugate, count + PAIRWISE)
        quadratic += square.smooth
        trace = max(float(np.trace(K)), 0.0)
        N = self.null
        KN = K @ N
        CC = N.T @ KN
        scale = 1.0
        largest = max(np.linalg.eigvalsh(CC), default=0.0)
        if largest > (1 - MARGIN) ** 2:
            scale = (1 - MARGIN) / math.sqrt(largest)
            linear *= scale
            quadratic *= scale**2
            K, along, KN, CC = (scale**2 * part for part in (K, along, KN, CC))
        RC = KN - N @ CC
        G = K - N @ KN.T - RC @ N.T
        G += RC @ np.linalg.solve(np.eye(len(CC)) - CC, RC.T)
        g, U = linalg.eigh(
            G, driver="evr", subset_by_value=(1.0, np.inf), check_finite=False
        )
        U -= N @ (N.T @ U)
        c = 1 - 1 / np.sqrt(g)  # J = U diag(c) U^T
        V = self.inverse @ U
        Z = np.asarray(self.laplacian.laplacian @ V)  # J = Z diag(c) U^T; Z is near U
        KU = K @ U
        inner = c[:, None] * (U.T @ KU) * c
        back = float(c @ np.einsum("ij,ij->j", U, along @ Z))
        paid = float(np.vdot(V.T @ Z, inner)) / (4 * self.gamma)
        half = KU * c - Z @ (inner / 2)
        K = K - half @ Z.T  # (I - J) K (I - J)^T
        K -= Z @ half.T
        # Rounding errors are relative to the numbers that cancel: u bounds those of
        # products, c_Phi those of products with Phi.
        u = (8 * n + p + PAIRWISE) * UNIT
        size_V, size_Z = (float(np.linalg.norm(part)) for part in (V, Z))
        part = float(np.linalg.norm(inner))
        value = quadratic - back + paid + u * quadratic
        value += (c_Phi * size_V + u * size_Z) * math.sqrt(trace * square.size)
        value += (c_Phi * size_V**2 + u * size_V * size_Z) * part / (4 * self.gamma)
        error = square.error + c_Phi * size_V * math.sqrt(part)
        error += 4 * UNIT * math.sqrt(trace)
        lost = u * max(trace, 1.0) * (1 + size_Z) ** 2
        norm = _norm(K, max(accuracy, lost)) + error
        return (linear, max(value, 0.0), norm), (scale, U, c, V)


def _norm(square: np.ndarray, accuracy: float) -> float:
    """At least ||D||_2, from D D^T with many eigenvalues at one and none far above."""
    if not np.isfinite(square).all():
        return math.inf
    above = 1 + accuracy
    if is_below(square, above**2):
        return above**2
    return math.sqrt(max(np.linalg.eigvalsh(square)[-1], 1.0)) * above


def _excess(C: Sequence[np.ndarray]) -> list[np.ndarray | None]:
    """The part of C, in tiles of columns, with singular values above one."""
    left, sizes, right = np.linalg.svd(np.hstack(C), full_matrices=False)
    above = np.maximum(sizes - (1 - MARGIN), 0)
    if not above.any():
        return [None] * len(C)
    ends = np.cumsum([part.shape[1] for part in C])[:-1]
    return list(np.split((left * above) @ right, ends, axis=1))
