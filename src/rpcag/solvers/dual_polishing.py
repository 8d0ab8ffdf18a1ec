"""The multiplier of the l1 term by least squares, once rank and support are known.

At the optimum the multiplier D is -lam or lam on the support of S, and P_T D = -U V^T
on the tangent space T at L = U S V^T. A D that is nearly so misses the second by a
little, and its spectral norm, by which the dual point is divided, is above one. The
least change on the free entries M, where |D| < lam, that mends it is M Z with Z in T,

    P_T M Z = -U V^T - P_T D,

by conjugate gradients: few steps where the errors are few, as P_T M P_T is near the
identity then. (So the multiplier is built in the proof that Robust PCA recovers the
truth, Candes, Li, Ma, Wright, 2011.) Any D that is clipped afterwards is feasible.
"""

from typing import NamedTuple

import numpy as np

from rpcag.linalg.blocks import row_blocks

# Entries of the multiplier this near to lam, as a share of it, belong to the support.
NEAR = 0.02
STEPS = 10
# Units of rounding below which a residual does not fall.
ROUNDED = 30


class Factors(NamedTuple):
    """The matrix left right^T."""

    left: np.ndarray
    right: np.ndarray


class Tangent:
    """T = {U A^T + B V^T, U^T B = 0}, with a mask M of the free entries."""

    def __init__(self, U: np.ndarray, V: np.ndarray, mask: np.ndarray) -> None:
        self.U, self.V, self.mask = U, V, mask

    def project(self, piece_at) -> np.ndarray:
        """A over B of P_T Y, where `piece_at` gives some rows of Y."""
        U, V = self.U, self.V
        A = np.zeros_like(V)
        B = np.empty_like(U)
        for rows in row_blocks(self.mask.shape):
            piece = piece_at(rows)
            A += piece.T @ U[rows]
            B[rows] = piece @ V
        B -= U @ (U.T @ B)
        return np.vstack([A, B])

    def factors(self, Z: np.ndarray) -> Factors:
        """U A^T + B V^T as one product."""
        p = len(self.V)
        return Factors(
            np.ascontiguousarray(np.hstack([self.U, Z[p:]])),
            np.hstack([Z[:p], self.V]),
        )

    def solve(self, R: np.ndarray, wanted: float) -> np.ndarray:
        """Z of T with P_T M Z = R up to `wanted`, or to what the precision gives."""
        wanted = max(wanted, ROUNDED * float(np.finfo(R.dtype).eps))
        Z = np.zeros_like(R)
        direction = R.copy()
        square = np.vdot(R, R)
        for _ in range(STEPS):
            if square <= wanted**2:
                break
            left, right = self.factors(direction)
            right = np.ascontiguousarray(right.T)

            def masked(rows: slice, left=left, right=right) -> np.ndarray:
                piece = left[rows] @ right
                piece *= self.mask[rows]
                return piece

            image = self.project(masked)
            curvature = np.vdot(direction, image)
            if not curvature > 0:  # nothing is free along it, or not a number
                break
            along = square / curvature
            Z += along * direction
            R = R - along * image
            before, square = square, np.vdot(R, R)
            direction = R + (square / before) * direction
        return Z
