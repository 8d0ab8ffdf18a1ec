"""Graph-regularized non-negative matrix factorization, one column at a time."""

import numpy as np
from scipy import linalg, optimize
from scipy.sparse.linalg import LinearOperator, cg

from rpcag.linalg.null_space import NullSpace
from rpcag.linalg.shifted import Laplacian
from rpcag.solvers.result import Factors

# Sweeps over the columns of a factor before the other factor is updated. The products
# with X are expensive, and all sweeps share them.
SWEEPS = 3
# Conjugate gradient steps of a projected Newton step for Q.
LEAP = 10
# Objectives below this share of ||X||^2 count as that large.
NEGLIGIBLE = 1e-5
# Sweeps over Q at the end, with U fixed.
LAST_SWEEPS = 200


def gnmf(
    X: np.ndarray,
    Phi: Laplacian,
    gamma: float,
    start: tuple[np.ndarray, np.ndarray],
    null: NullSpace,
    *,
    tol: float,
    max_iter: int,
) -> Factors:
    """Minimize ||X - Q U^T||_F^2 + gamma tr(Q^T Phi Q), Q, U >= 0, ||u_k|| = 1.

    The unit norms are kept by minimizing the scale-free

        F = ||X - Q U^T||_F^2 + gamma sum_k ||u_k||^2 s_k,   s_k = q_k^T Phi q_k

    and moving norms from u_k to q_k. Columns are minimized over one by one:

        u_k = max(0, R_k^T q_k) / (||q_k||^2 + gamma s_k)
        q_k = max(0, q_k - g / (||u_k||^2 + 2 gamma Phi_ii))

    with R_k = X - sum_{j != k} q_j u_j^T and g half the gradient of F in q_k.
    The first is exact; the second minimizes a bound that touches F at q_k, since
    Phi <= 2 diag(Phi). So F never increases. A projected Newton step (`_leap`) goes
    before the second where there is a graph: it takes far fewer iterations. The history
    has the objective, first of the start.
    """
    Q, U = _unit_columns(*(factor.copy() for factor in start))
    stiffness = 2 * gamma * Phi.diagonal()
    squares = float(np.sum(X**2))

    def smoothness() -> float:
        rest = null.without(Q)  # the null space adds only rounding errors
        return gamma * float(np.sum(rest * (Phi @ rest)))

    def objective() -> float:
        return float(np.sum((X - Q @ U.T) ** 2)) + smoothness()

    history = [objective()]
    for _ in range(max_iter):
        XtQ, roughness = X.T @ Q, np.einsum("ij,ij->j", Q, Phi @ Q)
        G = Q.T @ Q + np.diag(gamma * roughness)
        for _ in range(SWEEPS):
            _sweep(U, XtQ, G)
        Q, U = _unit_columns(Q, U)
        XU, H = X @ U, U.T @ U
        if gamma > 0:
            Q = _leap(Q, XU, H, gamma * Phi)
        for _ in range(SWEEPS):
            _sweep(Q, XU - gamma * (Phi @ Q), H, stiffness)
        value = squares - 2 * float(np.sum(XU * Q)) + float(np.sum(H * (Q.T @ Q)))
        value += smoothness()
        history.append(value)
        # Of an almost exact fit, no more than is worth it beside X.
        goal = tol * max(history[-2], NEGLIGIBLE * squares)
        converged = history[-2] - value <= goal
        if converged:
            break
    XU, H = X @ U, U.T @ U
    for _ in range(LAST_SWEEPS):
        before = Q.copy()
        _sweep(Q, XU - gamma * (Phi @ Q), H, stiffness)
        if np.abs(Q - before).max() <= 1e-7 * np.abs(Q).max(initial=0.0):
            break
    history[-1] = objective()
    return Factors(Q, U, history, converged)


def _sweep(F, target, H, stiffness=0.0) -> None:
    """Step once toward F H = target in every column of F >= 0, in turn."""
    for k in np.flatnonzero(np.diag(H) > 0):
        g = F @ H[:, k] - target[:, k]
        F[:, k] = np.maximum(F[:, k] - g / (H[k, k] + stiffness), 0)


def _leap(Q, XU, H, gamma_Phi):
    """A projected Newton step for all of Q at once, if it lowers the objective.

    Conjugate gradients on Q H + gamma Phi Q = X U among the entries that are free:
    positive, or increasing along the negative gradient. Sweeps alone are slow if gamma
    is large, since they replace Phi by a multiple of its diagonal.
    """

    def hessian(D):
        return D @ H + gamma_Phi @ D

    HQ = hessian(Q)
    value = float(np.sum(Q * (HQ - 2 * XU)))
    R = XU - HQ
    free = (Q > 0) | (R > 0)

    def projected(d):
        return (hessian(d.reshape(Q.shape)) * free).ravel()

    A = LinearOperator((Q.size, Q.size), projected, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):  # no curvature left
        step, _ = cg(A, (R * free).ravel(), rtol=1e-3, maxiter=LEAP)
    for scale in (1.0, 0.3):
        tried = np.maximum(Q + scale * step.reshape(Q.shape), 0)
        if float(np.sum(tried * (hessian(tried) - 2 * XU))) < value:
            return tried
    return Q


def _unit_columns(Q, U):
    """The same product with ||u_k|| = 1; columns that vanished are zero in both."""
    norms = np.linalg.norm(U, axis=0)
    return Q * norms, U / np.where(norms > 0, norms, 1)


def nonnegative_rows(
    XU: np.ndarray, H: np.ndarray, curvature: np.ndarray
) -> np.ndarray:
    """Minimize q H q^T + c ||q||^2 - 2 q xu^T over q >= 0, for every row by itself.

    With H = E diag(h) E^T and r = sqrt(h + c), this is the least-squares problem

        ||diag(r) E^T q^T - diag(1/r) E^T xu^T||^2 + const
    """
    h, E = linalg.eigh(H)
    rounding = len(h) * np.finfo(float).eps * float(h.max(initial=0.0))
    Q = np.zeros_like(XU)
    for q, xu, c in zip(Q, XU @ E, curvature, strict=True):
        r = np.sqrt(np.maximum(h, 0.0) + c)
        used = r**2 > rounding
        A, b = r[used, None] * E.T[used], xu[used] / r[used]
        q[:] = optimize.nnls(A, b, maxiter=100 * len(h))[0]
    return Q
