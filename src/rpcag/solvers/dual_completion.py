"""A better dual point where there is a graph: it carries what is too much for the norm.

A dual point is D = D_1 + 2 gamma Phi W with D_1 in the ball of the loss l and
||D||_2 <= 1; its value is -<D_1, X> - l*(D_1) - gamma tr(W^T Phi W). ADMM gives one
whose norm is above one by a little, and dividing it by the norm loses as large a share
of the whole value. But W is free: any D with the same C = N^T D can be had, where the
columns of N span the null space of Phi.
Let R = D - N C. For A = I - J with N^T J = 0, A D = N C + A R has at most norm one iff

    A G A <= I,   G = R (I - C^T C)^-1 R^T      (Parrott, 1978)

so J = U (1 - g^-1/2) U^T from the eigenvalues g > 1 of G does. W pays for it: with
Z = J D, W becomes W - Phi^+ Z / (2 gamma) and its term

    gamma tr(W^T Phi W) - <Z, W> + tr(Z^T Phi^+ Z) / (4 gamma),

of first order in what is too much, and in L only, not in all of X. C itself is that of
D_1, the sums of its columns over every connected part: where it is too large, entries
of D_1 that are not at their bound are moved a little. All is made afresh in double
precision, and from W without its part in N, whose rounding gamma would multiply.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg

from rpcag.linalg.blocks import column_blocks
from rpcag.linalg.rounding import PAIRWISE, UNIT, total, total_error
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.svt import is_below
from rpcag.linalg.threads import in_shares
from rpcag.losses import Loss, nearest, part

# Samples up to which the eigenvalues of their square are cheap.
LARGEST = 500
# Iterations before it is worth its price, and as many more as the data are taller than
# wide; a solve that starts where another ended is near from the first.
AFTER = 40
# A point of a larger norm is not near: its square would have lost too many digits.
LIMIT = 1e3
# Eigenvalues of Phi below this share of its largest are taken for zero: along their
# vectors D stays as it is, which any vectors may do.
NULL = 1e-7
# ||C|| is kept below one by this much, so that (I - C^T C)^-1 keeps its digits.
MARGIN = 1e-4
# Entries of a piece of D, and the size of X over that of all squares, one per thread.
PIECE, WIDE = 2**17, 4

At = Callable[[slice], np.ndarray]  # some columns of an array


class Square(NamedTuple):
    """What norm and value of a dual point D are made of."""

    K: np.ndarray  # D D^T
    along: np.ndarray  # D W^T
    linear: np.ndarray  # <D_1, X>, as a sum and a sum of sizes
    quadratic: np.ndarray  # gamma tr(W^T Phi W) + l*(D_1), likewise
    size: float  # ||W||_F^2


class DualCompletion:
    """Of the dual points of one problem.

    Parameters
    ----------
    X : ndarray of shape (n, p), NaN where missing
    loss : Loss
        A sum over entries.
    gamma : float
    laplacian : ShiftedLaplacian
    """

    def __init__(
        self, X: np.ndarray, loss: Loss, gamma: float, laplacian: ShiftedLaplacian
    ) -> None:
        self.X, self.loss, self.gamma = X, loss, gamma
        self.step: tuple = ()  # what `point` needs of the last call
        self.laplacian = laplacian

    @staticmethod
    def suits(laplacian: ShiftedLaplacian) -> bool:
        return laplacian.method == "inverse" and laplacian.size <= LARGEST

    def is_due(self, n_iter: int, is_warm: bool, norm: float) -> bool:
        n, p = self.X.shape
        near = is_warm or n_iter > AFTER * max(1, n / p)
        return near and 1 < norm <= LIMIT

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

    def __call__(self, D_1: At, W: At, accuracy: float) -> tuple[float, float, float]:
        """Linear, quadratic and norm of a better point, from any D_1 and W."""
        excess = self.excess(D_1)
        found = self.relieved(self.square(D_1, W, excess), accuracy)
        self.step = (excess, *self.step)
        return found

    def point(self, D_1: At, W: At) -> tuple[np.ndarray, np.ndarray]:
        """D_1 and W of the point that the last call was about, given its arguments."""
        excess, scale, U, c, V = self.step
        shape, N, Phi = self.X.shape, self.null, self.laplacian.laplacian
        better, smooth = np.empty(shape), np.empty(shape)
        for at in column_blocks(shape, PIECE, most=shape[1]):
            D = self._inside(D_1, at)
            if excess is not None:
                D = self._balanced(D, at, excess[:, at])
            w = W(at).astype(np.float64)
            w -= N @ (N.T @ w)
            whole = D + 2 * self.gamma * np.asarray(Phi @ w)
            w -= V @ (c[:, None] * (U.T @ whole)) / (2 * self.gamma)
            better[:, at], smooth[:, at] = scale * D, scale * w
        return better, smooth

    def excess(self, D_1: At) -> np.ndarray | None:
        """What of C is above one."""
        columns = column_blocks(self.X.shape, PIECE, most=self.X.shape[1])
        C = np.hstack([self.null.T @ self._inside(D_1, at) for at in columns])
        if not C.size:
            return None
        left, sizes, right = np.linalg.svd(C, full_matrices=False)
        above = np.maximum(sizes - (1 - MARGIN), 0)
        return (left * above) @ right if above.any() else None

    def square(self, D_1: At, W: At, excess: np.ndarray | None) -> Square:
        n, p = self.X.shape
        N, Phi = self.null, self.laplacian.laplacian

        def square(share: Sequence[slice]) -> Square:
            """Of some columns."""
            K, along = np.zeros((n, n)), np.zeros((n, n))
            linear, quadratic, size = np.zeros(2), np.zeros(2), 0.0
            for at in share:
                D = self._inside(D_1, at)
                if excess is not None:
                    D = self._balanced(D, at, excess[:, at])
                linear += total(D * np.nan_to_num(self.X[:, at]))
                quadratic += total(part(self.loss, (slice(None), at)).conjugate(D))
                w = W(at).astype(np.float64)
                w -= N @ (N.T @ w)
                graph = np.asarray(Phi @ w)
                graph *= 2 * self.gamma
                quadratic += total(w * graph) / 2
                size += float(np.vdot(w, w))
                D += graph
                K += D @ D.T
                along += D @ w.T
            return Square(K, along, linear, quadratic, size)

        columns = column_blocks(self.X.shape, PIECE, most=p)
        most = max(1, p // (WIDE * n))
        found = in_shares(square, columns, 3 * n * n * p, most)
        return Square(*(sum(parts) for parts in zip(*found, strict=True)))

    def _inside(self, D_1: At, at: slice) -> np.ndarray:
        """Some of D_1, in the dual ball."""
        piece = D_1(at).astype(np.float64)
        piece[np.isnan(self.X[:, at])] = 0
        return nearest(part(self.loss, (slice(None), at)), piece)

    def _balanced(self, D_1: np.ndarray, at: slice, excess: np.ndarray) -> np.ndarray:
        """Some of D_1 moved so that C loses its excess, or most of it.

        From bounds only one way is free, so that a first step tells in every column how
        much longer the second has to be.
        """
        step = self.null @ excess
        step[np.isnan(self.X[:, at])] = 0
        loss = part(self.loss, (slice(None), at))
        moved = nearest(loss, D_1 - step) - D_1
        wanted = np.einsum("ij,ij->j", excess, excess)
        got = -np.einsum("ij,ij->j", moved, step)
        longer = np.ones_like(wanted)
        np.divide(wanted, got, out=longer, where=got > 0.1 * wanted)
        return nearest(loss, D_1 - longer * step)

    def relieved(self, square: Square, accuracy: float) -> tuple[float, float, float]:
        """Linear, quadratic and norm after the relief, rounded up.

        If C is still too large, the whole point is scaled down first. The change of W
        is V diag(c) U^T D / (2 gamma) with V = Phi^+ U. Then D changes by Phi V diag(c)
        U^T D. This holds for the rounded U and V too.
        """
        n, p = self.X.shape
        K, along = square.K, square.along
        count = -(-p // (PIECE // n or 1)) + 1
        c_Phi = self.laplacian.error
        linear = square.linear[0] + total_error(square.linear[1], count)
        quadratic = square.quadratic[0]
        quadratic += total_error(square.quadratic[1], count + PAIRWISE)
        quadratic += self.gamma * c_Phi * square.size
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
        self.step = scale, U, c, V
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
        error = 2 * self.gamma * c_Phi * math.sqrt(square.size)
        error += c_Phi * size_V * math.sqrt(part) + 4 * UNIT * math.sqrt(trace)
        lost = u * max(trace, 1.0) * (1 + size_Z) ** 2
        return linear, max(value, 0.0), _norm(K, max(accuracy, lost)) + error


def _norm(square: np.ndarray, accuracy: float) -> float:
    """At least ||D||_2, from D D^T with many eigenvalues at one and none far above."""
    if not np.isfinite(square).all():
        return math.inf
    above = 1 + accuracy
    if is_below(square, above**2):
        return above**2
    return math.sqrt(max(np.linalg.eigvalsh(square)[-1], 1.0)) * above
