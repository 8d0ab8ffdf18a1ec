"""Smoothness on a graph between the rows, or between the columns."""

from functools import cached_property

import numpy as np

from rpcag.linalg.blocks import column_blocks
from rpcag.linalg.eigen import largest_eigenvalue
from rpcag.linalg.rounding import total as summed
from rpcag.linalg.rounding import total_error, unit
from rpcag.linalg.shifted import ShiftedLaplacian


class GraphSmoothness:
    """f(W) = gamma tr(W^T Phi W), or gamma tr(W Phi W^T) if `axis` is 1.

    The gradient is 2 gamma Phi W, so the prox solves (I + 2 step gamma Phi) P = Y, and
    f*(2 gamma Phi W) = gamma tr(W^T Phi W): every W gives a feasible dual point.
    """

    def __init__(self, shifted: ShiftedLaplacian, gamma: float, axis: int = 0) -> None:
        self.shifted, self.gamma, self.axis = shifted, gamma, axis

    @cached_property
    def lipschitz(self) -> float:
        """Of the gradient."""
        return float(2 * self.gamma * largest_eigenvalue(self.shifted.laplacian))

    def subtract_gradient(self, Y: np.ndarray, out: np.ndarray) -> None:
        """out -= 2 gamma Phi Y, in the precision of Y."""
        Y, out = self._turned(Y), self._turned(out)
        Phi = self.shifted.in_precision(Y.dtype)
        for columns in column_blocks(Y.shape):
            piece = Phi @ np.ascontiguousarray(Y[:, columns])
            piece *= 2 * self.gamma
            out[:, columns] -= piece

    def value(self, Y: np.ndarray) -> float:
        pieces = self._pieces(Y)
        total = sum(float(np.vdot(piece, Phi_piece)) for _, piece, Phi_piece in pieces)
        return max(self.gamma * total, 0.0)

    def prox(self, Y: np.ndarray, step: float, out: np.ndarray) -> np.ndarray:
        """Write the prox to `out`, whose content is the first guess."""
        Y, W = np.ascontiguousarray(self._turned(Y)), self._turned(out)
        self.shifted.solve(2 * step * self.gamma, Y, W)
        return out

    def add_dual(self, Y: np.ndarray, total: np.ndarray) -> tuple[float, float, float]:
        """2 gamma Phi Y, computed as G. With c = `shifted.error`,

            ||G - 2 gamma Phi Y||_F <= 2 gamma c ||Y||_F

        and <Y, Phi Y> is off by c ||Y||_F^2 and the rounding of its own sum.
        """
        sums, count = np.zeros(2), 0
        size = added = after = 0.0  # squares of norms
        total = self._turned(total)
        for columns, piece, Phi_piece in self._pieces(Y):
            sums += summed(piece * Phi_piece)
            size += float(np.vdot(piece, piece))
            Phi_piece *= 2 * self.gamma
            total[:, columns] += Phi_piece.astype(total.dtype, copy=False)
            added += float(np.vdot(Phi_piece, Phi_piece))
            after += float(np.sum(np.square(total[:, columns], dtype=np.float64)))
            count += 1
        quadratic, sizes = sums.tolist()
        quadratic += total_error(sizes, count) + self.shifted.error * size
        error = 2 * self.gamma * self.shifted.error * size**0.5
        error += 2 * unit(total.dtype) * (added**0.5 + after**0.5)
        return 0.0, max(self.gamma * quadratic, 0.0), error

    def _turned(self, A: np.ndarray) -> np.ndarray:
        return A.T if self.axis else A

    def _pieces(self, Y: np.ndarray):
        """Some columns of Y and of Phi Y at a time, in double precision.

        The part of Y in the null space of Phi is removed if it is known. The rounding
        of a large constant part would count as roughness.
        """
        Y = self._turned(Y)
        for columns in column_blocks(Y.shape):
            piece = np.ascontiguousarray(Y[:, columns], dtype=np.float64)
            piece = self.shifted.without_null(piece)
            yield columns, piece, np.ascontiguousarray(self.shifted.laplacian @ piece)
