"""Small random problems and an independent solver for them."""

import warnings
from dataclasses import dataclass

import numpy as np

from rpcag.graphs import laplacian

SHAPES = [(6, 9), (9, 5), (12, 4), (4, 12), (8, 8), (10, 7)]
LAMS = [0.3, 1.0, 3.0, 10.0, 30.0]
GAMMAS = [0.0, 1e-3, 0.05, 1.0, 10.0, 100.0, 1000.0]
# Weights of FRPCAG that are one over the typical size of an entry.
UNIT = {"gamma": "unit", "gamma_features": "unit"}


@dataclass(frozen=True)
class SmallProblem:
    X: np.ndarray
    adjacency: np.ndarray
    kind: str
    lam: float
    gamma: float
    unit: float

    @property
    def Phi(self):
        return laplacian(self.adjacency, self.kind)


def small_problem(k: int) -> SmallProblem:
    """Problem number k: every kind of trouble comes up in some of every 50."""
    rng = np.random.default_rng(k)
    n, p = SHAPES[k % 6]
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, p))
    X += 0.1 * rng.standard_normal((n, p))
    X[rng.random(X.shape) < 0.15] += 5 * rng.standard_normal()
    if k % 3 == 1:
        X[rng.random(X.shape) < 0.2] = np.nan
    A = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    A = A + A.T
    if k % 4 == 2:  # two parts without a path between them
        A[: n // 2, n // 2 :] = A[n // 2 :, : n // 2] = 0
    if k % 4 == 3:  # a vertex without neighbors
        A[0] = A[:, 0] = 0
    if k % 8 == 5:  # features of very different size
        X *= np.logspace(-2, 2, p)
    unit = [1.0, 1e-3, 1e4][k % 11 % 3]
    return SmallProblem(
        X=X * unit,
        adjacency=A,
        kind=["normalized", "combinatorial"][k % 2],
        lam=LAMS[k % 5] / np.sqrt(max(n, p)),
        gamma=GAMMAS[k % 7] / unit,
        unit=unit,
    )


def least(objective) -> tuple[float, float]:
    """The minimum of an expression of cvxpy, and how exact it is, relatively.

    By an interior-point method, as exactly as the rounding of this machine lets it.
    """
    import cvxpy as cp

    task = cp.Problem(cp.Minimize(objective))
    for tol in (1e-10, 1e-9, 1e-8):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Solution may be inaccurate")
            task.solve(
                solver=cp.CLARABEL, tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol
            )
        if task.status == "optimal":
            return task.value, 10 * tol
    raise AssertionError(f"CLARABEL ended {task.status} at a tolerance of {tol}")


def optimum(problem: SmallProblem) -> tuple[float, float]:
    """The least objective, and how exact it is."""
    import cvxpy as cp

    X = problem.X / problem.unit
    seen = ~np.isnan(X)
    values, vectors = np.linalg.eigh(problem.Phi)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    L = cp.Variable(X.shape)
    errors = cp.multiply(seen.astype(float), np.where(seen, X, 0) - L)
    objective = cp.normNuc(L) + problem.lam * cp.sum(cp.abs(errors))
    if problem.gamma > 0:
        objective += problem.gamma * problem.unit * cp.sum_squares(root @ L)
    value, accuracy = least(objective)
    return value * problem.unit, accuracy


def candes(n, rank_share, error_share, seed=0):
    """Low-rank plus sparse signs, as in the experiments of Candès et al. (2011)."""
    rng = np.random.default_rng(seed)
    rank = round(rank_share * n)
    L = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, n)) / n
    S = np.zeros((n, n))
    wrong = rng.choice(n * n, round(error_share * n * n), replace=False)
    S.flat[wrong] = rng.choice([-1.0, 1.0], len(wrong))
    return L, S
