"""Solve (I + shift * Phi) W = Y repeatedly for a graph Laplacian Phi."""

import math
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
# Columns that conjugate gradients handle at a time: at least WIDE, because the graph is
# read once for all of them, and about PIECE entries, which stay in the cache.
WIDE, PIECE = 24, 2**16
# Largest entry of shift * Phi at which corrections are computed in single precision:
# their relative error is about 1e-7 times this.
SINGLE = 1e3
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

    @cached_property
    def _entries(self) -> tuple[sparse.csr_array, np.ndarray]:
        """I + Phi, and which of its entries are on the diagonal."""
        both = sparse.csr_array(self.laplacian + sparse.eye_array(self.size))
        rows = np.repeat(np.arange(self.size), np.diff(both.indptr))
        return both, np.flatnonzero(rows == both.indices)

    def _cg(self, shift: float, dtype: np.dtype) -> Solve:
        both, diagonal = self._entries
        data = shift * both.data
        steep = data[diagonal] = 1 + shift * self.laplacian.diagonal()
        scaled, root = data, np.ones(1)
        if np.ptp(steep) > 0:  # to unit diagonal: C (I + shift Phi) C
            root = 1 / np.sqrt(steep)
            scaled = data * np.repeat(root, np.diff(both.indptr)) * root[both.indices]
        root = root[:, None].astype(dtype)
        is_hard = self.reduction == 0 or steep.max() > SINGLE
        system, rough = (
            sparse.csr_array((each.astype(kind), both.indices, both.indptr), both.shape)
            for each, kind in ((data, dtype), (scaled, dtype if is_hard else "f4"))
        )
        rtol = 1e-10 if dtype == np.float64 else 1e-6

        def solve(Y: np.ndarray, out: np.ndarray) -> np.ndarray:
            n_blocks = math.ceil(Y.shape[1] / max(WIDE, PIECE // self.size)) or 1
            width = math.ceil(Y.shape[1] / n_blocks) or 1  # no short last block
            for first in range(0, Y.shape[1], width):
                y, w = (A[:, first : first + width] for A in (Y, out))
                R = system @ np.ascontiguousarray(w)
                np.subtract(y, R, out=R)
                R *= root
                least = rtol * float(np.linalg.norm(y))
                w += root * _conjugate_gradients(rough, R, least, self.reduction)
            return out

        return solve


def factorized(A, shift: float) -> Callable[[np.ndarray], np.ndarray]:
    """Y -> (A + shift I)^-1 Y for a sparse positive semi-definite A."""
    system = sparse.csc_array(A) + shift * sparse.eye_array(A.shape[0], format="csc")
    # Positive definite: no pivoting needed, so the order that keeps it sparse holds.
    try:
        factor = splu(
            sparse.csc_array(system),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError as error:  # singular, by rounding
        raise linalg.LinAlgError("I + shift Phi is not positive definite") from error
    return factor.solve


def _dense(laplacian: Laplacian) -> np.ndarray:
    """A copy, in the order in which LAPACK can overwrite it."""
    if sparse.issparse(laplacian):
        laplacian = laplacian.toarray()
    return np.array(laplacian, dtype=np.float64, order="F")


def _conjugate_gradients(system, R, least, reduction):
    """Conjugate gradients on all columns of `system` W = R as one problem, from zero.

    Stops when the norm of the residual is at most `least`, or `reduction` times that
    of R: where the guesses converge, as in ADMM, the errors left are a share of a
    convergent series. A reduction of zero solves to full precision. Residuals may grow
    at times. If none is a new smallest one for PATIENCE iterations, rounding errors
    dominate, and the solver stops. One step length for all columns takes hardly more
    iterations than one for each, and less time.
    """
    unit = float(np.linalg.norm(R)) or 1.0
    goal = max(reduction, least / unit, float(np.finfo(system.dtype).eps)) ** 2
    R /= unit
    r = R.astype(system.dtype, copy=False).reshape(-1)
    d, w = r.copy(), np.zeros_like(r)
    (add,) = linalg.get_blas_funcs(("axpy",), (r,))
    size = best = float(r @ r)
    waiting = 0
    for _ in range(10 * len(R)):
        if size <= goal or waiting > PATIENCE:
            break
        image = (system @ d.reshape(R.shape)).reshape(-1)
        curvature = float(d @ image)
        if not curvature > 0:  # rounding errors, or numbers out of range
            break
        step = size / curvature
        w, r = add(d, w, a=step), add(image, r, a=-step)
        new = float(r @ r)
        d *= new / size
        d += r
        size, waiting = new, 0 if new < best else waiting + 1
        best = min(best, new)
    w *= unit
    return w.reshape(R.shape)
