"""The l1 distance to the data plus smoothness on two graphs, by FISTA."""

import math
from collections.abc import Callable

import numpy as np

from rpcag.linalg.blocks import BLOCK, blocks
from rpcag.linalg.shifted import Laplacian
from rpcag.solvers.result import Progress, Result, Status
from rpcag.terms.l1 import L1Loss
from rpcag.terms.two_graphs import TwoGraphSmoothness, add_row_products


def fista(
    loss: L1Loss,
    smooth: TwoGraphSmoothness,
    box: tuple[np.ndarray, np.ndarray],
    start: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[Progress], bool | None] | None = None,
) -> Result:
    """Minimise ||M o (X - L)||_1 + h(L) over L, to a proven relative duality gap `tol`.

    Proximal gradient steps with momentum, which is dropped whenever the step and the
    momentum point in opposite directions (O'Donoghue and Candès):

        Z = L + m (L - L_before)
        L = prox(Z - grad h(Z) / c),   c the Lipschitz constant of grad h

    h is quadratic, so grad h(Z) is the same combination of two gradients at L: one
    gradient per iteration serves the step, the objective and the certificate.

    Certificate: with D = grad h(L) = 2 A L and q = <L, A L>, Fenchel's inequality gives
    the lower bound -f*(-s D) - s^2 q for every s in [0, 1]. There is a minimiser with
    |L_ij| <= u_i v_j (the `box`, see `bounding_box`), so f may be taken as infinite
    outside, and its conjugate is finite everywhere. Two choices are made, and the best
    bound so far is kept:

        s with |s D| <= 1 on observed entries:
            s (<D, X> - sum over missing entries of u_i v_j |D_ij|) - s^2 q
        s = 1:
            -sum max over l in {x, u v, -u v} of (-D l - |x - l|) - q

    Parameters
    ----------
    loss : L1Loss
        With weight one.
    smooth : TwoGraphSmoothness
    box : u, v
    start : ndarray
        Any L without NaN, of finite size; the nearer, the fewer iterations.
    tol : float
    max_iter : int
    callback : callable, optional
        Called with a `Progress` after every iteration; a true value stops the solver.
    """
    X = loss.X
    L, before = start.copy(), start.copy()
    gradient = smooth.gradient(L, np.empty_like(L))
    gradient_before = gradient.copy()
    step = 1 / smooth.lipschitz if smooth.lipschitz > 0 else 1.0
    certificate = _Certificate(loss, box)
    t = 1.0
    momentum = 0.0
    next_check = 1
    status: Status = "max_iter"
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        against, change, size = _advance(
            loss, L, before, gradient, gradient_before, step, momentum
        )
        L, before = before, L
        gradient, gradient_before = (
            smooth.gradient(L, gradient_before),
            gradient,
        )
        if not math.isfinite(change):
            raise FloatingPointError(
                f"the solver left the range of {X.dtype} in iteration {n_iter}"
            )
        if against > 0:
            t, momentum = 1.0, 0.0
        else:
            longer = (1 + math.sqrt(1 + 4 * t * t)) / 2
            t, momentum = longer, (t - 1) / longer
        moved = math.sqrt(change / size) if size > 0 else 0.0
        if n_iter >= next_check or n_iter == max_iter:
            progress = certificate.check(n_iter, L, gradient, moved)
            next_check = n_iter + max(5, n_iter // 10)
            if progress.gap <= tol:
                status = "converged"
            elif moved <= 4 * float(np.finfo(X.dtype).eps):
                status = "stalled"
        else:
            progress = certificate.history[-1]._replace(
                n_iter=n_iter, primal_residual=moved
            )
        if callback is not None and callback(progress) and status == "max_iter":
            status = "stopped"
        if status != "max_iter":
            break
    if certificate.history[-1].n_iter != n_iter:
        certificate.check(n_iter, L, gradient, moved)
    last = certificate.history[-1]
    return Result(
        x=L,
        objective=last.objective,
        lower_bound=last.lower_bound,
        gap=last.gap,
        primal_residual=last.primal_residual,
        dual_residual=last.dual_residual,
        n_iter=n_iter,
        rank=None,
        status=status,
        basis=None,
        history=tuple(certificate.history),
        state=None,
    )


def _advance(loss, L, before, gradient, gradient_before, step, momentum):
    """Write the next L over `before`; the test for restarting, and how far it went."""
    X = loss.X
    kind = X.dtype.type
    step, momentum = kind(step), kind(momentum)
    against = change = size = 0.0
    z, v = np.empty((2, min(BLOCK, X.size)), X.dtype)
    for x, l, old, g, g_old in blocks(X, L, before, gradient, gradient_before):
        z, v = z[: x.size], v[: x.size]
        np.subtract(l, old, out=z)
        z *= momentum
        z += l
        np.subtract(g, g_old, out=v)
        v *= momentum
        v += g
        v *= -step
        v += z
        # prox: v moves towards x by at most the step; where x is missing it stays.
        np.subtract(v, x, out=old)
        np.clip(old, -step, step, out=old)
        if loss.has_missing:
            np.copyto(old, 0, where=np.isnan(old))
        np.subtract(v, old, out=old)
        np.subtract(old, l, out=v)
        z -= old
        against += float(np.dot(z, v))
        change += float(np.dot(v, v))
        size += float(np.dot(old, old))
    return against, change, size


class _Certificate:
    def __init__(self, loss: L1Loss, box: tuple[np.ndarray, np.ndarray]) -> None:
        self.loss = loss
        self.u, self.v = box
        self.bound = 0.0  # both terms are non-negative
        self.history: list[Progress] = []

    def check(self, n_iter: int, L, D, moved: float) -> Progress:
        distance = quadratic = linear = conjugate = largest = 0.0
        rows_at_a_time = max(1, BLOCK // L.shape[1])
        for start in range(0, len(L), rows_at_a_time):
            rows = slice(start, start + rows_at_a_time)
            x = self.loss.X[rows].astype(np.float64)
            l, d = L[rows].astype(np.float64), D[rows].astype(np.float64)
            edge = self.u[rows, None] * self.v
            outward = edge * np.abs(d)
            quadratic += float(np.sum(l * d)) / 2
            if self.loss.has_missing:
                missing = np.isnan(x)
                x = np.where(missing, 0.0, x)
                distance += float(np.sum(np.abs(x - l)[~missing]))
                linear -= float(np.sum(outward[missing]))
                conjugate += float(np.sum(outward[missing]))
                x, d, edge = x[~missing], d[~missing], edge[~missing]
            else:
                distance += float(np.sum(np.abs(x - l)))
            largest = max(largest, float(np.abs(d).max(initial=0.0)))
            linear += float(np.sum(d * x))
            conjugate += float(
                np.maximum.reduce(
                    [
                        -d * x,
                        -d * edge - np.abs(x - edge),
                        d * edge - np.abs(x + edge),
                    ]
                ).sum()
            )
        quadratic = max(quadratic, 0.0)
        objective = distance + quadratic
        scale = 1 / max(1.0, largest)
        if quadratic > 0:
            scale = min(scale, max(linear / (2 * quadratic), 0.0))
        self.bound = max(
            self.bound,
            scale * linear - scale**2 * quadratic,
            -conjugate - quadratic,
        )
        gap = max(objective - self.bound, 0.0) / objective if objective > 0 else 0.0
        self.history.append(
            Progress(
                n_iter,
                objective,
                self.bound,
                gap,
                primal_residual=moved,
                dual_residual=max(largest - 1, 0.0),
                rank=None,
            )
        )
        return self.history[-1]


def bounding_box(
    X: np.ndarray, u: np.ndarray, v: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """u and v, scaled so that |X_ij| <= u_i v_j on observed entries.

    With u and v the roots of the degrees of normalised Laplacians (or ones, for
    combinatorial ones) the smoothness is a sum of squared differences of
    L_ij / (u_i v_j) over the edges. Clipping these ratios to where those of X lie
    increases neither the differences nor the distances to X: some minimiser is inside.
    """
    top = max(
        float(np.nanmax(np.abs(x) / (u_i * v), initial=0.0))
        for x, u_i in zip(X, u, strict=True)
    )
    return top * u, v


def fista_rows(
    X: np.ndarray,
    curvature: np.ndarray,
    pull: np.ndarray,
    columns: Laplacian,
    b: float,
    top: float,
    *,
    tol: float = 1e-8,
    max_iter: int = 5000,
) -> np.ndarray:
    """Rows l next to fixed neighbours, each by itself and stopped by itself.

    minimise ||m o (x - l)||_1 + curvature ||l||^2 - 2 l pull^T + b l Phi l^T

    with Phi the Laplacian between the columns and `top` its largest eigenvalue.
    """
    X = X.astype(np.float64)
    answer = np.nan_to_num(X, nan=0.0)
    lipschitz = 2 * (curvature + b * top)[:, None] * (1 + 1e-6)
    steps = 1 / np.where(lipschitz > 0, lipschitz, 1.0)
    size = np.nanmax(np.abs(X), axis=1, initial=1e-300)
    size = np.maximum(size, np.abs(pull).max(axis=1, initial=0.0))

    active = np.arange(len(X))
    x, step, c, g = X, steps, curvature[:, None], pull
    L = before = answer.copy()
    t, momentum = np.ones((len(X), 1)), np.zeros((len(X), 1))
    for _ in range(max_iter):
        Z = L + momentum * (L - before)
        D = 2 * (c * Z - g)
        add_row_products(Z, columns, 2 * b, D)
        V = Z - step * D
        new = V - np.nan_to_num(np.clip(V - x, -step, step), nan=0.0)
        against = np.sum((Z - new) * (new - L), axis=1, keepdims=True) > 0
        longer = (1 + np.sqrt(1 + 4 * t * t)) / 2
        momentum = np.where(against, 0.0, (t - 1) / longer)
        t = np.where(against, 1.0, longer)
        answer[active] = new
        moving = np.abs(new - Z).max(axis=1) > tol * size[active]
        if not moving.any():
            break
        active = active[moving]
        x, step, c, g, L, before, t, momentum = (
            part[moving] for part in (x, step, c, g, new, L, t, momentum)
        )
    return answer
