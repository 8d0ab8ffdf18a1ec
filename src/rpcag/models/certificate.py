"""Bound how far any L, from any software, is from the optimum."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions, validate_params
from sklearn.utils.validation import check_array

from rpcag.graphs.check import check_graph
from rpcag.graphs.inputs import as_numbers, check_rows
from rpcag.graphs.laplacian import laplacian as laplacian_of
from rpcag.graphs.options import NUMBER, POSITIVE
from rpcag.linalg.gram import factorize, spectral_norm
from rpcag.linalg.low_rank import low_rank_basis
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.threads import one_blas_thread_each
from rpcag.linalg.typical import thinned, typical_size
from rpcag.losses import DataTerm, Loss, nearest, rescaled
from rpcag.models.base import largest_entry, power_of_two
from rpcag.models.checks import OPTIONS, check_observed
from rpcag.models.data_loss import KINDS, DataLoss
from rpcag.penalties import GraphSmoothness
from rpcag.solvers import DualPoint, Progress, State
from rpcag.solvers.certificates import dual_scale, dual_value
from rpcag.solvers.executor import Executor
from rpcag.solvers.problem import Problem
from rpcag.solvers.tangent_space import TangentSpace, tangent_parts

# Residuals below this share of a typical entry may be rounding errors, so they do not
# count as gross errors.
SMALL = 1e-3
# Share of the shorter side above which the rank of L leaves too few free entries: the
# equations on the tangent space then have no solution in the dual ball.
LOW = 0.2
# Singular values that together have this share of ||L||_* may be leftovers of the
# iteration that found L. They count in the objective, but not in the tangent space.
NEGLIGIBLE = 1e-7
# Entries this near to the bound, as a share of it, stay there. Entries that leave the
# ball are put on its boundary, and the others are computed again, ROUNDS times in all.
NEAR, ROUNDS = 0.02, 2
# Penalties of the loss and of the graph in units of lam / size: typical final ones.
PENALTIES = 3.0, 0.7


@dataclass(frozen=True)
class Certificate:
    """A bound on how far L is from the optimum, with everything that proves it.

    Attributes
    ----------
    objective : float
        Objective at `L`.
    lower_bound : float
        No matrix has a smaller objective.
    gap : float
        (objective - lower_bound) / objective.
    dual : DualPoint
        D and W, from which the bound follows.
    X, L : ndarray
    loss : rpcag.losses.Loss
    gamma : float
    Phi : ndarray, sparse array or None
        Laplacian of the graph.
    """

    objective: float
    lower_bound: float
    gap: float
    dual: DualPoint
    X: np.ndarray
    L: np.ndarray
    loss: Loss
    gamma: float
    Phi: Any

    def check(self) -> float:
        """Recompute the gap with plain NumPy from `X`, `L` and `dual`.

        It uses no part of the solvers. docs/certificate.md derives every line.
        """
        unit = _safe_unit(self.X)
        seen, L = ~np.isnan(self.X), self.L / unit
        X, R = np.where(seen, self.X / unit, 0), np.where(seen, self.X / unit - L, 0)
        loss, gamma = rescaled(self.loss, unit), self.gamma * unit
        D = nearest(loss, np.where(seen, self.dual.D, 0.0))
        Y, smooth, rough = D, 0.0, 0.0
        if gamma > 0:
            W = np.asarray(self.dual.W) / unit
            Y = D - 2 * gamma * (self.Phi @ W)
            smooth = gamma * np.sum(W * (self.Phi @ W))
            rough = gamma * np.sum(L * (self.Phi @ L))
        s = 1 / max(1.0, float(np.linalg.norm(Y, 2)))
        bound = s * np.sum(D * X) - s**2 * (loss.conjugate(D).sum() + smooth)
        objective = np.linalg.norm(L, "nuc") + loss.value(R).sum() + rough
        return float((objective - bound) / objective) if objective else 0.0


@validate_params(
    OPTIONS
    | {"lam": [POSITIVE], "loss": [StrOptions(set(KINDS))], "dual": [DualPoint, None]}
    | {"lam_rows": [NUMBER], "mu": [NUMBER]},
    prefer_skip_nested_validation=True,
)
def certify(
    X,
    L,
    *,
    lam,
    gamma=0.0,
    graph=None,
    laplacian="normalized",
    loss="entries",
    lam_rows=0.0,
    mu=0.0,
    dual=None,
    tol=1e-3,
    max_iter=50,
) -> Certificate:
    """Prove how far L is from the optimum of Robust PCA (on graphs).

    The problem is that of `RPCA` and `RPCAG`:

        minimize  ||L||_* + lam ||M * (X - L)||_1 + gamma tr(L.T @ Phi @ L)

    L may come from any software. A dual point is computed from it. At the optimum, it
    is lam times the sign of X - L where that is not zero. On the tangent space of L, it
    is the product of the singular vectors. A few iterations improve the point.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        NaN marks a missing entry.
    L : array-like of shape (n_samples, n_features)
        The matrix to certify.
    lam : float
        Weight of the sparse part.
    gamma : float, default=0
        Weight of the smoothness.
    graph : array, sparse array or graph, optional
        Symmetric adjacency between samples; needed if gamma is not 0.
    laplacian : {"normalized", "combinatorial"}, default="normalized"
        I - D^-1/2 A D^-1/2, or D - A, of the adjacency A with degrees D.
    loss : {"entries", "rows", "both"}, default="entries"
        As in `RPCA`. For "both", `lam_rows` is the weight of a sample.
    lam_rows : float, default=0
    mu : float, default=0
        With noise, X = L + S + N and ||N||_F^2 / (2 mu) is in the objective.
    dual : DualPoint, optional
        A dual point that is already known, such as `dual_` of a fitted model. It is
        used as it is if it proves `tol`.
    tol : float, default=1e-3
        Gap that suffices. Smaller values may take longer.
    max_iter : int, default=50
        Maximum number of iterations. If the gap stays large, either L is not near the
        optimum, or more iterations are needed to prove that it is.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import numpy as np
    >>> import rpcag
    >>> X = np.outer(np.ones(20), np.arange(1.0, 11.0))
    >>> L = X.copy()
    >>> X[3, 4] = 50.0
    >>> rpcag.certify(X, L, lam=0.3).gap <= 1e-3
    True
    """
    X = check_rows(X)
    check_observed(X)
    L = check_array(as_numbers(L, "L"), dtype=np.float64, input_name="L")
    parts = zip(("L", "dual.D", "dual.W"), (L, *(dual or ())), strict=False)
    for name, A in parts:
        if A is not None and np.shape(A) != X.shape:
            raise ValueError(
                f"{name} must have the shape of X, {X.shape}, got {np.shape(A)}"
            )
    if loss == "both" and lam_rows == 0:
        raise ValueError("loss='both' needs lam_rows, the weight of a sample, got 0")
    if gamma > 0 and (graph is None or isinstance(graph, str)):
        raise ValueError(
            f"gamma={gamma:.3g} needs the edge weights of the graph, got {graph!r}; "
            "pass a matrix, such as adjacency_ of a fitted model"
        )
    Phi = laplacian_of(check_graph(graph, len(X)), laplacian) if gamma > 0 else None
    stated, unit = DataLoss(loss, float(lam), float(lam_rows), 0.0, mu), _safe_unit(X)
    if dual is not None and dual.W is not None:
        dual = dual._replace(W=np.asarray(dual.W, dtype=np.float64) / unit)
    with one_blas_thread_each(), np.errstate(over="ignore", invalid="ignore"):
        part = replace(stated, mu=mu / unit), gamma * unit, Phi
        given = _Given(X / unit, L / unit, *part)
        objective, bound = given.objective, 0.0
        size = largest_entry(L) / unit
        if not max(objective * unit, size * size) < math.inf:
            raise ValueError(
                f"the objective overflows for L with entries of size {size * unit:.3g} "
                f"and X of size {largest_entry(X):.3g}; rescale both"
            )
        best = DualPoint(np.zeros_like(L), None if Phi is None else 0 * L)
        for point in _dual_points(given, dual, tol, max_iter):
            found, feasible = given.bound(point, tol)
            if found > bound:
                bound, best = min(found, objective), feasible
            if bound >= (1 - tol) * objective:
                break
    gap = (objective - bound) / objective if objective else 0.0
    if best.W is not None:
        best = best._replace(W=best.W * unit)
    ends = objective * unit, bound * unit, gap
    return Certificate(*ends, best, X, L, stated.build(), float(gamma), Phi)


def _safe_unit(X: np.ndarray) -> float:
    """A power of two such that no square of X over it over- or underflows."""
    unit = power_of_two(X)
    return 1.0 if 1e-50 < unit < 1e50 else unit


class _Given:
    """The problem, L = U diag(s) V^T up to leftovers, and its objective."""

    def __init__(self, X, L, stated: DataLoss, gamma: float, Phi) -> None:
        self.X, self.L, self.stated, self.gamma = X, L, stated, gamma
        self.loss = stated.build()
        basis, rest = low_rank_basis(L, LOW * min(L.shape), NEGLIGIBLE)
        U, s, Vt = factorize(L, basis)
        nuclear = float(s.sum()) + rest
        rank = np.count_nonzero(np.cumsum(s[::-1]) > NEGLIGIBLE * nuclear)
        self.U, self.s, self.Vt = U[:, :rank], s[:rank], Vt[:rank]
        self.data = DataTerm(X, self.loss)
        self.objective = nuclear + self.data.value(L)
        self.graph = self.smooth = self.rough = None
        if Phi is not None:
            self.graph = ShiftedLaplacian(Phi)
            self.smooth = GraphSmoothness(self.graph, gamma)
            self.objective += self.smooth.value(L)
            self.rough = 2 * gamma * np.asarray(Phi @ L)

    def bound(self, dual: DualPoint, tol: float) -> tuple[float, DualPoint]:
        """A lower bound of the optimum, rounded down, and the point made feasible."""
        total = np.zeros(self.X.shape)
        Y = -np.asarray(dual.D, dtype=np.float64)
        linear, quadratic, error = self.data.add_dual(Y, total)
        D, W = -total, None
        if self.smooth is not None:
            if dual.W is None:
                raise ValueError("dual has no W, which is needed if gamma is not 0")
            W = np.asarray(dual.W, dtype=np.float64)
            _, more, off = self.smooth.add_dual(W, total)
            quadratic, error = quadratic + more, error + off
        norm = spectral_norm(total, tol / 50) + error
        scale = dual_scale(linear, quadratic, norm)
        feasible = DualPoint(scale * D, None if W is None else scale * W)
        return dual_value(linear, quadratic, norm), feasible


def _dual_points(given: _Given, dual, tol, max_iter) -> Iterator[DualPoint]:
    """Dual points in the order of their cost."""
    if dual is not None:
        yield dual
    # A subgradient of the loss at X - L, or a part of it where the residual is small:
    # r project(R, r) tends to one at R as r grows.
    size = SMALL * typical_size(thinned(given.X))
    r = given.stated.multiplier(given.X.shape[1]) / size
    D = given.loss.project(np.nan_to_num(given.X - given.L), r) * r
    if given.loss.entrywise and 0 < len(given.s) <= LOW * min(given.X.shape):
        D = _on_tangent_space(given, D, tol)
        yield DualPoint(D, None if given.smooth is None else given.L)
    yield _by_solver(given, D, tol, max_iter)


def _on_tangent_space(given: _Given, D: np.ndarray, tol: float) -> np.ndarray:
    """The D that follows from L and the support of X - L.

    D is a subgradient of the loss where X - L is not small. Where it is small, D is
    free: the smallest change M Z, with Z in the tangent space T of L, gives

        P_T D = U V^T + 2 gamma Phi L,

    which is in T. `TangentSpace` solves this for -D, without the graph.
    """
    U, V, D = (A.astype(np.float32) for A in (given.U, given.Vt.T, D))
    rough = 0.0 if given.rough is None else given.rough.astype(np.float32)
    beyond = (1 + NEAR) * D
    free = (nearest(given.loss, beyond.copy()) == beyond) & ~np.isnan(given.X)
    # The error is spread over as many directions as the rank.
    wanted = tol / 4 * math.sqrt(len(given.s))
    for _ in range(ROUNDS):
        space = TangentSpace(Executor(), U, [V], [free])
        A, B = tangent_parts((rough - D).__getitem__, U, V)
        rest = space.wanted([A], [B])
        (change,) = space.changes(space.solve(rest, wanted, D.dtype))
        D = D - change.rows(slice(None))
        inside = nearest(given.loss, D.copy())
        free &= D == inside  # clipped entries stay clipped
        D = inside
    return D


def _by_solver(given: _Given, D: np.ndarray, tol: float, max_iter: int) -> DualPoint:
    """The dual point after a few iterations of the solver that start at L and D."""
    stated, L = given.stated, given.L
    typical = stated.multiplier(L.shape[1])
    other = None if stated.is_plain else given.loss
    problem = Problem(given.X, typical, given.gamma, given.graph, loss=other)
    copy, ratio = L / problem.unit, typical * problem.unit / problem.scale
    # The copies of the loss and of the graph are L; multipliers, -D and 2 gamma Phi L.
    parts = [-D] if given.rough is None else [-D, given.rough]
    if copy.shape != problem.X.shape:
        copy, *parts = (A[:, problem.columns] for A in (copy, *parts))
    penalties = tuple(r * ratio for r in PENALTIES[: len(parts)])
    multipliers = [part / r for part, r in zip(parts, penalties, strict=True)]
    start = State.of_copies([copy] * len(parts), multipliers, penalties, ratio)

    def enough(progress: Progress) -> bool:
        return progress.lower_bound >= (1 - tol) * given.objective

    result = problem.solve(tol=tol / 3, max_iter=max_iter, start=start, callback=enough)
    assert result.dual is not None
    return result.dual
