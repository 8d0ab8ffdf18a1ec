"""The l2,1 norm, for samples that are wrong as a whole."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rpcag.losses.loss import Array


@dataclass(frozen=True)
class Rows:
    """Weighted l2,1 norm: l(R) = sum_i lam_i ||R_i||_2.

    <D_i, R_i> <= lam_i ||R_i|| for every R_i if and only if ||D_i|| <= lam_i (Cauchy
    and Schwarz): one ball per row, and the nearest point of a ball is a multiple.
    """

    lam: float | Array
    entrywise: ClassVar[bool] = False

    def project(self, D: Array, r: Any, out: Array | None = None) -> Array:
        # Inside by more than the rounding of norms and products.
        rounding = (D.shape[1] + 8) * float(np.finfo(np.float64).eps)
        bound = self.lam / r * (1 - rounding)
        longest = np.maximum(_norms(D), np.maximum(bound, np.finfo(np.float64).tiny))
        return np.multiply(D, (bound / longest).astype(D.dtype), out=out)

    def conjugate(self, D: Array) -> Array:
        return np.zeros(len(D))

    def value(self, R: Array) -> Array:
        return (self.lam * _norms(R))[:, 0]


def _norms(A: Array) -> Array:
    return np.sqrt(np.einsum("ij,ij->i", A, A, dtype=np.float64))[:, None]
