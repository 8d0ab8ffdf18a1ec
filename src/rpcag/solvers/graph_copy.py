"""The copy of L that the graph smooths, as coefficients in a thin basis."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rpcag.linalg.rounding import PAIRWISE, UNIT
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.threads import product

# Share of a step that the compression may lose.
TAIL = 0.1


class Roughness(NamedTuple):
    """gamma H^T Phi H of W = H R^T, and the norms that bound its rounding error."""

    square: np.ndarray
    n_rows: int
    size: float  # ||H||_F
    moved: float  # ||gamma Phi H||_F
    lost: float  # rounding of gamma Phi H, in the Frobenius norm

    def dual(self, common: np.ndarray, n_columns: int) -> tuple[float, float]:
        """gamma tr(W^T Phi W), rounded up, and the rounding error of 2 gamma Phi H R^T.

        `common` is R^T R. The trace is that of `square` times `common`, and both have
        rounding errors from their products. The errors of the matrix come from
        gamma Phi H and from its product with R. All in Frobenius norms.
        """
        width = float(np.sqrt(max(np.trace(common), 0.0)))
        overlap = float(np.linalg.norm(common))
        off = self.size * (self.lost + self.n_rows * UNIT * self.moved)
        slack = off * overlap
        terms = n_columns * width**2 + PAIRWISE * overlap
        slack += terms * UNIT * float(np.linalg.norm(self.square))
        error = 2 * width * (self.lost + (len(common) + 4) * UNIT * self.moved)
        return max(float(np.sum(self.square * common)), 0.0) + slack, error


@dataclass(frozen=True)
class GraphCopy:
    """V = G R^T and W = H R^T with W the prox of V; R has orthonormal columns.

    The rows of V are combinations of rows of all L so far. As L converges, so does its
    row space, and the numerical rank of V is that of a few L.
    """

    gamma: float
    G: np.ndarray
    H: np.ndarray

    @property
    def dtype(self) -> np.dtype:
        return self.G.dtype

    def reflected(self, weight: float) -> np.ndarray:
        """Coefficients of weight (2 W - V), the input of the singular value step."""
        return self.dtype.type(weight) * (2 * self.H - self.G)

    def solution(
        self, laplacian: ShiftedLaplacian, penalty: float, share: slice
    ) -> np.ndarray:
        """Some columns of H, from V: (I + 2 gamma / r Phi) W = V."""
        H = self.H[:, share].copy()
        G = np.ascontiguousarray(self.G[:, share])
        laplacian.solve(2 * self.gamma / penalty, G, H)
        return H

    def joined(self, shares: list[np.ndarray]) -> "GraphCopy":
        """With the H of which all `solution` are given, in turn."""
        H = np.empty_like(self.H)
        for i, piece in enumerate(shares):
            H[:, i :: len(shares)] = piece
        return replace(self, H=H)

    def step(
        self, F: np.ndarray, inside: np.ndarray, outside: np.ndarray, relaxation: float
    ) -> tuple[np.ndarray, float]:
        """V + relaxation (L - W) with L = F (inside^T R^T + outside^T N^T).

        In the basis [R N], where N extends R; also ||L - W||^2.
        """
        k = self.G.shape[1]
        V = F @ np.hstack([inside.T, outside.T]).astype(self.dtype, copy=False)
        V[:, :k] -= self.H
        apart = float(np.vdot(V, V))
        V *= self.dtype.type(relaxation)
        V[:, :k] += self.G
        return V, apart

    def turned(self, V: np.ndarray, T: np.ndarray) -> "GraphCopy":
        """A new V, and the old W, in the basis [R N] T."""
        return replace(self, G=V @ T, H=self.H @ T[: self.H.shape[1]])

    def distances(self, before: "GraphCopy", apart: float) -> np.ndarray:
        """The parts of `Distances`."""
        U, change = self.G - self.H, self.H - before.H
        squares = [float(np.vdot(A, A)) for A in (change, self.H, U)]
        return np.array([apart, *squares])

    def rescaled(self, factor: float) -> "GraphCopy":
        """The same r U after the penalty was multiplied by `factor`."""
        return replace(self, G=self.H + (self.G - self.H) / self.dtype.type(factor))

    def matrix(self, R: np.ndarray, scale: float) -> np.ndarray:
        """A multiple of W."""
        return product(self.H * self.dtype.type(scale), R.T)

    def dual(self, laplacian: ShiftedLaplacian) -> tuple[np.ndarray, "Roughness"]:
        """2 gamma Phi H and gamma H^T Phi H: any W gives a feasible dual point."""
        H = laplacian.without_null(self.H.astype(np.float64))
        rough = self.gamma * (laplacian.laplacian @ H)
        size = float(np.linalg.norm(H))
        moved = float(np.linalg.norm(rough))
        lost = self.gamma * laplacian.error * size
        return 2 * rough, Roughness(H.T @ rough, len(H), size, moved, lost)

    def roughness(self, laplacian: ShiftedLaplacian, F: np.ndarray) -> np.ndarray:
        """gamma F^T Phi F."""
        F = laplacian.without_null(F.astype(np.float64))
        return self.gamma * (F.T @ (laplacian.laplacian @ F))


def compression(square: np.ndarray, apart: float, relaxation: float) -> np.ndarray:
    """T that keeps of V, from V^T V, all but a small part of the step."""
    squares, T = np.linalg.eigh(square)
    lost = np.cumsum(np.maximum(squares, 0))
    drop = int(np.searchsorted(lost, (TAIL * relaxation) ** 2 * apart, "right"))
    return T[:, min(drop, len(T) - 1) :]
