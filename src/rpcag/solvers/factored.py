"""Iterates whose L has a low rank: L = F Q^T, and tiles of columns of X."""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from operator import getitem
from typing import Any

import numpy as np
from scipy import linalg

from rpcag.linalg.eigen import column_signs
from rpcag.linalg.gram import eigh, proven_norm
from rpcag.linalg.orthonormal import orthonormal
from rpcag.linalg.rounding import PAIRWISE, UNIT, total_error
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.threads import gram, product
from rpcag.losses import Loss, part
from rpcag.solvers.certificates import Asked, Bound
from rpcag.solvers.dual_completion import DualColumns, DualCompletion
from rpcag.solvers.executor import Executor
from rpcag.solvers.graph_copy import GraphCopy, compression
from rpcag.solvers.result import Distances, DualPoint, State
from rpcag.solvers.tangent_space import Change, TangentSpace
from rpcag.solvers.tile import Tile

# Rounds that move a multiplier into the norm ball, and the multiple of the excess that
# a round subtracts: above one, because entries at a bound of the loss do not move.
ROUNDS, OVER = 3, 1.5
# If completion leaves a gap above this multiple of the wanted one, other dual points
# are tried.
FAR = 10.0
# Further singular vectors to track: with fewer, growth of the rank is missed. If the
# rank is constant, fewer are enough.
GUARDS, GUARDS_STILL = 32, 8
# Share of the shorter side up to which factors cost less than L itself.
WIDEST = 0.35


