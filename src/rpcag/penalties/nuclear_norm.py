"""The nuclear norm, sum of the singular values."""

import numpy as np
from scipy import linalg

from rpcag.linalg.gram import eigh, gram, multiply_left, short_side, svd
from rpcag.linalg.orthonormal import orthonormal
from rpcag.linalg.threads import product

# A Gram matrix squares the singular values: an error of eps * top^2 in an eigenvalue
# moves a singular value at the threshold t by about eps * (top / t), relative to the
# largest. Beyond these ratios LAPACK's SVD takes over.
GRAM_LIMITS = {np.dtype(np.float64): 1e6, np.dtype(np.float32): 300.0}
# Beyond this ratio the sum of the singular values has fewer than twelve correct digits.
SPREAD = 1e4
# Share of the eigenpairs below which LAPACK's method for some of them (bisection) is
# used. A larger share is slow; a smaller one is slow for matrices of very low rank.
FEW = 1 / 8
# Limits of `_in_parts`. Singular values above LARGE thresholds are computed in double
# precision: rounding changes the smallest ones by LARGE^2 eps / 2 of the threshold. If
# they are more than the share MOST of all, double precision for all is as fast.
LARGE, MOST = 30.0, 1 / 8
# Steps of subspace iteration, and what they may leave, as a share of the smallest
# eigenvalue found: it moves singular values at the threshold by NEAR / (2 LARGE).
STEPS, NEAR = 3, 1e-2


class NuclearNorm:
    """f(L) = ||L||_*, whose conjugate is the indicator of ||D||_2 <= 1.

    Its prox shrinks the singular values: that of A = P Sigma Q^T is
    P max(Sigma - t, 0) Q^T, since the subdifferential at P Sigma Q^T is P Q^T plus a
    part of norm at most one, orthogonal on both sides.

    If `rough`, single precision is enough for the smaller eigenvalues. `values` and
    `basis` are the singular values of the last result of the prox, descending, and an
    orthonormal basis of its shorter side.
    """

    def __init__(self, rough: bool = False) -> None:
        self.rough = rough
        self.values: np.ndarray | None = None  # their number also guides the next call
        self.basis: np.ndarray | None = None
        self._trust_gram = True
        self._is_rough_sum = False  # whether the sum of `values` has lost digits
        self._large: np.ndarray | None = None  # of the basis, for the next rough call

    @property
    def rank(self) -> int:
        """Rank of the last result of the prox."""
        return 0 if self.values is None else len(self.values)

    def value(self, Y: np.ndarray) -> float:
        return float(linalg.svdvals(Y, check_finite=False).sum()) if Y.size else 0.0

    def value_at_prox(self, P: np.ndarray) -> float:
        """||P||_* of the last result P of the prox; free if `values` are accurate."""
        if self._is_rough_sum and P.dtype == np.float64:
            return self.value(P)
        return 0.0 if self.values is None else float(self.values.sum())

    def prox_in_place(
        self, A: np.ndarray, step: float, scratch: np.ndarray | None = None
    ) -> np.ndarray:
        """Replace A by its prox; `scratch`, of the size of A, may be overwritten.

        P max(Sigma - t, 0) Q^T = B diag(s / (s + t)) B^T A, with B the eigenvectors of
        A A^T to eigenvalues (s + t)^2 above t^2.
        """
        short = short_side(A)
        if not self._trust_gram or len(short) == 1:
            return self._by_svd(A, step)
        K = gram(short, scratch, self.rough)
        found = None
        if self._large is not None:
            found = _in_parts(K, step, self._large)
        squares, B = found or _above(K, step, self.values)
        sigma = np.sqrt(np.maximum(squares, 0.0, dtype=np.float64))
        top = sigma.max(initial=0.0)
        if top > GRAM_LIMITS[K.dtype] * step:
            self._trust_gram = False
            return self._by_svd(A, step)
        self._is_rough_sum = bool(top > SPREAD * step)
        # A copy: the eigenvectors may lie in the scratch memory.
        self.values, self.basis = sigma - step, B.copy()
        if self.rough:
            large = int(np.count_nonzero(sigma > LARGE * step))
            self._large = self.basis[:, :large].copy()
        B = self.basis.astype(A.dtype, copy=False)
        multiply_left(B * (self.values / sigma).astype(A.dtype), B, short)
        return A

    def _by_svd(self, A: np.ndarray, step: float) -> np.ndarray:
        P, sigma, Qt = svd(A)
        rank = int(np.count_nonzero(sigma > step))
        self._is_rough_sum = False
        self.values = (sigma[:rank] - step).astype(np.float64)
        self.basis = P[:, :rank] if A.shape[0] <= A.shape[1] else Qt[:rank].T
        shrunk = self.values.astype(A.dtype)
        return np.matmul(P[:, :rank] * shrunk, Qt[:rank], out=A)

    def settle(self, A: np.ndarray, dtype: np.dtype) -> np.ndarray:
        """The last result A in another precision, with the same rank; also its values.

        The part outside of the basis is rounding error and is removed.
        """
        A = A.astype(dtype)
        if self.basis is None:
            return A
        inside = short = short_side(A)
        if self.basis.shape[1] < len(short):
            self.basis, _ = orthonormal(self.basis.astype(dtype))
            inside = product(self.basis.T, short)
            product(self.basis, inside, out=short)
        else:
            self.basis = np.eye(len(short), dtype=dtype)
        squares = linalg.eigvalsh(gram(inside, double=True), check_finite=False)[::-1]
        self.values = np.sqrt(np.maximum(squares, 0.0, dtype=np.float64))
        return A

    def memory(self) -> dict[str, np.ndarray]:
        """State that the next call takes from this one, for `recall`."""
        count = -1 if self.values is None else len(self.values)
        memory = {"count": np.array([count, self._trust_gram], dtype=np.int64)}
        return memory if self._large is None else memory | {"large": self._large}

    def recall(self, count: np.ndarray, large: np.ndarray | None) -> None:
        self.values = None if count[0] < 0 else np.zeros(count[0])
        self._trust_gram, self._large = bool(count[1]), large


