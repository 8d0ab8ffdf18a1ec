"""The loss of L on the observed data."""

from collections.abc import Iterator

import numpy as np

from rpcag.linalg.blocks import row_blocks
from rpcag.linalg.rounding import PAIRWISE, total_error, unit
from rpcag.linalg.rounding import total as summed
from rpcag.losses.loss import Loss, nearest, part

# Entries of rows that are worked on at a time, so that they stay in the cache.
BLOCK = 2**15


class DataTerm:
    """f(P) = l(M o (P - X)), with M zero where X is NaN and one elsewhere.

    With U = l.project(M o (Y - X), 1 / step), prox(Y) = Y - U. The conjugate is
    f*(D) = <D, X> + l*(D) if D is in the dual ball and 0 where X is missing.
    """

    def __init__(self, X: np.ndarray, loss: Loss) -> None:
        self.X = X
        self.loss = loss
        self.has_missing = any(np.isnan(X[rows]).any() for rows in row_blocks(X.shape))

    def value(self, Y: np.ndarray) -> float:
        total = 0.0
        for rows, loss in self._pieces():
            residual = Y[rows] - self.X[rows]
            if self.has_missing:
                np.copyto(residual, 0, where=np.isnan(residual))
            total += float(loss.value(residual).sum())
        return total

    def prox(self, Y: np.ndarray, step: float, out: np.ndarray) -> np.ndarray:
        for rows in row_blocks(self.X.shape, BLOCK):
            self.prox_rows(Y[rows], step, out[rows], rows)
        return out

    def prox_rows(self, y: np.ndarray, step: float, out: np.ndarray, rows: slice):
        """The prox of some rows of Y, which do not depend on others."""
        np.subtract(y, self.X[rows], out=out)
        if self.has_missing:
            np.copyto(out, 0, where=np.isnan(out))
        part(self.loss, (rows, slice(None))).project(out, 1 / step, out=out)
        np.subtract(y, out, out=out)

    def add_dual(
        self, P: np.ndarray, Y: np.ndarray, total: np.ndarray
    ) -> tuple[float, float, float]:
        # Y comes from a prox, so it is in the dual ball up to rounding: the nearest
        # point of the ball is computed for the proof, in double precision.
        sums, quadratic, square, count = np.zeros(2), 0.0, 0.0, 0
        for rows, loss in self._pieces():
            dual = Y[rows].astype(np.float64)
            x = self.X[rows]
            if self.has_missing:
                missing = np.isnan(x)
                dual[missing] = 0
                x = np.where(missing, 0, x)
            nearest(loss, dual)
            t = total[rows]
            t += dual
            sums += summed(np.multiply(dual, x, dtype=np.float64))
            quadratic += float(loss.conjugate(dual).sum())
            square += float(np.vdot(t, t))
            count += 1
        linear, size = sums.tolist()
        linear += total_error(size, count)
        quadratic += total_error(quadratic, count + PAIRWISE)
        # Twice the rounding of `total`, to cover the rounding of its norm.
        error = 2 * unit(total.dtype) * square**0.5
        return linear, quadratic, error

    def _pieces(self) -> Iterator[tuple[slice, Loss]]:
        """Rows that fit in the processor's cache, and their loss."""
        for rows in row_blocks(self.X.shape, BLOCK):
            yield rows, part(self.loss, (rows, slice(None)))
