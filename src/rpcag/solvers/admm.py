"""Two-block ADMM for one norm plus any number of terms, certified by its dual."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from rpcag.linalg.blocks import BLOCK, blocks
from rpcag.solvers.checkpoint import (
    Checkpoint,
    Saved,
    array,
    entries,
    number,
    whole,
)
from rpcag.solvers.ledger import Ledger, dual_scale, dual_value, objective_rounding
from rpcag.solvers.relief import Relief
from rpcag.solvers.residuals import balance, relative_residuals
from rpcag.solvers.result import (
    Distances,
    DualPoint,
    Progress,
    Result,
    State,
    Status,
)

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
# Dual points are kept from this multiple of the wanted gap on.
KEPT = 3.0
# Contents of a checkpoint besides the pace and the arrays.
SAVED = ("n_iter", "next_check", "next_look", "looks", "rho")


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
    relief: Relief | None = None,
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
    relief : Relief, optional
        Makes a better dual point where the norm of this one is too large; the terms are
        an `L1Loss` and a `GraphSmoothness` then.
    checkpoint : Checkpoint, optional
        Where to go on from, and to save to.
    callback : callable, optional
        Called with a `Progress` after every iteration; a true value stops the solver.

    Returns
    -------
    Result
    """
    with np.errstate(over="ignore", invalid="ignore"):  # checked in every iteration
        solve = _Solve(central, others, ratio, tol, relief, callback, checkpoint)
        solve.begin(shape, np.dtype(dtype), start, ledger, done)
        return solve.run(max_iter)


def iterates(
    central: Any,
    others: Sequence[Any],
    shape: tuple[int, int],
    dtype: Any,
    *,
    penalty: float,
    start: State | None = None,
) -> Iterator[tuple[np.ndarray, State]]:
    """Yield L and the state after every iteration of `admm`, without end.

    All copies keep the same penalty, and nothing is certified: for answers that need
    not be accurate. The arrays are overwritten by the next iteration.
    """
    solve = _Solve(central, others, penalty / PENALTY, 0.0, None, None, None)
    solve.begin(shape, np.dtype(dtype), start, None, 0)
    with np.errstate(over="ignore", invalid="ignore"):
        while True:
            solve.iterate()
            yield solve.L, solve.state()


