"""Two-block ADMM for one norm plus any number of terms, certified by its dual."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rpcag.linalg.blocks import BLOCK, blocks
from rpcag.solvers.result import Progress, Result, State, Status

RELAXATION = 1.7
# First penalties, in units of `ratio`. Measured on faces and digits of 165 to 300
# samples: 18 to 122 iterations to a gap of 1e-3 with the paper's graph.
PENALTY = 3.0
# A copy's penalty is doubled or halved when its relative residuals differ by more than
# IMBALANCE. The looks grow rarer and end after LOOKS, so that from then on the penalty
# is constant and the convergence theory of ADMM applies.
IMBALANCE = 10.0
LOOKS = 30
# Relative residuals of this many units of rounding may be rounding, not progress.
ROUNDING = 256


def admm(
    central: Any,
    others: Sequence[Any],
    shape: tuple[int, int],
    dtype: Any = np.float64,
    *,
    ratio: float,
    tol: float,
    max_iter: int,
    start: State | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
) -> Result:
    """Minimise g(L) + sum_i f_i(L) over L, to a proven relative duality gap `tol`.

    Every f_i gets a copy P_i of L with penalty r_i and scaled multiplier U_i. Given L
    the copies do not meet, so there are two blocks. With R = sum_i r_i:

        L   = prox_{g/R}( sum_i r_i (P_i - U_i) / R )
        V_i = 1.7 L - 0.7 P_i + U_i                      (over-relaxation)
        P_i = prox_{f_i/r_i}(V_i),   U_i = V_i - P_i     so r_i U_i is in df_i(P_i)

    Certificate: for any D_i, the number -g*(-sum_i D_i) - sum_i f_i*(D_i) is a lower
    bound of the optimum (Fenchel). g is a norm, so g* vanishes where the dual norm of
    sum_i D_i is at most one; D_i = s r_i U_i with the best such s in [0, 1] is used.

    Parameters
    ----------
    central : term
        A norm with a prox and a dual norm.
    others : sequence of terms
    shape, dtype
        Of L.
    ratio : float
        Typical size of a multiplier over typical size of an entry of L: the unit of the
        penalties. They start at three times this, adapt, then freeze.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
    start : State, optional
        Where an earlier solve ended.
    callback : callable, optional
        Called with a `Progress` after every iteration; a true value stops the solver.

    Returns
    -------
    Result
    """
    with np.errstate(over="ignore", invalid="ignore"):  # checked in every iteration
        return _iterate(
            central,
            others,
            shape,
            np.dtype(dtype),
            ratio,
            tol,
            max_iter,
            start,
            callback,
        )


def _iterate(
    central, others, shape, dtype, ratio, tol, max_iter, start, callback
) -> Result:
    if start is None:
        copies = [np.zeros(shape, dtype) for _ in others]
        multipliers = [np.zeros(shape, dtype) for _ in others]
        rho = [PENALTY * ratio for _ in others]
    else:
        # The multipliers r_i U_i are kept; the penalties follow their unit.
        change = ratio / start.ratio
        copies = [np.array(P, dtype) for P in start.copies]
        multipliers = [
            np.array(U, dtype) / dtype.type(change) for U in start.multipliers
        ]
        rho = [r * change for r in start.penalties]
    L, work = np.zeros(shape, dtype), np.empty(shape, dtype)
    eps = float(np.finfo(dtype).eps)

    certificate = _Certificate(central, others, tol)
    next_check = 1 if start is not None else 10
    next_look, looks = 5, 0
    status: Status = "max_iter"
    n_iter = 0
    while n_iter < max_iter:
        n_iter += 1
        total = sum(rho)
        _average(copies, multipliers, rho, L)
        central.prox_in_place(L, 1 / total, scratch=work)

        residuals = []
        for i, term in enumerate(others):
            _relax(multipliers[i], L, copies[i])
            if getattr(term, "iterative", False):
                np.copyto(work, copies[i])  # a first guess for its prox
            term.prox(multipliers[i], 1 / rho[i], work)
            residuals.append(_finish(multipliers[i], L, copies[i], work))
            copies[i], work = work, copies[i]
        primal = max(r.primal for r in residuals)
        dual = max(r.dual for r in residuals)
        if not math.isfinite(primal + dual):
            raise FloatingPointError(
                f"the solver left the range of {dtype} in iteration {n_iter}; "
                "the data or the penalties are too large or too small for it"
            )

        if n_iter >= next_check or n_iter == max_iter:
            progress = certificate.check(
                n_iter, L, copies, multipliers, rho, work, (primal, dual)
            )
            next_check = n_iter + certificate.patience()
            if progress.gap <= tol:
                status = "converged"
            elif max(primal, dual) <= ROUNDING * eps and certificate.is_stuck():
                status = "stalled"
        else:
            progress = certificate.latest(n_iter, (primal, dual))
        if callback is not None and callback(progress) and status == "max_iter":
            status = "stopped"
        if status != "max_iter":
            break
        if n_iter >= next_look and looks < LOOKS:
            looks += 1
            next_look = n_iter + max(5, n_iter // 4)
            _balance(residuals, L, rho, multipliers)

    history = certificate.history
    if not history or history[-1].n_iter != n_iter:
        certificate.check(n_iter, L, copies, multipliers, rho, work, (primal, dual))
    last = history[-1]
    return Result(
        x=L,
        objective=last.objective,
        lower_bound=last.lower_bound,
        gap=last.gap,
        primal_residual=primal,
        dual_residual=dual,
        n_iter=n_iter,
        rank=central.rank,
        status=status,
        basis=central.basis,
        history=tuple(history),
        state=State(tuple(copies), tuple(multipliers), tuple(rho), ratio),
    )


class _Certificate:
    """Objective, lower bound and gap, asked for only when they may be good enough."""

    def __init__(self, central: Any, others: Sequence[Any], tol: float) -> None:
        self.central = central
        self.others = others
        self.tol = tol
        self.bound = 0.0  # every term is non-negative
        self.history: list[Progress] = []

    def check(
        self, n_iter, L, copies, multipliers, rho, work, residuals: tuple[float, float]
    ) -> Progress:
        objective = self.central.value_at_prox()
        objective += sum(term.value(L) for term in self.others)
        linear = quadratic = 0.0
        work.fill(0)
        for term, P, U, r in zip(self.others, copies, multipliers, rho, strict=True):
            U *= r  # the multiplier itself, for the time of the call
            a, b = term.add_dual(P, U, work)
            U /= r
            linear += a
            quadratic += b
        # -(s linear + s^2 quadratic) is largest at s = -linear / (2 quadratic).
        scale = 1 / max(1.0, self.central.dual_norm(work))
        if quadratic > 0:
            scale = min(scale, max(-linear / (2 * quadratic), 0.0))
        self.bound = max(self.bound, -(scale * linear + scale**2 * quadratic))
        gap = max(objective - self.bound, 0.0) / objective if objective != 0 else 0.0
        self.history.append(
            Progress(
                n_iter,
                objective,
                self.bound,
                gap,
                *residuals,
                rank=self.central.rank,
            )
        )
        return self.history[-1]

    def latest(self, n_iter: int, residuals: tuple[float, float]) -> Progress:
        """The last certificate, dated forward."""
        rank = self.central.rank
        if not self.history:
            return Progress(n_iter, math.inf, 0.0, 1.0, *residuals, rank=rank)
        primal, dual = residuals
        return self.history[-1]._replace(
            n_iter=n_iter, primal_residual=primal, dual_residual=dual, rank=rank
        )

    def is_stuck(self) -> bool:
        """No better gap than half the iterations ago."""
        now = self.history[-1]
        before = [p.gap for p in self.history if p.n_iter <= now.n_iter / 2]
        return bool(before) and now.n_iter >= 100 and min(before) <= 1.01 * now.gap

    def patience(self) -> int:
        """Iterations to wait: half of what the gap's decay says is still needed."""
        longest = max(3, self.history[-1].n_iter // 5)
        if len(self.history) < 2:
            return longest
        before, now = self.history[-2:]
        steps = now.n_iter - before.n_iter
        decay = math.log(max(before.gap, 1e-300) / max(now.gap, 1e-300)) / steps
        if decay <= 0:
            return longest
        wanted = math.log(max(now.gap, 1e-300) / max(self.tol, 1e-300)) / decay
        return int(min(max(wanted / 2, 2), longest))


def _average(copies, multipliers, rho, out) -> None:
    """out = sum_i r_i (P_i - U_i) / sum_i r_i."""
    buffer = np.empty(min(BLOCK, out.size), out.dtype)
    weights = [out.dtype.type(r / sum(rho)) for r in rho]
    for o, *rest in blocks(out, *copies, *multipliers):
        piece = buffer[: o.size]
        o.fill(0)
        for p, u, weight in zip(
            rest[: len(rho)], rest[len(rho) :], weights, strict=True
        ):
            np.subtract(p, u, out=piece)
            piece *= weight
            o += piece


def _relax(U, L, P) -> None:
    """U += relaxation * L + (1 - relaxation) * P."""
    buffer = np.empty(min(BLOCK, U.size), U.dtype)
    for u, value, p in blocks(U, L, P):
        piece = np.subtract(value, p, out=buffer[: u.size])
        piece *= RELAXATION
        piece += p
        u += piece


class _Residuals(NamedTuple):
    """Of one copy: relative ones for the user, plain ones to balance the penalty."""

    primal: float  # ||L - P|| / max(||L||, ||P||)
    dual: float  # ||P - P_before|| / ||U||
    distance: float  # ||L - P||


def _finish(U, L, old, new) -> _Residuals:
    """U -= new, and how far the copy is from L and from where it was."""
    buffer = np.empty(min(BLOCK, U.size), U.dtype)
    primal = change = size_L = size_P = size_U = 0.0
    for u, value, before, after in blocks(U, L, old, new):
        piece = np.subtract(after, before, out=buffer[: u.size])
        change += float(np.dot(piece, piece))
        np.subtract(value, after, out=piece)
        primal += float(np.dot(piece, piece))
        u -= after
        size_L += float(np.dot(value, value))
        size_P += float(np.dot(after, after))
        size_U += float(np.dot(u, u))
    return _Residuals(
        _ratio(primal, max(size_L, size_P)),
        _ratio(change, size_U),
        math.sqrt(primal),
    )


def _ratio(numerator: float, denominator: float) -> float:
    """sqrt(numerator / denominator), zero for 0/0."""
    if numerator == 0:
        return 0.0
    return math.sqrt(numerator / denominator) if denominator > 0 else 1.0


def _balance(residuals, L, rho, multipliers) -> None:
    """Double the penalty of a copy that lags behind L, halve that of one that drags.

    ||L - P|| is measured against the geometric mean of ||L|| and of its distance from
    constant columns: beside a large mean alone (raw images) it would look small however
    wrong the penalty is.
    """
    size = float(np.linalg.norm(L))
    spread = math.sqrt(max(size**2 - len(L) * float(np.sum(L.mean(axis=0) ** 2)), 0))
    unit = math.sqrt(size * max(spread, 1e-3 * size)) or 1.0
    for i, residual in enumerate(residuals):
        primal = residual.distance / unit
        factor = 1.0
        if primal > IMBALANCE * residual.dual:
            factor = 2.0
        elif residual.dual > IMBALANCE * primal:
            factor = 0.5
        if factor != 1.0:
            rho[i] *= factor
            multipliers[i] /= factor
