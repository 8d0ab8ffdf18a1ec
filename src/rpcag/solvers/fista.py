"""The l1 distance to the data plus smoothness on two graphs, by FISTA."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np

from rpcag.linalg.blocks import blocks, row_blocks
from rpcag.linalg.null_space import NullSpace
from rpcag.linalg.rounding import UNIT, total_error
from rpcag.linalg.shifted import Laplacian
from rpcag.losses import L1
from rpcag.penalties.two_graphs import TwoGraphSmoothness, add_row_products
from rpcag.solvers.certificates import Certificates, dual_value
from rpcag.solvers.result import Progress, Result, Status

# ||R||_1. The box of `fista` is derived for it.
LOSS = L1(1.0)
# New rows: maximum number of iterations, and the gradient step, over the step length,
# at which to stop. The slope of the loss is one.
ROW_ITERATIONS, ROW_TOL = 20_000, 1e-6


def fista(
    X: np.ndarray,
    smooth: TwoGraphSmoothness,
    null: tuple[NullSpace, NullSpace],
    start: np.ndarray,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[Progress], bool | None] | None = None,
) -> Result:
    """Minimize ||M o (X - L)||_1 + h(L) over L, to a proven relative duality gap `tol`.

    Proximal gradient steps with momentum, which is dropped whenever the step and the
    momentum point in opposite directions (O'Donoghue and Candès):

        Z = L + m (L - L_before)
        L = prox(Z - grad h(Z) / c),   c the Lipschitz constant of grad h

    h is quadratic, so grad h(Z) is the same combination of two gradients at L: one
    gradient per iteration serves the step, the objective and the certificate.

    Certificate: let D = grad h(L) = 2 A L and q = <L, A L>. A tangent of h is below it:
    h(Z) >= s <D, Z> - s^2 q for every Z and s. There is a minimizer Z with |Z| <= B.
    Minimizing |x - z| + s d z over the entries of such a Z gives a lower bound on the
    optimum for every s with |s D| <= 1 on observed entries. The best bound so far is
    kept:

        s (sum over observed of d x - sum over missing of |d| B) - s^2 q

    Box: B = b u v^T, with u and v the roots of the null spaces of both Laplacians, and
    |X| <= B on observed entries. Some minimizer is inside: the smoothness is a sum of
    squared differences of L_ij / (u_i v_j) over edges, and clipping these ratios to
    [-b, b] increases neither the differences nor the distances to X.

    Rounding: the computed gradient is 2 A L + E, with |E| <= e
    (`TwoGraphSmoothness.gradient_error`). With it for D the bound is too large by at
    most s <E, Z> + s^2 <E, L> / 2, and sum |E Z| is at most

        e (sum over observed of |x| + F + sum over missing of B),

    since the l1 distance of the minimizer to X is at most F, the objective of any
    matrix. This is subtracted, like the rounding errors of the sums.

    `start` is any finite matrix. A true value of the callback stops the solver.
    """
    has_missing = any(np.isnan(x).any() for (x,) in blocks(X))
    L, before = start.copy(), start.copy()
    gradient = smooth.gradient(L, np.empty_like(L))
    gradient_before = gradient.copy()
    step = 1 / smooth.lipschitz if smooth.lipschitz > 0 else 1.0
    certificates = Certificates(tol)
    certify = partial(_certify, certificates, X, smooth, _box(X, *null))
    t, momentum = 1.0, 0.0
    n_iter, next_check = 0, 1
    status: Status = "max_iter"
    while status == "max_iter" and n_iter < max_iter:
        n_iter += 1
        against, change, size = _advance(
            X, has_missing, L, before, gradient, gradient_before, step, momentum
        )
        L, before = before, L
        gradient, gradient_before = smooth.gradient(L, gradient_before), gradient
        if not math.isfinite(change):
            raise FloatingPointError(
                f"the solver left the range of {X.dtype} in iteration {n_iter}"
            )
        longer = (1 + math.sqrt(1 + 4 * t * t)) / 2
        t, momentum = (1.0, 0.0) if against > 0 else (longer, (t - 1) / longer)
        moved = math.sqrt(change / size) if size > 0 else 0.0
        if n_iter >= next_check or n_iter == max_iter:
            progress = certify(L, gradient, n_iter, moved)
            next_check = n_iter + max(5, n_iter // 10)
            if certificates.is_contradicted:
                status = "numerical_error"
            elif progress.gap <= tol:
                status = "converged"
            elif moved <= 4 * float(np.finfo(X.dtype).eps):
                status = "stalled"
        else:
            last = certificates.history[-1]
            progress = last._replace(n_iter=n_iter, primal_residual=moved)
        if callback is not None and callback(progress) and status == "max_iter":
            status = "stopped"
    if certificates.history[-1].n_iter != n_iter:
        certify(L, gradient, n_iter, moved)
        if certificates.is_contradicted:
            status = "numerical_error"
    last, history = certificates.history[-1], tuple(certificates.history)
    return Result.of(last, x=L, status=status, basis=None, history=history, state=None)


def _advance(X, has_missing, L, before, gradient, gradient_before, step, momentum):
    """Write the next L over `before`; the test for restarting, and how far it went."""
    against = change = size = 0.0
    for x, l, old, g, g_old in blocks(X, L, before, gradient, gradient_before):
        z = l + momentum * (l - old)
        v = z - step * (g + momentum * (g - g_old))
        # prox: v moves toward x by at most the step; where x is missing it stays.
        away = v - x
        if has_missing:
            np.copyto(away, 0, where=np.isnan(away))
        np.subtract(v, LOSS.project(away, 1 / step), out=old)
        moved = old - l
        against += float(np.dot(z - old, moved))
        change += float(np.dot(moved, moved))
        size += float(np.dot(old, old))
    return against, change, size


def _box(X: np.ndarray, rows: NullSpace, columns: NullSpace):
    """b u and v of `fista`."""
    b = 0.0
    for part in row_blocks(X.shape):
        ratios = np.abs(X[part].astype(np.float64)) / rows.root[part, None]
        b = max(b, float(np.fmax.reduce(ratios / columns.root, axis=None, initial=0.0)))
    rounding = 2 * (rows.rounding + columns.rounding) + 8 * UNIT
    return b * (1 + rounding) * rows.root, columns.root


def _certify(
    certificates: Certificates,
    X: np.ndarray,
    smooth: TwoGraphSmoothness,
    box: tuple[np.ndarray, np.ndarray],
    L: np.ndarray,
    D: np.ndarray,
    n_iter: int,
    moved: float,
) -> Progress:
    """Record the objective at L and the bound that its gradient D proves."""
    if D.dtype != np.float64:  # the bound on its errors is for double precision
        D = smooth.gradient(L, np.empty(L.shape))
    off = smooth.gradient_error(L)
    sums, size, largest, pieces = np.zeros(6), 0.0, 0.0, row_blocks(L.shape)
    u, v = box
    for rows in pieces:
        x, l, d = X[rows].astype(np.float64), L[rows].astype(np.float64), D[rows]
        seen = ~np.isnan(x)
        x, most = np.where(seen, x, 0.0), np.where(seen, 0.0, u[rows, None] * v)
        terms = [
            seen * np.abs(x - l),
            l * d / 2,
            d * x,
            np.abs(d) * most,
            off * np.abs(l) / 2,
            off * (np.abs(x) + most),
        ]
        sums += [term.sum() for term in terms]
        size += sum(float(np.abs(term).sum()) for term in terms)
        largest = max(largest, float((seen * np.abs(d)).max(initial=0.0)))
    distance, quadratic, linear, outside, off_l, off_z = sums.tolist()
    rounding = total_error(size, len(pieces))
    objective, slack = distance + max(quadratic, 0.0), rounding + off_l
    lost = rounding + off_z + off * (objective + slack)
    bound = dual_value(
        outside + lost * (1 + (len(pieces) + 100) * UNIT) - linear,
        max(quadratic + off_l + rounding, 0.0),
        largest,
    )
    residuals = moved, max(largest - 1, 0.0)
    return certificates.record(n_iter, objective, slack, bound, residuals, None)


def fista_rows(
    X: np.ndarray,
    curvature: np.ndarray,
    pull: np.ndarray,
    columns: Laplacian,
    b: float,
    top: float,
) -> tuple[np.ndarray, int]:
    """Solve for rows l with fixed neighbors; each row has its own stopping test.

    minimize ||m o (x - l)||_1 + curvature ||l||^2 - 2 l pull^T + b l Phi l^T

    with Phi the Laplacian between the columns and `top` its largest eigenvalue. Returns
    the rows and the number of rows that have not converged.
    """
    # Gross errors are far from the solution: rows start clipped to five deviations.
    seen = ~np.isnan(X)
    filled = np.where(seen.any(axis=1, keepdims=True), X, 0.0)
    center = np.nanmedian(filled, axis=1, keepdims=True)
    reach = 5 / 0.6745 * np.nanmedian(np.abs(filled - center), axis=1, keepdims=True)
    answer = np.where(seen, np.clip(X, center - reach, center + reach), 0.0)
    lipschitz = 2 * (curvature + b * top)[:, None] * (1 + 1e-6)
    steps = 1 / np.where(lipschitz > 0, lipschitz, 1.0)
    size = np.nanmax(np.abs(X), axis=1, initial=1e-300)
    # Rounding errors of a step come from the row and from its gradient.
    slope = curvature * size + np.abs(pull).max(axis=1, initial=0.0)
    rounding = 8 * np.finfo(np.float64).eps * (size + steps[:, 0] * slope)

    active = np.arange(len(X))
    x, step, c, g = X, steps, curvature[:, None], pull
    L = before = answer.copy()
    t, momentum = np.ones((len(X), 1)), np.zeros((len(X), 1))
    for _ in range(ROW_ITERATIONS):
        Z = L + momentum * (L - before)
        D = 2 * (c * Z - g)
        add_row_products(Z, columns, 2 * b, D)
        V = Z - step * D
        new = V - LOSS.project(np.nan_to_num(V - x, nan=0.0), 1 / step)
        against = np.sum((Z - new) * (new - L), axis=1, keepdims=True) > 0
        longer = (1 + np.sqrt(1 + 4 * t * t)) / 2
        momentum = np.where(against, 0.0, (t - 1) / longer)
        t = np.where(against, 1.0, longer)
        answer[active] = new
        moving = np.abs(new - Z).max(axis=1) > ROW_TOL * step[:, 0] + rounding[active]
        active = active[moving]
        if active.size == 0:
            break
        x, step, c, g, L, before, t, momentum = (
            part[moving] for part in (x, step, c, g, new, L, t, momentum)
        )
    return answer, active.size
