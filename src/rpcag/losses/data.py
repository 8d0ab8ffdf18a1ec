"""The loss of L on the observed data."""

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

    def at(self, rows: slice, columns: slice = slice(None)) -> Loss:
        """The loss of some rows and columns."""
        return part(self.loss, (rows, columns))

    def residual(
        self, y: np.ndarray, rows: slice, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Some rows of M o (Y - X)."""
        out = np.subtract(y, self.X[rows], out=out)
        if self.has_missing:
            np.copyto(out, 0, where=np.isnan(out))
        return out

    def value(self, Y: np.ndarray) -> float:
        total = 0.0
        for rows in row_blocks(self.X.shape, BLOCK):
            residual = self.residual(Y[rows], rows)
            total += float(self.at(rows).value(residual).sum())
        return total

    def prox(self, Y: np.ndarray, step: float, out: np.ndarray) -> np.ndarray:
        for rows in row_blocks(self.X.shape, BLOCK):
            self.prox_rows(Y[rows], step, out[rows], rows)
        return out

    def prox_rows(self, y: np.ndarray, step: float, out: np.ndarray, rows: slice):
        """The prox of some rows of Y, which do not depend on others."""
        self.residual(y, rows, out)
        self.at(rows).project(out, 1 / step, out=out)
        np.subtract(y, out, out=out)

    def dual_piece(
        self, Y: np.ndarray, rows: slice, columns: slice = slice(None)
    ) -> tuple[np.ndarray, np.ndarray]:
        """Some of Y, moved into the dual ball in double precision: D.

        Also <D, X>, as a sum and a sum of sizes, and l*(D).
        """
        D, x = Y[rows, columns].astype(np.float64), self.X[rows, columns]
        if self.has_missing:
            missing = np.isnan(x)
            np.copyto(D, 0, where=missing)
            x = np.where(missing, 0, x)
        loss = self.at(rows, columns)
        nearest(loss, D)
        products = np.multiply(D, x, dtype=np.float64)
        return D, np.append(summed(products), loss.conjugate(D).sum())

    def add_dual(self, Y: np.ndarray, total: np.ndarray) -> tuple[float, float, float]:
        # Y comes from a prox, so it is in the dual ball up to rounding.
        pieces, sums, square = row_blocks(self.X.shape, BLOCK), np.zeros(3), 0.0
        for rows in pieces:
            D, more = self.dual_piece(Y, rows)
            sums += more
            t = total[rows]
            t += D
            square += float(np.vdot(t, t))
        linear, size, quadratic = sums.tolist()
        linear += total_error(size, len(pieces))
        quadratic += total_error(quadratic, len(pieces) + PAIRWISE)
        # Twice the rounding of `total`, to cover the rounding of its norm.
        return linear, quadratic, 2 * unit(total.dtype) * square**0.5
