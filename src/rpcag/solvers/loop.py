"""The ADMM loop, which turns iterates into a certified `Result`."""

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise

import numpy as np

from rpcag.solvers.certificates import Asked, Bound, Certificates, objective_rounding
from rpcag.solvers.checkpoint import Checkpoint, Saved
from rpcag.solvers.dense import DenseIterates
from rpcag.solvers.factored import FactoredIterates
from rpcag.solvers.penalties import (
    ExactPenalties,
    FactoredPenalties,
    relative_residuals,
)
from rpcag.solvers.result import Progress, Result, State, Status, relative_gap

# A rank is constant if the last STILL iterations have the same rank.
STILL = 5
# A rank above the share HIGH of the shorter side that still grows by the factor FAST in
# each of GROWING iterations, after the first RAMPED ones, will become too high for
# factors. With larger values more iterations are wasted; with smaller ones factors are
# given up for low-rank problems whose rank overshoots at first.
HIGH, FAST, GROWING, RAMPED = 0.15, 1.015, 3, 8
# The iterates are in single precision until the gap is below PRECISE: a smaller value
# risks that rounding hides progress, a larger one takes slower iterations for gaps that
# single precision reaches. Likewise when the penalty has grown to GROWN: the rounding
# of V shows in its clipped part then.
PRECISE, GROWN = 1e-4, 300.0
# Also if the gap is below NEARLY times PRECISE and has hardly fallen for WINDOW
# iterations: single precision may not reach PRECISE.
NEARLY, WINDOW = 10.0, 10
# Relative residuals of this many units of rounding may be rounding, not progress.
ROUNDING = 256
# The multiplier is polished before it certifies while the penalty grows, and where the
# last gap was no more than this multiple of the wanted one.
CLOSE = 15.0
# The smallest singular values of the answer are dropped if their share of the nuclear
# norm is together below this multiple of the wanted gap: they are leftovers of the
# iteration. A larger value gives the rank of a simpler answer, not of the optimum.
INVISIBLE = 0.01
# The best dual point is kept, not the last, if X has at most this many entries: it is
# as large as X.
SMALL = 2**20

Iterates = FactoredIterates | DenseIterates
# Makes iterates, given the precision of those before them, if any.
Make = Callable[[np.dtype | None], Iterates]


