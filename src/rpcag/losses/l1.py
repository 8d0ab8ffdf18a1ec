"""The l1 norm, for wrong cells."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rpcag.losses.loss import Array


@dataclass(frozen=True)
class L1:
    """Weighted l1 norm: l(R) = sum_ij lam_ij |R_ij|.

    <D, R> <= l(R) for every R if and only if |D_ij| <= lam_ij: the dual ball is a box,
    and the nearest point of a box is found entry by entry.
    """

    lam: float | Array
    entrywise: ClassVar[bool] = True

    def project(self, D: Array, r: Any, out: Array | None = None) -> Array:
        bound = self.lam / r
        return np.clip(D, -bound, bound, out=out)

    def conjugate(self, D: Array) -> Array:
        return np.zeros(len(D))

    def value(self, R: Array) -> Array:
        sizes = np.abs(R, dtype=np.float64)
        sizes *= self.lam
        return sizes.sum(axis=1)
