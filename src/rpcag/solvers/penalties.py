"""The penalties of ADMM from iteration to iteration, and its relaxation.

The unit of a penalty is `ratio`: the typical size of a multiplier over that of an entry
of L. Larger penalties improve L but worsen the multipliers, and so the bound. After a
number of checks they are constant, so that the convergence theory of ADMM applies.
docs/design_solver.md has the measurements behind the constants.
"""

import math
from collections.abc import Sequence
from typing import Any

from rpcag.solvers.certificates import Certificates
from rpcag.solvers.result import Distances, root_ratio

# Over-relaxation. A larger one takes fewer iterations where the rank is hard to find.
RELAXATION = 1.7


class Penalties:
    """What both kinds have in common; all attributes can be saved."""

    def __init__(self, ratio: float, penalties: Sequence[float]) -> None:
        self.ratio = ratio
        self.now = tuple(penalties)
        self.may_grow, self.grown, self.looks = False, 0, 0

    def resume(self, penalties: Sequence[float], ratio: float) -> None:
        """Continue with the penalties of another solve, which had another unit.

        It may have had other copies: the first is always that of the loss.
        """
        known = [r / ratio * self.ratio for r in penalties[: len(self.now)]]
        self.now = (*known, *self.now[len(known) :])

    def before(self, n_iter: int, is_warm: bool) -> list[float]:
        """Factors of the penalties, before an iteration."""
        return []

    def grow(self, growth: float) -> None:
        self.now = (self.now[0] * growth, *self.now[1:])

    def is_far(self, most: float) -> bool:
        """Whether the penalty has grown beyond `most` units."""
        return self.grown > 0 and self.now[0] > most * self.ratio

    def looks_at(self, n_iter: int) -> bool:
        """Whether `look` needs the distances of an iteration."""
        return True

    def judge(self, certificates: Certificates) -> list[float]:
        """Factors of the penalties, after a gap that is too large."""
        return []


class FactoredPenalties(Penalties):
    """Penalties while the rank of L is low.

    Without a graph the penalty starts small, so that the first iterates have a low
    rank, and grows until it settles. If the data are exactly low-rank plus sparse, the
    rank becomes constant. Then the penalty grows further: L soon becomes exact, but not
    the multiplier, which `rpcag.solvers.tangent_space` repairs.
    """

    # First penalties with a graph. After DOUBLED iterations the first of them is
    # doubled: a small penalty finds the rank sooner, a larger one the rest.
    WITH_GRAPH, DOUBLED = (0.5, 0.7), 15
    # Without a graph: the first penalty, its growth per iteration, and where it ends.
    FIRST, RAMP, SETTLED = 0.2, 1.6, 3.0
    # Growth while the rank is constant, until a certificate is no better than PROMISE
    # times the one WINDOW iterations before. Faster growth worsens the multiplier.
    GROWTH, WINDOW, PROMISE = 1.5, 8, 0.7
    # The last, linear phase of ADMM shrinks errors by sqrt(1 - c (2 - c) sin^2 a), with
    # c the relaxation and a the angle between the tangent spaces: the smaller c wins.
    RELAXATION_STILL = 1.2
    # Every LOOK iterations the residuals of the copies are compared: a penalty is
    # doubled or halved where they differ by more than GROSS, after PATIENT iterations
    # by more than IMBALANCE, at most LOOKS times. Balanced residuals are not what makes
    # the gap fall fastest, but a penalty that is far off is worse.
    LOOK, LOOKS, PATIENT = 5, 60, 100
    GROSS, IMBALANCE = 50.0, 10.0

    def __init__(self, ratio: float, n_copies: int) -> None:
        self.has_graph = n_copies > 1
        units = self.WITH_GRAPH if self.has_graph else (self.FIRST,)
        super().__init__(ratio, [c * ratio for c in units])
        self.may_grow = not self.has_graph

    def resume(self, penalties: Sequence[float], ratio: float) -> None:
        super().resume(penalties, ratio)
        if ratio != self.ratio and not self.has_graph:
            self.now = (self.SETTLED * self.ratio,)  # it had grown for another lam

    def before(self, n_iter: int, is_warm: bool) -> list[float]:
        doubles = self.has_graph and n_iter == self.DOUBLED and not is_warm
        return [2.0, 1.0] if doubles else []

    def step(self, iterates: Any, is_still: bool) -> tuple[float, float]:
        """Relaxation of this iteration, and growth of the first penalty."""
        settled = self.SETTLED * self.ratio
        if self.may_grow and self.now[0] < settled:
            return RELAXATION, min(self.RAMP, settled / self.now[0])
        if self.may_grow and is_still:
            self.grown += 1
            return self.RELAXATION_STILL, self.GROWTH
        return RELAXATION, 1.0

    def looks_at(self, n_iter: int) -> bool:
        due = n_iter >= 2 * self.LOOK and n_iter % self.LOOK == 0
        return due and self.looks < self.LOOKS

    def look(self, n_iter: int, iterates: Any, distances: list[Distances]) -> list:
        """Factors of the penalties, from the distances of an iteration."""
        ramps = self.now[0] < self.SETTLED * self.ratio * (1 - 1e-9)
        if not self.looks_at(n_iter) or (self.may_grow and (self.grown > 0 or ramps)):
            return []
        self.looks += 1
        limit = self.GROSS if n_iter < self.PATIENT else self.IMBALANCE
        return balance(distances, iterates, limit)

    def judge(self, certificates: Certificates) -> list[float]:
        useless = self.grown > self.WINDOW
        useless = useless and certificates.has_slowed(self.WINDOW, self.PROMISE)
        if not (self.may_grow and useless):
            return []
        self.may_grow = False
        return [self.SETTLED * self.ratio / self.now[0]]


