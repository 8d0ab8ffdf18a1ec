"""The l2,1 distance to the data: a Euclidean norm per sample, summed."""

import numpy as np

from rpcag.linalg.rounding import total as summed
from rpcag.linalg.rounding import total_error, unit


class L21Loss:
    """f(P) = weight sum_i ||x_i - p_i||_2, one norm per row.

    prox moves each row of Y toward its row of X by at most step * weight; the
    conjugate is f*(D) = <D, X> when every row of D has norm at most `weight`.
    """

    def __init__(self, X: np.ndarray, weight: float = 1.0) -> None:
        if np.isnan(X).any():
            raise ValueError("X has missing entries, which the l2,1 norm cannot skip")
        self.X = X
        self.weight = weight

    def value(self, Y: np.ndarray) -> float:
        rows = np.linalg.norm(self.X - Y, axis=1)
        return self.weight * float(rows.sum(dtype=np.float64))

    def prox(self, Y: np.ndarray, step: float, out: np.ndarray) -> np.ndarray:
        np.subtract(Y, self.X, out=out)
        out *= _onto_ball(out, step * self.weight)
        return np.subtract(Y, out, out=out)

    def add_dual(
        self, P: np.ndarray, Y: np.ndarray, total: np.ndarray
    ) -> tuple[float, float, float]:
        # A smaller radius, so that rounded norms and products stay inside the ball.
        rounding = unit(Y.dtype)
        radius = self.weight * (1 - 2 * (Y.shape[1] + 8) * rounding)
        dual = Y * _onto_ball(Y, max(radius, 0.0))
        total += dual
        products = np.multiply(dual, self.X, dtype=np.float64)
        linear, size = summed(products).tolist()
        error = 2 * unit(total.dtype) * float(np.linalg.norm(total))
        return linear + total_error(size, 1), 0.0, error


def _onto_ball(Y: np.ndarray, radius: float) -> np.ndarray:
    """Factors that bring every row of Y into the ball of this radius."""
    norms = np.linalg.norm(Y, axis=1, keepdims=True)
    inside = norms <= radius
    return np.where(inside, 1, radius / np.where(inside, 1, norms)).astype(Y.dtype)
