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

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rpcag.linalg.blocks import row_blocks
from rpcag.solvers.executor import Executor, total

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


class Vector(NamedTuple):
    """The matrix U A^T + B V^T of T, with U^T B = 0; A in tiles."""

    A: Sequence[Any]
    B: Any


class TangentSpace:
    """T = {U A^T + B V^T}, with a mask M of the free entries, in tiles of columns."""

    def __init__(self, run: Executor, U: Any, V: Sequence, masks: Sequence) -> None:
        self.run, self.U, self.V, self.masks = run, U, V, masks

    def vector(self, parts: Sequence[tuple[Any, Any]]) -> Vector:
        """P_T Y, from the `tangent_parts` of all tiles of Y."""
        B = total(self.run, [B for _, B in parts])
        B = self.run.call(_outside, B, self.U)
        *A, B = self.run.keep(*[A for A, _ in parts], B)
        return Vector(A, B)

    def wanted(self, parts: Sequence[tuple[Any, Any]]) -> Vector:
        """-U V^T - P_T D, from the `tangent_parts` of all tiles of D."""
        A, B = self.vector(parts)
        A = [self.run.call(_minus_sum, a, v) for a, v in zip(A, self.V, strict=True)]
        return Vector(A, self.run.call(np.negative, B))

    def changes(self, Z: Vector) -> list[Any]:
        """M Z, a `Change` of every tile."""
        left = self.run.call(_beside, self.U, Z.B)
        return [
            self.run.call(_change, mask, left, A, V)
            for mask, A, V in zip(self.masks, Z.A, self.V, strict=True)
        ]

    def solve(self, R: Vector, wanted: float, dtype: Any) -> Vector:
        """Z of T with P_T M Z = R up to `wanted`, or up to rounding errors."""
        wanted = max(wanted, ROUNDED * float(np.finfo(dtype).eps))
        Z = self._combine(0.0, R, 0.0, R)
        direction = R
        square = self._inner(R, R)
        for _ in range(STEPS):
            if square <= wanted**2:
                break
            parts = [
                self.run.call(_masked_parts, change, self.U, V, n=2)
                for change, V in zip(self.changes(direction), self.V, strict=True)
            ]
            image = self.vector(parts)
            curvature = self._inner(direction, image)
            if not curvature > 0:  # nothing is free along it, or not a number
                break
            along = square / curvature
            Z = self._combine(1.0, Z, along, direction)
            R = self._combine(1.0, R, -along, image)
            before, square = square, self._inner(R, R)
            direction = self._combine(1.0, R, square / before, direction)
        return Z

    def _inner(self, a: Vector, b: Vector) -> float:
        pairs = zip([*a.A, a.B], [*b.A, b.B], strict=True)
        return self.run.get(
            total(self.run, [self.run.call(_inner, *p) for p in pairs])
        )[0]

    def _combine(self, s: float, a: Vector, t: float, b: Vector) -> Vector:
        pairs = zip([*a.A, a.B], [*b.A, b.B], strict=True)
        *A, B = self.run.keep(*[self.run.call(_combine, s, x, t, y) for x, y in pairs])
        return Vector(A, B)


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


def _minus_sum(A, V):
    return -(A + V)


def _beside(A, B):
    return np.ascontiguousarray(np.hstack([A, B]))


def _inner(a, b) -> float:
    return float(np.vdot(a, b))


def _combine(s: float, a, t: float, b):
    return a.dtype.type(s) * a + a.dtype.type(t) * b
