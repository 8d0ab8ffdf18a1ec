"""A better dual point where there is a graph: it carries what is too much for the norm.

A dual point is D = D_1 + 2 gamma Phi W with |D_1| <= lam and ||D||_2 <= 1; its value is
-<D_1, X> - gamma tr(W^T Phi W). ADMM gives one whose norm is above one by a little, and
dividing it by the norm loses as large a share of the whole value. But W is free: any D
with the same C = N^T D can be had, where the columns of N span the null space of Phi.
Let R = D - N C. For A = I - J with N^T J = 0, A D = N C + A R has at most norm one iff

    A G A <= I,   G = R (I - C^T C)^-1 R^T      (Parrott, 1978)

so J = U (1 - g^-1/2) U^T from the eigenvalues g > 1 of G does. W pays for it: with
Z = J D, W becomes W - Phi^+ Z / (2 gamma) and its term

    gamma tr(W^T Phi W) - <Z, W> + tr(Z^T Phi^+ Z) / (4 gamma),

of first order in what is too much, and in L only, not in all of X. C itself is that of
D_1, the sums of its columns over every connected part: where it is too large, entries
of D_1 that are not at their bound are moved a little.
"""

import math
from functools import cached_property

import numpy as np
from scipy import linalg

from rpcag.linalg.blocks import column_blocks
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.svt import gram, is_below

# Samples up to which the eigenvalues of their square are cheap.
LARGEST = 1000
# Iterations before it is worth its price, and as many more as the data are taller than
# wide; a solve that starts where another ended is near from the first.
AFTER = 40
# Eigenvalues of Phi below this share of its largest are taken for zero: along their
# vectors D stays as it is, which any vectors may do.
NULL = 1e-7
# ||C|| is kept below one by this much, so that (I - C^T C)^-1 keeps its digits.
MARGIN = 1e-4


class Relief:
    """Of the dual points of one problem.

    Parameters
    ----------
    X : ndarray of shape (n, p), NaN where missing
    lam, gamma : float
    laplacian : ShiftedLaplacian
    """

    def __init__(
        self, X: np.ndarray, lam: float, gamma: float, laplacian: ShiftedLaplacian
    ) -> None:
        self.X, self.lam, self.gamma = X, lam, gamma
        self.laplacian = laplacian

    @staticmethod
    def suits(laplacian: ShiftedLaplacian) -> bool:
        return laplacian.method == "inverse" and laplacian.size <= LARGEST

    def is_due(self, n_iter: int, is_warm: bool) -> bool:
        n, p = self.X.shape
        return is_warm or n_iter > AFTER * max(1, n / p)

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
        self,
        D: np.ndarray,
        U: np.ndarray,
        penalty: float,
        W: np.ndarray,
        values: tuple[float, float],
        accuracy: float,
    ) -> tuple[float, float, float]:
        """Linear, quadratic and norm of the better point; D is overwritten.

        `values` are linear and quadratic of the point itself, where D_1 is penalty U
        clipped to its bounds, and zero where X is missing.
        """
        linear, quadratic = values
        linear += self.balance(D, U, penalty)
        K = gram(D).astype(np.float64, copy=False)
        along = np.zeros_like(K)  # D W^T
        for columns in column_blocks(D.shape):
            along += D[:, columns].astype(np.float64) @ W[:, columns].T
        accuracy = max(accuracy, _rounding(D.dtype, min(D.shape)))
        return self.relieved(K, along, (linear, quadratic), accuracy)

    def balance(self, D: np.ndarray, U: np.ndarray, penalty: float) -> float:
        """Moves D_1, and D with it, to where ||C|| < 1; the change of <D_1, X>."""
        excess = self.excess(self.null.T @ D)
        if excess is None:
            return 0.0
        change = 0.0
        for columns in column_blocks(D.shape):
            x = self.X[:, columns]
            D_1 = np.multiply(U[:, columns], penalty, dtype=np.float64)
            np.clip(D_1, -self.lam, self.lam, out=D_1)
            D_1[np.isnan(x)] = 0
            moved = self.moved(D_1, x, excess[:, columns])
            D[:, columns] += moved.astype(D.dtype)
            change += float(np.nansum(moved * x))
        return change

    @staticmethod
    def is_too_large(CC: np.ndarray) -> bool:
        """Whether ||C|| is, from C C^T."""
        return _largest(CC) > (1 - MARGIN) ** 2

    def excess(self, C: np.ndarray) -> np.ndarray | None:
        """What of C is above one."""
        if not C.size:
            return None
        U, sizes, V = np.linalg.svd(C, full_matrices=False)
        above = np.maximum(sizes - (1 - MARGIN), 0)
        return (U * above) @ V if above.any() else None

    def moved(self, D_1: np.ndarray, x: np.ndarray, excess: np.ndarray) -> np.ndarray:
        """How some columns of D_1 change so that C loses its excess, or most of it.

        From bounds only one way is free, so that a first step tells in every column how
        much longer the second has to be.
        """
        step = self.null @ excess
        step[np.isnan(x)] = 0
        moved = np.clip(D_1 - step, -self.lam, self.lam) - D_1
        wanted = np.einsum("ij,ij->j", excess, excess)
        got = -np.einsum("ij,ij->j", moved, step)
        longer = np.ones_like(wanted)
        np.divide(wanted, got, out=longer, where=got > 0.1 * wanted)
        return np.clip(D_1 - longer * step, -self.lam, self.lam) - D_1

    def relieved(
        self,
        K: np.ndarray,
        along: np.ndarray,
        values: tuple[float, float],
        accuracy: float,
    ) -> tuple[float, float, float]:
        """From K = D D^T and D W^T alone: linear, quadratic and norm after the relief.

        Where C is too large still, all of the point is made smaller first.
        """
        linear, quadratic = values
        N = self.null
        KN = K @ N
        CC = N.T @ KN
        if self.is_too_large(CC):
            scale = (1 - MARGIN) / math.sqrt(_largest(CC))
            linear *= scale
            quadratic *= scale**2
            K, along, KN, CC = (scale**2 * part for part in (K, along, KN, CC))
        RC = KN - N @ CC
        G = K - N @ KN.T - RC @ N.T
        G += RC @ np.linalg.solve(np.eye(len(CC)) - CC, RC.T)
        g, U = linalg.eigh(
            G, driver="evr", subset_by_value=(1.0, np.inf), check_finite=False
        )
        c = 1 - 1 / np.sqrt(g)  # J = U diag(c) U^T
        KU = K @ U
        inner = c[:, None] * (U.T @ KU) * c  # U^T J K J U
        quadratic -= float(c @ np.einsum("ij,ij->j", U, along @ U))
        quadratic += float(np.vdot(U.T @ (self.inverse @ U), inner)) / (4 * self.gamma)
        half = KU * c - U @ (inner / 2)
        K = K - half @ U.T  # (I - J) K (I - J)
        K -= U @ half.T
        return linear, max(quadratic, 0.0), _norm(K, accuracy)


def _norm(square: np.ndarray, accuracy: float) -> float:
    """At least ||D||_2, from D D^T with many eigenvalues at one and none far above."""
    above = 1 + max(accuracy, _rounding(square.dtype, len(square)))
    if is_below(square, above**2):
        return above**2
    return math.sqrt(_largest(square)) * above


def _rounding(dtype: np.dtype, size: int) -> float:
    """Of the norm of a matrix with this shorter side."""
    return 4 * float(np.finfo(dtype).eps) * math.sqrt(size)


def _largest(square: np.ndarray) -> float:
    """Eigenvalue."""
    return max(np.linalg.eigvalsh(square), default=0.0)
