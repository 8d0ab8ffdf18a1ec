"""Two-block ADMM for one norm plus any number of terms, certified by its dual."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from rpcag.linalg.blocks import BLOCK, blocks
from rpcag.solvers.certificates import (
    Certificates,
    dual_scale,
    dual_value,
    objective_rounding,
)
from rpcag.solvers.checkpoint import (
    Checkpoint,
    Saved,
    array,
    entries,
    flag,
    number,
    whole,
)
from rpcag.solvers.dual_completion import DualCompletion
from rpcag.solvers.residuals import balance, relative_residuals
from rpcag.solvers.result import (
    Distances,
    DualPoint,
    Progress,
    Result,
    State,
    Status,
)

# A larger one takes fewer iterations where L has a partial rank, which takes long to
# find, a smaller one where the rank is full and most entries of S are zero: there the
# error changes its sign and shrinks by |1 - relaxation| at a time.
RELAXATION, RELAXATION_FULL = 1.7, 1.5
# First penalty of a copy, in units of `ratio`. A larger one is better for L and worse
# for the multipliers, and so for the bound.
PENALTY = 3.0
# A certificate costs as much as two iterations. Between two of them the gap falls as
# the residuals do, so they tell when the next is worth it. The first is due when the
# dual residual is below EARLY times the wanted gap: it is 0.4 to 2.5 times the gap on
# images and digits. A larger value takes some in vain, a smaller one comes late.
EARLY = 2.0
# Iterations after which there is one in any case, and the share of those done.
LATEST, LATE = 30, 0.5
# Iterations, counted from the first, after which the penalty of a copy is estimated
# anew: see `_Solve.estimate`. Earlier ones know less, later ones come late.
ESTIMATES = (3, 6, 10)
# Share of the shorter side above which the rank counts as full, and the factor of the
# penalty below. A larger factor takes fewer iterations at lam of theory and more at
# a multiple of it, where the multipliers have farther to go.
FULL, RAISED = 0.7, 1.6
# The iterates are in single precision until the gap is below this: a smaller value
# risks that rounding hides progress, a larger one changes to double precision, where an
# iteration takes twice the time, for gaps that single precision reaches.
PRECISE = 1e-4
# A copy's penalty is doubled or halved when its relative residuals differ by more than
# IMBALANCE. The looks grow rarer and end after LOOKS, so that from then on the penalty
# is constant and the convergence theory of ADMM applies.
IMBALANCE = 10.0
LOOKS = 30
# A solve that starts where another ended has penalties that have proved themselves.
LATE_LOOK = 100
# Relative residuals of this many units of rounding may be rounding, not progress.
ROUNDING = 256
# The last dual point need not be the best. The best is kept if X has so many entries at
# the most, because it is as large as X.
SMALL = 2**20
# Contents of a checkpoint besides the pace and the arrays.
SAVED = ("n_iter", "next_check", "next_look", "looks", "begun", "seen", "rho")


def admm(
    central: Any,
    others: Sequence[Any],
    shape: tuple[int, int],
    dtype: Any = np.float64,
    *,
    ratio: float,
    tol: float,
    max_iter: int,
    first: np.ndarray | None = None,
    rounded: tuple[Any, Sequence[Any]] | None = None,
    start: State | None = None,
    ledger: Certificates | None = None,
    done: int = 0,
    relief: DualCompletion | None = None,
    checkpoint: Checkpoint | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
) -> Result:
    """Minimize g(L) + sum_i f_i(L) over L, to a proven relative duality gap `tol`.

    Every f_i gets a copy P_i of L with penalty r_i and scaled multiplier U_i. Given L
    the copies do not meet, so there are two blocks. With R = sum_i r_i:

        L   = prox_{g/R}( sum_i r_i (P_i - U_i) / R )
        V_i = c L + (1 - c) P_i + U_i     with c > 1     (over-relaxation)
        P_i = prox_{f_i/r_i}(V_i),   U_i = V_i - P_i     so r_i U_i is in df_i(P_i)

    Certificate: for any D_i, the number -g*(-sum_i D_i) - sum_i f_i*(D_i) is a lower
    bound of the optimum (Fenchel). g is a norm, so g* vanishes where the dual norm of
    sum_i D_i is at most one; D_i = s r_i U_i with the best such s in [0, 1] is used,
    after what is too much for the dual norm has been subtracted from r_1 U_1 and the
    rest made feasible for f_1 again. One such round of alternating projections leaves
    less to be lost by s than several iterations.

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
    first : ndarray, optional
        Where all copies start; default: zero.
    rounded : tuple of a norm and a sequence of terms, optional
        The same as `central` and `others`, for single precision, in which the iterates
        then are until the gap is below PRECISE or stands still. Certificates are always
        made by `others`, in double precision.
    start : State, optional
        Where an earlier solve ended, instead of `first`.
    ledger : Certificates, optional
        The certificates of the solve that ended at `start` after `done` iterations, if
        this one goes on with it.
    relief : DualCompletion, optional
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
        solve.begin(shape, np.dtype(dtype), start, ledger, done, first, rounded)
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
    solve.adapts = False  # trials that end early are compared: all take the same steps
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
        self.exact = central, others
        self.others = others
        self.adapts = True  # whether the relaxation follows the rank
        self.ratio, self.tol, self.relief = ratio, tol, relief
        self.callback, self.checkpoint = callback, checkpoint
        self.best: tuple[float, DualPoint | None] = -math.inf, None
        self.certified: tuple = ()  # the last dual point, whether it was completed
        self.repaired: np.ndarray | None = None  # its multiplier of the loss

    def begin(
        self, shape, dtype, start, ledger, done, first=None, rounded=None
    ) -> None:
        self.dtype = dtype
        self.is_rounded = rounded is not None
        self.central, self.terms = rounded or self.exact
        now = np.dtype(np.float32) if self.is_rounded else dtype
        self.first = None if first is None else first.astype(now, copy=False)
        if start is None:
            self.copies = [self._at_first(shape, now) for _ in self.others]
            self.multipliers = [np.zeros(shape, now) for _ in self.others]
            self.rho = [PENALTY * self.ratio for _ in self.others]
        else:
            # The U_i are kept. The penalties follow their unit, which is lam: so do the
            # multipliers r_i U_i, most of which are at -lam or lam or held by those.
            change = self.ratio / start.ratio
            self.copies, self.multipliers = (
                [np.array(A, now) for A in arrays] for arrays in start.copies()
            )
            self.rho = [r * change for r in start.penalties]
        warm = start is not None and ledger is None
        if ledger is None:
            ledger = Certificates(self.tol)
            ledger.is_warm = warm
        ledger.slack = objective_rounding(shape, now)
        self.ledger = ledger
        self.n_iter = self.begun = done
        self.next_check = done + (1 if warm else LATEST)
        self.seen: tuple[float, ...] = ()  # the residuals at the last certificate
        self.next_look, self.looks = done + (LATE_LOOK if warm else 15), 0
        if start is not None and ledger.is_warm:
            self.begun = -max(ESTIMATES)  # its penalties are not estimated anew
        self.residuals = (1.0, 1.0)
        self.is_due = False  # whether to go on in the precision of the data
        self.L = np.zeros(shape, now)
        saved = self.checkpoint.load() if self.checkpoint is not None else None
        if saved is not None and saved[0].get("solver") != "lowrank":
            assert self.checkpoint is not None
            with self.checkpoint.reading():
                self.recall(*saved)
        now = self.copies[0].dtype
        self.answer: np.ndarray | None = None
        self.L, self.work = self.L.astype(now, copy=False), np.empty(shape, now)

    def _at_first(self, shape, dtype) -> np.ndarray:
        return np.zeros(shape, dtype) if self.first is None else self.first.copy()

    def precise(self) -> None:
        """Go on in the precision of the data."""
        self.is_rounded = False
        self.central, self.terms = self.exact
        self.copies, self.multipliers = (
            [A.astype(self.dtype, copy=False) for A in arrays]
            for arrays in (self.copies, self.multipliers)
        )
        self.L = self.L.astype(self.dtype, copy=False)
        self.work = np.empty(self.L.shape, self.dtype)
        self.first = None
        self.begun = -max(ESTIMATES)
        self.ledger.slack = objective_rounding(self.L.shape, self.dtype)

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
        numbers |= {"is_rounded": self.is_rounded, "is_due": self.is_due}
        memory = self.central.memory().items()
        return numbers, self.state().arrays | {f"central {k}": a for k, a in memory}

    def recall(self, numbers: dict, arrays: dict[str, np.ndarray]) -> None:
        if numbers["solver"] != "admm":
            raise ValueError(f"the solver {numbers['solver']!r} is unknown")
        for name in SAVED[:-3]:
            setattr(self, name, whole(numbers[name]))
        self.seen = tuple(number(residual) for residual in entries(numbers["seen"]))
        if len(self.seen) not in (0, 2):
            raise ValueError(f"there are {len(self.seen)} residuals")
        self.begun = int(number(numbers["begun"], above=-math.inf))
        if self.is_rounded and not flag(numbers["is_rounded"]):
            self.precise()
        elif self.is_rounded != flag(numbers["is_rounded"]):
            raise ValueError("it is in another precision")
        self.is_due = flag(numbers["is_due"]) and self.is_rounded
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
        count, large = array(arrays, "central count", (2,), np.int64), None
        if not (-1 <= count[0] <= min(shape) and count[1] in (0, 1)):
            raise ValueError(f"the memory {count.tolist()} is out of range")
        if "central large" in arrays:
            large = array(arrays, "central large", (min(shape), None))
        self.central.recall(count, large)

    def run(self, max_iter: int) -> Result:
        status: Status = "max_iter"
        max_iter = max(max_iter, self.n_iter + 1)  # after a restart, at least one
        while self.n_iter < max_iter:
            if self.is_due:
                self.precise()
            self.n_iter += 1
            distances, size = self.iterate()
            self.residuals = relative_residuals(distances, size)
            if not math.isfinite(sum(self.residuals)):
                raise FloatingPointError(
                    f"the solver left the range of {self.L.dtype} in iteration "
                    f"{self.n_iter}; the data or the penalties are too large or too "
                    "small for it"
                )
            if self.seems_done() or self.n_iter in (self.next_check, max_iter):
                progress = self.certify()
                self.seen = self.residuals
                self.next_check = self.n_iter + max(LATEST, int(LATE * self.n_iter))
                if self.ledger.is_contradicted:
                    status = "numerical_error"
                elif progress.gap <= self.tol:
                    status = "converged"
                else:
                    status = self.judge()
                    if self.L.size <= SMALL:
                        self.dual_point()
            else:
                progress = self.ledger.latest(
                    self.n_iter, self.residuals, self.central.rank
                )
            stop = self.callback is not None and self.callback(progress)
            if status != "max_iter":
                break
            status = "stopped" if stop else status
            if not stop:
                self.look(distances, size)
            if self.checkpoint is not None:
                self.checkpoint.offer(self.save, now=stop or self.n_iter == max_iter)
            if stop:
                break
        return self.result(status)

    def seems_done(self) -> bool:
        """Whether the residuals promise a gap that is small enough."""
        goal = max(self.tol, PRECISE) if self.is_rounded else self.tol
        if not (self.seen and self.ledger.pace):
            return self.residuals[1] <= EARLY * goal
        last = self.ledger.pace[-1]
        if self.n_iter < last.n_iter + 2:
            return False
        pairs = zip(self.residuals, self.seen, strict=True)
        falls = [now / before for now, before in pairs if before > 0]
        return last.gap * math.sqrt(math.prod(falls)) <= goal

    def judge(self) -> Status:
        """What a gap that is too large says of the precision."""
        rounding = ROUNDING * float(np.finfo(self.L.dtype).eps)
        is_stuck = max(self.residuals) <= rounding or self.ledger.is_stuck()
        if self.is_rounded:
            self.is_due = is_stuck or self.ledger.pace[-1].gap <= PRECISE
        elif max(self.residuals) <= rounding and self.ledger.is_stuck():
            return "stalled"
        return "max_iter"

    def look(self, distances: list[Distances], size: float) -> None:
        """At the penalties, from time to time."""
        if self.n_iter - self.begun in ESTIMATES:
            self.rescale(self.estimate(distances))
        elif self.n_iter >= self.next_look and self.looks < LOOKS:
            self.looks += 1
            self.next_look = self.n_iter + max(5, self.n_iter // 4)
            mean = len(self.L) * float(np.sum(self.L.mean(axis=0) ** 2))
            self.rescale(balance(distances, size, mean, IMBALANCE))

    def result(self, status: Status) -> Result:
        history = self.ledger.history
        if not history or history[-1].n_iter != self.n_iter:
            self.certify()
        if self.is_rounded and self.answer is None:
            self.settle()
        if self.ledger.is_contradicted:
            status = "numerical_error"
        last = self.ledger.history[-1]
        return Result(
            x=self.L if self.answer is None else self.answer,
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
        self.repaired = None  # as large as X
        _average(self.copies, self.multipliers, self.rho, self.L)
        self.central.prox_in_place(self.L, 1 / sum(self.rho), scratch=self.work)
        is_easy = self.adapts and self.is_full()
        relaxation = RELAXATION_FULL if is_easy else RELAXATION
        distances = []
        for i, term in enumerate(self.terms):
            P, U = self.copies[i], self.multipliers[i]
            _relax(U, self.L, P, relaxation)
            if getattr(term, "iterative", False):
                np.copyto(self.work, P)  # a first guess for its prox
            term.prox(U, 1 / self.rho[i], self.work)
            moved, size = _finish(U, self.L, P, self.work)
            distances.append(moved)
            self.copies[i], self.work = self.work, P
        return distances, size

    def is_full(self) -> bool:
        return self.central.rank > FULL * min(self.L.shape)

    def certify(self) -> Progress:
        dual = self.dual()
        progress = self.enter(self.L, dual)
        self.certified = dual, False
        warm, relief = self.ledger.is_warm, self.relief
        due = relief is not None and relief.is_due(self.n_iter, warm, dual[2])
        if relief is not None and due and progress.gap > self.tol:
            better = relief(*self._parts(), max(self.tol, 1e-12) / 50)
            progress = self.enter(self.L, better)
            if dual_value(*better) > dual_value(*dual):
                self.certified = better, True
        if self.is_rounded and progress.gap <= self.tol:
            progress = self.settle()
        return progress

    def _parts(self) -> tuple[Any, Any]:
        """Columns of the multiplier of the loss and of the graph's copy."""
        (_, W), (U, _), (r, _) = self.copies, self.multipliers, self.rho
        return (
            lambda at: np.multiply(U[:, at], r, dtype=np.float64),
            lambda at: W[:, at],
        )

    def dual_point(self) -> DualPoint | None:
        """The best point that is known, of a loss and perhaps graphs."""
        dual, is_relieved = self.certified
        if dual_value(*dual) > self.best[0]:
            self.best = dual_value(*dual), self._dual_point(is_relieved, dual)
        return self.best[1]

    def _dual_point(self, is_relieved: bool, dual) -> DualPoint:
        scale = dual_scale(*dual)
        if is_relieved:
            assert self.relief is not None
            D, W = self.relief.point(*self._parts())
            return DualPoint(D * -scale, W * scale)
        Y = self.repaired
        if Y is None:
            Y = self.multipliers[0] * self.rho[0]
        D = np.zeros(self.L.shape, self.dtype)
        self.others[0].add_dual(self.copies[0], Y, D)
        D *= -scale
        graphs = {
            term.axis: copy * scale
            for term, copy in zip(self.others[1:], self.copies[1:], strict=True)
        }
        return DualPoint(D, graphs.get(0), graphs.get(1))

    def enter(self, L: np.ndarray, dual: tuple[float, float, float]) -> Progress:
        objective = self.central.value_at_prox() + sum(t.value(L) for t in self.others)
        return self.ledger.enter(
            self.n_iter, objective, dual, self.residuals, self.central.rank
        )

    def settle(self) -> Progress:
        """The answer in the precision of the data, with its own objective."""
        self.answer = self.central.settle(self.L, self.dtype)
        progress = self.enter(self.answer, (0.0, 0.0, 0.0))
        if progress.gap > self.tol:
            self.answer = None
        return progress

    def dual(self) -> tuple[float, float, float]:
        """Linear, quadratic and norm of a dual point."""
        self.repaired = None
        total = np.zeros(self.L.shape, self.dtype)
        parts = [self.add_dual(i, total) for i in range(len(self.others))]
        excess = self.central.excess(total.astype(self.L.dtype, copy=False))
        if excess is not None:
            total.fill(0)
            np.subtract(self.rho[0] * self.multipliers[0], excess, out=excess)
            parts[0] = self.others[0].add_dual(self.copies[0], excess, total)
            self.repaired = excess
            parts[1:] = [self.add_dual(i, total) for i in range(1, len(self.others))]
        linear, quadratic, error = (
            sum(numbers) for numbers in zip(*parts, strict=True)
        )
        # Exactly: many singular values are near to one, where Lanczos takes long.
        return linear, quadratic, self.central.dual_norm(total) + error

    def add_dual(self, i: int, total: np.ndarray) -> tuple[float, float, float]:
        U, r = self.multipliers[i], self.rho[i]
        U *= r  # the multiplier itself, for the time of the call
        parts = self.others[i].add_dual(self.copies[i], U, total)
        U /= r
        return parts

    def estimate(self, distances: list[Distances]) -> list[float]:
        """Factors that bring the penalties near to the best constant ones.

        The distance from the fixed point, which bounds what ADMM has still to do, is
        r ||P - P_first||^2 + ||r U||^2 / r for a copy that starts at P_first with U = 0
        and ends at P and U. It is least for r = ||r U|| / ||P - P_first||, here with L
        for P. The end is not known yet: the geometric mean with the first penalty, and
        more where the rank is not full, which takes long to find.
        """
        travelled = _distance(self.L, self.first)
        factor = 1.0 if self.is_full() else RAISED
        factors = []
        for r, d in zip(self.rho, distances, strict=True):
            best = r * math.sqrt(d.multiplier) / travelled if travelled > 0 else 0.0
            wanted = math.sqrt(best * PENALTY * self.ratio) * factor
            factors.append(min(max(wanted / r, 0.1), 10.0) if wanted > 0 else 1.0)
        return factors

    def rescale(self, factors: list[float]) -> None:
        for i, factor in enumerate(factors):
            self.rho[i] *= factor
            if factor != 1.0:
                self.multipliers[i] /= factor


def _distance(A: np.ndarray, B: np.ndarray | None) -> float:
    """||A - B||_F, of A alone if there is no B."""
    if B is None:
        return float(np.linalg.norm(A))
    return math.sqrt(sum(float(np.vdot(a - b, a - b)) for a, b in blocks(A, B)))


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


def _relax(U, L, P, relaxation: float) -> None:
    """U += relaxation * L + (1 - relaxation) * P."""
    buffer = np.empty(min(BLOCK, U.size), U.dtype)
    for u, value, p in blocks(U, L, P):
        piece = np.subtract(value, p, out=buffer[: u.size])
        piece *= relaxation
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
