"""All that is as large as the data, and what one iteration does to it."""

from typing import Any, NamedTuple

import numpy as np

from rpcag.linalg.blocks import column_blocks, row_blocks
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.svt import proven_norm
from rpcag.solvers.result import State

# Share of a step of the graph copy that its compression may lose.
TAIL = 0.05
# Share of a first guess's residual that conjugate gradients may leave in its solution.
REDUCTION = 0.03


class Distances(NamedTuple):
    """How far a copy P of L is from it and has moved: squared Frobenius norms."""

    apart: float  # L - P
    moved: float  # P - P_before
    copy: float  # P
    multiplier: float  # U


class Objective(NamedTuple):
    """The objective at L = F Q^T, in pieces that a sum over columns gives."""

    loss: float  # lam ||M o (X - L)||_1
    left: np.ndarray  # F^T F
    right: np.ndarray  # Q^T Q
    rough: np.ndarray | None  # gamma F^T Phi F


class Dual(NamedTuple):
    """The dual point D = D_1 + 2 gamma Phi W: its spectral norm and its value."""

    linear: float  # <D_1, X>
    quadratic: float  # gamma tr(W^T Phi W)
    norm: float  # proven to be at least ||D||_2


class Panel:
    """X, the copies of L and the factors of L, in the memory of one process.

    ADMM in the form of Douglas and Rachford keeps one array V = P + U for each copy P
    of L with scaled multiplier U. For the l1 copy U = clip(V - X, -lam/r, lam/r), and
    the singular value step wants E = P - U. The graph copy is a matrix of low rank too,
    as L was in all iterations so far: V_2 = G R^T and W = H R^T with orthonormal R.
    L = F Q^T; the other columns of the orthonormal Q guess what the next L may need.
    """

    def __init__(
        self,
        X: np.ndarray,
        lam: float,
        gamma: float = 0.0,
        laplacian: ShiftedLaplacian | None = None,
        dtype: Any = None,
    ) -> None:
        self.X = X  # as it came: certificates are computed from it
        self.dtype = np.dtype(dtype or X.dtype)
        self._x = X.astype(self.dtype, copy=False)
        self.shape = X.shape
        self.lam, self.gamma = lam, gamma
        self.laplacian = laplacian
        self.has_missing = any(np.isnan(X[rows]).any() for rows in row_blocks(X.shape))

    def begin(self, penalties: tuple[float, ...], width: int) -> None:
        """L = 0 and a basis of `width` random directions, once refined."""
        n, p = self.shape
        self.V = np.zeros(self.shape, self.dtype)
        self.E = np.empty(self.shape, self.dtype)
        self.Q = np.empty((p, 0), self.dtype)
        self.F = np.empty((n, 0), self.dtype)
        if self.laplacian is not None:
            self.G, self.H = np.empty((2, n, 0), self.dtype)
            self.R = np.empty((p, 0), self.dtype)
        self._reflect(penalties[0])
        self._widen(width, seed=0)
        self.Q, _ = np.linalg.qr(self.E.T @ (self.E @ self.Q))
        self.Y = self.E @ self.Q

    # -- the singular value step -------------------------------------------------------

    def sketch(self, weights: tuple[float, ...]) -> np.ndarray:
        """Y = A Q of A = w_1 E + w_2 (2 W - V_2); returns Y^T Y."""
        self.Y *= self.dtype.type(weights[0])
        if self.laplacian is not None:
            self._A2 = self.dtype.type(weights[1]) * (2 * self.H - self.G)
            self.Y += self._A2 @ (self.R.T @ self.Q)
        return _gram(self.Y)

    def compress(self, to_orthonormal: np.ndarray, weights) -> np.ndarray:
        """B = U^T A with orthonormal U = Y T; returns B B^T."""
        self._U = self.Y @ to_orthonormal.astype(self.dtype)
        self._B = self._U.T @ self.E
        self._B *= self.dtype.type(weights[0])
        if self.laplacian is not None:
            self._B += (self._U.T @ self._A2) @ self.R.T
        return _gram(self._B.T)

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
        self.Q = self._B.T @ (rotation / sigma.astype(self.dtype))
        self.F = self._U @ rotation[:, : len(shrunk)]
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
            new -= self.Q @ (self.Q.T @ new)
            new, _ = np.linalg.qr(new)
        self.Q = np.hstack([self.Q, new])

    # -- the copies --------------------------------------------------------------------

    def advance(
        self,
        penalties: tuple[float, ...],
        relaxation: float,
        growth: float = 1.0,
        measure: bool = False,
    ) -> list[Distances]:
        """V += relaxation (L - P), then P and U of the new V, for every copy.

        `growth` multiplies the penalty of the l1 copy afterwards: its multiplier r U
        stays, so U is divided by it. Of V_2 a part as small as TAIL times the step is
        forgotten, so that its rank stays small.
        """
        number = self.dtype.type
        rank = self.F.shape[1]
        right = np.ascontiguousarray(self.Q[:, :rank].T)
        sums = np.zeros(4)
        Y = np.empty((self.shape[0], self.Q.shape[1]), self.dtype)
        buffer = None
        for rows in row_blocks(self.shape):
            v, e = self.V[rows], self.E[rows]
            buffer = np.empty_like(v) if buffer is None else buffer
            step = buffer[: len(v)]
            e += v
            e *= number(0.5)  # P
            np.matmul(self.F[rows], right, out=step)
            step -= e
            if measure:
                before = e.copy()
                sums[0] += np.vdot(step, step)
            step *= number(relaxation)
            v += step
            self._reflect_rows(rows, penalties[0], growth)
            np.matmul(e, self.Q, out=Y[rows])
            if measure:
                np.add(v, e, out=step)
                step *= number(0.5)
                before -= step
                sums[1] += np.vdot(before, before)
                sums[2] += np.vdot(step, step)
                step -= v
                sums[3] += np.vdot(step, step) * growth**2
        self.Y = Y
        distances = [Distances(*sums)]
        if self.laplacian is not None:
            distances.append(self._advance_graph(penalties[1], relaxation))
        return distances

    def _reflect(self, penalty: float, growth: float = 1.0) -> None:
        for rows in row_blocks(self.shape):
            self._reflect_rows(rows, penalty, growth)

    def _reflect_rows(self, rows: slice, penalty: float, growth: float = 1.0) -> None:
        """U = clip(V - X), and from it E = P - U; after growth V = P + U too."""
        bound = self.dtype.type(self.lam / penalty)
        v, e = self.V[rows], self.E[rows]
        np.subtract(v, self._x[rows], out=e)
        np.clip(e, -bound, bound, out=e)
        if self.has_missing:
            np.copyto(e, 0, where=np.isnan(e))
        if growth != 1.0:
            e *= self.dtype.type(1 - 1 / growth)
            v -= e
            e *= self.dtype.type(-2 / (growth - 1))
        else:
            e *= self.dtype.type(-2)
        e += v

    def _advance_graph(self, penalty: float, relaxation: float) -> Distances:
        assert self.laplacian is not None
        number = self.dtype.type
        # L and V_2 in a common basis: R and what of Q is orthogonal to it.
        QL = self.Q[:, : self.F.shape[1]]
        inside = self.R.T @ QL
        outside = QL - self.R @ inside
        again = self.R.T @ outside  # twice is enough
        outside -= self.R @ again
        inside += again
        new, coefficients = np.linalg.qr(outside)
        k = self.R.shape[1]
        step = self.F @ np.hstack([inside.T, coefficients.T])
        step[:, :k] -= self.H
        apart = float(np.vdot(step, step))
        step *= number(relaxation)
        step[:, :k] += self.G
        R = np.hstack([self.R, new])
        # The best approximation of V_2 whose error is a small part of the step.
        squares, T = np.linalg.eigh(_gram(step))
        allowed = (TAIL * relaxation) ** 2 * apart
        drop = int(np.searchsorted(np.cumsum(np.maximum(squares, 0)), allowed, "right"))
        T = T[:, min(drop, len(T) - 1) :].astype(self.dtype)
        before = self.H @ T[:k]
        self.G, self.R = step @ T, R @ T
        self.H = before.copy()
        self.laplacian.solve(
            2 * self.gamma / penalty, self.G, self.H, reduction=REDUCTION
        )
        before -= self.H
        U = self.G - self.H
        return Distances(
            apart,
            float(np.vdot(before, before)),
            float(np.vdot(self.H, self.H)),
            float(np.vdot(U, U)),
        )

    def rescale(self, factors: tuple[float, ...], penalties: tuple[float, ...]) -> None:
        """Multiply penalties by factors; the multipliers r U stay."""
        for rows in row_blocks(self.shape):
            self._reflect_rows(rows, penalties[0], factors[0])
        self.Y = self.E @ self.Q
        if self.laplacian is not None and factors[1] != 1:
            self.G = self.H + (self.G - self.H) / self.dtype.type(factors[1])

    # -- the certificate ---------------------------------------------------------------

    def objective(self) -> Objective:
        F, Q = (M.astype(np.float64) for M in (self.F, self.Q[:, : self.F.shape[1]]))
        loss = 0.0
        for rows in row_blocks(self.shape):
            distance = F[rows] @ Q.T
            distance -= self.X[rows]
            np.abs(distance, out=distance)
            if self.has_missing:
                np.copyto(distance, 0, where=np.isnan(distance))
            loss += float(distance.sum())
        rough = None
        if self.laplacian is not None:
            rough = self.gamma * (F.T @ (self.laplacian.laplacian @ F))
        return Objective(self.lam * loss, F.T @ F, Q.T @ Q, rough)

    def dual(self, penalties: tuple[float, ...], accuracy: float) -> Dual:
        """Feasible for the l1 term by its clip, for the graph by its form."""
        n, p = self.shape
        quadratic, graph = 0.0, None
        if self.laplacian is not None:
            H, R = self.H.astype(np.float64), self.R.astype(np.float64)
            rough = self.gamma * (self.laplacian.laplacian @ H)
            quadratic = max(float(np.sum((H.T @ rough) * (R.T @ R))), 0.0)
            graph = 2 * rough, R
        size = min(n, p)
        K = np.zeros((size, size))
        linear = 0.0
        pieces = row_blocks if p <= n else column_blocks
        for piece in pieces(self.shape):
            at = (piece, slice(None)) if p <= n else (slice(None), piece)
            D = np.subtract(self.V[at], self.E[at], dtype=np.float64)
            D *= penalties[0] / 2
            np.clip(D, -self.lam, self.lam, out=D)
            x = self.X[at]
            if self.has_missing:
                x = np.where(np.isnan(x), 0, x)  # where D is 0
            linear += float(np.vdot(D, x))
            if graph is not None:
                D += graph[0][at[0]] @ graph[1][at[1]].T
            K += D.T @ D if p <= n else D @ D.T
        return Dual(linear, quadratic, proven_norm(K, accuracy))

    # -- what is left ------------------------------------------------------------------

    def mean_square(self) -> float:
        """||column means of L||^2, Q being orthonormal."""
        return float(np.sum(self.F.mean(axis=0, dtype=np.float64) ** 2))

    def precise(self, penalties: tuple[float, ...]) -> None:
        """Go on in the precision of X."""
        self.dtype = self.X.dtype
        self._x = self.X
        self._restore(self.arrays())
        self._reflect(penalties[0])
        self.Y = self.E @ self.Q

    def arrays(self) -> dict[str, np.ndarray]:
        """All that another panel needs to go on from here."""
        names = "VQF" if self.laplacian is None else "VQFGHR"
        return {name: getattr(self, name) for name in names}

    def save(self) -> dict[str, np.ndarray]:
        """All that `recall` needs to go on from here, bit by bit."""
        return {**self.arrays(), "E": self.E, "Y": self.Y}

    def recall(self, arrays: dict[str, np.ndarray]) -> None:
        self.dtype = arrays["V"].dtype
        self._x = self.X.astype(self.dtype, copy=False)
        for name, array in arrays.items():
            setattr(self, name, array)

    def resume(self, start: State, units: tuple[float, ...], ratio: float) -> None:
        """Go on from a solve of the same X with perhaps other lam and gamma.

        Where the penalty in units of `ratio` differs, the multiplier stays, in units of
        lam. V_2 stays: between W and its multiplier, of which another gamma changes
        one or the other most, it changes least.
        """
        self._restore(start.arrays)
        before = start.penalties[0] / start.ratio
        self._reflect(before * ratio, units[0] / before)
        self.Y = self.E @ self.Q
        if self.laplacian is not None:
            if "H" not in start.arrays:
                self.H, self.R = self.F.copy(), self.Q[:, : self.F.shape[1]]
                self.G = self.F.copy()
            shift = 2 * self.gamma / (units[1] * ratio)
            self.laplacian.solve(shift, self.G, self.H, reduction=REDUCTION)

    def _restore(self, arrays: dict[str, np.ndarray]) -> None:
        for name, array in arrays.items():
            setattr(self, name, array.astype(self.dtype))
        self.Q, _ = np.linalg.qr(self.Q)
        self.E = np.empty(self.shape, self.dtype)

    def copies(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The copies of L and their scaled multipliers as full matrices."""
        half = self.dtype.type(0.5)
        P, U = (self.V + self.E) * half, (self.V - self.E) * half
        if self.laplacian is None:
            return [P], [U]
        return [P, self.H @ self.R.T], [U, (self.G - self.H) @ self.R.T]

    def answer(self) -> tuple[np.ndarray, np.ndarray]:
        """L, and an orthonormal basis of its shorter side."""
        F = self.F.astype(self.X.dtype)
        right = self.Q[:, : F.shape[1]].astype(self.X.dtype)
        thin = right if self.shape[1] < self.shape[0] else F
        basis, _ = np.linalg.qr(thin)
        return F @ right.T, basis


def _gram(Y: np.ndarray) -> np.ndarray:
    """Y^T Y in double precision."""
    Y = Y.astype(np.float64, copy=False)
    return Y.T @ Y
