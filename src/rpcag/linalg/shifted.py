"""Solve (I + shift * Phi) W = Y repeatedly for a graph Laplacian Phi."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu

from rpcag.linalg.blocks import column_blocks
from rpcag.linalg.gram import eigh, fill_upper
from rpcag.linalg.null_space import NullSpace
from rpcag.linalg.rounding import product_error, size_norm
from rpcag.linalg.threads import product

Laplacian = Any  # an ndarray or a SciPy sparse array
Solve = Callable[[np.ndarray, np.ndarray], np.ndarray]

# Up to this many vertices an explicit inverse, applied by one matrix product, is the
# fastest: up to 300 for a few right-hand sides, up to 500 for a thousand.
DENSE_SIZE = 400
# Mean half-bandwidth up to which a sparse factor is the fastest. Its time does not
# depend on the shift; conjugate gradients take many steps if it is large.
PROFILE = 50
# Default share of a first guess's residual that conjugate gradients may leave: ADMM
# takes as many iterations as with exact solutions, and more with 0.3.
REDUCTION = 0.1
# Iterations without a smaller residual after which conjugate gradients give up.
PATIENCE = 50


class ShiftedLaplacian:
    """The systems I + shift * Phi of one Laplacian, for any shift > 0.

    The method is chosen once: the explicit inverse for small or dense graphs, a sparse
    factor for graphs with a thin profile, such as chains, and conjugate gradients for
    all others, whose factors would fill memory. The eigenvalues of the inverse lie in
    (0, 1], so an inverse in double precision loses nothing when applied in single.
    """

    def __init__(
        self,
        laplacian: Laplacian,
        method: str = "auto",
        reduction: float = REDUCTION,
        null: NullSpace | None = None,
    ) -> None:
        self.laplacian = self._cast = laplacian
        self.null = null  # of the Laplacian, if known
        self.size = laplacian.shape[0]
        self.reduction = reduction
        self.method = self._choose() if method == "auto" else method
        self._last: tuple[Any, Solve] | None = None  # the last shift and its solve

    def _choose(self) -> str:
        if self.size <= DENSE_SIZE or not sparse.issparse(self.laplacian):
            return "inverse"
        # The envelope under reverse Cuthill-McKee bounds the factor's fill.
        pattern = sparse.csr_array(self.laplacian)
        place = np.argsort(reverse_cuthill_mckee(pattern, symmetric_mode=True))
        rows, columns = pattern.nonzero()
        profile = np.zeros(self.size, int)
        np.maximum.at(profile, rows, place[rows] - place[columns])
        return "cg" if profile.mean() > PROFILE else "factor"

    def without_null(self, Y: np.ndarray) -> np.ndarray:
        """Y minus its part in the null space, which would add only rounding errors."""
        return Y if self.null is None else self.null.without(Y)

    def in_precision(self, dtype: np.dtype) -> Laplacian:
        """The Laplacian in this precision, made once."""
        if self._cast.dtype != dtype:
            self._cast = self.laplacian.astype(dtype)
        return self._cast

    @cached_property
    def error(self) -> float:
        """c with ||fl(Phi Y) - Phi Y||_F <= c ||Y||_F, in double precision."""
        return product_error(self.laplacian) * size_norm(self.laplacian)

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, ascending, and eigenvectors of Phi: of small graphs."""
        return eigh(_dense(self.laplacian), overwrite=True)

    def solve(self, shift: float, Y: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Write (I + shift Phi)^-1 Y to `out`, whose content is the first guess."""
        last, key = self._last, (shift, Y.dtype)
        if last is None or last[0] != key:
            make = {"inverse": self._inverse, "factor": self._factor, "cg": self._cg}
            last = self._last = key, make[self.method](shift, Y.dtype)
        return last[1](Y, out)

    def _inverse(self, shift: float, dtype: np.dtype) -> Solve:
        system = _dense(self.laplacian)
        system *= shift
        system.flat[:: self.size + 1] += 1.0
        factor, failed = linalg.lapack.dpotrf(system, lower=1, overwrite_a=1)
        if failed:
            raise linalg.LinAlgError("I + shift Phi is not positive definite")
        inverse, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
        inverse = fill_upper(inverse).astype(dtype, copy=False)
        return lambda Y, out: product(inverse, Y, out=out)

    def _factor(self, shift: float, dtype: np.dtype) -> Solve:
        solve_piece = factorized(shift * self.laplacian, 1.0)

        def solve(Y: np.ndarray, out: np.ndarray) -> np.ndarray:
            for columns in column_blocks(Y.shape):
                out[:, columns] = solve_piece(Y[:, columns].astype(np.float64))
            return out

        return solve

    def _cg(self, shift: float, dtype: np.dtype) -> Solve:
        # With unit diagonal: C (I + shift Phi) C, where C^-2 is the diagonal.
        root = 1 / np.sqrt(1 + shift * self.laplacian.diagonal())
        scaling = sparse.diags_array(root)
        identity = sparse.eye_array(self.size)
        system = scaling @ (identity + shift * self.laplacian) @ scaling
        system = sparse.csr_array(system).astype(dtype)
        root = root[:, None].astype(dtype)
        rtol = 1e-10 if dtype == np.float64 else 1e-6

        def solve(Y: np.ndarray, out: np.ndarray) -> np.ndarray:
            for columns in column_blocks(Y.shape):
                guess = out[:, columns] / root
                W = _conjugate_gradients(
                    system, root * Y[:, columns], guess, rtol, self.reduction
                )
                np.multiply(root, W, out=out[:, columns])
            return out

        return solve


def factorized(A, shift: float) -> Callable[[np.ndarray], np.ndarray]:
    """Y -> (A + shift I)^-1 Y for a sparse positive semi-definite A."""
    system = sparse.csc_array(A) + shift * sparse.eye_array(A.shape[0], format="csc")
    # Positive definite: no pivoting needed, so the order that keeps it sparse holds.
    factor = splu(
        sparse.csc_array(system),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return factor.solve


def _dense(laplacian: Laplacian) -> np.ndarray:
    """A copy, in the order in which LAPACK can overwrite it."""
    if sparse.issparse(laplacian):
        laplacian = laplacian.toarray()
    return np.array(laplacian, dtype=np.float64, order="F")


def _conjugate_gradients(system, Y, W, rtol, reduction):
    """Conjugate gradients on every column of `system` W = Y at once, from W.

    Stops when every residual is `reduction` times that of the first guess: where the
    guesses converge, as in ADMM, the errors left are a share of a convergent series.
    A reduction of zero solves to full precision. Residuals may grow at times. If no
    column has reached a new smallest residual for PATIENCE iterations, rounding errors
    dominate, and the solver stops.
    """
    R = Y - system @ W
    D, work = R.copy(), np.empty_like(R)
    size = _squares(R)
    goal = np.maximum(reduction**2 * size, rtol**2 * _squares(Y))
    best, waiting = size, 0
    for _ in range(10 * len(Y)):
        if np.all(size <= goal) or waiting > PATIENCE:
            break
        AD = system @ D
        curvature = np.einsum("ij,ij->j", D, AD)
        # Columns that have converged do not change.
        going = (curvature > 0) & (size > goal)
        step = np.where(going, size / np.where(going, curvature, 1), 0).astype(Y.dtype)
        W += np.multiply(step, D, out=work)
        R -= np.multiply(step, AD, out=AD)
        new = _squares(R)
        D *= np.where(going, new / np.where(going, size, 1), 0).astype(Y.dtype)
        D += R
        size = new
        waiting = 0 if np.any(size < best) else waiting + 1
        best = np.minimum(best, size)
    return W


def _squares(A):
    """The squared norms of the columns."""
    return np.einsum("ij,ij->j", A, A)
