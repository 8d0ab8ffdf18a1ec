"""All that is as large as the data, and what one iteration does to it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rpcag.linalg.blocks import column_blocks, row_blocks
from rpcag.linalg.orthonormal import orthonormal
from rpcag.linalg.rounding import PAIRWISE, UNIT, total, total_error
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.svt import proven_norm
from rpcag.linalg.threads import gram, in_shares, product
from rpcag.losses import Loss, nearest, part
from rpcag.solvers.checkpoint import array
from rpcag.solvers.dual_completion import DualCompletion
from rpcag.solvers.dual_polishing import NEAR, Factors, Tangent
from rpcag.solvers.graph_copy import GraphCopy, no_copy
from rpcag.solvers.result import Distances, DualPoint, State


class Objective(NamedTuple):
    """The objective at L = F Q^T, in pieces that a sum over columns gives."""

    loss: float  # l(M o (L - X))
    left: np.ndarray  # F^T F
    right: np.ndarray  # Q^T Q
    rough: np.ndarray | None  # gamma F^T Phi F


class Dual(NamedTuple):
    """The dual point D = D_1 + 2 gamma Phi W: its spectral norm and its value."""

    linear: float  # <D_1, X>
    quadratic: float  # gamma tr(W^T Phi W) + l*(D_1)
    norm: float  # proven to be at least ||D||_2

    @classmethod
    def rounded_up(
        cls,
        sums: np.ndarray,
        n_pieces: int,
        quadratic: float,
        K: np.ndarray,
        error: float,
        accuracy: float,
        length: int,
    ) -> "Dual":
        """From the square K of D, and `sums` of `Iterates.dual_piece`.

        The errors of D are `error` and the rounding of the sum of its two parts.
        `length` is at least the number of products in an entry of K.
        """
        linear, size, conjugate = sums.tolist()
        quadratic += conjugate + total_error(conjugate, n_pieces + PAIRWISE)
        error += 2 * UNIT * math.sqrt(max(float(np.trace(K)), 0.0))
        norm = proven_norm(K, accuracy, length) + error
        return cls(linear + total_error(size, n_pieces), quadratic, norm)


# Share of the last iteration in the mean of the multipliers.
SHARE = 0.3
# Entries of a piece of the dual point: its square is added to another of that size.
PIECE = 2**19
# Size of X over that of all such squares, one per thread.
WIDE = 4
# What a polished multiplier adds: M o (left right^T).
Change = tuple[np.ndarray, Factors]


class Iterates:
    """X, the copies of L and the factors of L, in the memory of one process.

    ADMM in the form of Douglas and Rachford keeps one array V = P + U for each copy P
    of L with scaled multiplier U. For the copy of the loss U = project(V - X, r). The
    singular value step wants P - U; kept is E = (U - P) / 2 = U - V / 2, which takes
    the fewest passes over memory. For the graph copy see `GraphCopy`.
    L = F Q^T; the other columns of the orthonormal Q guess what the next L may need.
    """

    can_hand_over = True
    can_polish = True
    can_average = True

    def __init__(
        self,
        X: np.ndarray,
        loss: Loss,
        gamma: float = 0.0,
        laplacian: ShiftedLaplacian | None = None,
        dtype: Any = None,
        center: np.ndarray | None = None,
    ) -> None:
        self.X = X  # as it came: certificates are computed from it
        self.dtype = np.dtype(dtype or X.dtype)
        self._x = X.astype(self.dtype, copy=False)
        self.shape = X.shape
        self.loss = loss  # a sum over entries
        self._center = center  # the row that every row of L starts from, else zero
        self.has_missing = any(np.isnan(X[rows]).any() for rows in row_blocks(X.shape))
        n, p = self.shape
        self.Q = np.empty((p, 0), self.dtype)
        self.F = np.empty((n, 0), self.dtype)
        self.mean: np.ndarray | None = None  # of the multiplier r U
        self.graph: GraphCopy | None = None
        self.relief: DualCompletion | None = None
        if laplacian is not None:
            if DualCompletion.suits(laplacian):
                self.relief = DualCompletion(X, loss, gamma, laplacian)
            self.graph = no_copy(laplacian, gamma, n, self.dtype)
            self.R = self.Q

    def begin(self, penalties: tuple[float, ...], width: int) -> None:
        """The first V, and a basis of random directions, once refined."""
        self.zero(penalties[0])
        if self._center is not None:
            self._center_graph(self._center, penalties)
        self._widen(width, seed=0)
        self.Q, _ = np.linalg.qr(self.E.T @ (self.E @ self.Q))
        self.Y = self.E @ self.Q

    def zero(self, penalty: float) -> None:
        """All rows of V at zero, or at the center."""
        self.V = np.zeros(self.shape, self.dtype)
        if self._center is not None:
            self.V += self._center.astype(self.dtype)
        self.E = np.empty(self.shape, self.dtype)
        self.reflect(penalty)

    def _center_graph(self, center: np.ndarray, penalties: tuple[float, ...]) -> None:
        size = np.linalg.norm(center)
        if self.graph is None or not size:
            return
        self.R = (center / size).astype(self.dtype)[:, None]
        G = np.full((len(self.X), 1), size, self.dtype)
        self.graph = replace(self.graph, G=G, H=G).solved(penalties[1])

    # -- the singular value step -------------------------------------------------------

    def sketch(self, weights: tuple[float, ...]) -> np.ndarray:
        """Y = A Q of A = -2 w_1 E + w_2 (2 W - V_2); returns Y^T Y."""
        self.Y *= self.dtype.type(-2 * weights[0])
        if self.graph is not None:
            self._A2 = self.graph.reflected(weights[1])
            self.Y += self._A2 @ product(self.R.T, self.Q)
        return gram(self.Y)

    def compress(self, to_orthonormal: np.ndarray, weights) -> np.ndarray:
        """B = U^T A with orthonormal U = Y T; returns B B^T."""
        self._U = product(self.Y, to_orthonormal.astype(self.dtype))
        self._B = self.project(self._U, weights[0])
        if self.graph is not None:
            self._B += product(self._U.T @ self._A2, self.R.T)
        return gram(self._B.T)

    def project(self, U: np.ndarray, weight: float) -> np.ndarray:
        B = product(U.T, self.E)
        B *= self.dtype.type(-2 * weight)
        return B

    def turn(
        self,
        rotation: np.ndarray,
        sigma: np.ndarray,
        shrunk: np.ndarray,
        width: int,
        seed: int,
    ) -> None:
        """The singular vectors of U B are U T and B^T T / sigma; L = F Q^T."""
        rotation = rotation.astype(self.dtype)
        self.Q = product(self._B.T, rotation / sigma.astype(self.dtype))
        self.F = product(self._U, rotation[:, : len(shrunk)])
        self.F *= shrunk.astype(self.dtype)
        del self._B, self._U
        self._widen(width, seed)

    def _widen(self, width: int, seed: int) -> None:
        """Random directions, orthogonal to the others, until Q has `width` columns."""
        p, k = self.Q.shape
        if width <= k:
            return
        new = np.random.default_rng(seed).standard_normal((p, width - k))
        new = new.astype(self.dtype)
        for _ in range(2):
            new -= product(self.Q, product(self.Q.T, new))
            new, _ = np.linalg.qr(new)
        self.Q = np.hstack([self.Q, new])

    # -- the copies --------------------------------------------------------------------

    def advance(
        self,
        penalties: tuple[float, ...],
        relaxation: float,
        growth: float = 1.0,
        measure: bool = False,
        average: bool = False,
    ) -> list[Distances]:
        """V += relaxation (L - P), then P and U of the new V, for every copy.

        `growth` multiplies the penalty of the l1 copy afterwards: its multiplier r U
        stays, so U is divided by it. `average` adds the new multiplier and W to their
        means, from which the certificate is then made; without it they are forgotten.
        """
        first = average and self.mean is None
        if first:
            self.mean = np.empty(self.shape, self.dtype)
        elif not average:
            self.mean = None
        share = 1.0 if first else SHARE
        distances = [
            self.advance_loss(penalties[0], relaxation, growth, measure, share)
        ]
        if self.graph is not None:
            if not average:
                self.graph = replace(self.graph, mean=None)
            # L in the basis R of the graph copy and what of Q is orthogonal to it.
            QL = self.Q[:, : self.F.shape[1]]
            inside = product(self.R.T, QL)
            outside = QL - product(self.R, inside)
            again = product(self.R.T, outside)  # once is not enough, twice is
            outside -= product(self.R, again)
            new, coefficients = orthonormal(outside)
            self.graph, T, moved = self.graph.advance(
                self.F, inside + again, coefficients, penalties[1], relaxation
            )
            self.R = product(np.hstack([self.R, new]), T.astype(self.dtype))
            if average:
                self.graph = self.graph.averaged(SHARE)
            distances.append(moved)
        return distances

    def advance_loss(
        self,
        penalty: float,
        relaxation: float,
        growth: float,
        measure: bool,
        share: float = 0.0,
    ) -> Distances:
        assert self.mean is None or growth == 1.0  # the mean takes U in one unit
        right = np.ascontiguousarray(self.Q[:, : self.F.shape[1]].T)
        self.Y = np.empty((self.shape[0], self.Q.shape[1]), self.dtype)

        def advance(some: Sequence[slice]) -> np.ndarray:
            """The sums that the distances are made of."""
            number = self.dtype.type
            sums = np.zeros(4)
            product = np.empty_like(self.V[some[0]])
            for rows in some:
                v, e, left = self.V[rows], self.E[rows], self.F[rows]
                step = np.matmul(left, right, out=product[: len(v)])
                if measure:
                    P = number(0.5) * v - e
                    apart = step - P
                    sums[0] += np.vdot(apart, apart)
                # With P = V / 2 - E: V + c (L - P) = (1 - c / 2) V + c (L + E).
                step += e
                step *= number(relaxation)
                v *= number(1 - relaxation / 2)
                v += step
                self._reflect_rows(rows, penalty, growth)
                np.matmul(e, self.Q, out=self.Y[rows])
                if measure:
                    np.multiply(v, number(0.5), out=step)
                    step -= e
                    P -= step
                    sums[1] += np.vdot(P, P)
                    sums[2] += np.vdot(step, step)
                    step -= v
                    sums[3] += np.vdot(step, step) * growth**2
                if self.mean is not None:
                    np.multiply(v, number(0.5), out=step)
                    step += e  # U
                    step *= number(share * penalty)
                    if share < 1:
                        self.mean[rows] *= number(1 - share)
                        self.mean[rows] += step
                    else:
                        self.mean[rows] = step
            return sums

        work = self.V.size * (len(right) + self.Q.shape[1])
        sums = sum(in_shares(advance, row_blocks(self.shape), work))
        return Distances(*sums.tolist())

    def reflect(self, penalty: float, growth: float = 1.0) -> None:
        for rows in row_blocks(self.shape):
            self._reflect_rows(rows, penalty, growth)

    def _reflect_rows(self, rows: slice, penalty: float, growth: float = 1.0) -> None:
        """U of the loss, and from it E = U - V / 2; after growth V = P + U too."""
        number = self.dtype.type
        v, e = self.V[rows], self.E[rows]
        np.subtract(v, self._x[rows], out=e)
        if self.has_missing:
            np.copyto(e, 0, where=np.isnan(e))
        part(self.loss, (rows, slice(None))).project(e, penalty, out=e)
        if growth != 1.0:
            v += e * number(1 / growth - 1)
            e *= number(1 / growth)
        e -= v * number(0.5)

    def rescale(self, factors: list[float], penalties: tuple[float, ...]) -> None:
        """Multiply penalties by factors; the multipliers r U stay."""
        self.reflect(penalties[0], factors[0])
        self.Y = self.E @ self.Q
        if self.graph is not None:
            self.graph = self.graph.rescaled(factors[1])

    # -- the certificate ---------------------------------------------------------------

    def objective(self) -> Objective:
        Q = self.Q[:, : self.F.shape[1]]
        rough = None if self.graph is None else self.graph.roughness(self.F)
        return Objective(self.distance(self.F), gram(self.F), gram(Q), rough)

    def distance(self, F: np.ndarray) -> float:
        """The loss at F Q^T."""
        F = F.astype(np.float64)
        right = self.Q[:, : F.shape[1]].T.astype(np.float64)

        def sizes(share: Sequence[slice]) -> float:
            total = 0.0
            for rows in share:
                residual = F[rows] @ right
                residual -= self.X[rows]
                if self.has_missing:
                    np.copyto(residual, 0, where=np.isnan(residual))
                loss = part(self.loss, (rows, slice(None)))
                total += float(loss.value(residual).sum())
            return total

        work = self.X.size * len(right)
        return sum(in_shares(sizes, row_blocks(self.shape), work))

    def dual(
        self,
        penalties: tuple[float, ...],
        accuracy: float,
        change: Change | None = None,
    ) -> Dual:
        """In the dual ball of the loss by projection, for the graph by its form."""
        n, p = self.shape
        quadratic, error, graph = 0.0, 0.0, None
        if self.graph is not None:
            left, rough = self.graph.dual()
            R = self.R.astype(np.float64)
            quadratic, error = rough.dual(gram(R), p)
            graph = left, R
        size = min(n, p)

        def square(share: Sequence[slice]) -> tuple[np.ndarray, np.ndarray]:
            """Of some of D on its shorter side, and its product with X."""
            K, linear = np.zeros((size, size)), np.zeros(3)
            for piece in share:
                at = np.s_[piece, :] if p <= n else np.s_[:, piece]
                D, along = self.dual_piece(at, penalties[0], change)
                linear += along
                if graph is not None:
                    D += graph[0][at[0]] @ graph[1][at[1]].T
                K += D.T @ D if p <= n else D @ D.T
            return K, linear

        wide = column_blocks(self.shape, PIECE, most=p)
        pieces = row_blocks(self.shape) if p <= n else wide
        # Every thread has a square of its own; all of them are small beside X.
        most = max(1, max(n, p) // (WIDE * size))
        found = in_shares(square, pieces, n * p * size, most)
        K = found[0][0]
        for more, _ in found[1:]:
            K += more
        return Dual.rounded_up(
            sum(a for _, a in found), len(pieces), quadratic, K, error, accuracy, n + p
        )

    def relieved(self, penalties: tuple[float, ...], accuracy: float) -> Dual:
        """A better point: see `rpcag.solvers.dual_completion`."""
        assert self.relief is not None
        return Dual(*self.relief(*self._parts(penalties), accuracy))

    def dual_point(
        self,
        penalties: tuple[float, ...],
        scale: float,
        change: Change | None,
        is_relieved: bool,
        out: np.ndarray,
    ) -> DualPoint:
        """The point of the last certificate, times `scale`; D is written to `out`.

        At the end of a solve `out` may be E, which is not needed any more.
        """
        if is_relieved:
            assert self.relief is not None
            D, W = self.relief.point(*self._parts(penalties))
            return DualPoint(D * -scale, W * scale)
        for rows in row_blocks(self.shape):
            D, _ = self.dual_piece(np.s_[rows, :], penalties[0], change)
            np.multiply(D, -scale, out=out[rows])
        if self.graph is None:
            return DualPoint(out, None)
        H = self.graph.smooth.astype(self.dtype) * self.dtype.type(scale)
        return DualPoint(out, product(H, self.R.T))

    def _parts(self, penalties: tuple[float, ...]) -> tuple[Any, Any]:
        """Columns of D_1 and of W."""
        assert self.graph is not None
        H, R = self.graph.smooth, self.R.astype(np.float64)
        return (
            lambda at: self.dual_piece(np.s_[:, at], penalties[0])[0],
            lambda at: H @ R[at].T,
        )

    def dual_piece(
        self, at: Any, penalty: float, change: Change | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Some of D_1; its product with X, as a sum and a sum of sizes; l*(D_1)."""
        if self.mean is not None:
            D = self.mean[at].astype(np.float64)
        else:
            D = np.multiply(self.V[at], 0.5, dtype=np.float64)
            D += self.E[at]  # U
            D *= penalty
        if change is not None:
            mask, (left, right) = change
            step = left[at[0]] @ right[at[1]].T
            step *= mask[at]
            D += step
        x = self.X[at]
        if self.has_missing:  # D is 0 there already, except from an altered checkpoint
            missing = np.isnan(x)
            np.copyto(D, 0, where=missing)
            x = np.where(missing, 0, x)
        loss = part(self.loss, at)
        nearest(loss, D)
        return D, np.append(total(D * x), loss.conjugate(D).sum())

    def polish(self, penalty: float, wanted: float) -> Change:
        """What the multiplier lacks to be U V^T on T: see `dual_polishing`."""
        mask = np.empty(self.shape, self.dtype)

        def multiplier(rows: slice) -> np.ndarray:
            U = self.V[rows] * self.dtype.type(0.5)
            U += self.E[rows]
            # Free are entries that the projection still leaves alone if they are
            # a little larger; of a smooth loss there are none.
            larger = U * self.dtype.type(1 / (1 - NEAR))
            inside = part(self.loss, (rows, slice(None))).project(larger, penalty)
            np.equal(inside, larger, out=mask[rows])
            if self.has_missing:
                np.copyto(mask[rows], 0, where=np.isnan(self._x[rows]))
            U *= self.dtype.type(penalty)
            return U

        V = self.Q[:, : self.F.shape[1]]
        tangent = Tangent(self.F / np.linalg.norm(self.F, axis=0), V, mask)
        R = -tangent.project(multiplier)
        R[: len(V)] -= V
        return mask, tangent.factors(tangent.solve(R, wanted))

    def mean_square(self) -> float:
        """||column means of L||^2, Q being orthonormal."""
        return mean_square(self.F)

    # -- other precisions, other solves, the end ---------------------------------------

    @property
    def is_rounded(self) -> bool:
        """Whether X has more digits than the iterates."""
        return self.dtype.itemsize < self.X.dtype.itemsize

    def precise(self, penalties: tuple[float, ...]) -> None:
        """Go on in the precision of X."""
        self.dtype = self.X.dtype
        self._x = self.X
        self.forget_mean()
        del self.E  # made again from V, and as large as it
        self._restore(self.arrays())
        self.reflect(penalties[0])
        self.Y = self.E @ self.Q

    def forget_mean(self) -> None:
        """The mean multiplier, as large as X, where no certificate asks for it."""
        self.mean = None
        if self.graph is not None:
            self.graph = replace(self.graph, mean=None)

    def arrays(self) -> dict[str, np.ndarray]:
        """All that another panel needs to go on from here."""
        arrays = {"V": self.V, "Q": self.Q, "F": self.F}
        if self.graph is not None:
            arrays |= {"G": self.graph.G, "H": self.graph.H, "R": self.R}
        return arrays

    def save(self) -> dict[str, np.ndarray]:
        """All that `recall` needs to go on from here, bit by bit."""
        arrays = {**self.arrays(), "E": self.E, "Y": self.Y}
        if self.mean is not None and self.graph is not None:
            arrays |= {"mean": self.mean, "mean_H": self.graph.mean}
        return arrays

    def recall(self, arrays: dict[str, np.ndarray]) -> None:
        """Restore the arrays; ValueError or KeyError if they do not fit this panel."""
        (n, p), dtype = self.shape, array(arrays, "V", self.shape).dtype
        width = array(arrays, "Q", (p, None), dtype).shape[1]
        shapes = {"E": (n, p), "Y": (n, width), "F": (n, None)}
        if self.graph is not None:
            thin = array(arrays, "R", (p, None), dtype).shape[1]
            shapes |= {"G": (n, thin), "H": (n, thin)}
            if "mean" in arrays:
                shapes |= {"mean": (n, p), "mean_H": (n, thin)}
        unknown = set(arrays) - set(shapes) - {"V", "Q", "R"}
        if unknown or array(arrays, "F", (n, None), dtype).shape[1] > width:
            raise ValueError("the arrays do not belong together")
        for name, shape in shapes.items():
            array(arrays, name, shape, dtype)
        self.dtype = dtype
        self._x = self.X.astype(self.dtype, copy=False)
        self._set(arrays)

    def resume(self, start: State, units: tuple[float, ...], ratio: float) -> None:
        """Go on from a solve of the same X with perhaps other lam and gamma.

        Where the penalty in units of `ratio` differs, the multiplier stays, in units of
        lam. V_2 stays: between W and its multiplier, of which another gamma changes
        one or the other most, it changes least.
        """
        self._restore(start.arrays)
        before = start.penalties[0] / start.ratio
        self.reflect(before * ratio, units[0] / before)
        self.Y = self.E @ self.Q
        if self.graph is not None:
            self.graph = self.graph.solved(units[1] * ratio)

    def _restore(self, arrays: dict[str, np.ndarray]) -> None:
        rounded = arrays["Q"].dtype != self.dtype
        self._set({name: array.astype(self.dtype) for name, array in arrays.items()})
        if rounded:  # Q orthonormal to the digits that it has now, and the same F Q^T
            rank = self.F.shape[1]
            self.Q, triangle = np.linalg.qr(self.Q)
            self.F = self.F @ triangle[:rank, :rank].T
        self.E = np.empty(self.shape, self.dtype)

    def _set(self, arrays: dict[str, np.ndarray]) -> None:
        self.mean = None
        for name in set(arrays) - {"G", "H", "mean_H"}:
            setattr(self, name, np.ascontiguousarray(arrays[name]))
        if self.graph is not None:
            laplacian, gamma = self.graph.laplacian, self.graph.gamma
            mean = arrays.get("mean_H")
            self.graph = GraphCopy(laplacian, gamma, arrays["G"], arrays["H"], mean)

    def copies(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The copies of L and their scaled multipliers as full matrices."""
        half = self.dtype.type(0.5)
        P, U = self.V * half - self.E, self.V * half + self.E
        if self.graph is None:
            return [P], [U]
        G, H = self.graph.G, self.graph.H
        return [P, H @ self.R.T], [U, (G - H) @ self.R.T]

    def answer(self) -> tuple[np.ndarray, np.ndarray]:
        """L, and an orthonormal basis of its shorter side."""
        self.forget_mean()
        F = self.F.astype(self.X.dtype)
        right = self.Q[:, : F.shape[1]].astype(self.X.dtype)
        thin = right if self.shape[1] < self.shape[0] else F
        basis, _ = orthonormal(thin)
        return product(F, right.T), basis


def mean_square(F: np.ndarray) -> float:
    return float(np.sum(F.mean(axis=0, dtype=np.float64) ** 2))
