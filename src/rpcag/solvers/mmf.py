"""Manifold matrix factorization: the closed form, and its mixtures of graphs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator

from rpcag.linalg.eigen import DENSE, column_signs, eigenvectors, eigh_subset
from rpcag.linalg.shifted import Laplacian, ShiftedLaplacian
from rpcag.solvers.result import Factors


def mmf(
    X: np.ndarray, Phi: Laplacian, gamma: float, d: int
) -> tuple[np.ndarray, np.ndarray]:
    """Minimize ||X - Q U^T||_F^2 + gamma tr(Q^T Phi Q) subject to U^T U = I.

    With B = (I + gamma Phi)^-1 the best Q for a given U is B X U, and the objective is
    ||X||^2 - tr(U^T X^T B X U): U holds the eigenvectors of the d largest eigenvalues
    of X^T B X. Where X has fewer rows than columns, they are X^T z for the eigenvectors
    of X X^T z = theta (I + gamma Phi) z, since then z is proportional to B X u.

    Returns Q (n x d) and U (p x d), with the signs of `column_signs`.
    """
    n, p = X.shape
    is_large = min(n, p) > DENSE and d <= p // 4
    if n < p and not is_large:
        system = np.eye(n) + gamma * (Phi.toarray() if sparse.issparse(Phi) else Phi)
        _, Z = eigh_subset(X @ X.T, (n - d, n - 1), system)
        # Householder's QR: orthonormal also where the eigenvalues are zero.
        U, _ = linalg.qr(X.T @ Z[:, ::-1], mode="economic", check_finite=False)
        U *= column_signs(U)
        return linalg.solve(system, X @ U, assume_a="pos", check_finite=False), U
    # For one solve with many columns a dense inverse is the fastest up to DENSE.
    method = "inverse" if n <= DENSE else "auto"
    shifted = ShiftedLaplacian(Phi, method, reduction=0.0)

    def smooth(Y):  # B Y
        return shifted.solve(gamma, Y, np.zeros_like(Y)) if gamma > 0 else Y

    if is_large:

        def product(v):
            return X.T @ smooth(X @ v.reshape(p, -1))

        C: Any = LinearOperator((p, p), product, matmat=product, dtype=np.float64)
    else:
        C = X.T @ smooth(X)
        C = (C + C.T) / 2
    _, U = eigenvectors(C, d, largest=True)
    U = U * column_signs(U)
    return smooth(X @ U), U


def mmmf(
    X: np.ndarray,
    laplacians: Sequence[Laplacian],
    gamma: float,
    penalty: float | None,
    d: int,
    *,
    tol: float,
    max_iter: int,
) -> tuple[Factors, np.ndarray, float]:
    """MMF with Phi = sum_g alpha_g Phi_g, plus b ||alpha||^2, alpha on the simplex.

    In turn: alpha, at first uniform, then Q and U by `mmf` for the mixture. With
    t_g = tr(Q^T Phi_g Q) and the penalty b, the objective gamma <t, alpha> +
    b ||alpha||^2 of alpha is b ||alpha + gamma t / (2 b)||^2 plus a constant, so alpha
    is a projection onto the simplex. For b = 0 the smoothest graph gets all the weight.
    Both steps are exact, so the objective never increases.

    By default the penalty is gamma times the mean of the first t: a graph that is
    smoother by a share s of that mean gains about s / 2 in weight.

    Returns the factors, with the objective after every alternation, alpha and b.
    """
    better = np.full(len(laplacians), 1 / len(laplacians))
    rounding = 1e-14 * float(np.sum(X**2))  # an objective where the fit is exact
    history: list[float] = []
    for _ in range(max_iter):
        alpha = better
        mixture = sum(a * Phi for a, Phi in zip(alpha, laplacians, strict=True))
        Q, U = mmf(X, mixture, gamma, d)
        t = np.array([float(np.sum(Q * (Phi @ Q))) for Phi in laplacians])
        if penalty is None:
            penalty = gamma * float(t.mean())
        fit = float(np.sum((X - Q @ U.T) ** 2))
        cost = gamma * t
        history.append(fit + float(cost @ alpha) + penalty * float(alpha @ alpha))
        if penalty > np.finfo(float).eps * cost.max():
            better = project_simplex(-cost / (2 * penalty))
        else:
            better = (cost == cost.min()) / np.sum(cost == cost.min())
        gain = float(cost @ (alpha - better))
        gain += penalty * float(alpha @ alpha - better @ better)
        if len(history) > 1:
            gain = max(gain, history[-2] - history[-1])
        converged = gain <= max(tol * history[-1], rounding)
        if converged:
            break
    assert penalty is not None
    return Factors(Q, U, history, converged), alpha, penalty


def project_simplex(v: np.ndarray) -> np.ndarray:
    """The nearest point with non-negative entries that add up to one.

    It is max(v - theta, 0) for the theta at which these add up to one; with v in
    descending order theta = (v_1 + ... + v_k - 1) / k for the largest k with
    v_k > theta.
    """
    v = v - v.max()  # the projection ignores a common shift
    descending = np.sort(v)[::-1]
    thetas = (np.cumsum(descending) - 1) / np.arange(1, len(v) + 1)
    theta = thetas[np.flatnonzero(descending > thetas)[-1]]
    return np.maximum(v - theta, 0.0)
