"""The certificates of a solve: the best bound, and when the next one is worth it."""

import math
from itertools import pairwise
from typing import NamedTuple

from rpcag.solvers.checkpoint import entries, flag, number, whole
from rpcag.solvers.result import Progress

# Below this multiple of the wanted gap a few iterations may do, also after a bound that
# was no better than the last.
NEAR = 5.0


class Gap(NamedTuple):
    """The gap at an iteration."""

    n_iter: int
    gap: float


class Ledger:
    """All certificates so far; asks for the next only when it may be good enough.

    `bound` and `history` are proved by this process. A solve that goes on from a
    checkpoint also has what that claims: `claim`, a bound, and `pace`, the gaps so far.
    They only decide when to look next, so that the solve takes the same steps as one
    that was never interrupted.
    """

    def __init__(self, tol: float, haste: float = 0.9, longest: float = 1 / 3) -> None:
        self.tol = tol
        self.is_warm = False  # whether the solve started where another ended
        # Share of the iterations that seem needed after which to look, and the largest
        # share of those done.
        self.haste, self.longest = haste, longest
        self.bound = self.claim = 0.0  # every term is non-negative
        self.history: list[Progress] = []
        self.pace: list[Gap] = []

    def enter(
        self,
        n_iter: int,
        objective: float,
        dual: tuple[float, float, float],
        residuals: tuple[float, float],
        rank: int | None,
    ) -> Progress:
        """Certify an objective by a dual point D, given as (linear, quadratic, norm).

        s D is feasible for 0 <= s <= 1 / norm, and its dual value is
        -(s linear + s^2 quadratic), largest at s = -linear / (2 quadratic).
        """
        linear, quadratic, norm = (float(part) for part in dual)
        objective = float(objective)
        scale = 1.0 if norm <= 1 else 1 / norm  # NaN stays one
        if quadratic > 0:
            scale = min(scale, max(-linear / (2 * quadratic), 0.0))
        bound = -(scale * linear + scale**2 * quadratic)
        if bound > self.bound:  # false for NaN
            self.bound = bound
        # A lower bound of the minimum is below every objective, up to rounding: a
        # claim that is not is wrong.
        if self.claim > max(self.bound, (1 + 1e-6) * objective):
            self.claim, self.pace = self.bound, []
        self.claim = max(self.claim, self.bound)
        gap = _gap(objective, self.bound)
        if self.history and self.history[-1].n_iter == n_iter:
            self.history.pop()  # the same iteration, with a better dual point
        self.history.append(
            Progress(n_iter, objective, self.bound, gap, *residuals, rank=rank)
        )
        while self.pace and self.pace[-1].n_iter >= n_iter:
            self.pace.pop()
        self.pace.append(Gap(n_iter, _gap(objective, self.claim)))
        return self.history[-1]

    def latest(
        self, n_iter: int, residuals: tuple[float, float], rank: int | None
    ) -> Progress:
        """The last certificate, dated forward."""
        if not self.history:
            return Progress(n_iter, math.inf, 0.0, 1.0, *residuals, rank=rank)
        primal, dual = residuals
        return self.history[-1]._replace(
            n_iter=n_iter, primal_residual=primal, dual_residual=dual, rank=rank
        )

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

    def patience(self) -> int:
        """Iterations to wait: most of what the gap's decay says is still needed."""
        longest = max(3, int(self.longest * self.pace[-1].n_iter))
        if len(self.pace) < 2:
            return longest
        before, now = self.pace[-2:]
        steps = now.n_iter - before.n_iter
        decay = math.log(max(before.gap, 1e-300) / max(now.gap, 1e-300)) / steps
        if decay <= 0:
            return longest if now.gap > NEAR * self.tol else max(3, longest // 3)
        wanted = math.log(max(now.gap, 1e-300) / max(self.tol, 1e-300)) / decay
        return int(min(max(self.haste * wanted, 2), longest))

    def numbers(self) -> dict:
        """To be saved; `recall` reads them."""
        pace = [list(entry) for entry in self.pace]
        return {"claim": self.claim, "pace": pace, "is_warm": self.is_warm}

    def recall(self, numbers: dict) -> None:
        """Take over what a checkpoint claims; it proves nothing."""
        self.claim = number(numbers["claim"])
        self.is_warm = flag(numbers["is_warm"])
        self.pace = [Gap(whole(i), number(gap)) for i, gap in entries(numbers["pace"])]
        if any(a.n_iter >= b.n_iter for a, b in pairwise(self.pace)):
            raise ValueError("the iterations do not grow")


def _gap(objective: float, bound: float) -> float:
    return max(objective - bound, 0.0) / objective if objective != 0 else 0.0
