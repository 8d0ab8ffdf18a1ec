"""Smoothness on a graph between the rows."""

import numpy as np

from rpcag.linalg.blocks import column_blocks, inner
from rpcag.linalg.shifted import Laplacian, ShiftedLaplacian


class GraphSmoothness:
    """f(W) = gamma tr(W^T Phi W).

    The gradient is 2 gamma Phi W, so the prox solves (I + 2 step gamma Phi) P = Y, and
    f*(2 gamma Phi W) = gamma tr(W^T Phi W): every W gives a feasible dual point.
    """

    def __init__(self, laplacian: Laplacian | ShiftedLaplacian, gamma: float) -> None:
        self.gamma = gamma
        self.shifted = (
            laplacian
            if isinstance(laplacian, ShiftedLaplacian)
            else ShiftedLaplacian(laplacian)
        )

    @property
    def iterative(self) -> bool:
        """Whether `prox` profits from a first guess in `out`."""
        return self.shifted.method == "cg"

    def value(self, Y: np.ndarray) -> float:
        Phi = self.shifted.matrix(Y.dtype)
        total = 0.0
        for columns in column_blocks(Y.shape):
            piece = np.ascontiguousarray(Y[:, columns])
            total += inner(piece, Phi @ piece)
        return self.gamma * total

    def prox(self, Y: np.ndarray, step: float, out: np.ndarray) -> np.ndarray:
        return self.shifted.solve(2 * step * self.gamma, Y, out)

    def add_dual(
        self, P: np.ndarray, Y: np.ndarray, total: np.ndarray
    ) -> tuple[float, float]:
        Phi = self.shifted.matrix(P.dtype)
        quadratic = 0.0
        for columns in column_blocks(P.shape):
            piece = np.ascontiguousarray(P[:, columns])
            dual = Phi @ piece
            quadratic += inner(piece, dual)
            dual *= 2 * self.gamma
            total[:, columns] += dual
        return 0.0, max(self.gamma * quadratic, 0.0)
