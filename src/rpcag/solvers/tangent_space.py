"""The multiplier of the loss by least squares, once rank and support are known.

At the optimum the multiplier D is -lam or lam on the support of S, and P_T D = -U V^T
on the tangent space T at L = U S V^T. A nearly optimal D violates the second condition
slightly, and its spectral norm, by which the dual point is divided, is above one. The
smallest change on the free entries M, where |D| < lam, that repairs it is M Z with Z in
T,

    P_T M Z = -U V^T - P_T D,

found by conjugate gradients. If there are few errors, P_T M P_T is near the identity,
and few steps are enough. (The proof that Robust PCA recovers the truth constructs the
multiplier in this way: Candes, Li, Ma, Wright, 2011.) Any D that is clipped afterwards
is feasible.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rpcag.linalg.blocks import row_blocks
from rpcag.solvers.executor import Executor

# Entries of the multiplier this near to lam, as a share of it, belong to the support.
NEAR = 0.02
STEPS = 10
# Units of rounding below which a residual does not fall.
ROUNDED = 30


class Change(NamedTuple):
    """Change of some columns of a multiplier: mask o (left right^T)."""

    left: np.ndarray
    right: np.ndarray
    mask: np.ndarray | None = None  # of ones

    def rows(self, rows: slice) -> np.ndarray:
        piece = self.left[rows] @ self.right.T
        if self.mask is not None:
            piece *= self.mask[rows]
        return piece


class TangentSpace:
    """T = {U A^T + B V^T with U^T B = 0}, and a mask M of the free entries.

    V, A and M are in tiles of columns. A matrix of T is a list: the tiles of A, and B.
    """

    def __init__(self, run: Executor, U: Any, V: list, masks: list) -> None:
        self.run, self.U, self.V, self.masks = run, U, V, masks

    def projection(self, A: list, B: list) -> list:
        """P_T Y, from the `tangent_parts` of all tiles of Y."""
        run = self.run
        return run.keep(*A, run.call(_outside, run.total(B), self.U))

    def wanted(self, A: list, B: list) -> list:
        """-U V^T - P_T D, from the `tangent_parts` of all tiles of D."""
        *A, rest = self.projection(A, B)
        A = self.run.each(_combine, -1.0, A, -1.0, self.V)
        return [*A, self.run.call(np.negative, rest)]

    def changes(self, Z: list) -> list:
        """M Z, a `Change` of every tile."""
        *A, B = Z
        left = self.run.call(_beside, self.U, B)
        return self.run.each(_change, self.masks, left, A, self.V)

    def solve(self, R: list, wanted: float, dtype: Any) -> list:
        """Z of T with P_T M Z = R up to `wanted`, or up to rounding errors."""
        run = self.run
        wanted = max(wanted, ROUNDED * float(np.finfo(dtype).eps))
        Z = self._combine(0.0, R, 0.0, R)
        direction = R
        square = self._inner(R, R)
        for _ in range(STEPS):
            if square <= wanted**2:
                break
            changes = self.changes(direction)
            parts = run.each(_masked_parts, changes, self.U, self.V, n=2)
            image = self.projection(*parts)
            curvature = self._inner(direction, image)
            if not curvature > 0:  # nothing is free along it, or not a number
                break
            along = square / curvature
            Z = self._combine(1.0, Z, along, direction)
            R = self._combine(1.0, R, -along, image)
            before, square = square, self._inner(R, R)
            direction = self._combine(1.0, R, square / before, direction)
        return Z

    def _inner(self, a: list, b: list) -> float:
        return self.run.get(self.run.total(self.run.each(_inner, a, b)))[0]

    def _combine(self, s: float, a: list, t: float, b: list) -> list:
        return self.run.keep(*self.run.each(_combine, s, a, t, b))


def tangent_parts(
    piece_at: Callable[[slice], np.ndarray], U: np.ndarray, V: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Y^T U and Y V, where `piece_at` gives some rows of Y."""
    A, B = np.zeros_like(V), np.empty_like(U)
    for rows in row_blocks((len(U), len(V))):
        piece = piece_at(rows)
        A += piece.T @ U[rows]
        B[rows] = piece @ V
    return A, B


def _masked_parts(change: Change, U: np.ndarray, V: np.ndarray):
    return tangent_parts(change.rows, U, V)


def _change(mask, left, A, V) -> Change:
    return Change(left, np.hstack([A, V]), mask)


def _outside(B, U):
    return B - U @ (U.T @ B)


def _beside(A, B):
    return np.ascontiguousarray(np.hstack([A, B]))


def _inner(a, b) -> float:
    return float(np.vdot(a, b))


def _combine(s: float, a, t: float, b):
    return a.dtype.type(s) * a + a.dtype.type(t) * b
