"""Two-block ADMM for one norm plus any number of terms, certified by its dual."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rpcag.linalg.blocks import BLOCK, blocks
from rpcag.solvers.checkpoint import Checkpoint
from rpcag.solvers.ledger import Ledger
from rpcag.solvers.result import Progress, Result, State, Status

RELAXATION = 1.7
# First penalty of a copy, in units of `ratio`.
PENALTY = 3.0
# A copy's penalty is doubled or halved when its relative residuals differ by more than
# IMBALANCE. The looks grow rarer and end after LOOKS, so that from then on the penalty
# is constant and the convergence theory of ADMM applies.
IMBALANCE = 10.0
LOOKS = 30
# A solve that starts where another ended has penalties that have proved themselves.
LATE_LOOK = 100
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
    ledger: Ledger | None = None,
    done: int = 0,
    checkpoint: Checkpoint | None = None,
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
    ledger : Ledger, optional
        The certificates of the solve that ended at `start` after `done` iterations, if
        this one goes on with it.
    checkpoint : Checkpoint, optional
        Where to go on from, and to save to.
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
            ledger,
            done,
            checkpoint,
            callback,
        )


def _iterate(
    central,
    others,
    shape,
    dtype,
    ratio,
    tol,
    max_iter,
    start,
    ledger,
    done,
    checkpoint,
    callback,
) -> Result:
    if start is None:
        copies = [np.zeros(shape, dtype) for _ in others]
        multipliers = [np.zeros(shape, dtype) for _ in others]
        rho = [PENALTY * ratio for _ in others]
    else:
        # The multipliers r_i U_i are kept; the penalties follow their unit.
        change = ratio / start.ratio
        copies, multipliers = (
            [np.array(start.arrays[f"{kind} {i}"], dtype) for i in range(len(others))]
            for kind in ("copy", "multiplier")
        )
        for U in multipliers:
            U /= dtype.type(change)
        rho = [r * change for r in start.penalties]
    L, work = np.zeros(shape, dtype), np.empty(shape, dtype)
    eps = float(np.finfo(dtype).eps)

    warm = start is not None and ledger is None
    ledger = Ledger(tol, haste=0.5, longest=0.2) if ledger is None else ledger
    history = ledger.history
    n_iter = done
    next_check = n_iter + (1 if warm else 10)
    next_look, looks = n_iter + (LATE_LOOK if warm else 5), 0
    status: Status = "max_iter"
    saved = checkpoint.load() if checkpoint is not None else None
    if saved is not None and saved[0]["solver"] == "admm":
        numbers, arrays = saved
        n_iter, next_check, next_look, looks = numbers["counters"]
        rho = numbers["penalties"]
        copies = [arrays[f"copy {i}"] for i in range(len(others))]
        multipliers = [arrays[f"multiplier {i}"] for i in range(len(others))]
        ledger.recall(numbers)
        history = ledger.history
        central.recall(arrays["central"])
    max_iter = max(max_iter, n_iter + 1)  # after a restart, at least one
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
            progress = _certify(
                ledger,
                central,
                others,
                n_iter,
                L,
                copies,
                multipliers,
                rho,
                work,
                (primal, dual),
            )
            next_check = n_iter + ledger.patience()
            if progress.gap <= tol:
                status = "converged"
            elif max(primal, dual) <= ROUNDING * eps and ledger.is_stuck():
                status = "stalled"
        else:
            progress = ledger.latest(n_iter, (primal, dual), central.rank)
        if callback is not None and callback(progress) and status == "max_iter":
            status = "stopped"
        if status in ("converged", "stalled"):
            break
        if status == "max_iter" and n_iter >= next_look and looks < LOOKS:
            looks += 1
            next_look = n_iter + max(5, n_iter // 4)
            _balance(residuals, L, rho, multipliers)
        if checkpoint is not None:
            numbers = {
                "solver": "admm",
                "counters": [n_iter, next_check, next_look, looks],
                "penalties": rho,
                **ledger.numbers(),
            }
            arrays = _arrays(copies, multipliers) | {"central": central.memory()}
            ends = status == "stopped" or n_iter == max_iter
            checkpoint.offer(lambda saved=(numbers, arrays): saved, now=ends)
        if status == "stopped":
            break

    if not history or history[-1].n_iter != n_iter:
        _certify(
            ledger,
            central,
            others,
            n_iter,
            L,
            copies,
            multipliers,
            rho,
            work,
            (primal, dual),
        )
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
        state=State(_arrays(copies, multipliers), tuple(rho), ratio, factored=False),
    )


def _arrays(copies, multipliers) -> dict[str, np.ndarray]:
    arrays = {f"copy {i}": P for i, P in enumerate(copies)}
    return arrays | {f"multiplier {i}": U for i, U in enumerate(multipliers)}


def _certify(
    ledger, central, others, n_iter, L, copies, multipliers, rho, work, residuals
) -> Progress:
    objective = central.value_at_prox() + sum(term.value(L) for term in others)
    linear = quadratic = 0.0
    work.fill(0)
    for term, P, U, r in zip(others, copies, multipliers, rho, strict=True):
        U *= r  # the multiplier itself, for the time of the call
        a, b = term.add_dual(P, U, work)
        U /= r
        linear += a
        quadratic += b
    norm = central.dual_norm(work, max(ledger.tol, 1e-12) / 50)
    return ledger.enter(
        n_iter, objective, (linear, quadratic, norm), residuals, central.rank
    )


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
