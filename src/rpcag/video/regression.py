"""Compute the background of every pixel from the time course of the background.

A Robust PCA of some columns of X gives L_s = U diag(s) V^T. U is the time course, which
is the same for all columns. The nuclear norm is the smallest value of
tr(L^T C^-1 L) / 2 + tr(C) / 2 over C, at C = U diag(s) U^T. So any column x of X, seen
where m is one, has the background U c that minimizes

    lam ||m o (x - U c)||_1 + c^T A c / 2,     A = diag(1/s) + 2 gamma U^T Phi U,

which for columns of the fit is L_s itself. For a rank of one, c is a weighted median.
With A = Q diag(h) Q^T and c = Q z, it is the problem of a new row of a model, whose
directions are (U Q)^T.
"""

from collections.abc import Callable, Sequence

import numpy as np

from rpcag.linalg.threads import in_shares, one_blas_thread_each
from rpcag.losses import L1
from rpcag.solvers.projection import project

# A multiplier reaches lam where a residual is this many deviations of the noise. If
# larger, pixels with noise alone take more iterations; if smaller, those with objects.
NOISE = 3.0
# The gap of a column, relative to its loss without a background, is this share of `tol`
# at most, because the loss with a background is about a tenth of that.
EACH = 0.1
ITERATIONS = 2000  # at most; few columns take more than 200
ENTRIES = 2**17  # of a block of columns: its few arrays stay in the cache
Block = tuple[np.ndarray, np.ndarray | None]  # columns of X, and m, or None for ones


def regress(
    estimator,
    block: Callable[[slice], Block],
    n_columns: int,
    *,
    noise: float,
    tol: float = 1e-3,
    least: float = 0.0,
) -> tuple[np.ndarray, int, float]:
    """Components of all columns for a fitted RPCA or RPCAG, their rank, and the gap.

    `block` returns some columns in single precision. Directions of less than `least` in
    root mean square are left out. The relative duality gap is about `tol`.
    """
    U, s, turn = np.linalg.svd(estimator.embedding_.astype(float), full_matrices=False)
    size = np.sqrt(len(U) * estimator.components_.shape[1])
    keep = s > max(least * size, np.finfo(np.float32).eps * s.max(initial=0))
    U, s, turn = U[:, keep], s[keep], turn[keep]
    A = np.diag(1 / s)
    gamma = getattr(estimator, "gamma_", 0)
    if gamma:
        A += 2 * gamma * U.T @ (estimator.laplacian_ @ U)
    h, Q = np.linalg.eigh(A)
    V, coordinates = (U @ Q).T.astype(np.float32), turn.T / s @ Q
    n, rank = U.shape
    loss = L1(estimator.lam_)
    found = np.zeros((len(coordinates), n_columns), np.float32)
    step = max(16, ENTRIES // n)
    blocks = [slice(i, min(i + step, n_columns)) for i in range(0, n_columns, step)]

    def share(some: Sequence[slice]) -> list[tuple[float, float]]:
        measures = []
        for columns in some:
            x, m = block(columns)
            x = np.ascontiguousarray(x.T)
            m = None if m is None else np.ascontiguousarray(m.T)
            H = np.broadcast_to(h, (len(x), rank))
            z, gaps, _ = project(
                *(x, m, V, H, loss, np.zeros(H.shape)),
                penalty=estimator.lam_ / (NOISE * noise),
                tol=EACH * tol,
                max_iter=ITERATIONS,
            )
            found[:, columns] = coordinates @ z.T
            left = x - z @ V if m is None else m * (x - z @ V)
            objective = loss.value(left).sum() + (h * z * z).sum() / 2
            measures.append((objective, gaps.sum()))
        return measures

    with one_blas_thread_each():
        # Work: ten iterations of two products with V.
        shares = in_shares(share, blocks, 20.0 * n * rank * n_columns)
    objective, gap = np.sum([measure for part in shares for measure in part], axis=0)
    return found, rank, float(gap / max(objective, np.finfo(float).tiny))
