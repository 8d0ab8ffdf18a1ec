"""ADMM for Robust PCA (on graphs) that keeps its low-rank iterates as factors."""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import linalg

from rpcag.solvers.certificates import (
    Certificates,
    dual_scale,
    dual_value,
    objective_rounding,
)
from rpcag.solvers.checkpoint import (
    Checkpoint,
    Saved,
    entries,
    flag,
    number,
    whole,
)
from rpcag.solvers.iterates import Objective
from rpcag.solvers.residuals import balance, relative_residuals
from rpcag.solvers.result import (
    Distances,
    DualPoint,
    Progress,
    Result,
    State,
    Status,
)

# Penalties of the copies in units of `ratio`, with a graph. Measured on faces, objects
# and digits: docs/design_solver.md.
WITH_GRAPH = (0.5, 0.7)
# After so many iterations the first of them is doubled: a small penalty finds the rank
# sooner, a larger one the rest.
DOUBLED = 20
# Without one the penalty starts small, so that the first iterates have a low rank,
# grows by RAMP in every iteration, and settles.
FIRST, RAMP, SETTLED = 0.2, 1.6, 3.0
# Data that are a matrix of low rank plus a sparse one show in a rank that stands still
# for STILL iterations. Then the penalty grows on, until a certificate is no better than
# PROMISE times the one WINDOW iterations before.
STILL, GROWTH = 5, 1.5
# On Dask the multiplier is not polished; fast growth would spoil it.
SLOW_GROWTH = 1.25
WINDOW, PROMISE = 8, 0.7
# Without a graph the multiplier is polished before it certifies: while the penalty
# grows, and where the last gap was no more than this multiple of the wanted one.
CLOSE = 15.0
# With a graph the certificate is made from a mean of the last multipliers.
AVERAGED = 8
RELAXATION = 1.7
# The last, linear phase of ADMM shrinks errors by sqrt(1 - c (2 - c) sin^2 a), with c
# the relaxation and a the angle between the tangent spaces: the smaller c wins.
RELAXATION_STILL = 1.2
# The last dual point need not be the best. The best is kept if X has so many entries at
# the most, because it is as large as X.
SMALL = 2**20
# Singular vectors that are followed beside those above the threshold: the next ones.
GUARDS, GUARDS_STILL = 32, 8
# Share of the shorter side up to which a basis pays.
SHARE = 0.35
# A rank above the share HIGH of the shorter side that still grows by the factor FAST in
# each of GROWING iterations, after the first RAMPED ones, will pass SHARE: L is not of
# low rank. With larger values more iterations are done in vain; with smaller ones
# problems of low rank are given up whose rank overshoots at first.
HIGH, FAST, GROWING, RAMPED = 0.15, 1.015, 3, 8
# Single precision is left for that of X below this gap, and where the penalty has grown
# so far that the rounding of V shows in its clipped part.
PRECISE = 1e-4
GROWN = 300.0
# Every LOOK iterations the residuals of the copies are compared: a penalty is doubled
# or halved where they differ by more than GROSS, after PATIENT iterations by more than
# IMBALANCE, at most LOOKS times. Balanced residuals are not what makes the gap fall
# fastest, but a penalty that is far off is worse.
LOOK, LOOKS, PATIENT = 5, 60, 100
GROSS, IMBALANCE = 50.0, 10.0
# Contents of a checkpoint besides the pace and the arrays.
SAVED = ("penalties", "residuals", "ranks", "may_grow", "grown", "looks", "next_check")


class HandOver(Exception):
    """L has no low rank, or precision asks for exact singular values: use `admm`."""

    def __init__(self, state: State | None, ledger: Certificates, n_iter: int) -> None:
        super().__init__()
        self.state, self.ledger, self.n_iter = state, ledger, n_iter