def solve(
    make: dict[str, Make],
    *,
    ratio: float,
    tol: float,
    max_iter: int,
    start: State | None = None,
    known: Bound | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Minimize ||L||_* + sum_i f_i(L) over L, to a proven relative duality gap `tol`.

    Every f_i gets a copy P_i of L with penalty r_i and scaled multiplier U_i. Given L,
    the copies are independent, so there are two blocks. With R = sum_i r_i:

        L   = prox_{||.||_*/R}( sum_i r_i (P_i - U_i) / R )
        V_i = c L + (1 - c) P_i + U_i     with c > 1     (over-relaxation)
        P_i = prox_{f_i/r_i}(V_i),   U_i = V_i - P_i     so r_i U_i is in df_i(P_i)

    Certificate: for any D_i with ||sum_i D_i||_2 <= 1, the number -sum_i f_i*(D_i) is a
    lower bound of the optimum (Fenchel). Iterates provide such points, computed from
    r_i U_i. Inexact iterations do not affect the validity of the certificate.

    `make` has functions that create iterates: "factored", for a low rank of L, "exact",
    or both. The loop starts with the first and changes to the other if the rank is
    high. `ratio`, the typical size of a multiplier over that of an entry of L, is the
    unit of the penalties. `start` is the final state of an earlier solve, perhaps with
    other lam and gamma, and `known` a bound that is proven already. `callback`
    gets a `Progress` after every iteration; a true value stops the solver. A
    `checkpoint` is continued.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # checked with the certificates
        loop = _Loop(make, ratio, tol, callback, checkpoint)
        with loop.timed("setup"):
            loop.begin(start, known)
        return loop.run(max_iter)


class _Loop:
    """One run: iterates, penalties and certificates."""

    iterates: Iterates
    penalties: FactoredPenalties | ExactPenalties

    def __init__(self, make, ratio, tol, callback, checkpoint) -> None:
        self.make, self.ratio, self.tol = make, ratio, tol
        self.callback, self.checkpoint = callback, checkpoint
        self.certificates = Certificates(tol)
        self.seconds: dict[str, float] = defaultdict(float)
        self.kinds: list[str] = []
        self.n_iter = 0
        self.ranks: deque[int] = deque(maxlen=STILL)
        self.residuals = (1.0, 1.0)
        self.best: Bound | None = None  # of all certificates, or of the last
        self.is_proven = False  # whether the solve started with a bound
        # After such a start: the lowest objective, and the factors of its L.
        self.lowest: tuple[float, tuple] | None = None

    @contextmanager
    def timed(self, phase: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds[phase] += time.perf_counter() - began

    def begin(self, start: State | None, known: Bound | None) -> None:
        if self.checkpoint is not None and (saved := self.checkpoint.load()):
            with self.checkpoint.reading():
                self.recall(*saved)
            return
        self.use(next(iter(self.make)) if start is None else start.kind)
        if start is None:
            self.iterates.begin(self.penalties.now)
        else:
            self.certificates.is_warm = True
            self.certificates.next_check = 1
            self.penalties.resume(start.penalties, start.ratio)
            self.iterates.resume(start, self.penalties.now, self.ratio)
        if known is not None:
            self.certificates.bound, self.best = known.value, known
            self.is_proven = True

    def use(self, kind: str, dtype: np.dtype | None = None, done: int = 0) -> None:
        """Make iterates, and penalties for them, after so many iterations."""
        iterates = self.iterates = self.make[kind](dtype)
        self.kinds.append(kind)
        count = iterates.n_copies
        if isinstance(iterates, FactoredIterates):
            self.penalties = FactoredPenalties(self.ratio, count)
            # A smaller gap takes longer.
            longer = 5 * math.log10(1e-3 / min(max(self.tol, 1e-9), 0.1))
            self.certificates.next_check = 16 + round(longer)
        else:
            share = self.certificates.share = iterates.share
            self.penalties = ExactPenalties(self.ratio, count, done, share)
            self.certificates.measured(done)

    def change_to_exact(self, done: int) -> None:
        """Continue without factors after so many iterations."""
        assert isinstance(self.iterates, FactoredIterates)
        self.lowest = None
        copies, multipliers = self.iterates.copies()
        now, dtype = self.penalties.now, self.iterates.dtype
        del self.iterates  # as large as several copies of X
        self.use("exact", dtype, done)
        now = self.penalties.now = now[: self.iterates.n_copies]
        state = State.of_copies(copies, multipliers, now, self.ratio)
        self.iterates.resume(state, now, self.ratio)

    def run(self, max_iter: int) -> Result:
        status: Status = "max_iter"
        max_iter = max(max_iter, self.n_iter + 1)  # after a restart, at least one
        while status == "max_iter" and self.n_iter < max_iter:
            self.n_iter += 1
            is_last = self.n_iter == max_iter
            self.update_L(is_last)
            is_due = self.is_due() or is_last or self.is_enough()
            if is_due:
                self.certify()
                status = self.judge()
            progress = self.certificates.latest(
                self.n_iter, self.residuals, self.iterates.rank
            )
            stops = self.callback is not None and self.callback(progress)
            if status != "max_iter":
                break
            if stops:
                status = "stopped"
                if not is_due:
                    self.certify()
            self.update_copies(is_last, fixed=bool(stops))
            if is_due and not (stops or is_last):
                self.adapt()
            if self.checkpoint is not None:
                self.checkpoint.offer(self.save, now=bool(stops) or is_last)
        return self.result(status)

    def update_L(self, is_last: bool) -> None:
        """The first half of an iteration. L and the multipliers can be certified."""
        if math.prod(self.iterates.shape) > SMALL:
            self.best = None
        if self.iterates.is_rounded and self.penalties.is_far(GROWN):
            self.iterates.precise(self.penalties.now)
        self.rescale(self.penalties.before(self.n_iter, self.certificates.is_warm))
        self.threshold(is_last)
        self.ranks.append(self.iterates.rank)
        if (self.iterates.is_high or self.is_rising()) and self.can_be_exact():
            self.change_to_exact(self.n_iter - 1)
            self.threshold(is_last)
            self.ranks[-1] = self.iterates.rank

    def threshold(self, exact: bool) -> None:
        with self.timed("singular values"):
            exact = exact or self.is_due()
            now, is_still = self.penalties.now, self.is_still()
            self.iterates.threshold(now, is_still, self.n_iter, exact)

    def update_copies(self, is_last: bool, fixed: bool) -> None:
        """The second half: copies, multipliers and, unless `fixed`, penalties."""
        relaxation, growth = self.penalties.step(self.iterates, self.is_still())
        measure = self.penalties.looks_at(self.n_iter) or is_last
        measure = measure or self.n_iter + 1 >= self.certificates.next_check
        with self.timed("copies"):
            distances = self.iterates.advance(
                self.penalties.now, relaxation, growth, measure
            )
        self.penalties.grow(growth)
        if not distances:
            return
        self.residuals = relative_residuals(distances, self.iterates.size)
        if not math.isfinite(sum(self.residuals)):
            raise out_of_range(self.iterates.dtype, self.n_iter)
        if not fixed:
            self.rescale(self.penalties.look(self.n_iter, self.iterates, distances))

    def can_be_exact(self) -> bool:
        return self.iterates.kind == "factored" and "exact" in self.make

    def is_still(self) -> bool:
        return len(self.ranks) == STILL and len(set(self.ranks)) == 1

    def is_rising(self) -> bool:
        """Whether the rank is high and grows on."""
        if self.iterates.kind != "factored" or self.n_iter <= RAMPED:
            return False
        last = list(self.ranks)[-GROWING - 1 :]
        rises = all(b > FAST * a for a, b in pairwise(last))
        return rises and last[-1] > HIGH * min(self.iterates.shape)

    def is_due(self) -> bool:
        """Whether a certificate may be good enough."""
        goal = max(self.tol, PRECISE) if self.iterates.is_rounded else self.tol
        residuals = self.residuals if self.iterates.kind == "exact" else None
        return self.certificates.is_due(self.n_iter, residuals, goal)

    def objective(self) -> float:
        """Of L; after a start with a bound the lowest so far, because it oscillates."""
        found = self.iterates.objective(self.penalties.now)
        if not (self.is_proven and isinstance(self.iterates, FactoredIterates)):
            return found
        if self.lowest is None or found < self.lowest[0]:
            self.lowest = found, self.iterates.L
        return self.lowest[0]

    def is_enough(self) -> bool:
        """Whether the bound of the start certifies L, if the objective is cheap."""
        if not (self.is_proven and self.iterates.kind == "factored"):
            return False
        with self.timed("certificate"):
            return relative_gap(self.objective(), self.certificates.bound) <= self.tol

    def certify(self) -> None:
        """The objective, and the best bound from the dual points of the iterates."""
        with self.timed("certificate"):
            iterates, is_warm = self.iterates, self.certificates.is_warm
            objective = self.objective()
            if not math.isfinite(objective):
                raise out_of_range(iterates.dtype, self.n_iter)
            if self.is_proven and self.enter(objective, 0.0).gap <= self.tol:
                self.settle()
                return
            if self.is_proven and self.n_iter == 1:
                return  # the dual point is that of the start
            asked = Asked(self.tol, objective, self.n_iter, self.is_near(), is_warm)
            for bound in iterates.bounds(self.penalties.now, asked):
                progress = self.enter(objective, bound.value)
                if self.best is None or bound.value > self.best.value:
                    self.best = bound
                if progress.gap <= self.tol:
                    self.settle()
                    break

    def settle(self) -> None:
        """Certify the result in the precision of the data."""
        objective = self.iterates.settle()
        if objective is not None:
            self.enter(objective, 0.0)

    def enter(self, objective: float, bound: float) -> Progress:
        iterates = self.iterates
        slack = objective_rounding(iterates.shape, iterates.dtype) * abs(objective)
        return self.certificates.record(
            self.n_iter, objective, slack, bound, self.residuals, iterates.rank
        )

    def is_near(self) -> bool:
        """Whether a better multiplier is worth its cost."""
        pace = self.certificates.pace
        close = bool(pace) and pace[-1].gap <= CLOSE * self.tol
        return close or self.penalties.is_far(0)

    def judge(self) -> Status:
        """The status after a certificate, and when the next is due."""
        certificates, iterates = self.certificates, self.iterates
        if iterates.kind == "exact":
            seen = self.residuals if self.n_iter > 1 else ()
            certificates.measured(self.n_iter, seen)
        else:
            certificates.next_check = self.n_iter + certificates.patience()
        if certificates.is_contradicted:
            return "numerical_error"
        if certificates.history[-1].gap <= self.tol:
            return "converged"
        is_exact = not (iterates.is_rounded or self.can_be_exact())
        if is_exact and certificates.is_stuck() and self.is_at_rest():
            return "stalled"
        return "max_iter"

    def is_at_rest(self) -> bool:
        """Whether the residuals may be rounding errors."""
        rounding = ROUNDING * float(np.finfo(self.iterates.dtype).eps)
        return max(self.residuals) <= rounding

    def adapt(self) -> None:
        """Update precision, iterates and penalties after a gap that is too large."""
        certificates, iterates = self.certificates, self.iterates
        is_stuck = certificates.is_stuck()
        if iterates.is_rounded:
            ends = self.is_at_rest() and iterates.kind == "exact"
            gap = certificates.pace[-1].gap
            slows = gap <= NEARLY * PRECISE and certificates.has_slowed(WINDOW, 0.9)
            if is_stuck or ends or slows or gap <= PRECISE:
                iterates.precise(self.penalties.now)
        elif is_stuck and self.can_be_exact():
            self.change_to_exact(self.n_iter)
            return
        self.rescale(self.penalties.judge(certificates))

    def rescale(self, factors: list[float]) -> None:
        if any(factor != 1 for factor in factors):
            self.iterates.rescale(factors, self.penalties.now)
            pairs = zip(self.penalties.now, factors, strict=True)
            self.penalties.now = tuple(r * factor for r, factor in pairs)

    def result(self, status: Status) -> Result:
        iterates = self.iterates
        if self.lowest is not None and isinstance(iterates, FactoredIterates):
            iterates.L = self.lowest[1]
        self.settle()
        if status == "converged" and isinstance(iterates, FactoredIterates):
            self.cut_rank(iterates)
        if self.certificates.is_contradicted:
            status = "numerical_error"
        rank = iterates.rank
        last = self.certificates.latest(self.n_iter, self.residuals, rank)
        with self.timed("answer"):
            x, basis = iterates.answer()
            dual = self.best and self.best.point(self.best.scale)
        now = self.penalties.now
        return Result.of(
            last,
            x=x,
            status=status,
            basis=basis,
            history=tuple(self.certificates.history),
            state=State(iterates.arrays(), now, self.ratio, iterates.kind, rank),
            dual=dual,
            value=(0.0, 0.0, 0.0) if self.best is None else self.best[:3],
            solver=", ".join(self.kinds),
            seconds=dict(self.seconds),
        )

    def cut_rank(self, iterates: FactoredIterates) -> None:
        """Drop singular values that are too small to affect the certificate."""
        before = self.certificates.history[-1].objective
        restore = iterates.cut(INVISIBLE * self.tol)
        if restore is None:
            return
        if self.enter(iterates.objective(self.penalties.now), 0.0).gap > self.tol:
            restore()
            self.enter(before, 0.0)

    # -- checkpoints -------------------------------------------------------------------

    def save(self) -> Saved:
        numbers, arrays = self.iterates.save()
        numbers |= {
            "solver": self.iterates.kind,
            "n_iter": self.n_iter,
            "ranks": list(self.ranks),
            "penalties": vars(self.penalties),
            "residuals": self.residuals,
        }
        return numbers | self.certificates.numbers(), arrays

    def recall(self, numbers: dict, arrays: dict[str, np.ndarray]) -> None:
        self.n_iter = numbers["n_iter"]
        self.use(numbers["solver"])
        vars(self.penalties).update(numbers["penalties"])
        self.penalties.now = tuple(self.penalties.now)
        self.ranks.extend(numbers["ranks"])
        self.iterates.recall(numbers, arrays)
        self.residuals = tuple(numbers["residuals"])
        self.certificates.recall(numbers)


def out_of_range(dtype: np.dtype, n_iter: int) -> FloatingPointError:
    return FloatingPointError(
        f"the solver left the range of {dtype} in iteration {n_iter}; the data or the "
        "penalties are too large or too small for it"
    )
