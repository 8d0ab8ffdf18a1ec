"""Graph-Laplacian PCA: the closed form, and the robust version by ADMM."""

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator

from rpcag.linalg.eigen import DENSE, eigenvectors
from rpcag.linalg.shifted import Laplacian
from rpcag.losses import Rows
from rpcag.solvers.result import Factors

RELAXATION = 1.3
# The penalty is checked every LOOK iterations or more, and kept if the larger residual
# has shrunk to PROGRESS times that of the last check. If it is too small, the iterates
# oscillate: the dual residual is less than UNSTABLE times the primal one, or the larger
# did not shrink to STUCK, twice. Then it grows by FACTOR, and never shrinks to that
# value again. If it is too large, the ratio exceeds SLOW, and it shrinks. Penalties
# that only grow end in points that are not stationary.
LOOK = 6
PROGRESS, STUCK = 0.5, 0.95
FACTOR = 1.5
UNSTABLE, SLOW = 2.0, 3.0
# Up to this many samples, X X^T - gamma Phi is formed whatever the shape of X.
SMALL = 500


def glpca(
    X: np.ndarray, Phi: Laplacian, gamma: float, d: int, constant: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Minimize ||X - Q U^T||_F^2 + gamma tr(Q^T Phi Q) subject to Q^T Q = I.

    Given Q the best U is X^T Q, and the objective is ||X||^2 - tr(Q^T G Q) with
    G = X X^T - gamma Phi: Q holds the eigenvectors of the d largest eigenvalues of G.
    A number `constant` adds constant * 11^T / n to Phi.

    Returns Q (n x d) and U (p x d).
    """
    n, p = X.shape
    if gamma == 0 and p < n:
        Q = linalg.svd(X, full_matrices=False, check_finite=False)[0][:, :d]
        return Q, X.T @ Q
    G = _operator(X, Phi, gamma, constant)
    stiffness = gamma * Phi if gamma > 0 and sparse.issparse(Phi) else None
    _, Q = eigenvectors(G, d, largest=True, stiffness=stiffness)
    return Q, X.T @ Q


def _operator(X, Phi, gamma: float, constant: float):
    """G of `glpca`: a matrix, or an operator if the matrix is too expensive."""
    n, p = X.shape
    if n <= SMALL or n <= min(DENSE, 4 * p):
        G = X @ X.T
        G -= gamma * (Phi.toarray() if sparse.issparse(Phi) else Phi)
        G -= gamma * constant / n
        return G

    def product(v):
        v = v.reshape(n, -1)
        Gv = X @ (X.T @ v) - gamma * (Phi @ v)
        return Gv - gamma * constant * v.mean(axis=0)

    return LinearOperator((n, n), product, matmat=product, dtype=np.float64)


def rglpca(
    X: np.ndarray,
    Phi: Laplacian,
    gamma: float,
    start: tuple[np.ndarray, np.ndarray],
    constant: float = 0.0,
    *,
    tol: float,
    max_iter: int,
) -> Factors:
    """Minimize ||X - Q U^T||_2,1 + gamma tr(Q^T Phi Q) subject to Q^T Q = I.

    ADMM on P = Q U^T, with the norm on P, penalty mu and scaled multiplier C:

        Q, U = glpca(P - C, 2 gamma / mu)        mu/2 ||P - C - Q U^T||^2 + gamma tr(.)
        V = relaxed Q U^T + C
        P = prox of the norm at V, C = V - P     rows of X - P shrink by 1 / mu

    The problem is not convex. It starts from (Q, U), the multiplier that is right
    there, and a penalty of one over the median row residual. The best Q, U met is
    returned, the start included. The history has the objective and both residuals.

    Stops when ||Q U^T - P|| is `tol` times the residual of the start, and the change of
    P `tol` times the size of C (times mu, both are dual).
    """
    Q, U = start
    n, d = Q.shape
    loss = Rows(1.0)

    def value(Q, U) -> float:
        roughness = float(np.sum(Q * (Phi @ Q)))
        roughness += constant * n * float(np.sum(Q.mean(axis=0) ** 2))
        return float(loss.value(Q @ U.T - X).sum()) + gamma * roughness

    best = (value(Q, U), Q, U)
    P = Q @ U.T
    norms = np.linalg.norm(X - P, axis=1)
    size = float(np.linalg.norm(X))
    history: list[tuple[float, float, float]] = []
    left = norms > 1e-12 * size
    if not left.any():  # nothing is left to explain
        return Factors(Q, U, history, True)
    mu = 1 / float(np.median(norms[left]))
    # mu C is in the subdifferential of P -> ||X - P||_2,1.
    C = (P - X) / (mu * np.maximum(norms, 1e-12 * size)[:, None])
    size = max(float(np.linalg.norm(norms)), 1e-3 * size)
    look, before, residual, floor, stuck = LOOK, np.inf, np.inf, 0.0, 0
    for n_iter in range(1, max_iter + 1):
        Q, U = glpca(P - C, Phi, 2 * gamma / mu, d, constant)
        L = Q @ U.T
        V = RELAXATION * L + (1 - RELAXATION) * P + C
        C = loss.project(V - X, mu)
        old, P = P, V - C
        primal = float(np.linalg.norm(L - P)) / size
        dual = float(np.linalg.norm(P - old)) / max(float(np.linalg.norm(C)), 1e-300)
        residual = max(primal, dual)
        objective = value(Q, U)
        history.append((objective, primal, dual))
        if objective < best[0]:
            best = (objective, Q, U)
        if residual <= tol:
            break
        if n_iter >= look:
            factor = 1.0
            stuck = stuck + 1 if residual > STUCK * before else 0
            if residual > PROGRESS * before:
                if dual < UNSTABLE * primal or stuck == 2:
                    floor = max(floor, 1.2 * mu)
                    factor = FACTOR
                elif dual > SLOW * primal and mu / FACTOR > floor:
                    factor = 1 / FACTOR
            before = residual
            if factor != 1.0:
                mu *= factor
                C /= factor
                before, stuck = np.inf, 0
            look = n_iter + max(LOOK, n_iter // 5)
    return Factors(*best[1:], history, residual <= tol)
