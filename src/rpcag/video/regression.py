"""Compute the background of every pixel from the time course of the background.

A Robust PCA of some columns of X gives L_s = U diag(s) V^T. U is the time course, which
is the same for all columns. The nuclear norm is the smallest value of
tr(L^T C^-1 L) / 2 + tr(C) / 2 over C, at C = U diag(s) U^T. So any column x of X, seen
where m is one, has the background U c that minimizes

    lam ||m o (x - U c)||_1 + c^T A c / 2,     A = diag(1/s) + 2 gamma U^T Phi U,

which for columns of the fit is L_s itself. For a rank of one, c is a weighted median.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from rpcag.linalg.threads import in_shares, one_blas_thread_each

RELAXATION = 1.7
# A multiplier reaches lam where a residual is this many deviations of the noise. If
# larger, pixels with noise alone take more iterations; if smaller, those with objects.
NOISE = 3.0
ITERATIONS, CHECK = 200, 5  # maximum number, and between two gaps
ENTRIES = 2**17  # of a block of columns: its few arrays stay in the cache


@dataclass(frozen=True)
class TimeCourse:
    """Time course of the background."""

    basis: np.ndarray  # U
    curvature: np.ndarray  # A
    lam: float
    coordinates: np.ndarray  # U is the embedding of a model times this

    def regress(
        self,
        values: Callable[[slice], tuple[np.ndarray, np.ndarray | None]],
        n_columns: int,
        *,
        noise: float,
        tol: float = 1e-3,
    ) -> tuple[np.ndarray, float]:
        """Return the components of all columns, and their relative duality gap.

        `values` returns columns of X in single precision, and m, or None for ones.
        """
        n, rank = self.basis.shape
        found = np.zeros((len(self.coordinates), n_columns), np.float32)
        if rank == 0:
            return found, 0.0
        step = max(16, ENTRIES // n)
        blocks = [slice(i, min(i + step, n_columns)) for i in range(0, n_columns, step)]

        def share(some: Sequence[slice]) -> list[np.ndarray]:
            bounds = []
            for columns in some:
                x, seen = values(columns)
                c, limits = self._block(x, seen, noise, tol)
                found[:, columns] = self.coordinates @ c
                bounds.append(limits)
            return bounds

        with one_blas_thread_each():
            # Work: ten iterations of two products with U.
            shares = in_shares(share, blocks, 20.0 * n * rank * n_columns)
        objective, bound = np.sum([limits for part in shares for limits in part], 0)
        return found, float((objective - bound) / max(objective, np.finfo(float).tiny))

    def _block(self, x, seen, noise: float, tol: float):
        """ADMM on P = U c: the c-step is one small product, as U^T U = I."""
        rho = self.lam / (NOISE * noise)
        invert = np.linalg.inv(self.curvature / rho + np.eye(len(self.curvature)))
        U = self.basis.astype(np.float32)
        gain = (RELAXATION * self.basis @ invert).astype(np.float32)
        weight = np.float32(RELAXATION) if seen is None else RELAXATION * seen
        limit = np.float32(RELAXATION * self.lam / rho)
        # v = RELAXATION U c + (1 - RELAXATION) P + Y, the multiplier is Y = clip(v - x)
        # and P = v - Y; c depends on P - Y. W is RELAXATION times Y.
        middle = np.median(x[:: max(1, len(x) // 32)], axis=0)
        v, W = np.broadcast_to(middle, x.shape).copy(), np.zeros_like(x)
        L = np.empty_like(x)
        for iteration in range(1, ITERATIONS + 1):
            z = U.T @ v - np.float32(2 / RELAXATION) * (U.T @ W)
            np.matmul(gain, z, out=L)
            v *= np.float32(1 - RELAXATION)
            v += L
            v += W
            np.subtract(v, x, out=W)
            W *= weight
            np.clip(W, -limit, limit, out=W)
            if iteration >= 2 * CHECK and iteration % CHECK == 0:
                c = invert @ z
                Y = (-rho / RELAXATION * W).astype(np.float32)
                limits = self._limits(x, seen, c, Y)
                if limits[0] - limits[1] <= tol * limits[0]:
                    break
        return c, limits

    def _limits(self, x, seen, c, Y) -> tuple[float, float]:
        """Objective, and the lower bound <Y, x> - (U^T Y)^T A^-1 (U^T Y) / 2."""
        left = np.abs(x - self.basis.astype(np.float32) @ c.astype(np.float32))
        if seen is not None:
            left *= seen
        objective = self.lam * left.sum() + np.sum(c * (self.curvature @ c)) / 2
        w = self.basis.T @ Y
        bound = np.sum(Y * x) - np.sum(w * np.linalg.solve(self.curvature, w)) / 2
        return float(objective), float(bound)


def time_course(estimator, least: float = 0.0) -> TimeCourse:
    """Of a fitted RPCA or RPCAG, without what is below `least` in root mean square."""
    U, s, turn = np.linalg.svd(estimator.embedding_.astype(float), full_matrices=False)
    size = np.sqrt(len(U) * estimator.components_.shape[1])
    keep = s > max(least * size, np.finfo(np.float32).eps * s.max(initial=0))
    U, s, turn = U[:, keep], s[keep], turn[keep]
    A = np.diag(1 / s)
    gamma = getattr(estimator, "gamma_", 0)
    if gamma:
        A += 2 * gamma * U.T @ (estimator.laplacian_ @ U)
    return TimeCourse(U, A, estimator.lam_, turn.T / s)
