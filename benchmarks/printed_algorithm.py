"""The paper's Algorithm 1 with its formulas corrected, certified.

Penalties of one, a LAPACK SVD in every iteration, no relaxation, zeros to start from.
Its answers are certified by the bound of this package, computed outside its clock.
"""

import time

import numpy as np
from scipy import linalg


def printed(X, Phi, lam, gamma, tol, max_iter):
    """Algorithm 1 with corrected formulas; seconds spent and gap reached."""
    factor = linalg.cho_factor(2 * gamma * Phi + np.eye(len(X)))
    S, W = np.zeros_like(X), np.zeros_like(X)
    Z1, Z2 = np.zeros_like(X), np.zeros_like(X)
    seconds, best = 0.0, 0.0
    for n_iter in range(1, max_iter + 1):
        start = time.perf_counter()
        P, s, Qt = linalg.svd((X - S + Z1 + W + Z2) / 2, full_matrices=False)
        s = np.maximum(s - 0.5, 0)
        L = (P * s) @ Qt
        V = X - L + Z1
        S = np.sign(V) * np.maximum(np.abs(V) - lam, 0)
        W = linalg.cho_solve(factor, L - Z2)
        Z1 += X - L - S
        Z2 += W - L
        seconds += time.perf_counter() - start
        if n_iter % 5 == 0 or n_iter == max_iter:
            smooth = Phi @ L
            objective = s.sum() + lam * np.abs(X - L).sum() + gamma * np.sum(L * smooth)
            D, PhiW = np.clip(Z1, -lam, lam), Phi @ W
            norm = linalg.svdvals(D - 2 * gamma * PhiW)[0]
            a, b = np.sum(D * X), gamma * np.sum(W * PhiW)
            scale = min(1 / max(1, norm), max(a / (2 * b), 0) if b > 0 else 1)
            best = max(best, scale * a - scale**2 * b)
            gap = (objective - best) / objective
            if gap <= tol:
                break
    return n_iter, seconds, gap
