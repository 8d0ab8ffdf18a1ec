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

# ||R||_1. The box of `Centered` is derived for it.
LOSS = L1(1.0)
# The median of the data is subtracted if it is more than this many deviations from
# zero. A smaller one costs at most one digit.
FAR = 10.0
# Rows from which the median is computed. More cost time and gain little.
SAMPLE = 256
# New rows: maximum number of iterations, and the gradient step, over the step length,
# at which to stop. The slope of the loss is one.
ROW_ITERATIONS, ROW_TOL = 20_000, 1e-6


class Centered:
    """X, and X - T for the solver; the smoothness vanishes at T = c u v^T.

    u and v are the roots of the null spaces of the two Laplacians. h(L) = h(L - T), so
    L - T solves the problem of X - T. If X is far from zero, cancellation in inner
    products with X would cost more digits than a gap has.

    Attributes
    ----------
    array : ndarray
        X - T in the precision of X.
    box : float
        b with |X - T| <= b u v^T on observed entries. A minimizer is inside: the
        smoothness is a sum of squared differences of L_ij / (u_i v_j) over edges, and
        clipping these ratios to those of X - T increases neither the differences nor
        the distances to X - T.
    """

    def __init__(self, X: np.ndarray, rows: NullSpace, columns: NullSpace) -> None:
        self.X, self.u, self.v = X, rows.root, columns.root
        # Relative rounding of T; none where u and v are ones.
        roots = rows.rounding + columns.rounding
        self.rounding = roots + 4 * UNIT if roots > 0 else 0.0
        self.c = self._median()
        self.array = X if self.c == 0 else np.empty_like(X)
        self.box = 0.0
        for part in row_blocks(X.shape):
            x, seen, error = self.values(part)
            if self.c != 0:
                self.array[part] = np.where(seen, x, np.nan)
            ratios = (np.abs(x) + error) / self.u[part, None] / self.v
            self.box = max(self.box, float(ratios.max(initial=0.0)))
        self.box *= 1 + 2 * self.rounding + 8 * UNIT

    def _median(self) -> float:
        """c with about half of X on either side of T, if that is far from zero."""
        some = np.s_[:: -(-len(self.X) // SAMPLE)]
        ratios = self.X[some].astype(np.float64) / self.u[some, None] / self.v
        ratios = ratios[np.isfinite(ratios)]
        if ratios.size == 0:
            return 0.0
        center = float(np.median(ratios))
        is_far = abs(center) > FAR * np.median(np.abs(ratios - center))
        return center if is_far else 0.0

    def offset(self, rows: slice) -> np.ndarray:
        """Some rows of T."""
        return self.c * self.u[rows, None] * self.v

    def values(self, rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Some rows of X - T in double precision, 0 where X is missing.

        Also where X is observed, and a bound on the rounding errors there.
        """
        x = self.X[rows].astype(np.float64)
        seen = ~np.isnan(x)
        if self.c == 0:
            return np.where(seen, x, 0.0), seen, np.zeros_like(x)
        T = self.offset(rows)
        x = np.where(seen, x - T, 0.0)
        return x, seen, seen * (self.rounding * np.abs(T) + UNIT * np.abs(x))

    def restored(self, L: np.ndarray) -> np.ndarray:
        """L + T in the precision of X; X itself where L is X - T."""
        for rows in row_blocks(L.shape) if self.c != 0 else ():
            same = L[rows] == self.array[rows]
            L[rows] = np.where(same, self.X[rows], L[rows] + self.offset(rows))
        return L


def fista(
    data: Centered,
    smooth: TwoGraphSmoothness,
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

    The solver works on X - T of `Centered`, called X below. T is added to the answer,
    and the objective is computed for the rounded sum.

    Certificate: let D = grad h(L) = 2 A L and q = <L, A L>. A tangent of h is below it:
    h(Z) >= s <D, Z> - s^2 q for every Z and s. There is a minimizer Z with |Z| <= B,
    the box b u v^T of `Centered`. Minimizing |x - z| + s d z over the entries of such a
    Z gives a lower bound on the optimum for every s with |s D| <= 1 on observed
    entries. The best bound so far is kept:

        s (sum over observed of d x - sum over missing of |d| B) - s^2 q

    Rounding: the computed gradient is 2 A L + E, with |E| <= e entry by entry
    (`TwoGraphSmoothness.gradient_error`). With it for D the bound is too large by at
    most s <E, Z> + s^2 <E, L> / 2, and sum |E Z| is at most

        sum over observed of e |x| + max(e) F + sum over missing of e B,

    since the l1 distance of the minimizer to X is at most F, the objective of any
    matrix. This is subtracted, like the rounding errors of X - T and of the sums.

    `start` is any finite L - T. A true value of the callback stops the solver.
    """
    X = data.array
    has_missing = any(np.isnan(x).any() for (x,) in blocks(X))
    L, before = start.copy(), start.copy()
    gradient = smooth.gradient(L, np.empty_like(L))
    gradient_before = gradient.copy()
    step = 1 / smooth.lipschitz if smooth.lipschitz > 0 else 1.0
    certificates = Certificates(tol)
    certify = partial(_certify, certificates, data, smooth)
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
    L = data.restored(L)
    if data.c != 0:  # certify L as it was rounded
        centered = L - data.offset(slice(None))
        certify(centered, smooth.gradient(centered, np.empty(L.shape)), n_iter, moved)
    last, history = certificates.history[-1], tuple(certificates.history)
    if certificates.is_contradicted:
        status = "numerical_error"
    elif status == "converged" and last.gap > tol:
        status = "stalled"  # rounding L + T made the gap larger
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


def _certify(
    certificates: Certificates,
    data: Centered,
    smooth: TwoGraphSmoothness,
    L: np.ndarray,
    D: np.ndarray,
    n_iter: int,
    moved: float,
) -> Progress:
    """Record the objective at L - T and the bound that its gradient D proves."""
    if D.dtype != np.float64:  # the bound on its errors is for double precision
        D = smooth.gradient(L, np.empty(L.shape))
    rows_error, columns_top, columns_error, rows_top = smooth.gradient_error(L)
    sums, size, largest, off, n_blocks = np.zeros(7), 0.0, 0.0, 0.0, 0
    for rows in row_blocks(L.shape):
        x, seen, shifted = data.values(rows)
        l, d = L[rows].astype(np.float64), D[rows]
        box = np.where(seen, 0.0, data.box * data.u[rows, None] * data.v)
        e = rows_error[rows, None] * columns_top
        e += rows_top[rows, None] * columns_error
        terms = [
            seen * np.abs(x - l),
            l * d / 2,
            d * x,
            np.abs(d) * box,
            shifted,
            e * np.abs(l) / 2,
            e * (np.abs(x) + box),
        ]
        sums += [term.sum() for term in terms]
        size += sum(float(np.abs(term).sum()) for term in terms)
        largest = max(largest, float((seen * np.abs(d)).max(initial=0.0)))
        off = max(off, float((seen * e).max(initial=0.0)))
        n_blocks += 1
    distance, quadratic, linear, outside, shift, off_l, off_z = sums.tolist()
    rounding = total_error(size, n_blocks)
    objective, slack = distance + max(quadratic, 0.0), rounding + shift + off_l
    lost = rounding + shift + off_z + off * (objective + slack)
    bound = dual_value(
        outside + lost * (1 + (n_blocks + 100) * UNIT) - linear,
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
