"""A tile: some columns of X, and the operations of an iteration on large arrays."""

from collections.abc import Sequence
from functools import reduce
from operator import iadd
from typing import Any

import numpy as np

from rpcag.linalg.blocks import column_blocks, row_blocks
from rpcag.linalg.gram import add_square, fill_upper
from rpcag.linalg.threads import in_shares
from rpcag.losses import DataTerm, Loss, nearest
from rpcag.solvers.tangent_space import NEAR, Change, tangent_parts

# Entries of a piece of the dual point: its square is added to another of that size.
PIECE = 2**19
# Size of X over that of all such squares, one per thread.
WIDE = 4
ALL = slice(None)


class Tile(DataTerm):
    """Some columns of X with all rows, and the copy of L for the loss.

    ADMM in the form of Douglas and Rachford keeps one array V = P + U for a copy P of L
    with the scaled multiplier U = project(V - X, r). The singular value step needs
    P - U. The tile stores E = (U - P) / 2 = U - V / 2, which takes the fewest passes
    over memory. L = F Q^T, with the first columns of Q. The columns of Q are
    orthonormal over all tiles, and the tile gets its rows.
    """

    Y: np.ndarray  # E Q, of the Q of the last change

    def __init__(
        self,
        X: np.ndarray,
        loss: Loss,
        dtype: Any = None,
        center: np.ndarray | None = None,
    ) -> None:
        super().__init__(X, loss)  # as it came: certificates are computed from X
        self.dtype = np.dtype(dtype or X.dtype)
        self._x = X.astype(self.dtype, copy=False)
        self.center = center  # the row that every row of L starts from, else zero
        self.V = self.E = np.empty((0, 0), self.dtype)

    def begin(self, penalty: float) -> None:
        """All rows of V at zero, or at the center."""
        self.V = np.zeros(self.X.shape, self.dtype)
        if self.center is not None:
            self.V += self.center.astype(self.dtype)
        self.E = np.empty_like(self.V)
        self.reflect(penalty)

    def go_on(self, Q: np.ndarray, V: np.ndarray, penalty: float, growth: float):
        """Continue from a V and a basis; the penalty is multiplied by `growth`."""
        self.V = V.astype(self.dtype)
        self.E = np.empty_like(self.V)
        self.rescale(Q, penalty, growth)

    def rescale(self, Q: np.ndarray, penalty: float, factor: float) -> None:
        """Multiply the penalty by a factor; the multiplier r U stays."""
        self.reflect(penalty, factor)
        self.Y = self.E @ Q

    # -- the iteration -----------------------------------------------------------------

    def advance(
        self,
        Q: np.ndarray,
        F: np.ndarray,
        penalty: float,
        relaxation: float,
        growth: float,
        measure: bool,
    ) -> np.ndarray:
        """V += relaxation (L - P), then U of the new V, for L = F Q^T.

        `growth` multiplies the penalty afterwards: the multiplier r U stays, so U is
        divided by it. Returns what `Distances` is made of, if asked to measure.
        """
        right = np.ascontiguousarray(Q[:, : F.shape[1]].T)
        self.Y = np.empty((len(F), Q.shape[1]), self.dtype)

        def advance(some: Sequence[slice]) -> np.ndarray:
            number = self.dtype.type
            sums = np.zeros(4)
            product = np.empty_like(self.V[some[0]])
            for rows in some:
                v, e = self.V[rows], self.E[rows]
                step = np.matmul(F[rows], right, out=product[: len(v)])
                if measure:
                    P = number(0.5) * v - e
                    apart = step - P
                    sums[0] += np.vdot(apart, apart)
                # With P = V / 2 - E: V + c (L - P) = (1 - c / 2) V + c (L + E).
                step += e
                step *= number(relaxation)
                v *= number(1 - relaxation / 2)
                v += step
                self._reflect_rows(rows, penalty, growth)
                np.matmul(e, Q, out=self.Y[rows])
                if measure:
                    np.multiply(v, number(0.5), out=step)
                    step -= e
                    P -= step
                    sums[1] += np.vdot(P, P)
                    sums[2] += np.vdot(step, step)
                    step -= v
                    sums[3] += np.vdot(step, step) * growth**2
            return sums

        work = self.V.size * (len(right) + Q.shape[1])
        return sum(in_shares(advance, row_blocks(self.V.shape), work))

    def reflect(self, penalty: float, growth: float = 1.0) -> None:
        for rows in row_blocks(self.V.shape):
            self._reflect_rows(rows, penalty, growth)

    def _reflect_rows(self, rows: slice, penalty: float, growth: float = 1.0) -> None:
        """U of the loss, and from it E = U - V / 2; after growth V = P + U too."""
        number = self.dtype.type
        v, e = self.V[rows], self.E[rows]
        np.subtract(v, self._x[rows], out=e)
        if self.has_missing:
            np.copyto(e, 0, where=np.isnan(e))
        self.at(rows).project(e, penalty, out=e)
        if growth != 1.0:
            v += e * number(1 / growth - 1)
            e *= number(1 / growth)
        e -= v * number(0.5)

    # -- the objective and the dual point ----------------------------------------------

    def distance(self, F: np.ndarray, Q: np.ndarray) -> float:
        """The loss at F Q^T."""
        F = F.astype(np.float64)
        right = Q[:, : F.shape[1]].T.astype(np.float64)

        def distance(share: Sequence[slice]) -> float:
            total = 0.0
            for rows in share:
                residual = F[rows] @ right
                self.residual(residual, rows, residual)
                total += float(self.at(rows).value(residual).sum())
            return total

        work = self.X.size * len(right)
        return sum(in_shares(distance, row_blocks(self.X.shape), work))

    def multiplier(self, penalty: float, changes: Sequence[Change]) -> np.ndarray:
        """r U after some changes, in the dual ball of the loss."""
        D = np.empty_like(self.V)

        def multiplier(share: Sequence[slice]) -> None:
            for rows in share:
                d = np.multiply(self.V[rows], self.dtype.type(0.5), out=D[rows])
                d += self.E[rows]
                d *= self.dtype.type(penalty)
                for change in changes:
                    d += change.rows(rows)
                if self.has_missing:
                    np.copyto(d, 0, where=np.isnan(self._x[rows]))
                nearest(self.at(rows), d)

        work = D.size * sum(change.left.shape[1] for change in changes)
        in_shares(multiplier, row_blocks(D.shape), work)
        return D

    def dual_square(
        self, D_1: np.ndarray, by_rows: bool, left, R
    ) -> tuple[np.ndarray, np.ndarray]:
        """D^T D (by rows) or D D^T of D = D_1 + left R^T, and sums of `dual_piece`."""
        n, p = self.X.shape
        size = p if by_rows else n

        def square(share: Sequence[slice]) -> tuple[np.ndarray, np.ndarray]:
            K, sums = np.zeros((size, size), order="F"), np.zeros(3)
            for piece in share:
                at = (piece, ALL) if by_rows else (ALL, piece)
                D, along = self.dual_matrix(D_1, left, R, *at)
                sums += along
                add_square(K, D.T if by_rows else D)
            return K, sums

        wide = column_blocks(self.X.shape, min(PIECE, n * p // 16), most=p)
        pieces = row_blocks(self.X.shape) if by_rows else wide
        # Every thread has a square of its own; all of them are small beside X.
        most = max(1, max(n, p) // (WIDE * size))
        found = in_shares(square, pieces, n * p * size, most)
        squares, sums = zip(*found, strict=True)
        return fill_upper(reduce(iadd, squares)), sum(sums)

    def dual_matrix(self, D_1: np.ndarray, left, R, rows=ALL, columns=ALL):
        """Some of D = D_1 + left R^T, and sums of `dual_piece`."""
        D, sums = self.dual_piece(D_1, rows, columns)
        if left is not None:
            D += left[rows] @ R[columns].T.astype(np.float64)
        return D, sums

    def free_entries(self, penalty: float, U: np.ndarray, V: np.ndarray):
        """The mask of free entries of the multiplier r U, and its `tangent_parts`.

        An entry is free if the projection does not change it even if it is slightly
        larger. A smooth loss has no free entries.
        """
        number = self.dtype.type
        mask = np.empty(self.V.shape, self.dtype)

        def multiplier(rows: slice) -> np.ndarray:
            u = self.V[rows] * number(0.5)
            u += self.E[rows]
            larger = u * number(1 / (1 - NEAR))
            inside = self.at(rows).project(larger, penalty)
            np.equal(inside, larger, out=mask[rows])
            if self.has_missing:
                np.copyto(mask[rows], 0, where=np.isnan(self._x[rows]))
            u *= number(penalty)
            return u

        return mask, *tangent_parts(multiplier, U, V)
