"""Smoothness on two graphs: one between the rows, one between the columns."""

import numpy as np
from scipy import sparse

from rpcag.linalg.eigen import largest_eigenvalue
from rpcag.linalg.rounding import product_error, row_sizes
from rpcag.linalg.shifted import Laplacian

# Rows whose transposes are multiplied at a time: they stay in the processor's cache.
ROWS = 32


class TwoGraphSmoothness:
    """h(L) = a tr(L^T Phi_1 L) + b tr(L Phi_2 L^T).

    The gradient is 2 a Phi_1 L + 2 b L Phi_2; its Lipschitz constant is twice a times
    the largest eigenvalue of Phi_1 plus b times that of Phi_2.
    """

    def __init__(self, rows: Laplacian, a: float, columns: Laplacian, b: float) -> None:
        self.rows, self.a = rows, a
        self.columns, self.b = columns, b
        top_rows = largest_eigenvalue(rows) if a > 0 else 0.0
        self.top_columns = largest_eigenvalue(columns) if b > 0 else 0.0
        # A little more, for the accuracy of the eigenvalues.
        self.lipschitz = 2 * (a * top_rows + b * self.top_columns) * (1 + 1e-6)
        self.rounding = tuple(
            2 * factor * product_error(Phi) * row_sizes(Phi)
            for factor, Phi in ((a, rows), (b, columns))
        )

    def gradient_error(self, L: np.ndarray) -> tuple[np.ndarray, ...]:
        """Vectors r, m, c and k with |fl(grad h(L)) - grad h(L)| <= r m^T + k c^T.

        Entry by entry, in double precision. By `product_error` the error of the first
        part is a multiple of |Phi_1| |L|: at most the sum of a row of |Phi_1| times the
        largest entry of a column of |L|. Likewise the second part.
        """
        rows, columns = self.rounding
        sizes = np.abs(L)
        tops = [sizes.max(axis=i, initial=0.0).astype(np.float64) for i in (0, 1)]
        return rows, tops[0], columns, tops[1]

    def gradient(self, L: np.ndarray, out: np.ndarray) -> np.ndarray:
        if self.a > 0:
            np.multiply(self.rows @ L, 2 * self.a, out=out, casting="same_kind")
        else:
            out.fill(0)
        if self.b > 0:
            add_row_products(L, self.columns, 2 * self.b, out)
        return out


def add_row_products(
    L: np.ndarray, Phi: Laplacian, factor: float, out: np.ndarray
) -> None:
    """out += factor L Phi for symmetric Phi."""
    if not sparse.issparse(Phi):
        out += L @ (factor * Phi)
        return
    for start in range(0, len(L), ROWS):
        rows = slice(start, start + ROWS)
        out[rows] += factor * (Phi @ np.ascontiguousarray(L[rows].T)).T
