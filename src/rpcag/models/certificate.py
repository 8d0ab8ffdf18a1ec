"""Bound how far any L, from any software, is from the optimum."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions, validate_params
from sklearn.utils.validation import check_array

from rpcag.graphs.check import check_graph
from rpcag.graphs.inputs import as_numbers, check_rows
from rpcag.graphs.laplacian import KINDS as LAPLACIANS
from rpcag.graphs.laplacian import laplacian as laplacian_of
from rpcag.linalg.gram import factorize, short_side, spectral_norm
from rpcag.linalg.orthonormal import orthonormal
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.threads import one_blas_thread_each
from rpcag.linalg.typical import thinned, typical_size
from rpcag.losses import DataTerm, Loss, nearest
from rpcag.models.checks import NUMBER, POSITIVE, check_observed
from rpcag.models.data_loss import KINDS, DataLoss
from rpcag.penalties import GraphSmoothness
from rpcag.solvers import DualPoint, Progress, State
from rpcag.solvers.certificates import dual_scale, dual_value
from rpcag.solvers.problem import Problem

# Residuals below this share of a typical entry may be rounding errors, so they do not
# count as gross errors.
SMALL = 1e-3
# Numbers of columns that the range finder for L tries, and the share of L that it may
# miss.
WIDTHS, ENOUGH = (32, 96, 288), 1e-12
# Share of the shorter side above which the rank of L leaves too few free entries: the
# equations on the tangent space then have no solution in the dual ball.
LOW = 0.2
# Entries this near to the bound, as a share of it, stay there. Entries that leave the
# ball are put on its boundary, and the others are computed again, up to ROUNDS times.
NEAR, ROUNDS, STEPS = 0.02, 4, 10
# Penalties of the iterations in units of lam / size: typical final ones of the solver.
LOSS_PENALTY, GRAPH_PENALTY = 3.0, 0.7


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
        seen = ~np.isnan(self.X)
        X, R = np.where(seen, self.X, 0), np.where(seen, self.X - self.L, 0)
        D = nearest(self.loss, np.where(seen, self.dual.D, 0.0))
        Y, smooth, rough = D, 0.0, 0.0
        if self.gamma > 0:
            W = self.dual.W
            Y = D - 2 * self.gamma * (self.Phi @ W)
            smooth = self.gamma * np.sum(W * (self.Phi @ W))
            rough = self.gamma * np.sum(self.L * (self.Phi @ self.L))
        s = 1 / max(1.0, float(np.linalg.norm(Y, 2)))
        bound = s * np.sum(D * X) - s**2 * (self.loss.conjugate(D).sum() + smooth)
        objective = np.linalg.norm(self.L, "nuc") + self.loss.value(R).sum() + rough
        return float((objective - bound) / objective) if objective else 0.0


@validate_params(
    {
        "lam": [POSITIVE],
        "gamma": [NUMBER],
        "laplacian": [StrOptions(set(LAPLACIANS))],
        "loss": [StrOptions(set(KINDS))],
        "lam_rows": [NUMBER],
        "mu": [NUMBER],
        "dual": [DualPoint, None],
    },
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
    X, L = _matrices(X, L, dual)
    if loss == "both" and lam_rows == 0:
        raise ValueError("loss='both' needs lam_rows, the weight of a sample, got 0")
    if gamma > 0 and (graph is None or isinstance(graph, str)):
        raise ValueError(
            f"gamma={gamma:.3g} needs the edge weights of the graph, got {graph!r}; "
            "pass a matrix, such as adjacency_ of a fitted model"
        )
    Phi = laplacian_of(check_graph(graph, len(X)), laplacian) if gamma > 0 else None
    stated = DataLoss(loss, float(lam), float(lam_rows), 0.0, float(mu))
    with one_blas_thread_each():
        given = _Given(X, L, stated, float(gamma), Phi)
        bound, best = 0.0, DualPoint(np.zeros_like(L), None if Phi is None else 0 * L)
        for point in _dual_points(given, dual, tol, max_iter):
            found, feasible = given.bound(point, tol)
            if found > bound:
                bound, best = min(found, given.objective), feasible
            if bound >= (1 - tol) * given.objective:
                break
    objective = given.objective
    return Certificate(
        objective=objective,
        lower_bound=bound,
        gap=(objective - bound) / objective if objective else 0.0,
        dual=best,
        X=X,
        L=L,
        loss=given.loss,
        gamma=given.gamma,
        Phi=Phi,
    )


class _Given:
    """The problem, L = U diag(s) V^T, and its objective."""

    def __init__(self, X, L, stated: DataLoss, gamma: float, Phi) -> None:
        self.X, self.L, self.stated, self.gamma = X, L, stated, gamma
        self.loss = stated.build()
        self.U, self.s, self.Vt = _factors(L)
        self.data = DataTerm(X, self.loss)
        self.objective = float(self.s.sum()) + self.data.value(L)
        self.graph = self.smooth = self.rough = None
        if Phi is not None:
            self.graph = ShiftedLaplacian(Phi)
            self.smooth = GraphSmoothness(self.graph, gamma)
            self.objective += self.smooth.value(L)
            self.rough = 2 * gamma * np.asarray(Phi @ L)

    def subgradient(self) -> np.ndarray:
        """D of the loss at X - L; of small residuals, a part of it.

        r project(R, r) tends to a subgradient at R as r grows.
        """
        n_features = self.X.shape[1]
        size = SMALL * typical_size(thinned(self.X))
        r = self.stated.multiplier(n_features) / size
        return self.loss.project(np.nan_to_num(self.X - self.L), r) * r

    def bound(self, dual: DualPoint, tol: float) -> tuple[float, DualPoint]:
        """A lower bound of the optimum, rounded down, and the point made feasible."""
        total = np.zeros(self.X.shape)
        Y = -np.asarray(dual.D, dtype=np.float64)
        linear, quadratic, error = self.data.add_dual(self.L, Y, total)
        D, W = -total, None
        if self.smooth is not None:
            if dual.W is None:
                raise ValueError("dual has no W, which is needed if gamma is not 0")
            W = np.asarray(dual.W, dtype=np.float64)
            _, more, off = self.smooth.add_dual(W, W, total)
            quadratic, error = quadratic + more, error + off
        norm = spectral_norm(total, tol / 50) + error
        scale = dual_scale(linear, quadratic, norm)
        feasible = DualPoint(scale * D, None if W is None else scale * W)
        return dual_value(linear, quadratic, norm), feasible


def _dual_points(given: _Given, dual, tol, max_iter) -> Iterator[DualPoint]:
    """Dual points in the order of their cost."""
    if dual is not None:
        yield dual
    D = given.subgradient()
    if given.loss.entrywise and 0 < len(given.s) <= LOW * min(given.X.shape):
        D = _on_tangent_space(given, D, tol)
        yield DualPoint(D, None if given.smooth is None else given.L)
    yield _by_solver(given, D, tol, max_iter)


def _on_tangent_space(given: _Given, D: np.ndarray, tol: float) -> np.ndarray:
    """The D that follows from L and the support of X - L.

    D is a subgradient of the loss where X - L is not small. Where it is small, D is
    free: the smallest change M Z, with Z in the tangent space T of L, gives

        P_T D = U V^T + 2 gamma Phi L,

    which is in T. Z solves P_T M Z = rest, by conjugate gradients.
    """
    single = np.float32
    U, V, D = (A.astype(single) for A in (given.U, given.Vt.T, D))
    wanted = U @ V.T
    if given.rough is not None:
        wanted += given.rough.astype(single)
    beyond = (1 + NEAR) * D
    free = (nearest(given.loss, beyond.copy()) == beyond) & ~np.isnan(given.X)

    def tangent(Y: np.ndarray) -> np.ndarray:
        """P_T Y."""
        A, B = U.T @ Y, Y @ V
        return np.hstack([U, B - U @ (A @ V)]) @ np.vstack([A, V.T])

    for _ in range(ROUNDS):
        rest = wanted - tangent(D)
        if np.linalg.norm(rest) <= tol / 2:
            break
        D = D + free * _conjugate_gradients(tangent, free, rest, tol / 4)
        inside = nearest(given.loss, D.copy())
        free &= D == inside  # clipped entries stay clipped
        D = inside
    return D


def _conjugate_gradients(tangent, free, rest: np.ndarray, tol: float) -> np.ndarray:
    """Z with P_T M Z = rest, up to a residual of norm tol or in STEPS steps."""
    Z, direction = np.zeros_like(rest), rest
    square = float(np.vdot(rest, rest))
    for _ in range(STEPS):
        image = tangent(free * direction)
        curvature = float(np.vdot(direction, image))
        if square <= tol**2 or not curvature > 0:
            break
        along = square / curvature
        Z = Z + along * direction
        rest = rest - along * image
        before, square = square, float(np.vdot(rest, rest))
        direction = rest + square / before * direction
    return Z


def _by_solver(given: _Given, D: np.ndarray, tol: float, max_iter: int) -> DualPoint:
    """The dual point after a few iterations of the solver that start at L and D."""
    stated, L = given.stated, given.L
    typical = stated.multiplier(L.shape[1])
    other = None if stated.is_plain else given.loss
    problem = Problem(given.X, typical, given.gamma, given.graph, loss=other)
    copy, ratio = L / problem.unit, typical * problem.unit / problem.scale
    # The copies of the loss and of the graph are L; multipliers, -D and 2 gamma Phi L.
    penalties = (LOSS_PENALTY * ratio, GRAPH_PENALTY * ratio)
    parts = [-D] if given.rough is None else [-D, given.rough]
    multipliers = [part / r for part, r in zip(parts, penalties, strict=False)]
    start = State.of_copies(
        [copy] * len(parts), multipliers, penalties[: len(parts)], ratio
    )

    def enough(progress: Progress) -> bool:
        return progress.lower_bound >= (1 - tol) * given.objective

    result = problem.solve(tol=tol / 3, max_iter=max_iter, start=start, callback=enough)
    assert result.dual is not None
    return result.dual


def _factors(L: np.ndarray):
    """The SVD of L; by a random range finder if the rank is low."""
    rng, short = np.random.default_rng(0), short_side(L)
    for width in WIDTHS:
        if width > LOW * len(short):
            break
        B, _ = orthonormal(short @ rng.standard_normal((short.shape[1], width)))
        left = np.linalg.norm(short - B @ (B.T @ short))
        if left <= ENOUGH * np.linalg.norm(L):
            return factorize(L, B)
    return factorize(L, None)


def _matrices(X, L, dual: DualPoint | None) -> tuple[np.ndarray, np.ndarray]:
    X = check_rows(X)
    check_observed(X)
    L = check_array(as_numbers(L, "L"), dtype=np.float64, input_name="L")
    for name, A in (("L", L), *zip(("dual.D", "dual.W"), dual or (), strict=False)):
        if A is not None and np.shape(A) != X.shape:
            raise ValueError(
                f"{name} must have the shape of X, {X.shape}, got {np.shape(A)}"
            )
    return X, L
