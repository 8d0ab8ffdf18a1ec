"""The certificates of a solve: the best bound, and when to compute the next one."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from rpcag.linalg.rounding import UNIT
from rpcag.solvers.result import DualPoint, Progress, relative_gap

# A certificate costs as much as two iterations. If every iteration measures the
# residuals, they determine when the next one is due, because the gap falls as they do.
# The first is due when the dual residual is below EARLY times the wanted gap, in units
# of lam: with a larger value some are wasted, with a smaller one they come late.
EARLY = 3.0
# The median of the gap over its prediction, of 54 on real data, is 1.03.
BEHIND = 1.05
# Maximum number of iterations before the first certificate, and between two: LATEST, or
# the share LATE of those done if that is more.
FIRST, LATEST, LATE = 30, 15, 0.25
# Otherwise the decay of the gap determines it; DECAY per iteration is expected after
# the first. A certificate costs about COST iterations. In n iterations, waits of w
# waste w / 2 iterations, and certificates cost n COST / w: the longest wait is the w
# that minimizes the sum.
SHORTEST, COST, DECAY = 3, 4, 0.11
# Below this multiple of the wanted gap a few iterations may be enough, even after a
# bound that was no better than the last.
NEAR = 5.0


class Asked(NamedTuple):
    """Purpose of a certificate."""

    tol: float  # the wanted gap
    objective: float
    n_iter: int
    is_near: bool  # whether a better multiplier is worth its price
    is_warm: bool  # whether the solve started where another ended

    def is_within(self, bound: float, factor: float) -> bool:
        """Whether the gap is at most this multiple of the wanted one."""
        return self.objective - bound <= factor * self.tol * self.objective


class Bound(NamedTuple):
    """A dual point D, which bounds the optimum: see `dual_value`."""

    linear: float  # <D_1, X>
    quadratic: float  # l*(D_1) and the smoothness of W on the graphs
    norm: float  # proven to be at least ||D||_2
    point: Callable[[float], DualPoint]  # returns a multiple of D

    @property
    def value(self) -> float:
        return dual_value(self.linear, self.quadratic, self.norm)

    @property
    def scale(self) -> float:
        return dual_scale(self.linear, self.quadratic, self.norm)


class Gap(NamedTuple):
    n_iter: int
    gap: float


class Certificates:
    """All certificates so far; the next is due only when it may be good enough.

    `bound` and `history` are computed in this process. `claim`, a bound, and `pace`,
    the gaps so far, may come from a checkpoint, unverified. They only decide when to
    compute the next, so that a resumed solve takes the same steps as any other.
    """

    def __init__(self, tol: float) -> None:
        self.tol = tol
        self.is_warm = False  # whether the solve started where another ended
        self.bound = self.claim = 0.0  # every term is non-negative
        self.share = 1.0  # typical size of an entry of the dual point, over lam
        self.is_contradicted = False  # whether a bound was above an objective
        self.history: list[Progress] = []
        self.pace: list[Gap] = []
        self.next_check = FIRST
        self.seen: tuple[float, ...] = ()  # the residuals at the last certificate

    def record(
        self,
        n_iter: int,
        objective: float,
        slack: float,
        bound: float,
        residuals: tuple[float, float],
        rank: int | None,
    ) -> Progress:
        """Certify an objective, known up to `slack`, by a lower bound on the optimum.

        Rounding errors are already subtracted from the bound. If it is still above an
        objective, one of the two is wrong, and all bounds so far are replaced by zero.
        """
        objective = float(objective)
        if bound > self.bound:  # false for NaN
            self.bound = float(bound)
        self.is_contradicted |= bool(self.bound > objective + slack)
        if self.is_contradicted:
            self.bound = 0.0
            self.history = [p._replace(lower_bound=0.0, gap=1.0) for p in self.history]
        # A claim above an objective is also wrong.
        if self.claim > max(self.bound, objective + slack):
            self.claim, self.pace = self.bound, []
        self.claim = max(self.claim, self.bound)
        gap = 1.0 if self.is_contradicted else relative_gap(objective, self.bound)
        if self.history and self.history[-1].n_iter == n_iter:
            self.history.pop()  # the same iteration, with a better dual point
        progress = Progress(n_iter, objective, self.bound, gap, *residuals, rank)
        self.history.append(progress)
        self.pace = [p for p in self.pace if p.n_iter < n_iter]
        self.pace.append(Gap(n_iter, relative_gap(objective, self.claim)))
        return progress

    def latest(
        self, n_iter: int, residuals: tuple[float, float], rank: int | None
    ) -> Progress:
        """The last certificate, dated forward."""
        known = math.inf, 0.0, 1.0  # objective, bound and gap
        if self.history:
            known = self.history[-1][1:4]
        return Progress(n_iter, *known, *residuals, rank)

    def is_stuck(self) -> bool:
        """No better gap than half the iterations ago."""
        now = self.pace[-1]
        before = [p.gap for p in self.pace if p.n_iter <= now.n_iter / 2]
        return bool(before) and now.n_iter >= 100 and min(before) <= 1.01 * now.gap

    def has_slowed(self, window: int, factor: float) -> bool:
        """Whether the gap is above `factor` times that of `window` iterations ago."""
        now = self.pace[-1]
        before = [p.gap for p in self.pace if p.n_iter <= now.n_iter - window]
        return bool(before) and now.gap > factor * before[-1]

    def is_due(
        self, n_iter: int, residuals: tuple[float, ...] | None, goal: float
    ) -> bool:
        """Whether a certificate is due; known residuals may predict a gap of `goal`."""
        is_late = n_iter >= self.next_check
        if is_late or residuals is None:
            return is_late
        if not (self.seen and self.pace):
            return residuals[1] * self.share <= EARLY * goal
        last = self.pace[-1]
        if n_iter < last.n_iter + 2:
            return False
        pairs = zip(residuals, self.seen, strict=True)
        falls = [now / before for now, before in pairs if before > 0]
        return BEHIND * last.gap * math.sqrt(math.prod(falls)) <= goal

    def measured(self, n_iter: int, residuals: tuple[float, ...] = ()) -> None:
        """From now on, residuals determine when the next certificate is due."""
        self.seen = residuals
        latest = LATEST if residuals or self.is_warm else FIRST
        self.next_check = n_iter + max(latest, int(LATE * n_iter))

    def patience(self) -> int:
        """Iterations to wait, extrapolated from the decay of the gap."""
        now, decay = self.pace[-1], DECAY
        longest = max(SHORTEST, int(math.sqrt(2 * COST * now.n_iter)))
        if len(self.pace) > 1:
            before = self.pace[-2]
            steps = now.n_iter - before.n_iter
            decay = math.log(max(before.gap, 1e-300) / max(now.gap, 1e-300)) / steps
        if decay <= 0:
            near = now.gap <= NEAR * self.tol
            return max(SHORTEST, longest // 3) if near else longest
        wanted = math.log(max(now.gap, 1e-300) / max(self.tol, 1e-300)) / decay
        return int(min(max(wanted, SHORTEST), longest))

    def numbers(self) -> dict:
        """To be saved; `recall` reads them."""
        names = ("claim", "is_warm", "next_check", "seen", "pace")
        return {name: getattr(self, name) for name in names}

    def recall(self, numbers: dict) -> None:
        """Take over the numbers of a checkpoint; they prove nothing."""
        self.claim, self.is_warm = numbers["claim"], numbers["is_warm"]
        self.next_check, self.seen = numbers["next_check"], tuple(numbers["seen"])
        self.pace = [Gap(*entry) for entry in numbers["pace"]]


def dual_value(linear: float, quadratic: float, norm: float) -> float:
    """The best lower bound that multiples s D of a dual point D give.

    s D is feasible for 0 <= s <= 1 / norm, and its dual value is
    -(s linear + s^2 quadratic), largest at s = -linear / (2 quadratic). The rounding
    errors of this function are subtracted. Those of the arguments are not: they must be
    rounded up.
    """
    linear, quadratic, norm = float(linear), float(quadratic), float(norm)
    scale = dual_scale(linear, quadratic, norm)
    first, second = scale * linear, scale**2 * quadratic
    return -(first + second) - 8 * UNIT * (abs(first) + abs(second))


def dual_scale(linear: float, quadratic: float, norm: float) -> float:
    """The s of `dual_value`."""
    scale = 1.0 if norm <= 1 else (1 - 4 * UNIT) / norm  # NaN stays one
    if quadratic > 0:
        scale = min(scale, max(-linear / (2 * quadratic), 0.0))
    return scale


def objective_rounding(shape: tuple[int, ...], dtype: Any) -> float:
    """Relative rounding error of an objective at a matrix L that is rounded to `dtype`.

    The nuclear norm is the most sensitive part: an error of eps ||L||_F in L changes it
    by up to sqrt(rank) as much.
    """
    return 16 * float(np.finfo(dtype).eps) * math.sqrt(min(shape))
