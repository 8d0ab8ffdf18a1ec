"""The l1 distance to the data, blind where data are missing."""

import numpy as np

from rpcag.linalg.blocks import blocks


class L1Loss:
    """f(P) = lam ||M o (X - P)||_1, with M one where `observed`, else zero.

    With C = clip(Y - X, -step lam, step lam) on observed entries and C = 0 elsewhere,
    prox(Y) = Y - C: soft thresholding of X - Y, seen from P. The conjugate is
    f*(D) = <D, X> when |D| <= lam on observed entries and D = 0 elsewhere.
    """

    def __init__(
        self, X: np.ndarray, lam: float, observed: np.ndarray | None = None
    ) -> None:
        self.X = X
        self.lam = lam
        self.observed = observed

    def value(self, Y: np.ndarray) -> float:
        total = 0.0
        for x, y, seen in blocks(self.X, Y, self.observed):
            distance = np.subtract(x, y)
            np.abs(distance, out=distance)
            if seen is not None:
                distance *= seen
            total += float(distance.sum(dtype=np.float64))
        return self.lam * total

    def prox(self, Y: np.ndarray, step: float, out: np.ndarray) -> np.ndarray:
        bound = Y.dtype.type(step * self.lam)
        for x, y, p, seen in blocks(self.X, Y, out, self.observed):
            np.subtract(y, x, out=p)
            np.clip(p, -bound, bound, out=p)
            if seen is not None:
                p *= seen
            np.subtract(y, p, out=p)
        return out

    def add_dual(
        self, P: np.ndarray, Y: np.ndarray, total: np.ndarray
    ) -> tuple[float, float]:
        # Y comes from a prox, so it is feasible up to rounding: clip for the proof.
        lam = Y.dtype.type(self.lam)
        linear = 0.0
        for x, y, t, seen in blocks(self.X, Y, total, self.observed):
            dual = np.clip(y, -lam, lam)
            if seen is not None:
                dual *= seen
            t += dual
            linear += float(np.dot(dual, x))
        return linear, 0.0
