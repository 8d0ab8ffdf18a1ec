"""Smoothness on two graphs: one between the rows, one between the columns."""

import numpy as np
from scipy import sparse

from rpcag.linalg.eigen import largest_eigenvalue
from rpcag.linalg.null_space import NullSpace
from rpcag.linalg.rounding import UNIT, product_error, row_sizes
from rpcag.linalg.shifted import Laplacian

# Rows whose transposes are multiplied at a time: they stay in the processor's cache.
ROWS = 32
# Rows and columns per component for a median. More cost time and gain little.
SAMPLE = 256
# Medians of more deviations than this are subtracted. Others cost at most one digit.
FAR = 10.0


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

        Entry by entry, for a gradient in double precision. By `product_error` the error
        of the first part is a multiple of |Phi_1| |L|. That is at most the sum of a row
        of |Phi_1| times the largest entry of a column of |L|. Likewise the second part.
        """
        rows, columns = self.rounding
        sizes = np.abs(L)
        return (
            rows,
            sizes.max(axis=0, initial=0.0).astype(np.float64),
            columns,
            sizes.max(axis=1, initial=0.0).astype(np.float64),
        )

    def gradient(self, L: np.ndarray, out: np.ndarray) -> np.ndarray:
        if self.a > 0:
            np.multiply(self.rows @ L, 2 * self.a, out=out, casting="same_kind")
        else:
            out.fill(0)
        if self.b > 0:
            add_row_products(L, self.columns, 2 * self.b, out)
        return out


class Constants:
    """Matrices C[component of i, component of j] u_i v_j, on which h vanishes.

    u and v are the roots of the null spaces of the two Laplacians. If a = 0 or b = 0,
    h also vanishes on other matrices.
    """

    def __init__(self, rows: NullSpace, columns: NullSpace) -> None:
        self.rows, self.columns = rows, columns
        self.shape = rows.n_parts, columns.n_parts
        # Relative rounding of C u v^T; none where u and v are ones.
        roots = rows.rounding + columns.rounding
        self.rounding = roots + 4 * UNIT if roots > 0 else 0.0
        self._order = np.argsort(columns.label, kind="stable")
        sizes = np.bincount(columns.label, minlength=columns.n_parts)
        self._starts = np.cumsum(sizes) - sizes

    def at(self, C: np.ndarray, rows: slice = slice(None)) -> np.ndarray:
        """Some rows of C u v^T."""
        block = C[self.rows.label[rows]][:, self.columns.label]
        block *= self.rows.root[rows, None]
        block *= self.columns.root
        return block

    def medians(self, X: np.ndarray) -> np.ndarray:
        """C with about half of the entries of X on either side of C u v^T.

        Uses at most SAMPLE rows and columns of every component. C is zero if these have
        no observed entry, or if the median is small relative to the deviations from it.
        A shift would gain nothing there, and it would add rounding errors.
        """
        i, j = (_some(part.label, part.n_parts) for part in (self.rows, self.columns))
        ratios = X[np.ix_(i, j)].astype(np.float64)
        ratios /= self.rows.root[i, None]
        ratios /= self.columns.root[j]
        pair = self.rows.label[i, None] * self.shape[1] + self.columns.label[j]
        seen = np.isfinite(ratios)
        pair, ratios = pair[seen], ratios[seen]
        counts = np.bincount(pair, minlength=self.shape[0] * self.shape[1])
        middle = (np.cumsum(counts) - counts + (counts - 1) // 2)[counts > 0]
        C, spread = np.zeros(len(counts)), np.zeros(len(counts))
        C[counts > 0] = ratios[np.lexsort((ratios, pair))][middle]
        ratios = np.abs(ratios - C[pair])
        spread[counts > 0] = ratios[np.lexsort((ratios, pair))][middle]
        C[np.abs(C) <= FAR * spread] = 0
        return C.reshape(self.shape)

    def widen(self, C: np.ndarray, sizes: np.ndarray, rows: slice) -> None:
        """Raise C so that some rows of C u v^T are not below `sizes`."""
        ratios = sizes / self.rows.root[rows, None] / self.columns.root
        largest = np.maximum.reduceat(ratios[:, self._order], self._starts, axis=1)
        np.maximum.at(C, self.rows.label[rows], largest)


def _some(label: np.ndarray, n_parts: int) -> np.ndarray:
    """At most SAMPLE evenly spaced vertices of every component."""
    order = np.argsort(label, kind="stable")
    counts = np.bincount(label, minlength=n_parts)
    place = np.arange(len(label)) - (np.cumsum(counts) - counts)[label[order]]
    return order[place % -(-counts // SAMPLE)[label[order]] == 0]


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