class FactoredIterates:
    """The copies of L and the factors of L, for a singular value step that is inexact.

    It is one power step from the last singular vectors: A -> U U^T A with U an
    orthonormal basis of A Q. As A converges, so does Q. L = F Q^T; the other columns of
    the orthonormal Q are candidates for the next L. The copy that the graph smooths
    has a thin basis R of its own (`GraphCopy`).

    Everything with p rows is in tiles. Matrices with n rows and few columns may be
    promises of the executor; only small matrices are held here. Tasks do not choose
    bases: they may run twice, and rounding can rotate eigenvectors.
    """

    kind = "factored"

    def __init__(
        self,
        X: Any,
        loss: Loss,
        gamma: float = 0.0,
        laplacian: ShiftedLaplacian | None = None,
        dtype: Any = None,
        center: np.ndarray | None = None,
        share: float = WIDEST,
        run: Executor | None = None,
    ) -> None:
        self.run = run = run or Executor()
        self.shape, self.final_dtype = X.shape, X.dtype
        self.dtype = np.dtype(dtype or X.dtype)
        self.largest = max(int(share * min(X.shape)), 1)
        self.n_copies = 1 if laplacian is None else 2
        self.rank = 0
        self.shrunk = np.empty(0)  # the singular values of L
        pieces = run.split(X)
        self.widths = [at.stop - at.start for _, at in pieces]
        losses = [part(loss, (slice(None), at)) for _, at in pieces]
        blocks = [block for block, _ in pieces]
        self.tiles = run.keep(*run.each(Tile, blocks, losses, self.dtype, center))
        none = np.empty((len(X), 0), self.dtype)
        self.F: Any = none
        self.Q: list = []  # the first columns belong to L
        self.graph: Any = None
        self.laplacian: Any = None
        self.completion: DualCompletion | None = None
        self._center = center
        if laplacian is not None:
            self.gamma = gamma
            self.completion = DualCompletion(X.shape, gamma, laplacian)
            (self.laplacian,) = run.keep(run.call(_itself, laplacian))
            self.graph = GraphCopy(gamma, none, none)
            self.R = [np.empty((p, 0), self.dtype) for p in self.widths]

    @property
    def is_rounded(self) -> bool:
        """Whether X has more digits than the iterates."""
        return self.dtype.itemsize < self.final_dtype.itemsize

    @property
    def size(self) -> float:
        """||L||^2."""
        return float(np.sum(self.shrunk**2))

    def mean_square(self) -> float:
        """||column means of L||^2, Q being orthonormal."""
        return self.run.get(self.run.call(_mean_square, self.F))[0]

    @property
    def L(self) -> tuple:
        """What L is made of."""
        return self.F, self.Q, self.rank, self.shrunk

    @L.setter
    def L(self, before: tuple) -> None:
        self.F, self.Q, self.rank, self.shrunk = before

    def begin(self, penalties: Sequence[float]) -> None:
        """The first V, and a basis of random directions, once refined."""
        run, width = self.run, min(GUARDS, self.largest)
        self.tiles, _ = run.update(Tile.begin, self.tiles, penalties[0])
        E = run.each(getattr, self.tiles, "E")
        if self._center is not None and self._center.any() and self.graph is not None:
            size = np.linalg.norm(self._center)
            self.R = [(self._center / size).astype(self.dtype)[:, None]]
            G = np.full((self.shape[0], 1), size, self.dtype)
            self.graph = self._solved(GraphCopy(self.gamma, G, G), penalties[1])
        Q = self._random(width, seed=0)
        for _ in range(2):
            Y = run.total(run.each(product, E, Q))
            Q = self._orthonormal(run.each(_inner, E, Y))
        self.Q = run.keep(*Q)
        self._change(Tile.rescale, self.Q, penalties[0], 1.0)

    def _change(self, method: Callable, *args: Any) -> list:
        """Change all tiles; hold them, Y = E Q and what else is needed."""
        run = self.run
        tiles, values = run.update(method, self.tiles, *args)
        self.tiles = run.keep(*tiles)
        Y = run.total(run.each(getattr, self.tiles, "Y"))
        self.Y, self.graph, self.F = run.keep(Y, self.graph, self.F)
        return values

    def _right(self) -> list:
        """The columns of Q that belong to L."""
        return self.run.each(getitem, self.Q, np.s_[:, : self.rank])

    # -- the singular value step -------------------------------------------------------

    def threshold(
        self, penalties: Sequence[float], is_still: bool, seed: int, exact: bool
    ) -> None:
        """Compute L from singular values above the threshold, after a power step."""
        run, whole = self.run, sum(penalties)
        threshold, weights = 1 / whole, [r / whole for r in penalties]
        A2 = None
        if self.graph is not None:
            A2 = run.call(GraphCopy.reflected, self.graph, weights[1])
        E = run.each(getattr, self.tiles, "E")
        U, B, sigma, rotation = self._power_step(E, -2 * weights[0], A2, self.Q, self.Y)
        self.rank = rank = int(np.count_nonzero(sigma > threshold))
        self.shrunk = sigma[:rank] - threshold
        guards = max(GUARDS_STILL, rank // 6) if is_still else max(GUARDS, rank // 4)
        width = rank + guards
        if rank and rank >= 0.9 * len(sigma):  # perhaps more are above the threshold
            width = max(width, 2 * len(sigma))
        width = min(width, self.largest)
        # The singular vectors of U B are U T and B^T T / sigma.
        kept = min(width, len(sigma))
        rotation = rotation[:, :kept].astype(self.dtype)
        right = rotation / sigma[:kept].astype(self.dtype)
        left = rotation[:, :rank] * self.shrunk.astype(self.dtype)
        right, left = run.call(_itself, right), run.call(_itself, left)  # sent once
        Q = run.each(_inner, B, right)
        if width > kept:
            new = self._random(width - kept, seed)
            for _ in range(2):
                common = run.total(run.each(_inner, Q, new))
                new = self._orthonormal(run.each(_minus, new, Q, common))
            Q = run.each(_beside, Q, new)
        self.F, *self.Q = run.keep(run.call(product, U, left), *Q)

    def _power_step(
        self, A: list, weight: float, left: Any, Q: list, Y: Any
    ) -> tuple[Any, list, np.ndarray, np.ndarray]:
        """Leading singular values of weight A + left R^T, from a basis Q; Y is A Q.

        Let U be an orthonormal basis of its product with Q, and B the product of U^T
        with it. Then it is nearly U B. Returns U, B, and the singular values and left
        singular vectors of B.
        """
        run, R, common, pull = self.run, None, None, None
        if left is not None:
            R = self.R
            common = run.total(run.each(_inner, R, Q))
        Y, left = run.keep(run.call(_sum, weight, Y, left, common), left)
        (square,) = run.get(run.call(gram, Y))
        T = orthonormalizer(square, self.dtype).astype(self.dtype)
        U = run.call(product, Y, T)
        if left is not None:
            pull = run.call(_inner, U, left)
        U, *B = run.keep(U, *run.each(_projected, U, A, weight, pull, R))
        (square,) = run.get(run.total(run.each(_outer_gram, B)))
        squares, rotation = eigh(square)
        squares, rotation = squares[::-1], rotation[:, ::-1]
        eps = float(np.finfo(self.dtype).eps)
        nonzero = squares > (len(squares) * eps) ** 2 * np.max(squares, initial=0.0)
        return U, B, np.sqrt(squares[nonzero]), rotation[:, nonzero]

    @property
    def is_high(self) -> bool:
        """Whether the rank is so high that factors are slower than full matrices."""
        return self.rank + GUARDS_STILL > self.largest

    def _random(self, width: int, seed: int) -> list:
        seeds = [[seed, i] for i in range(len(self.widths))]
        return self.run.each(_random, self.widths, width, seeds, self.dtype)

    def _orthonormal(self, blocks: list) -> list:
        """The same blocks of rows of a tall matrix, with orthonormal columns."""
        run = self.run
        blocks = run.keep(*blocks)
        (square,) = run.get(run.total(run.each(gram, blocks)))
        T = orthonormalizer(square, np.dtype(np.float64)).astype(self.dtype)
        return run.each(product, blocks, run.call(_itself, T))

    # -- the copies --------------------------------------------------------------------

    def advance(
        self,
        penalties: Sequence[float],
        relaxation: float,
        growth: float,
        measure: bool,
    ) -> list[Distances]:
        """V += relaxation (L - P), then P and U of the new V, for every copy.

        `growth` multiplies the penalty of the first copy afterwards.
        """
        found: list = []
        if self.graph is not None:
            found = [self._advance_graph(penalties[1], relaxation)]
        options = penalties[0], relaxation, growth, measure
        sums = self._change(Tile.advance, self.Q, self.F, *options)
        if not measure:
            return []
        found = self.run.get(self.run.total(sums), *found)
        return [Distances(*each.tolist()) for each in found]

    def _advance_graph(self, penalty: float, relaxation: float) -> Any:
        """Update the copy of the graph; returns the parts of its `Distances`."""
        run, R, right = self.run, self.R, self._right()
        # L in the basis R and what of Q is orthogonal to it: once is not enough.
        inside = run.total(run.each(_inner, R, right))
        outside = run.each(_minus, right, R, inside)
        again = run.total(run.each(_inner, R, outside))
        outside = run.keep(*run.each(_minus, outside, R, again))
        (square,) = run.get(run.total(run.each(gram, outside)))
        turn, coefficients = _thin(square, self.dtype)
        inside = run.call(np.add, inside, again)
        V, apart = run.call(
            GraphCopy.step, self.graph, self.F, inside, coefficients, relaxation, n=2
        )
        V, apart = run.keep(V, apart)
        square, distance = run.get(run.call(gram, V), apart)
        T = compression(square, distance, relaxation).astype(self.dtype)
        moved = run.call(GraphCopy.turned, self.graph, V, T)
        self.graph = self._solved(moved, penalty)
        turn, T = run.call(_itself, turn), run.call(_itself, T)  # sent once
        self.R = run.keep(*run.each(_extended, R, outside, turn, T))
        return run.call(GraphCopy.distances, self.graph, moved, apart)

    def _solved(self, copy: Any, penalty: float) -> Any:
        """W from V, in as many calls as there are tiles."""
        count = len(self.tiles)
        shares = [slice(i, None, count) for i in range(count)]
        solution = self.run.each(
            GraphCopy.solution, copy, self.laplacian, penalty, shares
        )
        return self.run.call(GraphCopy.joined, copy, solution)

    def rescale(self, factors: Sequence[float], penalties: Sequence[float]) -> None:
        """Multiply penalties by factors; the multipliers r U stay."""
        if self.graph is not None:
            self.graph = self.run.call(GraphCopy.rescaled, self.graph, factors[1])
        self._change(Tile.rescale, self.Q, penalties[0], factors[0])

    # -- the certificate ---------------------------------------------------------------

    def objective(self, penalties: Sequence[float]) -> float:
        """The objective at L = F Q^T, from sums over columns."""
        run = self.run
        loss = run.total(run.each(Tile.distance, self.tiles, self.F, self.Q))
        right = run.total(run.each(gram, self._right()))
        rough = None
        if self.graph is not None:
            rough = run.call(GraphCopy.roughness, self.graph, self.laplacian, self.F)
        loss, left, right, rough = run.get(loss, run.call(gram, self.F), right, rough)
        objective = loss + _nuclear_norm(left, right)
        if rough is not None:
            objective += max(float(np.sum(rough * right)), 0.0)
        return float(objective)

    def bounds(self, penalties: Sequence[float], asked: Asked) -> Iterator[Bound]:
        """Dual points: if it is due, the multiplier completed with the graph.

        The next is the multiplier within the norm ball. Without a graph and near the
        wanted gap, it is polished on the tangent space.
        """
        accuracy = max(asked.tol, 1e-12) / 20
        changes: list[list] = [[] for _ in self.tiles]
        completion = self.completion
        if completion is not None and completion.is_due(asked):
            D = self._multipliers(penalties[0], changes)  # W absorbs the excess
            columns = self.run.each(
                DualColumns.of_tile, self.tiles, D, self.graph, self.R
            )
            for completed in completion(self.run, columns, self.laplacian, accuracy):
                yield completed
                if asked.is_within(completed.value, FAR):
                    return
        if asked.is_near and self.graph is None and self.rank:
            changes = [[c] for c in self.polish(penalties[0], asked.tol / 10)]
        left = rough = None
        if self.graph is not None:
            found = self.run.call(GraphCopy.dual, self.graph, self.laplacian, n=2)
            left, rough = self.run.keep(*found)
        D = self.within_norm(penalties[0], changes, left, asked.tol / 20)
        yield Bound(*self.dual(D, left, rough, accuracy), self._point(D))

    def within_norm(
        self, penalty: float, changes: list[list], left: Any, enough: float
    ) -> list:
        """D_1, in tiles, such that the norm of D = D_1 + left R^T is little above one.

        The point nearest to the multiplier in the dual ball of the loss and the norm
        ball is the projection of r U - Z onto the first, with a Z that is normal to the
        second at D: Z = P diag(z) Q^T has the singular vectors of D whose singular
        values are one. Z is the sum of the excesses of D, found by a power step each
        (Uzawa's method).
        """
        run, Q = self.run, self.Q
        if left is not None:
            (left,) = run.keep(run.call(np.asarray, left, self.dtype))
        for _ in range(ROUNDS):
            D = self._multipliers(penalty, changes)
            Y = run.total(run.each(product, D, Q))
            U, B, sigma, rotation = self._power_step(D, 1.0, left, Q, Y)
            if not np.any(sigma > 1 + enough):
                return D
            above = rotation[:, sigma > 1]
            excess = above * (1 / sigma[sigma > 1] - 1)
            Z = run.call(product, U, (OVER * excess).astype(self.dtype))
            right = run.each(_inner, B, above.astype(self.dtype))
            found = run.each(Change, Z, right)
            changes = [[*some, one] for some, one in zip(changes, found, strict=True)]
            turn = run.call(np.asarray, rotation / sigma, self.dtype)
            Q = run.each(_inner, B, turn)
        return self._multipliers(penalty, changes)

    def _multipliers(self, penalty: float, changes: list[list]) -> list:
        found = self.run.each(Tile.multiplier, self.tiles, penalty, changes)
        return self.run.keep(*found)

    def dual(
        self, D_1: list, left: Any, rough: Any, accuracy: float
    ) -> tuple[float, float, float]:
        """Linear, quadratic and norm of D = D_1 + 2 gamma Phi W, rounded up.

        D_1 is made feasible for the loss by projection; any W is for the graph. The
        errors of D are those of its two parts and the rounding of their sum.
        """
        run, (n, p) = self.run, self.shape
        R, common = None, None
        if left is not None:
            R = self.R
            common = run.total(run.each(gram, R))
        count = len(D_1)
        if n <= p or count == 1:
            squares, sums = run.each(
                Tile.dual_square, self.tiles, D_1, p < n, left, R, n=2
            )
        else:  # by rows: every entry moves once
            D, sums = run.each(Tile.dual_matrix, self.tiles, D_1, left, R, n=2)
            D = run.keep(*D)
            edges = np.linspace(0, n, count + 1).astype(int).tolist()
            rows = [run.each(getitem, D, slice(a, b)) for a, b in pairwise(edges)]
            squares = run.each(_gram_of, rows)
        sums, rough, common, K = run.get(
            run.total(sums), rough, common, run.total(squares)
        )
        count += max(n, p) // 8  # pieces within a tile
        linear, size, conjugate = sums.tolist()
        quadratic = conjugate + total_error(conjugate, count + PAIRWISE)
        error = 2 * UNIT * math.sqrt(max(float(np.trace(K)), 0.0))
        if rough is not None:
            smooth, off = rough.dual(common, p)
            quadratic, error = quadratic + smooth, error + off
        norm = proven_norm(K, accuracy, n + p) + error
        return linear + total_error(size, count), quadratic, norm

    def polish(self, penalty: float, wanted: float) -> list:
        """Change of the multiplier that makes it U V^T on the tangent space at L."""
        run, V = self.run, self._right()
        U = run.call(_unit_columns, self.F)
        masks, A, B = run.each(Tile.free_entries, self.tiles, penalty, U, V, n=3)
        space = TangentSpace(run, U, V, run.keep(*masks))
        return space.changes(space.solve(space.wanted(A, B), wanted, self.dtype))

    def _point(self, D: list) -> Callable[[float], DualPoint]:
        """Makes a multiple of the dual point with this D_1, also after iterations."""
        run, graph, R = self.run, self.graph, self.R if self.graph is not None else []

        def point(scale: float) -> DualPoint:
            W = None
            if graph is not None:
                W = run.whole(run.each(GraphCopy.matrix, graph, R, scale))
            number = self.dtype.type(-scale)
            return DualPoint(run.whole(run.each(np.multiply, D, number)), W)

        return point

    # -- other precisions, other solves, the end ---------------------------------------

    def precise(self, penalties: Sequence[float]) -> None:
        """Continue in the precision of X, in memory."""
        self.dtype = self.final_dtype
        arrays, (tile,) = self.arrays(), self.tiles
        self.tiles = [Tile(tile.X, tile.loss, self.dtype, tile.center)]
        del tile  # with an E as large as X
        self._go_on(arrays, penalties[0])

    def settle(self) -> float | None:
        """Nothing: the objective of L in the precision of X is known."""
        return None

    def cut(self, share: float) -> Callable[[], None] | None:
        """Drop the smallest singular values, up to a share of their sum.

        Returns a function that undoes it; None if there is nothing to drop.
        """
        values = self.shrunk
        below = np.cumsum(values[::-1]) <= share * values.sum()
        kept = self.rank - int(np.count_nonzero(below))
        if kept == self.rank or len(values) != self.rank:
            return None
        before = self.L

        def restore() -> None:
            self.L = before

        self.rank, self.shrunk = kept, values[:kept]
        (self.F,) = self.run.keep(self.run.call(getitem, self.F, np.s_[:, :kept]))
        return restore

    def arrays(self) -> dict[str, np.ndarray]:
        """The state for `resume`; None on other machines."""
        if not self.run.is_local:
            return {}
        (tile,) = self.tiles
        arrays = {"V": tile.V, "Q": self.Q[0], "F": self.F}
        if self.graph is not None:
            arrays |= {"G": self.graph.G, "H": self.graph.H, "R": self.R[0]}
        return arrays

    def save(self) -> tuple[dict, dict[str, np.ndarray]]:
        """Numbers and arrays from which `recall` continues, bit for bit."""
        (tile,) = self.tiles
        return {}, {**self.arrays(), "E": tile.E, "Y": self.Y}

    def recall(self, numbers: dict, arrays: dict[str, np.ndarray]) -> None:
        """Continue from what `save` returned."""
        (tile,) = self.tiles
        self.dtype = arrays["V"].dtype
        tile = Tile(tile.X, tile.loss, self.dtype, tile.center)
        tile.V, tile.E = arrays["V"], arrays["E"]
        self.tiles, self.Q = [tile], [arrays["Q"]]
        self.Y, self.F = arrays["Y"], arrays["F"]
        self.rank = self.F.shape[1]
        if self.graph is not None:
            self.graph = GraphCopy(self.gamma, arrays["G"], arrays["H"])
            self.R = [arrays["R"]]

    def resume(self, start: State, penalties: Sequence[float], ratio: float) -> None:
        """Continue from a solve of the same X, perhaps with other lam and gamma.

        If the penalty in units of `ratio` differs, the multiplier is kept, in units of
        lam. V_2 is kept, because it changes less with gamma than W and its multiplier.
        """
        before = start.penalties[0] / start.ratio * ratio
        self._go_on(start.arrays, before, penalties[0] / before)
        if self.graph is not None:
            self.graph = self._solved(self.graph, penalties[1])

    def _go_on(self, arrays: dict, penalty: float, growth: float = 1.0) -> None:
        """Continue from arrays of perhaps another precision."""
        Q, self.F = (arrays[name].astype(self.dtype) for name in "QF")
        self.rank = rank = self.F.shape[1]
        if arrays["Q"].dtype != self.dtype:
            # Q orthonormal to the digits that it has now, and the same F Q^T.
            Q, triangle = np.linalg.qr(Q)
            self.F = self.F @ triangle[:rank, :rank].T
        self.Q = [Q]
        if self.graph is not None:
            G, H, R = (arrays[name].astype(self.dtype) for name in "GHR")
            self.graph, self.R = GraphCopy(self.gamma, G, H), [R]
        self._change(Tile.go_on, self.Q, arrays["V"], penalty, growth)

    def copies(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The copies of L and their scaled multipliers as full matrices, in memory."""
        (tile,) = self.tiles
        half = tile.V * self.dtype.type(0.5)
        P, U = half - tile.E, half + tile.E
        if self.graph is None:
            return [P], [U]
        G, H, R = self.graph.G, self.graph.H, self.R[0]
        return [P, H @ R.T], [U, (G - H) @ R.T]

    def answer(self) -> tuple[Any, np.ndarray | None]:
        """L, and in memory an orthonormal basis of its shorter side."""
        run, Q = self.run, self._right()
        L = run.whole(run.each(low_rank, self.F, Q, self.final_dtype))
        return L, thin_basis(self.F, Q[0], self.final_dtype) if run.is_local else None

    def factors(self) -> tuple[Any, np.ndarray, np.ndarray]:
        """Scores (perhaps a promise), singular values and directions of L."""
        run = self.run
        *Q, square = run.get(*self.Q, run.call(gram, self.F))
        Vt = np.vstack(Q)[:, : self.rank].T
        signs = column_signs(Vt.T)
        scores = run.call(np.multiply, self.F, signs)
        return scores, np.sqrt(np.diag(square)).astype(self.dtype), Vt * signs[:, None]


def low_rank(F: np.ndarray, Q: np.ndarray, dtype: Any) -> np.ndarray:
    """F Q^T in the precision of X."""
    return product(F.astype(dtype, copy=False), Q.T.astype(dtype, copy=False))


def thin_basis(F: np.ndarray, Q: np.ndarray, dtype: Any) -> np.ndarray:
    """An orthonormal basis of the shorter side of F Q^T."""
    return orthonormal((Q if len(Q) < len(F) else F).astype(dtype))[0]


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
            inverse = linalg.solve_triangular(factor, np.eye(len(gram)))
            return inverse / scale[:, None]
    except linalg.LinAlgError:
        pass
    values, vectors = linalg.eigh(gram, check_finite=False)
    kept = values > 100 * float(np.finfo(dtype).eps) * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept]) / scale[:, None]


def _nuclear_norm(left: np.ndarray, right: np.ndarray) -> float:
    """||F Q^T||_*, given F^T F and Q^T Q = C^T C.

    The singular values are the square roots of the eigenvalues of C F^T F C^T.
    """
    if not len(left):
        return 0.0
    C = linalg.cholesky(right, check_finite=False)
    squares = linalg.eigvalsh(C @ left @ C.T, check_finite=False)
    return float(np.sqrt(np.maximum(squares, 0)).sum())


def _thin(square: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """T with orthonormal A T, and the coefficients of A in it, from A^T A.

    Directions whose length is a rounding error of vectors of length one are dropped:
    of A itself, or of its square, which is in double precision.
    """
    values, vectors = np.linalg.eigh(square)
    eps = float(np.finfo(dtype).eps)
    kept = values > max((16 * eps) ** 2, 2 * UNIT)
    roots = np.sqrt(values[kept])
    T = vectors[:, kept] / roots
    return T.astype(dtype), (vectors[:, kept] * roots).T.astype(dtype)


# -- pure functions that an executor calls ---------------------------------------------


def _itself(value):
    return value


def _inner(A, B):
    return product(A.T, B)


def _outer_gram(B):
    return gram(B.T)


def _minus(A, R, coefficients):
    return A - product(R, coefficients)


def _beside(A, B):
    return np.hstack([A, B])


def _sum(weight: float, Y, left, common):
    Y = Y * Y.dtype.type(weight)
    return Y if left is None else Y + left @ common


def _projected(U, A, weight: float, pull, R):
    """U^T (weight A + left R^T) with pull = U^T left."""
    B = product(U.T, A)
    B *= B.dtype.type(weight)
    if pull is not None:
        B += product(pull, R.T)
    return B


def _random(p: int, k: int, seed: list[int], dtype):
    return np.random.default_rng(seed).standard_normal((p, k)).astype(dtype)


def _extended(R, outside, turn, T):
    return product(np.hstack([R, outside @ turn]), T)


def _unit_columns(F):
    return F / np.linalg.norm(F, axis=0)


def _mean_square(F) -> float:
    return float(np.sum(F.mean(axis=0, dtype=np.float64) ** 2))


def _gram_of(pieces: list[np.ndarray]) -> np.ndarray:
    return gram(np.hstack(pieces))
