"""The l1 distance to the data plus smoothness on two graphs, by FISTA."""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from rpcag.linalg.blocks import BLOCK, blocks
from rpcag.linalg.rounding import UNIT, total, total_error
from rpcag.linalg.shifted import Laplacian
from rpcag.losses import L1
from rpcag.solvers.certificates import Certificates, dual_value
from rpcag.solvers.result import Progress, Result, Status
from rpcag.terms.two_graphs import Constants, TwoGraphSmoothness, add_row_products

# ||R||_1. The box of `Centered` is derived for it.
LOSS = L1(1.0)


class Centered:
    """X, and X - T for the solver, with T constant on every pair of components.

    h(L) = h(L - T), so L - T solves the problem of X - T. If X is far from zero,
    cancellation in inner products with X would cost more digits than a gap has. Inner
    products with X - T avoid this.

    Attributes
    ----------
    array : ndarray
        X - T in the precision of X.
    """

    def __init__(self, X: np.ndarray, constants: Constants) -> None:
        self.X, self.constants = X, constants
        self.C = constants.medians(X)
        self.array = X
        if self.C.any():
            self.array = np.empty_like(X)
            for rows in _row_blocks(X):
                self.array[rows] = self.values(rows)[0]

    def values(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Some rows of X - T in double precision, and a bound on their rounding."""
        x = self.X[rows].astype(np.float64)
        if not self.C.any():
            return x, np.zeros_like(x)
        T = self.constants.at(self.C, rows)
        x -= T
        return x, self.constants.rounding * np.abs(T) + UNIT * np.abs(x)

    def box(self) -> np.ndarray:
        """B with |X - T| <= B u v^T on observed entries: a minimizer is inside.

        The smoothness is a sum of squared differences of L_ij / (u_i v_j) over edges.
        Clipping these ratios to where those of X - T lie, component by component,
        increases neither the differences nor the distances to X - T.
        """
        B = np.zeros(self.constants.shape)
        for rows in _row_blocks(self.X):
            x, error = self.values(rows)
            sizes = np.nan_to_num(np.abs(x) + error, nan=0.0)
            self.constants.widen(B, sizes, rows)
        return B * (1 + 2 * self.constants.rounding + 8 * UNIT)

    def restored(self, L: np.ndarray) -> np.ndarray:
        """L + T in the precision of X; X itself where L is X - T."""
        if not self.C.any():
            return L
        for rows in _row_blocks(L):
            same = L[rows] == self.array[rows]
            L[rows] = L[rows] + self.constants.at(self.C, rows)
            np.copyto(L[rows], self.X[rows], where=same)
        return L

    def removed(self, L: np.ndarray) -> np.ndarray:
        """L - T in double precision."""
        L = L.astype(np.float64)
        for rows in _row_blocks(L):
            L[rows] -= self.constants.at(self.C, rows)
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
    the box of `Centered.box`. Minimizing |x - z| + s d z over the entries of such a Z
    gives two lower bounds on the optimum. The best bound so far is kept:

        s with |s D| <= 1 on observed entries:
            s (sum over observed of d x - sum over missing of |d| B) - s^2 q
        s = 1:
            sum over observed of clip(d, -1, 1) x - max(|d| - 1, 0) B
            - sum over missing of |d| B - q

    Rounding: the computed gradient is 2 A L + E, with |E| <= e entry by entry
    (`TwoGraphSmoothness.gradient_error`). With it for D the bounds are too large by at
    most s <E, Z> + s^2 <E, L> / 2, and sum |E Z| is at most

        sum over observed of e |x| + max(e) F + sum over missing of e B,

    since the l1 distance of the minimizer to X is at most F, the objective of any
    matrix. This is subtracted from the bounds. So are the rounding errors of X - T,
    which change the loss by at most their sum, and the rounding errors of the sums.

    Parameters
    ----------
    data : Centered
    smooth : TwoGraphSmoothness
    start : ndarray
        Any finite L - T. The nearer it is to the solution, the fewer iterations.
    tol : float
    max_iter : int
    callback : callable, optional
        Called with a `Progress` after every iteration; a true value stops the solver.
    """
    X = data.array
    has_missing = any(np.isnan(x).any() for (x,) in blocks(X))
    L, before = start.copy(), start.copy()
    gradient = smooth.gradient(L, np.empty_like(L))
    gradient_before = gradient.copy()
    step = 1 / smooth.lipschitz if smooth.lipschitz > 0 else 1.0
    certificate = _Certificate(data, smooth, tol)
    t = 1.0
    momentum = 0.0
    next_check = 1
    status: Status = "max_iter"
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        against, change, size = _advance(
            X, has_missing, L, before, gradient, gradient_before, step, momentum
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
            if certificate.ledger.is_contradicted:
                status = "numerical_error"
            elif progress.gap <= tol:
                status = "converged"
            elif moved <= 4 * float(np.finfo(X.dtype).eps):
                status = "stalled"
        else:
            progress = certificate.ledger.history[-1]._replace(
                n_iter=n_iter, primal_residual=moved
            )
        if callback is not None and callback(progress) and status == "max_iter":
            status = "stopped"
        if status != "max_iter":
            break
    if certificate.ledger.history[-1].n_iter != n_iter:
        certificate.check(n_iter, L, gradient, moved)
    L = data.restored(L)
    if data.C.any():
        certificate.check_rounded(n_iter, L, moved)
    last = certificate.ledger.history[-1]
    if certificate.ledger.is_contradicted:
        status = "numerical_error"
    elif status == "converged" and last.gap > tol:
        status = "stalled"  # rounding L + T made the gap larger
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
        history=tuple(certificate.ledger.history),
        state=None,
    )


def _advance(X, has_missing, L, before, gradient, gradient_before, step, momentum):
    """Write the next L over `before`; the test for restarting, and how far it went."""
    penalty = 1 / step
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
        # prox: v moves toward x by at most the step; where x is missing it stays.
        np.subtract(v, x, out=old)
        if has_missing:
            np.copyto(old, 0, where=np.isnan(old))
        LOSS.project(old, penalty, out=old)
        np.subtract(v, old, out=old)
        np.subtract(old, l, out=v)
        z -= old
        against += float(np.dot(z, v))
        change += float(np.dot(v, v))
        size += float(np.dot(old, old))
    return against, change, size


class _Sums(NamedTuple):
    """Parts of the objective and the bounds: rows of (sum, sum of absolute values)."""

    parts: np.ndarray
    largest: float  # of |d| on observed entries
    off: float  # of e there
    n_blocks: int


# The rows of `_Sums.parts`.
DISTANCE, QUADRATIC, LINEAR, CLIPPED, BEYOND, OUTSIDE, OFF_X, OFF_L, OFF_Z = range(9)


class _Certificate:
    """Objectives and lower bounds: see `fista`."""

    def __init__(self, data: Centered, smooth: TwoGraphSmoothness, tol: float) -> None:
        self.data, self.smooth = data, smooth
        self.box = data.box()
        self.ledger = Certificates(tol)

    def check(self, n_iter: int, L, D, moved: float) -> Progress:
        """Certify L - T by its gradient D."""
        if D.dtype != np.float64:  # e is valid for double precision only
            D = self.smooth.gradient(L, np.empty(L.shape))
        sums = self.sums(L, D)
        objective, slack = self.objective(sums)
        bound = self.bound(sums, objective + slack)
        residuals = moved, max(sums.largest - 1, 0.0)
        return self.ledger.record(n_iter, objective, slack, bound, residuals, None)

    def check_rounded(self, n_iter: int, L, moved: float) -> Progress:
        """Certify the rounded answer L by the best bound so far."""
        L = self.data.removed(L)
        sums = self.sums(L, self.smooth.gradient(L, np.empty(L.shape)))
        objective, slack = self.objective(sums)
        residuals = moved, self.ledger.history[-1].dual_residual
        return self.ledger.record(n_iter, objective, slack, 0.0, residuals, None)

    def objective(self, sums: _Sums) -> tuple[float, float]:
        """The objective and a bound on its rounding error."""
        (distance, quadratic), sizes = sums.parts[:2, 0], sums.parts[:2, 1]
        slack = total_error(sizes.sum(), sums.n_blocks)
        slack += float(sums.parts[OFF_X, 0] + sums.parts[OFF_L, 0])
        return float(distance + max(quadratic, 0.0)), slack

    def bound(self, sums: _Sums, above: float) -> float:
        """The better lower bound; `above` is an upper bound on the optimum."""
        values, sizes = sums.parts[:, 0], sums.parts[:, 1]
        quadratic = values[QUADRATIC] + values[OFF_L]
        quadratic += total_error(sizes[QUADRATIC], sums.n_blocks)
        quadratic = max(quadratic, 0.0)
        lost = values[OFF_X] + values[OFF_Z] + sums.off * above
        lost *= 1 + (sums.n_blocks + 100) * UNIT
        first = values[LINEAR] - values[OUTSIDE] - lost
        first -= total_error(sizes[LINEAR] + sizes[OUTSIDE], sums.n_blocks)
        second = values[CLIPPED] - values[BEYOND] - values[OUTSIDE] - lost
        size = sizes[CLIPPED] + sizes[BEYOND] + sizes[OUTSIDE]
        second -= total_error(size, sums.n_blocks)
        return max(
            dual_value(-first, quadratic, sums.largest),
            float(second - quadratic - 4 * UNIT * (size + quadratic)),
        )

    def sums(self, L, D) -> _Sums:
        rows_error, columns_top, columns_error, rows_top = self.smooth.gradient_error(L)
        parts, largest, off, count = np.zeros((9, 2)), 0.0, 0.0, 0
        for rows in _row_blocks(L):
            x, delta = self.data.values(rows)
            l, d = L[rows].astype(np.float64), D[rows]
            box = self.data.constants.at(self.box, rows)
            e = rows_error[rows, None] * columns_top
            e += rows_top[rows, None] * columns_error
            parts[QUADRATIC] += total(l * d) / 2
            parts[OFF_L] += total(e * l)[1] / 2
            missing = np.isnan(x)
            if missing.any():
                outward = box[missing] * np.abs(d[missing])
                parts[OUTSIDE] += total(outward)
                parts[OFF_Z] += total(e[missing] * box[missing])
                x, l, d, e, box, delta = (
                    part[~missing] for part in (x, l, d, e, box, delta)
                )
            excess = np.abs(d)
            largest = max(largest, float(excess.max(initial=0.0)))
            off = max(off, float(e.max(initial=0.0)))
            excess -= 1
            parts[DISTANCE] += total(x - l)[1]
            parts[OFF_X] += total(delta)
            parts[OFF_Z] += total(e * x)[1]
            parts[LINEAR] += total(d * x)
            if largest > 1:
                np.maximum(excess, 0, out=excess)
                parts[BEYOND] += total(excess * box)
                d = LOSS.project(d, 1.0)
            parts[CLIPPED] += total(d * x)
            count += 1
        return _Sums(parts, largest, off, count)


def _row_blocks(A: np.ndarray) -> Iterator[slice]:
    step = max(1, BLOCK // A.shape[1])
    for start in range(0, len(A), step):
        yield slice(start, min(start + step, len(A)))


def fista_rows(
    X: np.ndarray,
    curvature: np.ndarray,
    pull: np.ndarray,
    columns: Laplacian,
    b: float,
    top: float,
    *,
    tol: float = 1e-6,
    max_iter: int = 20_000,
) -> tuple[np.ndarray, int]:
    """Rows l next to fixed neighbors, each by itself and stopped by itself.

    minimize ||m o (x - l)||_1 + curvature ||l||^2 - 2 l pull^T + b l Phi l^T

    with Phi the Laplacian between the columns and `top` its largest eigenvalue. A row
    has converged if its gradient step, divided by the step length, is below `tol`. That
    is relative to the slope of the loss, which is one. Returns the rows and the number
    of rows that have not converged.
    """
    X = X.astype(np.float64)
    answer = _without_extremes(X)  # gross errors are a long way from the answer
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
    for _ in range(max_iter):
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
        moving = np.abs(new - Z).max(axis=1) > tol * step[:, 0] + rounding[active]
        active = active[moving]
        if active.size == 0:
            break
        x, step, c, g, L, before, t, momentum = (
            part[moving] for part in (x, step, c, g, new, L, t, momentum)
        )
    return answer, active.size


def _without_extremes(X: np.ndarray) -> np.ndarray:
    """Rows clipped to five deviations around their medians; zero where missing."""
    seen = ~np.isnan(X)
    filled = np.where(seen.any(axis=1, keepdims=True), X, 0.0)
    center = np.nanmedian(filled, axis=1, keepdims=True)
    reach = 5 / 0.6745 * np.nanmedian(np.abs(filled - center), axis=1, keepdims=True)
    return np.where(seen, np.clip(X, center - reach, center + reach), 0.0)