def lowrank(
    panel: Any,
    *,
    ratio: float,
    tol: float,
    max_iter: int,
    start: State | None = None,
    callback: Callable[[Progress], bool | None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Minimize ||L||_* + lam ||M o (X - L)||_1 + gamma tr(L^T Phi L).

    The ADMM of `rpcag.solvers.admm.admm`, with three changes. The singular value step
    is inexact: one power step from the last singular vectors, A -> U U^T A with U an
    orthonormal basis of A Q; as A converges so does Q. The copy of the graph term is
    compressed to the rank it has. And without a graph the penalty starts small, and
    grows once the rank stands still: that makes L exact soon, but not the multiplier,
    which `rpcag.solvers.dual_polishing` mends. None of them can harm the certificate,
    which holds for any L, any clipped multiplier and any W.

    Parameters
    ----------
    panel : Iterates
        All that is as large as X, in memory or on many machines.
    ratio, tol, max_iter, callback
        As for `admm`.
    start : State, optional
        Where an earlier solve ended, perhaps with other lam and gamma.
    checkpoint : Checkpoint, optional
        Where to go on from, and to save to.

    Returns
    -------
    Result

    Raises
    ------
    HandOver
        With the state from which `admm` can go on.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # checked with the certificates
        solve = _Solve(panel, ratio, tol, max_iter, callback, checkpoint)
        solve.begin(start)
        return solve.run()


class _Solve:
    """One run: the penalties, the ranks and the certificates."""

    def __init__(self, panel, ratio, tol, max_iter, callback, checkpoint) -> None:
        self.panel = panel
        self.ratio, self.tol, self.max_iter = ratio, tol, max_iter
        self.callback = callback
        self.checkpoint = checkpoint
        self.ledger = Certificates(tol)
        self.ledger.slack = objective_rounding(panel.shape, panel.dtype)
        self.ranks: list[int] = []
        self.residuals = (1.0, 1.0)
        self.has_graph = panel.graph is not None
        self.may_grow, self.grown, self.looks = not self.has_graph, 0, 0
        share = SHARE if panel.can_hand_over else 1.0
        self.largest = max(int(share * min(panel.shape)), 1)
        self.penalties: tuple[float, ...] = ()
        self.certified: tuple = ()  # the last dual point, how it was made
        self.best: tuple[float, DualPoint | None] = -math.inf, None
        # A smaller gap takes longer.
        self.next_check = 10 + int(7.5 * math.log10(max(1e-3 / max(tol, 1e-9), 1.0)))

    def begin(self, start: State | None) -> None:
        saved = self.checkpoint.load() if self.checkpoint is not None else None
        if saved is not None:
            assert self.checkpoint is not None
            if saved[0].get("solver") == "admm":
                raise HandOver(None, self.ledger, 0)
            with self.checkpoint.reading():
                self.recall(*saved)
        elif start is None:
            units: tuple[float, ...] = WITH_GRAPH if self.has_graph else (FIRST,)
            self.penalties = tuple(c * self.ratio for c in units)
            self.panel.begin(self.penalties, min(GUARDS, self.largest))
        else:
            units = tuple(r / start.ratio for r in start.penalties)
            if start.ratio != self.ratio and not self.has_graph:
                units = (SETTLED,)  # the penalty has grown for another lam
            self.penalties = tuple(c * self.ratio for c in units)
            self.panel.resume(start, units, self.ratio)
            self.ledger.is_warm = True
            self.next_check = 1

    def save(self) -> Saved:
        numbers = {name: getattr(self, name) for name in SAVED}
        numbers |= {"solver": "lowrank", **self.ledger.numbers()}
        return numbers, self.panel.save()

    def recall(self, numbers: dict, arrays: dict[str, np.ndarray]) -> None:
        if numbers["solver"] != "lowrank":
            raise ValueError(f"the solver {numbers['solver']!r} is unknown")
        penalties = tuple(number(r, above=0) for r in entries(numbers["penalties"]))
        if len(penalties) != 1 + self.has_graph:
            raise ValueError(f"there are {len(penalties)} penalties")
        self.penalties = penalties
        primal, dual = entries(numbers["residuals"])
        self.residuals = number(primal), number(dual)
        most = min(self.panel.shape)
        self.ranks = [whole(rank, at_most=most) for rank in entries(numbers["ranks"])]
        self.may_grow = flag(numbers["may_grow"]) and not self.has_graph
        self.grown, self.looks = whole(numbers["grown"]), whole(numbers["looks"])
        self.next_check = whole(numbers["next_check"])
        self.ledger.recall(numbers)
        self.panel.recall(arrays)

    def run(self) -> Result:
        status: Status = "max_iter"
        n_iter = len(self.ranks)
        self.max_iter = max(self.max_iter, n_iter + 1)  # after a restart, at least one
        while status == "max_iter" and n_iter < self.max_iter:
            n_iter += 1
            check = n_iter >= self.next_check or n_iter == self.max_iter
            look = n_iter >= 2 * LOOK and n_iter % LOOK == 0 and self.looks < LOOKS
            distances = self.iterate(n_iter, check or look)
            if check:
                self.residuals = relative_residuals(distances, self.size())
                progress = self.certify(n_iter)
                self.next_check = n_iter + self.ledger.patience()
                if self.ledger.is_contradicted:
                    status = "numerical_error"
                elif progress.gap <= self.tol:
                    status = "converged"
                else:
                    if math.prod(self.panel.shape) <= SMALL:
                        self.point(at_the_end=False)
                    self.adapt(n_iter)
            else:
                progress = self.ledger.latest(n_iter, self.residuals, self.ranks[-1])
            if look and status == "max_iter" and not self.is_growing():
                self.looks += 1
                self.rescale(self.balance(n_iter, distances))
            if self.callback is not None and self.callback(progress):
                status = "stopped" if status == "max_iter" else status
            if self.checkpoint is not None and status in ("max_iter", "stopped"):
                ends = status == "stopped" or n_iter == self.max_iter
                self.checkpoint.offer(self.save, now=ends)
        history = self.ledger.history
        if not history or history[-1].n_iter != n_iter:
            self.certify(n_iter)
        if self.ledger.is_contradicted:
            status = "numerical_error"
        last = self.ledger.history[-1]
        point = self.point(at_the_end=True)
        L, basis = self.panel.answer()
        return Result(
            x=L,
            objective=last.objective,
            lower_bound=last.lower_bound,
            gap=last.gap,
            primal_residual=self.residuals[0],
            dual_residual=self.residuals[1],
            n_iter=n_iter,
            rank=self.ranks[-1],
            status=status,
            basis=basis,
            history=tuple(self.ledger.history),
            state=State(self.panel.arrays(), self.penalties, self.ratio, factored=True),
            dual=point,
            solver="factored",
        )

    def point(self, at_the_end: bool) -> DualPoint | None:
        """The best dual point that is known; between iterations only if it is near."""
        dual, change, is_relieved = self.certified
        value = dual_value(*dual)
        if value <= self.best[0] or not self.panel.can_polish:
            return self.best[1]
        out = self.panel.E if at_the_end else np.empty_like(self.panel.E)
        found = self.panel.dual_point(
            self.penalties, dual_scale(*dual), change, is_relieved, out
        )
        self.best = value, found
        return found

    def iterate(self, n_iter: int, measure: bool) -> list[Distances]:
        if self.has_graph and n_iter == DOUBLED and not self.ledger.is_warm:
            self.rescale([2.0, 1.0])
        self.certified = ()  # may be as large as X
        total = sum(self.penalties)
        weights = tuple(r / total for r in self.penalties)
        self.threshold(weights, 1 / total, n_iter)
        growth, relaxation = 1.0, RELAXATION
        if self.may_grow:
            if self.penalties[0] < SETTLED * self.ratio:
                growth = min(RAMP, SETTLED * self.ratio / self.penalties[0])
            elif self.is_still():
                growth = GROWTH if self.panel.can_polish else SLOW_GROWTH
                relaxation = RELAXATION_STILL
                self.grown += 1
                if self.panel.is_rounded and self.penalties[0] > GROWN * self.ratio:
                    self.panel.precise(self.penalties)
        options = {}
        if self.has_graph and self.panel.can_average:
            options["average"] = n_iter > self.next_check - AVERAGED
        distances = self.panel.advance(
            self.penalties, relaxation, growth, measure, **options
        )
        self.penalties = (self.penalties[0] * growth, *self.penalties[1:])
        return distances

    def is_still(self) -> bool:
        last = self.ranks[-STILL:]
        return len(last) == STILL and len(set(last)) == 1

    def is_rising(self) -> bool:
        """Whether the rank is high and grows on."""
        last = self.ranks[-GROWING - 1 :]
        rises = len(self.ranks) > RAMPED and all(
            b > FAST * a for a, b in pairwise(last)
        )
        return rises and last[-1] > HIGH * min(self.panel.shape)

    def threshold(self, weights, threshold: float, n_iter: int) -> None:
        """One power step; L is what exceeds the threshold, the rest guards."""
        panel = self.panel
        to_orthonormal = orthonormalizer(panel.sketch(weights), panel.dtype)
        squares, rotation = linalg.eigh(
            panel.compress(to_orthonormal, weights), driver="evd", check_finite=False
        )
        squares, rotation = squares[::-1], rotation[:, ::-1]
        eps = float(np.finfo(panel.dtype).eps)
        top = float(np.max(squares, initial=0.0))
        nonzero = squares > (len(squares) * eps) ** 2 * top
        sigma, rotation = np.sqrt(squares[nonzero]), rotation[:, nonzero]
        rank = int(np.count_nonzero(sigma > threshold))
        self.ranks.append(rank)
        is_high = rank + GUARDS_STILL > self.largest or self.is_rising()
        if is_high and panel.can_hand_over:
            self.hand_over(n_iter - 1)
        still = self.is_still()
        width = rank + (
            max(GUARDS_STILL, rank // 6) if still else max(GUARDS, rank // 4)
        )
        if rank and rank >= 0.9 * len(sigma):  # perhaps more are above the threshold
            width = max(width, 2 * len(sigma))
        width = min(width, self.largest)
        kept = min(width, len(sigma))
        self.shrunk = sigma[:rank] - threshold
        panel.turn(rotation[:, :kept], sigma[:kept], self.shrunk, width, seed=n_iter)

    def certify(self, n_iter: int) -> Progress:
        accuracy = max(self.tol, 1e-12) / 50
        parts = self.panel.objective()
        change = None
        if self.may_polish():
            change = self.panel.polish(self.penalties[0], self.tol / 10)
            dual = self.panel.dual(self.penalties, accuracy, change)
        else:
            dual = self.panel.dual(self.penalties, accuracy)
        objective = parts.loss + _nuclear_norm(parts)
        if parts.rough is not None:
            objective += max(float(np.sum(parts.rough * parts.right)), 0.0)
        if not math.isfinite(objective):
            raise FloatingPointError(
                f"the solver left the range of {self.panel.dtype} in iteration "
                f"{n_iter}; the data or the penalties are too large or too small for it"
            )
        enter = partial(self.ledger.enter, n_iter, objective)
        rank = len(parts.left)
        progress = enter(dual, self.residuals, rank)
        self.certified = dual, change, False
        warm, relief = self.ledger.is_warm, self.panel.relief
        if relief is None or not relief.is_due(n_iter, warm, dual.norm):
            return progress
        if progress.gap > self.tol:
            better = self.panel.relieved(self.penalties, accuracy)
            progress = enter(better, self.residuals, rank)
            if dual_value(*better) > dual_value(*dual):
                self.certified = better, None, True
        return progress

    def adapt(self, n_iter: int) -> None:
        """Precision and penalty, by what the certificates tell."""
        stuck = self.ledger.is_stuck()
        if self.panel.is_rounded and (self.ledger.pace[-1].gap <= PRECISE or stuck):
            self.panel.precise(self.penalties)
        elif stuck and self.panel.can_hand_over:
            self.hand_over(n_iter)
        useless = self.grown > WINDOW and self.ledger.has_slowed(WINDOW, PROMISE)
        if self.may_grow and useless:
            self.may_grow = False
            self.rescale([SETTLED * self.ratio / self.penalties[0]])

    def may_polish(self) -> bool:
        """Whether a better multiplier is worth its price."""
        if self.has_graph or not self.panel.can_polish:
            return False
        near = self.ledger.pace and self.ledger.pace[-1].gap <= CLOSE * self.tol
        return self.grown > 0 or bool(near)

    def rescale(self, factors: list[float]) -> None:
        if any(f != 1 for f in factors):
            self.panel.rescale(factors, self.penalties)
            pairs = zip(self.penalties, factors, strict=True)
            self.penalties = tuple(r * f for r, f in pairs)

    def is_growing(self) -> bool:
        return self.may_grow and (
            self.grown > 0 or self.penalties[0] < SETTLED * self.ratio * (1 - 1e-9)
        )

    def balance(self, n_iter: int, distances: list[Distances]) -> list[float]:
        mean = self.panel.shape[0] * self.panel.mean_square()
        limit = GROSS if n_iter < PATIENT else IMBALANCE
        return balance(distances, self.size(), mean, limit)

    def size(self) -> float:
        """||L||^2."""
        return float(np.sum(self.shrunk**2))

    def hand_over(self, n_iter: int) -> None:
        copies, multipliers = self.panel.copies()
        state = State.of_copies(copies, multipliers, self.penalties, self.ratio)
        raise HandOver(state, self.ledger, n_iter)


def orthonormalizer(gram: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """T such that Y T has orthonormal columns, from Y^T Y."""
    scale = np.sqrt(np.maximum(np.diag(gram), 0))
    scale[scale == 0] = 1
    gram = gram / scale / scale[:, None]
    if not np.isfinite(gram).all():
        raise FloatingPointError("the solver left the range of its precision")
    if not len(gram):
        return gram
    try:
        factor = linalg.cholesky(gram, check_finite=False)
        if np.diag(factor).min() > 1e-3:
            inverse = linalg.solve_triangular(
                factor, np.eye(len(gram)), check_finite=False
            )
            return inverse / scale[:, None]
    except linalg.LinAlgError:
        pass
    values, vectors = linalg.eigh(gram, check_finite=False)
    kept = values > 100 * float(np.finfo(dtype).eps) * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]


def _nuclear_norm(parts: Objective) -> float:
    """Of F Q^T: the roots of the eigenvalues of C F^T F C^T, where Q^T Q = C^T C."""
    if not len(parts.left):
        return 0.0
    C = linalg.cholesky(parts.right, check_finite=False)
    squares = linalg.eigvalsh(C @ parts.left @ C.T, check_finite=False)
    return float(np.sqrt(np.maximum(squares, 0)).sum())
