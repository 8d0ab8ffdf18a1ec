"""A smoothed loss, for dense noise besides gross errors."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rpcag.losses.loss import Array


@dataclass(frozen=True)
class Huber:
    """l(R) = min over N of ball(R - N) + ||N||^2 / (2 mu): X = L + S + N.

    A minimum over splits adds the conjugates: l* = ball* + mu ||.||^2 / 2. So r U
    minimizes ||Y - r D||^2 + r mu ||Y||^2 over the ball, at the point nearest to
    r D / (1 + r mu). And l(R) is the largest <D, R> - l*(D), at the D nearest to
    R / mu, where N = mu D. For the l1 norm this is the Huber function of every entry.
    """

    ball: Any
    mu: float | Array

    @property
    def entrywise(self) -> bool:
        return self.ball.entrywise

    def project(self, D: Array, r: Any, out: Array | None = None) -> Array:
        U = np.divide(D, 1 + r * self.mu, out=out)
        return self.ball.project(U, r, out=U)

    def conjugate(self, D: Array) -> Array:
        return self.ball.conjugate(D) + (self.mu / 2 * D * D).sum(axis=1)

    def value(self, R: Array) -> Array:
        D = np.divide(R, self.mu, dtype=np.float64)
        self.ball.project(D, 1.0, out=D)
        return (D * R).sum(axis=1) - self.conjugate(D)
