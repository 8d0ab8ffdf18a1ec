"""Iterates whose L may have any rank: full matrices, and exact singular values."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from rpcag.linalg.blocks import blocks, row_blocks
from rpcag.linalg.gram import excess, singular_values, spectral_norm
from rpcag.losses import DataTerm
from rpcag.penalties import NuclearNorm
from rpcag.solvers.certificates import Asked, Bound
from rpcag.solvers.dual_completion import DualColumns, DualCompletion
from rpcag.solvers.executor import Executor
from rpcag.solvers.result import Distances, DualPoint, State

# The copy of the loss may be the result only if the rank of L is at least this share of
# that of the copy. Otherwise the optimum has a lower rank than the copy.
HIGH = 0.75
# Entries of a block of rows that goes through all steps of an iteration at once: half a
# dozen such blocks fit in a second-level cache.
CACHED = 2**15
# Relative accuracy of the nuclear norm of the copy of the loss, while the iterates are
# in single precision (then gaps of 1e-4 are the smallest) and after.
ROUGH, FINE = 1e-7, 1e-10
# s / l of linear graphs. With less than 1/2 it may diverge; with more, L moves less.
SLOPE = 0.65
# Rounds of projections that repair the multiplier. The second costs an iteration, so it
# is done only if the gap after the first is at most AGAIN times the wanted one.
ROUNDS, AGAIN = 2, 2.0


class DenseIterates:
    """Copies P_i of L with scaled multipliers U_i, one for every term but the norm.

    The first term is the loss, the others are graphs. If `is_rounded`, the iterates are
    in single precision to begin with; certificates are in the precision of the data.
    The copies start at `first`, or at zero.

    A graph whose gradient has a Lipschitz constant l up to `mild` gets no copy. The
    step for L linearizes it and adds s/2 ||L - L_last||^2, which converges for s > l/2
    (Condat and Vu): A includes s L - grad, and R includes s.

    `share` is the typical size of an entry of the dual point D, over lam. It is below
    one for a large lam: ||D||_2 <= 1 means ||D||_F^2 <= min(n, p), so the mean square
    of an entry is at most 1 / max(n, p).
    """

    kind = "exact"
    is_high = False

    def __init__(
        self,
        terms: Sequence[Any],
        *,
        is_rounded: bool = False,
        first: np.ndarray | None = None,
        share: float = 1.0,
        mild: float = 0.0,
    ) -> None:
        loss, *graphs = terms
        self.linear = [graph for graph in graphs if graph.lipschitz <= mild]
        copied = [graph for graph in graphs if graph.lipschitz > mild]
        self.exact_terms = self.terms = [loss, *copied]
        self.slope = SLOPE * sum(graph.lipschitz for graph in self.linear)
        self.shape, self.final_dtype = loss.X.shape, loss.X.dtype
        self.is_rounded, self.share = is_rounded, share
        self.dtype = np.dtype(np.float32) if is_rounded else self.final_dtype
        if is_rounded:
            x = loss.X.astype(self.dtype, copy=False)
            self.terms = [DataTerm(x, loss.loss), *copied]
        self.norm = NuclearNorm(rough=is_rounded)
        self.first = None if first is None else first.astype(self.dtype, copy=False)
        self.completion: DualCompletion | None = None
        if loss.loss.entrywise and [graph.axis for graph in graphs] == [0]:
            (graph,) = graphs
            self.completion = DualCompletion(self.shape, graph.gamma, graph.shifted)
        self.n_copies = len(self.terms)
        self.L = np.zeros(self.shape, self.dtype)
        self.work = np.empty(self.shape, self.dtype)
        self.pull: np.ndarray | None = None  # s L - grad of the linear terms, at L_last
        self.size = 0.0  # ||L||^2
        self.copies: list[np.ndarray] = []
        self.multipliers: list[np.ndarray] = []
        self.change = math.inf  # of what is thresholded, since the last time, at most
        self._answer: np.ndarray | None = None  # in the precision of the data
        self._spectrum: np.ndarray | None = None  # of P, if it is the answer

    @property
    def rank(self) -> int:
        """Rank of L, or of the copy that is the result."""
        return self.norm.rank if self._spectrum is None else len(self._spectrum)

    def mean_square(self) -> float:
        """||column means of L||^2."""
        return float(np.sum(self.L.mean(axis=0) ** 2))

    def begin(self, penalties: Sequence[float]) -> None:
        """All copies at `first`, or at zero; no multipliers."""
        first = np.zeros_like(self.L) if self.first is None else self.first
        self.copies = [first.copy() for _ in self.terms]
        self.multipliers = [np.zeros_like(self.L) for _ in self.terms]
        np.copyto(self.L, first)

    def resume(self, start: State, penalties: Sequence[float], ratio: float) -> None:
        """Continue from a solve of the same X, perhaps with other lam and gamma.

        The unit of the penalties is lam, so they are rescaled with it. The U_i are
        kept, so the multipliers r_i U_i are rescaled, too: most of those of the loss
        are -lam or lam. For the graphs V_i = P_i + U_i is kept, because it changes less
        with gamma than the two.
        """
        self.copies, self.multipliers = (
            [np.array(A, self.dtype) for A in arrays[: self.n_copies]]
            for arrays in start.copies()
        )
        np.copyto(self.L, self.copies[0])
        while len(self.copies) < self.n_copies:  # it was linear
            self.copies.append(self.L.copy())
            self.multipliers.append(np.zeros_like(self.L))
        for i in range(1, self.n_copies):
            P, U = self.copies[i], self.multipliers[i]
            U += P
            self.terms[i].prox(U, 1 / penalties[i], P)
            U -= P

    # -- one iteration -----------------------------------------------------------------

    def threshold(
        self, penalties: Sequence[float], is_still: bool, seed: int, exact: bool
    ) -> None:
        """Compute L: by a decomposition if it has to be `exact`, else if it pays."""
        self._answer = self._spectrum = None
        if self.linear:
            self.pull = self.slope * self.L
            for graph in self.linear:
                graph.subtract_gradient(self.L, self.pull)
        step = 1 / self._average(penalties, self.L)
        self.norm.prox_in_place(
            self.L, step, self.work, math.inf if exact else self.change
        )

    def _average(self, penalties: Sequence[float], out: np.ndarray) -> float:
        """out = A = (sum_i r_i (P_i - U_i) + s L - grad) / R; returns R."""
        whole = sum(penalties) + self.slope
        weights = [out.dtype.type(r / whole) for r in penalties]
        for rows in row_blocks(out.shape, CACHED):
            o = np.subtract(
                self.copies[0][rows], self.multipliers[0][rows], out=out[rows]
            )
            o *= weights[0]
            others = zip(
                self.copies[1:], self.multipliers[1:], weights[1:], strict=True
            )
            for P, U, weight in others:
                piece = P[rows] - U[rows]
                piece *= weight
                o += piece
            if self.pull is not None:
                o += out.dtype.type(1 / whole) * self.pull[rows]
        return whole

    def advance(
        self,
        penalties: Sequence[float],
        relaxation: float,
        growth: float,
        measure: bool,
    ) -> list[Distances]:
        """V_i = c L + (1 - c) P_i + U_i, then P_i = prox(V_i) and U_i = V_i - P_i."""
        distances = []
        for i, term in enumerate(self.terms):
            L, P, V = self.L, self.copies[i], self.multipliers[i]
            new, step = self.work, 1 / penalties[i]
            pieces, by_rows = row_blocks(self.shape, CACHED), hasattr(term, "prox_rows")
            if not by_rows:
                for rows in pieces:
                    _relax(V[rows], L[rows], P[rows], relaxation)
                np.copyto(new, P)  # a first guess for the prox
                term.prox(V, step, new)
            sums = np.zeros(5)
            for rows in pieces:
                if by_rows:
                    _relax(V[rows], L[rows], P[rows], relaxation)
                    term.prox_rows(V[rows], step, new[rows], rows)
                sums += _finish(V[rows], L[rows], P[rows], new[rows])
            *moved, self.size = sums.tolist()
            distances.append(Distances(*moved))
            self.copies[i], self.work = new, P
        # R A changes by r_i ((2 - c) (P_i - P_i before) - c (L - P_i)) for every i, and
        # by at most s (L - L_last).
        L_moved = math.sqrt(distances[0].moved) + 2 * math.sqrt(distances[0].apart)
        self.change = self.slope * L_moved + sum(
            r
            * ((2 - relaxation) * math.sqrt(d.moved) + relaxation * math.sqrt(d.apart))
            for r, d in zip(penalties, distances, strict=True)
        )
        self.change /= sum(penalties) + self.slope
        return distances

    def rescale(self, factors: Sequence[float], penalties: Sequence[float]) -> None:
        """Multiply penalties by factors; the multipliers r U stay."""
        self.change = math.inf
        for U, factor in zip(self.multipliers, factors, strict=True):
            U /= factor

    def travelled(self) -> float:
        """Distance of L from the first copies."""
        if self.first is None:
            return float(np.linalg.norm(self.L))
        pairs = blocks(self.L, self.first)
        return sum(float(np.vdot(a - b, a - b)) for a, b in pairs) ** 0.5

    # -- the certificate ---------------------------------------------------------------

    def objective(self, penalties: Sequence[float]) -> float:
        """The objective at L, or at the copy P of the loss if that is lower.

        If L has a high rank, the objective at P is often nearer to the optimum by
        orders of magnitude. The loss is not smooth at zero: X - P is exactly zero in
        most entries, but X - L is not. The nuclear norm is smooth at a full rank.
        """
        if self.norm.basis is None:  # the callback has stopped the solver
            self.threshold(penalties, False, 0, exact=True)
        at_L = self.norm.value_at_prox(self.L) + self._value(self.L)
        if 2 * self.norm.rank < min(self.shape):
            return at_L
        P = self._copy_of_loss(penalties[0])
        values = singular_values(P, ROUGH if self.is_rounded else FINE)
        noise = float(np.finfo(P.dtype).eps) * max(P.shape) * values.max(initial=0.0)
        kept = values[values > noise]
        at_P = float(values.sum()) + self._value(P)
        if self.norm.rank < HIGH * len(kept) or not at_P < at_L:
            return at_L
        self._answer, self._spectrum = P, kept
        return at_P

    def _value(self, L: np.ndarray) -> float:
        terms = [*self.exact_terms, *self.linear]
        return sum(float(term.value(L)) for term in terms)

    def _copy_of_loss(self, penalty: float) -> np.ndarray:
        """P in the precision of the data; X where they differ only by rounding."""
        V = np.add(self.copies[0], self.multipliers[0], dtype=self.final_dtype)
        loss = self.exact_terms[0]
        P = loss.prox(V, 1 / penalty, np.empty_like(V))
        near = 16 * float(np.finfo(P.dtype).eps)
        np.copyto(P, loss.X, where=np.abs(P - loss.X) <= near * np.abs(P))
        return P

    def bounds(self, penalties: Sequence[float], asked: Asked) -> Iterator[Bound]:
        """Dual points of the repaired multiplier, then of the completed one.

        L = A - G / R solves its subproblem. So G is a subgradient of the nuclear norm:
        ||G||_2 <= 1. With dual points D_i of the graphs, Y = -G - sum_i D_i would be
        one of the loss, but it may be outside of the dual ball. So it is made feasible,
        the excess of the spectral norm is subtracted, and so on: alternating
        projections.
        """
        accuracy = max(asked.tol, 1e-12) / 50
        rest = np.zeros(self.shape, self.final_dtype)  # sum_i D_i of the graphs
        loss, *copied = self.exact_terms
        terms = [*copied, *self.linear]
        graphs = [*self.copies[1:], *(self.L for _ in self.linear)]
        sums = [t.add_dual(W, rest) for t, W in zip(terms, graphs, strict=True)]
        whole = self._average(penalties, self.work)
        first = np.subtract(self.L, self.work, dtype=self.final_dtype)
        first *= whole
        first -= rest
        graphs = [W.copy() for W in graphs]
        total = np.empty_like(rest)

        def with_loss(Y: np.ndarray) -> Any:
            """Linear, quadratic and the error of `total`, which is then the point."""
            np.copyto(total, rest)
            parts = [*sums, loss.add_dual(Y, total)]
            return (sum(each) for each in zip(*parts, strict=True))

        Y = first
        linear, quadratic, error = with_loss(Y)
        for _ in range(ROUNDS):
            over = excess(total.astype(self.dtype, copy=False))
            if over is not None:
                Y = np.subtract(Y, over, out=over)
                linear, quadratic, error = with_loss(Y)
            norm = spectral_norm(total, accuracy) + error
            point = partial(self._dual_point, Y, graphs)
            bound = Bound(linear, quadratic, norm, point)
            yield bound
            if over is None or not asked.is_within(bound.value, AGAIN):
                break
        completion = self.completion
        if completion is not None and completion.is_due(asked) and norm > 1:
            columns = DualColumns(loss.X, loss.loss, first, graphs[0])
            yield from completion(Executor(), [columns], completion.laplacian, accuracy)

    def _dual_point(self, Y: np.ndarray, graphs: list, scale: float) -> DualPoint:
        D = np.zeros(self.shape, self.final_dtype)
        self.exact_terms[0].add_dual(Y, D)
        D *= -scale
        pairs = zip([*self.exact_terms[1:], *self.linear], graphs, strict=True)
        by_axis = {term.axis: copy * scale for term, copy in pairs}
        return DualPoint(D, by_axis.get(0), by_axis.get(1))

    # -- other precisions, the end -----------------------------------------------------

    def precise(self, penalties: Sequence[float]) -> None:
        """Continue in the precision of the data."""
        self.is_rounded, self.dtype = False, self.final_dtype
        self.terms, self.norm = self.exact_terms, NuclearNorm()
        self.copies, self.multipliers = (
            [A.astype(self.dtype, copy=False) for A in arrays]
            for arrays in (self.copies, self.multipliers)
        )
        self.L = self.L.astype(self.dtype, copy=False)
        self.work = np.empty(self.shape, self.dtype)
        self.first = None

    def settle(self) -> float | None:
        """Round the result to the precision of the data; returns its objective."""
        if not self.is_rounded or self._answer is not None:
            return None
        self._answer = self.norm.settle(self.L, self.final_dtype)
        return self.norm.value_at_prox(self._answer) + self._value(self._answer)

    def answer(self) -> tuple[np.ndarray, np.ndarray | None]:
        L = self.L if self._answer is None else self._answer
        return L, self.norm.basis if self._spectrum is None else None

    def arrays(self) -> dict[str, np.ndarray]:
        return State.of_copies(self.copies, self.multipliers, (), 1.0).arrays

    def save(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Numbers and arrays from which `recall` continues, bit for bit."""
        memory = {f"norm {k}": a for k, a in self.norm.memory().items()}
        numbers = {"is_rounded": self.is_rounded, "change": self.change}
        return numbers, self.arrays() | memory | {"L": self.L}

    def recall(self, numbers: dict, arrays: dict[str, np.ndarray]) -> None:
        """Continue from what `save` returned."""
        if self.is_rounded and not numbers["is_rounded"]:
            self.precise(())
        elif self.is_rounded != numbers["is_rounded"]:
            raise ValueError("it is in another precision")
        state = State(arrays, (), 1.0, "exact")
        self.copies, self.multipliers = state.copies()
        self.L = arrays["L"]
        self.change = numbers["change"]
        memory = {k.removeprefix("norm "): a for k, a in arrays.items()}
        self.norm.recall(memory)


def _relax(U, L, P, relaxation: float) -> None:
    """U += relaxation * L + (1 - relaxation) * P: then it is V."""
    piece = L - P
    piece *= relaxation
    piece += P
    U += piece


def _finish(V, L, old, new) -> list[float]:
    """V -= new: then it is U. What `Distances` is made of, and ||L||^2."""
    piece = new - old
    moved = float(np.vdot(piece, piece))
    np.subtract(L, new, out=piece)
    apart = float(np.vdot(piece, piece))
    V -= new
    sizes = [float(np.vdot(A, A)) for A in (new, V, L)]
    return [apart, moved, *sizes]
