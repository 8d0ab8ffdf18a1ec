"""A loss for wrong cells and wrong samples at once."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rpcag.losses.l1 import L1
from rpcag.losses.loss import Array
from rpcag.losses.rows import Rows

# A row times this is far outside the ball, and its square is in range.
FAR = 2.0**200


@dataclass(frozen=True)
class Both:
    """l(R) = min over A + B = R of sum_ij cells_ij |A_ij| + sum_i rows_i ||B_i||_2.

    A minimum over splits adds the conjugates, so the dual ball is the intersection of
    box and ball. Its point nearest to d minimizes ||y - d||^2 + nu ||y||^2 over the box
    for a multiplier nu >= 0 of the ball: y = clip(s d, -cells, cells), where
    s = 1 / (1 + nu). ||y|| grows with s, so either s = 1 or ||y|| = rows, one equation
    for one number.
    """

    cells: float | Array
    rows: float | Array
    entrywise: ClassVar[bool] = False

    def project(self, D: Array, r: Any, out: Array | None = None) -> Array:
        box, ball = L1(self.cells), Rows(self.rows)
        bound = np.broadcast_to(self.cells / r, D.shape)
        radius = np.broadcast_to(self.rows / r, (len(D), 1))[:, 0]
        clipped = box.project(D, r)
        too_long = np.linalg.norm(clipped, axis=1) > radius
        if too_long.any():
            factors = np.ones((len(D), 1))
            factors[too_long, 0] = _factors(
                np.abs(D[too_long], dtype=np.float64), bound[too_long], radius[too_long]
            )
            clipped = box.project(D * factors.astype(D.dtype), r)
        return ball.project(clipped, r, out=out)  # within the ball despite rounding

    def conjugate(self, D: Array) -> Array:
        return np.zeros(len(D))

    def value(self, R: Array) -> Array:
        # The largest <D, R> over the ball is at the point nearest to a far multiple.
        D = self.project(R.astype(np.float64) * FAR, 1.0)
        return (D * R).sum(axis=1)


def _factors(sizes: Array, bound: Array, radius: Array) -> Array:
    """s of every row with sum_j min(s sizes_j, bound_j)^2 = radius^2.

    Entries leave s sizes_j for bound_j in the order of bound_j / sizes_j. With k of
    them at their bounds, s^2 = (radius^2 - sum of their bounds^2) / sum of the other
    sizes^2. k is the number of points s = bound_j / sizes_j where the sum is not above
    radius^2.
    """
    points = np.full_like(sizes, np.inf)
    np.divide(bound, sizes, out=points, where=sizes > 0)
    order = np.argsort(points, axis=1)
    points, squares, bounds = (
        np.take_along_axis(a, order, axis=1) for a in (points, sizes**2, bound**2)
    )
    held = np.cumsum(bounds, axis=1)
    # Of those after the k-th; summed from the end, so that nothing cancels.
    rest = np.cumsum(squares[:, ::-1], axis=1)[:, ::-1]
    after = np.hstack([rest[:, 1:], np.zeros((len(rest), 1))])
    finite = np.where(np.isfinite(points), points, 0.0)
    sums = np.where(np.isfinite(points), held + finite**2 * after, np.inf)
    k = (sums <= radius[:, None] ** 2).sum(axis=1)
    rows = np.arange(len(sizes))
    left = radius**2 - np.where(k > 0, held[rows, np.maximum(k, 1) - 1], 0.0)
    others = rest[rows, np.minimum(k, sizes.shape[1] - 1)]
    return np.sqrt(np.maximum(left, 0) / np.where(others > 0, others, 1.0))