class ExactPenalties(Penalties):
    """Penalties if L has a partial or full rank.

    The penalties are estimated from the first iterations, then balanced.
    """

    FIRST = 3.0
    # Share of the shorter side above which the rank counts as full, and the relaxation
    # there: most entries of S are zero, and the error changes its sign and shrinks by
    # |1 - relaxation| at a time.
    FULL, RELAXATION_FULL = 0.7, 1.5
    # Iterations after which the penalties are estimated again. Earlier estimates are
    # less accurate, later ones come late. The estimate is multiplied by RAISED if the
    # rank is not full, because the rank then takes long to find.
    ESTIMATES, RAISED = (3, 6, 10), 2.0
    # A copy's penalty is doubled or halved when its relative residuals differ by more
    # than IMBALANCE. The checks become rarer and end after LOOKS. After a warm start
    # the first check is late, because the penalties already suit the problem.
    IMBALANCE, LOOKS, FIRST_LOOK, LATE_LOOK = 10.0, 30, 15, 100

    def __init__(
        self, ratio: float, n_copies: int, begun: int = 0, share: float = 1.0
    ) -> None:
        """`share` is the typical size of an entry of the dual point, over lam."""
        self.first = self.FIRST * share * ratio
        super().__init__(ratio, n_copies * [self.first])
        self.begun, self.next_look = begun, begun + self.FIRST_LOOK

    def resume(self, penalties: Sequence[float], ratio: float) -> None:
        super().resume(penalties, ratio)
        self.begun = -max(self.ESTIMATES)  # not estimated again
        self.next_look = self.LATE_LOOK

    def step(self, iterates: Any, is_still: bool) -> tuple[float, float]:
        full = self._is_full(iterates)
        return self.RELAXATION_FULL if full else RELAXATION, 1.0

    def _is_full(self, iterates: Any) -> bool:
        return iterates.rank > self.FULL * min(iterates.shape)

    def look(self, n_iter: int, iterates: Any, distances: list[Distances]) -> list:
        if n_iter - self.begun in self.ESTIMATES:
            return self._estimate(iterates, distances)
        if n_iter < self.next_look or self.looks >= self.LOOKS:
            return []
        self.looks += 1
        self.next_look = n_iter + max(5, n_iter // 4)
        return balance(distances, iterates, self.IMBALANCE)

    def _estimate(self, iterates: Any, distances: list[Distances]) -> list[float]:
        """Factors that bring the penalties near to the best constant ones.

        The distance from the fixed point, which bounds what ADMM has still to do, is
        r ||P - P_first||^2 + ||r U||^2 / r for a copy that starts at P_first with U = 0
        and ends at P and U. It is least for r = ||r U|| / ||P - P_first||, here with L
        for P. The end is not known yet: the geometric mean with the first penalty.
        """
        travelled = iterates.travelled()
        factor = 1.0 if self._is_full(iterates) else self.RAISED
        factors = []
        for r, d in zip(self.now, distances, strict=True):
            best = r * math.sqrt(d.multiplier) / travelled if travelled > 0 else 0.0
            wanted = math.sqrt(best * self.first) * factor
            factors.append(min(max(wanted / r, 0.1), 10.0) if wanted > 0 else 1.0)
        return factors


def relative_residuals(
    distances: Sequence[Distances], size: float
) -> tuple[float, float]:
    """The largest ||L - P|| / ||L|| and (change of P) / ||U|| of all copies.

    `size` is ||L||^2; if ||P|| is larger, it replaces ||L||.
    """
    primal = max(root_ratio(d.apart, max(size, d.copy)) for d in distances)
    dual = max(d.change for d in distances)
    return primal, dual


def balance(distances: Sequence[Distances], iterates: Any, limit: float) -> list[float]:
    """Double the penalty of a copy far from L, halve that of one that moves too slowly.

    ||L - P|| is relative to the geometric mean of ||L|| and of the distance of L from
    constant columns. Relative to a large mean alone (raw images) it would be small for
    any penalty.
    """
    size = iterates.size
    mean = iterates.shape[0] * iterates.mean_square()
    spread = max(size - mean, 1e-6 * size)
    unit = math.sqrt(math.sqrt(size * spread)) or 1.0
    factors = []
    for d in distances:
        primal, dual = math.sqrt(d.apart) / unit, d.change
        lags, drags = primal > limit * dual, dual > limit * primal
        factors.append(2.0 if lags else 0.5 if drags else 1.0)
    return factors
