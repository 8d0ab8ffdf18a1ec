"""Bound how far any L, from any software, is from the optimum."""

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from rpcag.graphs.check import check_graph
from rpcag.graphs.inputs import as_numbers
from rpcag.graphs.laplacian import check_kind
from rpcag.graphs.laplacian import laplacian as laplacian_of
from rpcag.linalg.blocks import row_blocks
from rpcag.linalg.gram import spectral_norm
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.threads import one_blas_thread_each, product
from rpcag.linalg.typical import thinned, typical_size
from rpcag.losses import DataTerm, nearest, rescaled
from rpcag.models.data_loss import KINDS, DataLoss
from rpcag.penalties import GraphSmoothness
from rpcag.solvers import DualPoint, Progress, State
from rpcag.solvers.certificates import dual_scale, dual_value
from rpcag.solvers.executor import Local
from rpcag.solvers.problem import FACTORED, Problem
from rpcag.solvers.tangent_space import NEAR, TangentSpace, Vector, tangent_parts

# Penalty of the iterations in units of `ratio`: a typical final value of the solvers.
LOSS_PENALTY, GRAPH_PENALTY = 3.0, 0.7
# Residuals below this share of a typical entry may be rounding errors, so they do not
# count as gross errors.
SMALL = 1e-3
# Number of directions of L to add at a time, up to a share of the shorter side.
FIRST_WIDTH, WIDEST = 32, 0.3
# Entries outside the dual ball are put on its boundary; then the others are updated.
ROUNDS = 4
# Stop adding directions if the rest of L has at most this norm, relative to L.
ENOUGH = 1e-9


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
    Phi : ndarray, sparse array or None
        Laplacian of the graph.
    lam, lam_rows, gamma, mu : float
        Weights; `lam_rows` is 0 unless `loss` is "both", `mu` is 0 without noise.
    loss : {"entries", "rows", "both"}
    """

    objective: float
    lower_bound: float
    gap: float
    dual: DualPoint
    X: np.ndarray
    L: np.ndarray
    Phi: Any
    lam: float
    lam_rows: float
    gamma: float
    mu: float
    loss: str

    def check(self) -> float:
        """Recompute the gap with plain NumPy from `X`, `L` and `dual`.

        It uses no part of the solvers. docs/certificate.md derives every line.
        """
        lam, gamma, mu = self.lam, self.gamma, self.mu
        seen = ~np.isnan(self.X)
        X, R = np.where(seen, self.X, 0), np.where(seen, self.X - self.L, 0)
        D = _inside(np.where(seen, self.dual.D, 0), self.loss, lam, self.lam_rows)
        Y, smooth, rough = D.copy(), 0.0, 0.0
        if gamma > 0:
            W = self.dual.W
            Y -= 2 * gamma * (self.Phi @ W)
            smooth = np.sum(W * (self.Phi @ W))
            rough = np.sum(self.L * (self.Phi @ self.L))
        s = 1 / max(1.0, float(np.linalg.norm(Y, 2)))
        bound = s * np.sum(D * X) - s**2 * (mu / 2 * np.sum(D * D) + gamma * smooth)
        objective = np.linalg.norm(self.L, "nuc") + gamma * rough
        objective += _distance(R, self.loss, lam, self.lam_rows, mu)
        return float((objective - bound) / objective) if objective else 0.0


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
    X, L = _checked(X, L)
    weights = {"lam": lam, "gamma": gamma, "lam_rows": lam_rows, "mu": mu}
    for name, value in weights.items():
        if not isinstance(value, Real) or isinstance(value, bool):
            raise TypeError(f"{name} must be a number, got {value!r}")
    _check_dual(dual, X.shape)
    Phi = _laplacian(graph, laplacian, gamma, len(X))
    stated = _stated(loss, lam, lam_rows, mu)
    shifted = None if Phi is None else ShiftedLaplacian(Phi, X.shape[1])
    with one_blas_thread_each():
        judge = _Judge(X, L, stated, float(gamma), shifted)
        found = -math.inf, DualPoint(np.zeros_like(L), None if Phi is None else 0 * L)
        if dual is not None:
            found = judge.best(found, dual)
        if not judge.suffices(found[0], tol):
            found = judge.best(found, judge.direct(tol), tol)
        if not judge.suffices(found[0], tol):
            found = judge.best(found, judge.improved(tol, max_iter))
    bound = min(max(found[0], 0.0), judge.objective)
    gap = (judge.objective - bound) / judge.objective if judge.objective else 0.0
    return Certificate(
        objective=judge.objective,
        lower_bound=bound,
        gap=gap,
        dual=found[1],
        X=X,
        L=L,
        Phi=Phi,
        lam=stated.lam,
        lam_rows=stated.lam_rows,
        gamma=float(gamma) if Phi is not None else 0.0,
        mu=stated.mu,
        loss=loss,
    )


class _Judge:
    """The problem, the objective at L, and lower bounds from dual points."""

    def __init__(self, X, L, stated: DataLoss, gamma: float, shifted) -> None:
        self.X, self.L, self.gamma, self.shifted = X, L, gamma, shifted
        self.stated, self.loss = stated, stated.build()
        self.P, self.s, self.Vt, left = _factors(L)
        self.size = typical_size(thinned(X))
        self.data = DataTerm(X, self.loss)
        self.smooth = None if shifted is None else GraphSmoothness(shifted, gamma)
        # The nuclear norm of the remainder is at most sqrt(rank) its Frobenius norm.
        nuclear = float(self.s.sum()) + left * math.sqrt(min(X.shape))
        self.objective = nuclear + self.data.value(L)
        if self.smooth is not None:
            self.objective += self.smooth.value(L)

    def suffices(self, bound: float, tol: float) -> bool:
        return bound >= (1 - tol) * self.objective

    def best(self, found, dual: DualPoint | None, tol: float = 1e-5):
        """The better of a bound with its point and another point, made feasible."""
        if dual is None:
            return found
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
        value = dual_value(linear, quadratic, norm)
        if value <= found[0]:
            return found
        scale = dual_scale(linear, quadratic, norm)
        return value, DualPoint(scale * D, None if W is None else scale * W)

    def direct(self, tol: float) -> DualPoint | None:
        """The dual point that follows from L, if the loss is a sum over entries.

        It is a subgradient where X - L is not small. The other entries follow from
        the tangent space of L: see `rpcag.solvers.tangent_space`. W is L.
        """
        if not self.loss.entrywise or not len(self.s):
            return None
        X, single = self.X, np.float32
        r = self._steepness(self.stated.multiplier(X.shape[1]), self.size)
        D, mask = np.empty(X.shape, single), np.empty(X.shape, single)
        for rows in row_blocks(X.shape):
            R = np.nan_to_num(self.L[rows] - X[rows], nan=0.0)
            piece = self.loss.project(R, r) * r
            larger = piece * ((1 + NEAR) / r)
            mask[rows] = self.loss.project(larger, r) == larger
            if self.data.has_missing:
                mask[rows][np.isnan(X[rows])] = 0
            D[rows] = piece
        left, right = self.P.astype(single), self.Vt.T.astype(single)
        space = TangentSpace(Local(), left, [right], [mask])
        asked = Vector([-right], np.zeros_like(left))
        if self.smooth is not None:  # 2 gamma Phi L = (2 gamma Phi P s) V^T
            rough = self._rough(self.P * self.s).astype(single)
            inside = left.T @ rough
            asked = Vector([-right - right @ inside.T], left @ inside - rough)
        for _ in range(ROUNDS):
            found = space.vector([tangent_parts(lambda rows: D[rows], left, right)])
            wanted = Vector([asked.A[0] - found.A[0]], asked.B - found.B)
            if math.hypot(*map(np.linalg.norm, (*wanted.A, wanted.B))) <= tol / 3:
                break
            (change,) = space.changes(space.solve(wanted, tol / 10, single))
            for rows in row_blocks(X.shape):
                step = change.left[rows] @ change.right.T
                step *= mask[rows]
                step += D[rows]
                D[rows] = nearest(self.loss, step.astype(np.float64))
                mask[rows] *= D[rows] == step  # clipped entries stay clipped
        return DualPoint(-D, None if self.smooth is None else self.L)

    def _steepness(self, typical: float, size: float) -> float:
        """The r with which `project` gives subgradients of residuals of this size."""
        return typical / (SMALL * size)

    def improved(self, tol: float, max_iter: int) -> DualPoint | None:
        """The dual point after a few iterations that start at L."""
        typical = self.stated.multiplier(self.X.shape[1])
        other = None if self.stated.is_plain else self.loss
        problem = Problem(self.X, typical, self.gamma, self.shifted, loss=other)

        def enough(progress: Progress) -> bool:
            return self.suffices(progress.lower_bound, tol)

        result = problem.solve(
            tol=tol / 10,
            max_iter=max_iter,
            start=self._start(problem),
            callback=enough,
        )
        return result.dual

    def _start(self, problem: Problem) -> State:
        """The state of a solver whose copies are L, with multipliers that match."""
        L, unit = self.L / problem.unit, problem.unit
        size = problem.scale / unit
        ratio = problem.lam / size
        penalties = (LOSS_PENALTY * ratio, GRAPH_PENALTY * ratio)[: self.n_copies]
        # r project(R, r) tends to a subgradient at R as r grows; residuals that are
        # small beside typical entries have a part of it only.
        R = np.nan_to_num(L - problem.X, nan=0.0)
        r = self._steepness(problem.lam, size)
        U = rescaled(self.loss, unit).project(R, r) * (r / penalties[0])
        H = self.P * (self.s / unit)
        if problem.loss.entrywise and min(L.shape) >= FACTORED:
            Q = np.ascontiguousarray(self.Vt.T)
            arrays = {"V": L + U, "Q": Q, "F": H}
            if self.smooth is not None:
                G = H + self._rough(H) * (unit / penalties[1])
                arrays |= {"G": G, "H": H, "R": Q}
            return State(arrays, penalties, ratio, "factored", len(self.s))
        copies, multipliers = [L], [U]
        if self.smooth is not None:
            copies.append(L)
            multipliers.append(self._rough(L) * (unit / penalties[1]))
        return State.of_copies(copies, multipliers, penalties, ratio)

    @property
    def n_copies(self) -> int:
        return 1 if self.smooth is None else 2

    def _rough(self, A: np.ndarray) -> np.ndarray:
        """2 gamma Phi A."""
        return 2 * self.gamma * np.asarray(self.shifted.laplacian @ A)


def _factors(L: np.ndarray):
    """Factors of L and the norm of the remainder; full factors unless L is low-rank."""
    size = float(np.linalg.norm(L))
    width, rng = FIRST_WIDTH, np.random.default_rng(0)
    while width <= WIDEST * min(L.shape) and size > 0:
        Q = np.linalg.qr(product(L, rng.standard_normal((L.shape[1], width))))[0]
        B = product(Q.T, L)
        left = math.sqrt(
            sum(float(np.sum((L[r] - Q[r] @ B) ** 2)) for r in row_blocks(L.shape))
        )
        if left <= ENOUGH * size:
            U, s, Vt = np.linalg.svd(B, full_matrices=False)
            kept = s > ENOUGH * s[0]
            return Q @ U[:, kept], s[kept], Vt[kept], left + float(s[~kept].sum())
        width *= 3
    P, s, Vt = np.linalg.svd(L, full_matrices=False)
    kept = s > 1e-12 * max(float(s[0]), 1e-300)
    return P[:, kept], s[kept], Vt[kept], float(s[~kept].sum())


def _inside(D: np.ndarray, loss: str, lam: float, lam_rows: float) -> np.ndarray:
    """D made feasible: entries within lam, rows within the weight of a sample."""
    if loss != "rows":
        D = np.clip(D, -lam, lam)
    if loss != "entries":
        lengths = np.linalg.norm(D, axis=1, keepdims=True)
        limit = lam if loss == "rows" else lam_rows
        D = D * np.minimum(1, limit / np.maximum(lengths, 1e-300))
    return D


def _distance(R: np.ndarray, loss: str, lam: float, lam_rows: float, mu: float):
    """A lower bound of the loss of the residual R."""
    if loss == "entries" and mu == 0:
        return lam * np.sum(np.abs(R))
    if loss == "entries":
        S = np.sign(R) * np.maximum(np.abs(R) - lam * mu, 0)
        return lam * np.sum(np.abs(S)) + np.sum((R - S) ** 2) / (2 * mu)
    return float(DataLoss(loss, lam, lam_rows, 0.0, mu).build().value(R).sum())


def _checked(X, L) -> tuple[np.ndarray, np.ndarray]:
    X, L = (np.array(as_numbers(A), dtype=np.float64) for A in (X, L))
    if X.ndim != 2 or X.shape != L.shape or not X.size:
        raise ValueError(
            "X and L must be matrices of the same shape, got shapes "
            f"{X.shape} and {L.shape}"
        )
    if np.isinf(X).any() or np.isnan(X).all():
        raise ValueError(
            "X must hold finite numbers, with NaN for missing entries, and not only NaN"
        )
    if not np.isfinite(L).all():
        raise ValueError("L must hold finite numbers")
    return X, L


def _check_dual(dual, shape: tuple[int, ...]) -> None:
    if dual is None:
        return
    if not isinstance(dual, DualPoint):
        raise TypeError(f"dual must be a DualPoint, such as dual_, got {dual!r}")
    for name, A in (("D", dual.D), ("W", dual.W)):
        if A is not None and np.shape(A) != shape:
            raise ValueError(
                f"dual.{name} must have the shape of X, {shape}, got {np.shape(A)}"
            )


def _laplacian(graph, kind: str, gamma: float, n_samples: int):
    check_kind(kind)
    if not 0 <= gamma < math.inf:
        raise ValueError(f"gamma must be a number of at least 0, got {gamma!r}")
    if gamma == 0:
        return None
    if graph is None:
        raise ValueError(
            f"gamma={gamma:.3g} needs a graph: pass the adjacency, such as "
            "adjacency_ of a fitted model"
        )
    return laplacian_of(check_graph(graph, n_samples), kind)


def _stated(loss: str, lam: float, lam_rows: float, mu: float) -> DataLoss:
    if loss not in KINDS:
        known = ", ".join(map(repr, KINDS))
        raise ValueError(f"loss must be {known}, got {loss!r}")
    if not 0 < lam < math.inf:
        raise ValueError(f"lam must be a positive number, got {lam!r}")
    if loss == "both" and not 0 < lam_rows < math.inf:
        raise ValueError(
            f"loss='both' needs lam_rows, the weight of a sample, got {lam_rows!r}"
        )
    if not 0 <= mu < math.inf:
        raise ValueError(f"mu must be a number of at least 0, got {mu!r}")
    return DataLoss(loss, float(lam), float(lam_rows), 0.0, float(mu))
