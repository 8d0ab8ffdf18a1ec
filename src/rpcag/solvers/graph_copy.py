"""The copy of L that the graph smooths, as coefficients in a thin basis."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from rpcag.linalg.rounding import PAIRWISE, UNIT
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.solvers.result import Distances

# Share of a step that the compression may lose.
TAIL = 0.1
# Share of a first guess's residual that conjugate gradients may leave in the solution.
REDUCTION = 0.03


class Roughness(NamedTuple):
    """gamma H^T Phi H of W = H R^T, and the norms that bound its rounding error."""

    square: np.ndarray  # gamma H^T Phi H
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
        slack += (
            (n_columns * width**2 + PAIRWISE * overlap)
            * UNIT
            * float(np.linalg.norm(self.square))
        )
        error = 2 * width * (self.lost + (len(common) + 4) * UNIT * self.moved)
        return max(float(np.sum(self.square * common)), 0.0) + slack, error


@dataclass(frozen=True)
class GraphCopy:
    """V = G R^T and W = H R^T with W the prox of V; R has orthonormal columns.

    The rows of V are combinations of rows of all L so far. Where L converges so does
    its row space, and V has numerically the rank of a few of them.
    """

    laplacian: ShiftedLaplacian | None  # None where only V and W matter
    gamma: float
    G: np.ndarray
    H: np.ndarray
    mean: np.ndarray | None = None  # of H over some iterations

    @property
    def dtype(self) -> np.dtype:
        return self.G.dtype

    def reflected(self, weight: float) -> np.ndarray:
        """Coefficients of weight (2 W - V), what the singular value step sees."""
        return self.dtype.type(weight) * (2 * self.H - self.G)

    def solved(self, penalty: float) -> "GraphCopy":
        """W from V: (I + 2 gamma / r Phi) W = V."""
        assert self.laplacian is not None
        H = self.H.copy()
        shift = 2 * self.gamma / penalty
        self.laplacian.solve(shift, self.G, H, reduction=REDUCTION)
        return replace(self, H=H)

    def advance(
        self,
        F: np.ndarray,
        inside: np.ndarray,
        outside: np.ndarray,
        penalty: float,
        relaxation: float,
    ) -> tuple["GraphCopy", np.ndarray, Distances]:
        """V += relaxation (L - W), then W; also the change of basis, and how far."""
        V, apart = self.step(F, inside, outside, relaxation)
        double = V.astype(np.float64, copy=False)
        T = compression(double.T @ double, apart, relaxation)
        moved = self.turned(V, T)
        new = moved.solved(penalty)
        return new, T, new.distances(moved, apart)

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
        T = T.astype(self.dtype)
        old = T[: self.H.shape[1]]
        mean = None if self.mean is None else self.mean @ old
        return replace(self, G=V @ T, H=self.H @ old, mean=mean)

    def averaged(self, share: float) -> "GraphCopy":
        """With H as a share of the mean; all of it where there is none yet."""
        if self.mean is None:
            return replace(self, mean=self.H)
        return replace(
            self, mean=self.mean + self.dtype.type(share) * (self.H - self.mean)
        )

    def distances(self, before: "GraphCopy", apart: float) -> Distances:
        U, change = self.G - self.H, self.H - before.H
        return Distances(
            apart,
            float(np.vdot(change, change)),
            float(np.vdot(self.H, self.H)),
            float(np.vdot(U, U)),
        )

    def rescaled(self, factor: float) -> "GraphCopy":
        """The same r U after the penalty was multiplied by `factor`."""
        return replace(self, G=self.H + (self.G - self.H) / self.dtype.type(factor))

    def astype(self, dtype) -> "GraphCopy":
        return replace(self, G=self.G.astype(dtype), H=self.H.astype(dtype))

    @property
    def smooth(self) -> np.ndarray:
        """Coefficients of the W that certifies."""
        return (self.H if self.mean is None else self.mean).astype(np.float64)

    def dual(self) -> tuple[np.ndarray, "Roughness"]:
        """2 gamma Phi H and gamma H^T Phi H: any W gives a feasible dual point."""
        assert self.laplacian is not None
        H = self.laplacian.without_null(self.smooth)
        rough = self.gamma * (self.laplacian.laplacian @ H)
        size = float(np.linalg.norm(H))
        moved = float(np.linalg.norm(rough))
        lost = self.gamma * self.laplacian.error * size
        return 2 * rough, Roughness(H.T @ rough, len(H), size, moved, lost)

    def roughness(self, F: np.ndarray) -> np.ndarray:
        """gamma F^T Phi F."""
        assert self.laplacian is not None
        F = self.laplacian.without_null(F.astype(np.float64))
        return self.gamma * (F.T @ (self.laplacian.laplacian @ F))


def compression(square: np.ndarray, apart: float, relaxation: float) -> np.ndarray:
    """T that keeps of V, from V^T V, all but a small part of the step."""
    squares, T = np.linalg.eigh(square)
    lost = np.cumsum(np.maximum(squares, 0))
    drop = int(np.searchsorted(lost, (TAIL * relaxation) ** 2 * apart, "right"))
    return T[:, min(drop, len(T) - 1) :]


def no_copy(
    laplacian: ShiftedLaplacian | None, gamma: float, n: int, dtype
) -> GraphCopy:
    """V = W = 0."""
    none = np.empty((n, 0), dtype)
    return GraphCopy(laplacian, gamma, none, none)
