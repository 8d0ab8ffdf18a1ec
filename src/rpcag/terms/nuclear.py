"""The nuclear norm, sum of the singular values."""

import numpy as np
from scipy import linalg

from rpcag.linalg.svt import SingularValueThreshold, excess, spectral_norm


class NuclearNorm:
    """f(L) = ||L||_*.

    Its prox shrinks the singular values (the subdifferential of ||.||_* at
    P Sigma Q^T is P Q^T plus a part of norm at most one, orthogonal on both sides);
    its conjugate is the indicator of the unit ball of the spectral norm.
    """

    def __init__(self, method: str = "auto", rough: bool = False) -> None:
        self.threshold = SingularValueThreshold(method, rough)

    def value(self, Y: np.ndarray) -> float:
        return float(linalg.svdvals(Y, check_finite=False).sum()) if Y.size else 0.0

    def prox(self, Y: np.ndarray, step: float, out: np.ndarray) -> np.ndarray:
        np.copyto(out, Y)
        return self.prox_in_place(out, step)

    def prox_in_place(
        self, Y: np.ndarray, step: float, scratch: np.ndarray | None = None
    ) -> np.ndarray:
        """Replace Y by its prox; `scratch`, of the size of Y, may be overwritten."""
        return self.threshold(Y, step, scratch)

    def value_at_prox(self, P: np.ndarray) -> float:
        """||P||_* of the last result P of `prox`; free if its values are accurate."""
        values = self.threshold.values
        if self.threshold.is_rough_sum and P.dtype == np.float64:
            return self.value(P)
        return 0.0 if values is None else float(values.sum())

    def settle(self, P: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The last result of `prox` in another precision, with its value and basis."""
        return self.threshold.settle(P, dtype)

    def excess(self, Y: np.ndarray) -> np.ndarray | None:
        """The part to subtract from Y for a dual norm of one; None if there is none."""
        return excess(Y)

    @property
    def rank(self) -> int:
        """Rank of the last result of `prox`."""
        values = self.threshold.values
        return 0 if values is None else len(values)

    @property
    def basis(self) -> np.ndarray | None:
        """Orthonormal basis of the shorter side of the last result of `prox`."""
        return self.threshold.basis

    def dual_norm(self, Y: np.ndarray, accuracy: float = 0.0) -> float:
        """An upper bound of ||Y||_2 that exceeds it by at most `accuracy`."""
        return spectral_norm(Y, accuracy)

    def memory(self) -> dict[str, np.ndarray]:
        """State that the next `prox` takes from the last one; `recall` restores it."""
        return self.threshold.memory()

    def recall(self, count: np.ndarray, large: np.ndarray | None) -> None:
        self.threshold.recall(count, large)
