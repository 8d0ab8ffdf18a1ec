"""Split new rows into a part in a known subspace and a sparse part."""

from functools import partial

import numpy as np

from rpcag.losses import Loss, nearest

RELAXATION = 1.7
# Mean size of an entry, in units of the fitted data, below which a row is small.
SMALL = 1e-3


def project(
    X: np.ndarray,
    observed: np.ndarray | None,
    V: np.ndarray,
    H: np.ndarray,
    loss: Loss,
    pull: np.ndarray,
    *,
    penalty: float,
    tol: float = 1e-6,
    max_iter: int = 10_000,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Coordinates z of new rows x in the subspace, robust to gross errors in x.

    Every row minimizes, independently of the others,

        l(m o (z V - x)) + z diag(h) z^T / 2 - z pull^T

    with orthonormal directions V (r x p), and H (n x r) with a row h for every x. The
    effect of the nuclear norm on one row is h = 1 / s, with s the singular values of
    the fitted matrix: ||L||_* is the smallest value of tr(L C^-1 L^T)/2 + tr(C)/2 over
    C, at C = (L^T L)^1/2. So the rows of the fitted model satisfy the same optimality
    condition, and a training row with its neighbors gets its own coordinates.

    ADMM on P = z V: since V V^T = I the z-step is diagonal. Each row stops at its own
    duality gap, relative to its loss at zero, so that no row's answer depends on the
    others in the batch. Returns the coordinates, the gaps, and the number of rows that
    have not converged.
    """
    n_rows, rank = len(X), len(V)
    Z, gaps = np.zeros((n_rows, rank), X.dtype), np.zeros(n_rows)
    if rank == 0 or n_rows == 0:
        return Z, gaps, 0
    H = H.astype(X.dtype)
    seen = np.ones_like(X) if observed is None else observed.astype(X.dtype)
    X = X * seen
    size = loss.value(-X)
    eps = float(np.finfo(X.dtype).eps)
    # An entry of z V is a sum of `rank` products, with the rounding of such a sum.
    goal = max(tol, 8 * eps * rank**0.5) * np.where(size > 0, size, 1.0)
    # The pull of the neighbors has rounding errors, too.
    goal = np.maximum(goal, 8 * eps * (pull * pull / H).sum(axis=1, dtype=np.float64))

    active = np.arange(n_rows)
    x, m, h, g = X, seen, H, pull.astype(X.dtype)
    P, U = (g / h) @ V, np.zeros_like(X)  # from where the neighbors pull
    # The penalty fits rows of the size of the fitted ones, which is one here; where a
    # row and its neighbors are far smaller, so are the steps.
    length = np.maximum(np.abs(X).mean(axis=1), np.abs(P).mean(axis=1))[:, None]
    small = np.where(length > 0, np.minimum(length / SMALL, 1.0), 1.0)
    rho = (penalty / np.maximum(small, np.finfo(X.dtype).tiny ** 0.5)).astype(X.dtype)
    norms = partial(np.linalg.norm, axis=1)
    for iteration in range(1, max_iter + 1):
        z = (g + rho * ((P - U) @ V.T)) / (h + rho)
        L = z @ V
        v = RELAXATION * L + (1 - RELAXATION) * P + U
        U = loss.project((v - x) * m, rho)
        new = v - U
        if iteration % 10 == 0 or iteration == max_iter:
            gap = _gap(x, m, h, g, z, L, rho * U, V, loss)
            done = gap <= goal[active]
            Z[active], gaps[active] = z, gap
            if done.all():
                return Z, gaps, 0
            # Residuals relative to all of U and P, as usual. But L - P is also how U
            # moves per iteration: if that is much more than P does, as in rows that the
            # subspace fits almost exactly, the penalty is too small.
            primal, dual = norms(L - new), norms(new - P)
            is_low = primal > 5 * dual
            primal *= norms(U)
            dual *= np.maximum(norms(L), norms(new))
            is_low |= primal > 5 * dual
            factor = np.where(is_low, 2, np.where(dual > 5 * primal, 0.5, 1))
            factor = factor[:, None] if iteration <= 300 else np.ones_like(rho)
            factor = factor.astype(X.dtype)
            rho, U = rho * factor, U / factor
            active = active[~done]
            x, m, h, g, rho, U, new = (a[~done] for a in (x, m, h, g, rho, U, new))
        P = new
    return Z, gaps, len(active)


def _gap(x, m, h, g, z, L, Y, V, loss):
    """Objective minus bound -<Y, x> - l*(Y) - (g - Y V^T) H^-1 (g - Y V^T)^T / 2."""
    objective = loss.value((L - x) * m)
    objective += (h * z * z / 2 - g * z).sum(axis=1, dtype=np.float64)
    Y = nearest(loss, Y.astype(np.float64))
    w = g - Y @ V.T
    bound = -(Y * x).sum(axis=1) - loss.conjugate(Y)
    bound -= (w * w / h).sum(axis=1, dtype=np.float64) / 2
    return objective - bound
