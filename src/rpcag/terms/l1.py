"""The l1 distance to the data, blind where data are missing."""

import numpy as np

from rpcag.linalg.blocks import blocks
from rpcag.linalg.rounding import rounded_down, total_error, unit
from rpcag.linalg.rounding import total as summed


class L1Loss:
    """f(P) = lam ||M o (X - P)||_1, with M zero where X is NaN and one elsewhere.

    With C = clip(Y - X, -step lam, step lam) on observed entries and C = 0 elsewhere,
    prox(Y) = Y - C: soft thresholding of X - Y, seen from P. The conjugate is
    f*(D) = <D, X> when |D| <= lam on observed entries and D = 0 elsewhere.
    """

    def __init__(self, X: np.ndarray, lam: float) -> None:
        self.X = X
        self.lam = lam
        self.has_missing = any(np.isnan(x).any() for (x,) in blocks(X))

    def value(self, Y: np.ndarray) -> float:
        total = 0.0
        for x, y in blocks(self.X, Y):
            distance = np.subtract(x, y)
            np.abs(distance, out=distance)
            self._forget_missing(distance)
            total += float(distance.sum(dtype=np.float64))
        return self.lam * total

    def prox(self, Y: np.ndarray, step: float, out: np.ndarray) -> np.ndarray:
        bound = Y.dtype.type(step * self.lam)
        for x, y, p in blocks(self.X, Y, out):
            np.subtract(y, x, out=p)
            np.clip(p, -bound, bound, out=p)
            self._forget_missing(p)
            np.subtract(y, p, out=p)
        return out

    def add_dual(
        self, P: np.ndarray, Y: np.ndarray, total: np.ndarray
    ) -> tuple[float, float, float]:
        # Y comes from a prox, so it is feasible up to rounding: clip it for the proof.
        # The limit is lam rounded down, because the nearest number may exceed lam.
        lam = rounded_down(self.lam, Y.dtype)
        sums, square, count = np.zeros(2), 0.0, 0
        for x, y, t in blocks(self.X, Y, total):
            dual = np.clip(y, -lam, lam)
            if self.has_missing:
                missing = np.isnan(x)
                dual[missing] = 0
                x = np.where(missing, 0, x)
            t += dual
            sums += summed(np.multiply(dual, x, dtype=np.float64))
            square += float(np.dot(t, t))
            count += 1
        linear, size = sums.tolist()
        # Twice the rounding of `total`, to cover the rounding of its norm.
        error = 2 * unit(total.dtype) * square**0.5
        return linear + total_error(size, count), 0.0, error

    def _forget_missing(self, difference: np.ndarray) -> None:
        """Zero where a difference to X is NaN because X is."""
        if self.has_missing:
            np.copyto(difference, 0, where=np.isnan(difference))