def _above(K: np.ndarray, threshold: float, last: np.ndarray | None):
    """Eigenpairs of K above threshold^2, descending."""
    size = K.shape[0]
    edge = threshold**2
    K = K.T  # symmetric, and in the order in which LAPACK can overwrite it
    if last is not None and len(last) < FEW * size:
        squares, B = linalg.eigh(
            K, subset_by_value=(edge, np.inf), overwrite_a=True, check_finite=False
        )
    else:
        squares, B = eigh(K, overwrite=True)
        first = int(np.searchsorted(squares, edge, side="right"))
        squares, B = squares[first:], B[:, first:]
    return squares[::-1], B[:, ::-1]


def _in_parts(K: np.ndarray, threshold: float, V: np.ndarray):
    """Eigenpairs of K above threshold^2, descending, most of them in single precision.

    An error of eps ||K|| would be large beside threshold^2. So the largest eigenvectors
    are found by subspace iteration from V, in double precision, and the rest of K is
    handled in single precision. Returns None if there are too many or V is not near.
    """
    if V.shape[1] > MOST * len(K):
        return None
    if V.shape[1]:
        V = V.astype(np.float64)
        for _ in range(STEPS):
            V, _ = orthonormal(K @ V)
        KV = K @ V
        inner = V.T @ KV
        values, R = linalg.eigh(inner, check_finite=False)
        outside = KV - V @ inner
        if not linalg.norm(outside) <= NEAR * values[0]:
            return None
        part = outside @ V.T
        K = K - part - part.T - V @ inner @ V.T
        V, top = V @ R[:, ::-1], values[::-1]
    else:
        top = np.empty(0)
    squares, B = _above(K.astype(np.float32), threshold, None)
    return np.concatenate([top, squares]), np.hstack([V, B], dtype=np.float32)