class _Solve:
    """One run: the copies, their multipliers and penalties, and the certificates."""

    def __init__(
        self, central, others, ratio, tol, relief, callback, checkpoint
    ) -> None:
        self.central, self.others = central, others
        self.ratio, self.tol, self.relief = ratio, tol, relief
        self.callback, self.checkpoint = callback, checkpoint
        self.best: tuple[float, DualPoint | None] = -math.inf, None

    def begin(self, shape, dtype, start, ledger, done) -> None:
        if start is None:
            self.copies = [np.zeros(shape, dtype) for _ in self.others]
            self.multipliers = [np.zeros(shape, dtype) for _ in self.others]
            self.rho = [PENALTY * self.ratio for _ in self.others]
        else:
            # The U_i are kept. The penalties follow their unit, which is lam: so do the
            # multipliers r_i U_i, most of which are at -lam or lam or held by those.
            change = self.ratio / start.ratio
            self.copies, self.multipliers = (
                [np.array(A, dtype) for A in arrays] for arrays in start.copies()
            )
            self.rho = [r * change for r in start.penalties]
        warm = start is not None and ledger is None
        if ledger is None:
            ledger = Ledger(self.tol, haste=0.5, longest=0.2)
            ledger.slack = objective_rounding(shape, dtype)
            ledger.is_warm = warm
        self.ledger = ledger
        self.n_iter = done
        self.next_check = done + (1 if warm else 10)
        self.next_look, self.looks = done + (LATE_LOOK if warm else 5), 0
        self.residuals = (1.0, 1.0)
        saved = self.checkpoint.load() if self.checkpoint is not None else None
        if saved is not None and saved[0].get("solver") != "lowrank":
            assert self.checkpoint is not None
            with self.checkpoint.reading():
                self.recall(*saved)
        self.L, self.work = np.zeros(shape, dtype), np.empty(shape, dtype)

    def state(self) -> State:
        return State.of_copies(
            self.copies,
            self.multipliers,
            tuple(self.rho),
            self.ratio,
            self.central.rank,
        )

    def save(self) -> Saved:
        numbers = {name: getattr(self, name) for name in SAVED}
        numbers |= {"solver": "admm", **self.ledger.numbers()}
        return numbers, self.state().arrays | {"central": self.central.memory()}

    def recall(self, numbers: dict, arrays: dict[str, np.ndarray]) -> None:
        if numbers["solver"] != "admm":
            raise ValueError(f"the solver {numbers['solver']!r} is unknown")
        for name in SAVED[:-1]:
            setattr(self, name, whole(numbers[name]))
        rho = [number(r, above=0) for r in entries(numbers["rho"])]
        if len(rho) != len(self.others):
            raise ValueError(f"there are {len(rho)} penalties")
        shape, dtype = self.copies[0].shape, self.copies[0].dtype
        self.rho = rho
        self.copies, self.multipliers = (
            [
                np.ascontiguousarray(array(arrays, f"{kind} {i}", shape, dtype))
                for i in range(len(rho))
            ]
            for kind in ("copy", "multiplier")
        )
        self.ledger.recall(numbers)
        memory = array(arrays, "central", (2,), np.int64)
        if not (-1 <= memory[0] <= min(shape) and memory[1] in (0, 1)):
            raise ValueError(f"the memory {memory.tolist()} is out of range")
        self.central.recall(memory)

    def run(self, max_iter: int) -> Result:
        rounding = ROUNDING * float(np.finfo(self.L.dtype).eps)
        status: Status = "max_iter"
        max_iter = max(max_iter, self.n_iter + 1)  # after a restart, at least one
        while self.n_iter < max_iter:
            self.n_iter += 1
            distances, size = self.iterate()
            self.residuals = relative_residuals(distances, size)
            if not math.isfinite(sum(self.residuals)):
                raise FloatingPointError(
                    f"the solver left the range of {self.L.dtype} in iteration "
                    f"{self.n_iter}; the data or the penalties are too large or too "
                    "small for it"
                )
            if self.n_iter >= self.next_check or self.n_iter == max_iter:
                progress = self.certify()
                self.next_check = self.n_iter + self.ledger.patience()
                if self.ledger.is_contradicted:
                    status = "numerical_error"
                elif progress.gap <= self.tol:
                    status = "converged"
                elif max(self.residuals) <= rounding and self.ledger.is_stuck():
                    status = "stalled"
                elif progress.gap <= KEPT * self.tol:
                    self.dual_point()
            else:
                progress = self.ledger.latest(
                    self.n_iter, self.residuals, self.central.rank
                )
            stop = self.callback is not None and self.callback(progress)
            if status != "max_iter":
                break
            status = "stopped" if stop else status
            if not stop and self.n_iter >= self.next_look and self.looks < LOOKS:
                self.looks += 1
                self.next_look = self.n_iter + max(5, self.n_iter // 4)
                self.rescale(distances, size)
            if self.checkpoint is not None:
                self.checkpoint.offer(self.save, now=stop or self.n_iter == max_iter)
            if stop:
                break
        return self.result(status)

    def result(self, status: Status) -> Result:
        history = self.ledger.history
        if not history or history[-1].n_iter != self.n_iter:
            self.certify()
        if self.ledger.is_contradicted:
            status = "numerical_error"
        last = self.ledger.history[-1]
        return Result(
            x=self.L,
            objective=last.objective,
            lower_bound=last.lower_bound,
            gap=last.gap,
            primal_residual=self.residuals[0],
            dual_residual=self.residuals[1],
            n_iter=self.n_iter,
            rank=self.central.rank,
            status=status,
            basis=self.central.basis,
            history=tuple(self.ledger.history),
            state=self.state(),
            dual=self.dual_point(),
            solver="exact",
        )

    def iterate(self) -> tuple[list[Distances], float]:
        """One iteration; the distances of the copies, and ||L||^2."""
        _average(self.copies, self.multipliers, self.rho, self.L)
        self.central.prox_in_place(self.L, 1 / sum(self.rho), scratch=self.work)
        distances = []
        for i, term in enumerate(self.others):
            P, U = self.copies[i], self.multipliers[i]
            _relax(U, self.L, P)
            if getattr(term, "iterative", False):
                np.copyto(self.work, P)  # a first guess for its prox
            term.prox(U, 1 / self.rho[i], self.work)
            moved, size = _finish(U, self.L, P, self.work)
            distances.append(moved)
            self.copies[i], self.work = self.work, P
        return distances, size

    def certify(self) -> Progress:
        central, work = self.central, self.work
        objective = central.value_at_prox() + sum(t.value(self.L) for t in self.others)
        linear = quadratic = error = 0.0
        work.fill(0)
        for term, P, U, r in zip(
            self.others, self.copies, self.multipliers, self.rho, strict=True
        ):
            U *= r  # the multiplier itself, for the time of the call
            a, b, e = term.add_dual(P, U, work)
            U /= r
            linear += a
            quadratic += b
            error += e
        accuracy = max(self.tol, 1e-12) / 50
        norm = central.dual_norm(work, accuracy) + error
        dual = linear, quadratic, norm
        enter = partial(self.ledger.enter, self.n_iter, objective)
        progress = enter(dual, self.residuals, central.rank)
        self.certified = dual, False
        warm, relief = self.ledger.is_warm, self.relief
        if relief is None or not relief.is_due(self.n_iter, warm, norm):
            return progress
        if progress.gap > self.tol:
            better = relief(*self._parts(), accuracy)
            progress = enter(better, self.residuals, central.rank)
            if dual_value(*better) > dual_value(*dual):
                self.certified = better, True
        return progress

    def _parts(self) -> tuple[Any, Any]:
        """Columns of the multiplier of the loss and of the graph's copy."""
        (_, W), (U, _), (r, _) = self.copies, self.multipliers, self.rho
        return (
            lambda at: np.multiply(U[:, at], r, dtype=np.float64),
            lambda at: W[:, at],
        )

    def dual_point(self) -> DualPoint | None:
        """The best point that is known, of a loss and perhaps a graph."""
        dual, is_relieved = self.certified
        if dual_value(*dual) > self.best[0]:
            self.best = dual_value(*dual), self._dual_point(is_relieved, dual)
        return self.best[1]

    def _dual_point(self, is_relieved: bool, dual) -> DualPoint | None:
        scale = dual_scale(*dual)
        if is_relieved:
            assert self.relief is not None
            D, W = self.relief.point(*self._parts())
            return DualPoint(D * -scale, W * scale)
        D = np.zeros_like(self.L)
        self.others[0].add_dual(self.copies[0], self.multipliers[0] * self.rho[0], D)
        D *= -scale
        graphs = {
            term.axis: copy * scale
            for term, copy in zip(self.others[1:], self.copies[1:], strict=True)
        }
        return DualPoint(D, graphs.get(0), graphs.get(1))

    def rescale(self, distances: list[Distances], size: float) -> None:
        mean = len(self.L) * float(np.sum(self.L.mean(axis=0) ** 2))
        for i, factor in enumerate(balance(distances, size, mean, IMBALANCE)):
            self.rho[i] *= factor
            if factor != 1.0:
                self.multipliers[i] /= factor


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


def _finish(U, L, old, new) -> tuple[Distances, float]:
    """U -= new; how far the copy is from L and from where it was, and ||L||^2."""
    buffer = np.empty(min(BLOCK, U.size), U.dtype)
    apart = moved = size_L = size_P = size_U = 0.0
    for u, value, before, after in blocks(U, L, old, new):
        piece = np.subtract(after, before, out=buffer[: u.size])
        moved += float(np.dot(piece, piece))
        np.subtract(value, after, out=piece)
        apart += float(np.dot(piece, piece))
        u -= after
        size_L += float(np.dot(value, value))
        size_P += float(np.dot(after, after))
        size_U += float(np.dot(u, u))
    return Distances(apart, moved, size_P, size_U), size_L
