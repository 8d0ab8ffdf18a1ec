"""The nuclear norm, sum of the singular values."""

import math

import numpy as np
from scipy import linalg

from rpcag.linalg.blocks import column_blocks
from rpcag.linalg.gram import WIDE, eigh, gram, multiply_left, short_side, svd
from rpcag.linalg.orthonormal import orthonormal
from rpcag.linalg.threads import gram as double_gram
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
# precision: rounding changes the smallest ones by LARGE^2 eps of the threshold. If
# they are more than the share MOST of all, double precision for all is as fast.
LARGE, MOST = 30.0, 1 / 8
# A first-order correction of the last decomposition is off by about the square of the
# change since then. It may be this share of the last change; all are relative to the
# distance ||A - L|| of the step. So corrections end where A changes by this share.
# With more, ADMM takes more iterations; with less, it takes more decompositions.
LEEWAY = 0.3
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
    orthonormal basis of its shorter side (None after a correction).
    """

    def __init__(self, rough: bool = False) -> None:
        self.rough = rough
        self.values: np.ndarray | None = None  # their number also guides the next call
        self.basis: np.ndarray | None = None
        self._trust_gram = True
        self._is_rough_sum = False  # whether the sum of `values` has lost digits
        self._large: np.ndarray | None = None  # of the basis, for the next rough call
        self._frame: np.ndarray | None = None  # all eigenvectors, when last exact
        self._moved = 0.0  # how far A has moved since then, at most

    @property
    def rank(self) -> int:
        """Rank of the last result of the prox."""
        return 0 if self.values is None else len(self.values)

    def value(self, Y: np.ndarray) -> float:
        return float(linalg.svdvals(Y, check_finite=False).sum()) if Y.size else 0.0

    def value_at_prox(self, P: np.ndarray) -> float:
        """||P||_* of the last exact result P; free if `values` are accurate."""
        if self._is_rough_sum and P.dtype == np.float64:
            return self.value(P)
        return 0.0 if self.values is None else float(self.values.sum())

    def prox_in_place(
        self,
        A: np.ndarray,
        step: float,
        scratch: np.ndarray | None = None,
        change: float = math.inf,
    ) -> np.ndarray:
        """Replace A by its prox; `scratch`, of the size of A, may be overwritten.

        P max(Sigma - t, 0) Q^T = B diag(s / (s + t)) B^T A, with B the eigenvectors of
        A A^T to eigenvalues (s + t)^2 above t^2. If A has moved by at most `change`
        since the last call, the last decomposition may be corrected instead.
        """
        self._moved += change
        is_near = self._frame is not None and math.isfinite(self._moved)
        unit = step * math.sqrt(self.rank)  # at most ||A - L||
        if is_near and self._moved**2 < LEEWAY * change * unit:
            return self._corrected(A, step, scratch)
        short, self._moved = short_side(A), 0.0
        if not self._trust_gram or len(short) == 1:
            return self._by_svd(A, step)
        found = None
        if self._large is not None:
            found = _in_parts(short, step, self._large, scratch)
        squares, B = found or _above(
            gram(short, scratch, self.rough), step, self.values
        )
        above = squares > step**2
        sigma = np.sqrt(squares[above], dtype=np.float64)
        top = sigma.max(initial=0.0)
        if found is None and top > GRAM_LIMITS[squares.dtype] * step:
            self._trust_gram = False
            return self._by_svd(A, step)
        self._is_rough_sum = bool(top > SPREAD * step)
        B = B.astype(A.dtype)  # a copy: they may lie in the scratch memory
        self._frame = B if B.shape[1] == len(B) else None
        self.values, self.basis = sigma - step, B[:, : len(sigma)]
        if self.rough:
            large = int(np.count_nonzero(sigma > LARGE * step))
            self._large = self.basis[:, :large].copy()
        multiply_left(self.basis, self.values / sigma, short)
        return A

    def _corrected(
        self, A: np.ndarray, step: float, scratch: np.ndarray | None
    ) -> np.ndarray:
        """The prox of an A near that of the last exact call, to first order.

        With K = A A^T, the prox is f(K) A with f(x) = max(1 - t / sqrt(x), 0). In the
        basis Q of the last eigenvectors, T = Q^T K Q is nearly diagonal. With s^2 its
        diagonal, and up to second order in the rest (Daleckii and Krein),

            f(K) = Q M Q^T,  M_ii = f(s_i^2),  M_ij = T_ij f[s_i^2, s_j^2].

        The divided differences f[x, y] = (f(x) - f(y)) / (x - y) are at most 1 / 2 t^2,
        however near x is to y. So this is a few matrix products instead of a
        decomposition. T is as accurate relative to s_i s_j as its precision.
        """
        assert self._frame is not None
        Q, short = self._frame, short_side(A)
        Z = short_side(np.empty_like(A) if scratch is None else scratch)
        product(Q.T, short, out=Z)
        T = product(Z, Z.T)
        sigma, t = np.sqrt(T.diagonal()), T.dtype.type(step)
        k = int(np.count_nonzero(sigma > t))
        # Singular values above t come first: those that have crossed t change places.
        fallen, risen = (
            np.flatnonzero(sigma[:k] <= t),
            k + np.flatnonzero(sigma[k:] > t),
        )
        for matrix in (sigma, Z, T, T.T, Q.T):
            matrix[fallen], matrix[risen] = matrix[risen], matrix[fallen]
        s, below = sigma[:k], sigma[k:]
        # Above t: f[x, y] = t / (s_i s_j (s_i + s_j)).
        among = np.add.outer(s, s)
        among *= s
        among *= s[:, None]
        T[:k, :k] *= np.divide(t, among, out=among)
        # Across t: f(x) / (x - y) = (s_i - t) / (s_i - s_j) / (s_i (s_i + s_j)).
        across = np.maximum(np.subtract.outer(s, below), np.finfo(T.dtype).tiny)
        np.divide((s - t)[:, None], across, out=across)
        across /= s[:, None]
        across /= np.add.outer(s, below)
        T[:k, k:] *= across
        np.fill_diagonal(T[:k, :k], 1 - t / s)
        for columns in column_blocks(Z.shape, WIDE, most=Z.shape[1]):
            piece = Z[:, columns]
            Y = product(T[:k].T, piece[:k])
            Y[:k] += product(T[:k, k:], piece[k:])
            short[:, columns] = product(Q, Y)
        self.values = np.sort(s - t)[::-1].astype(np.float64)
        self.basis = None
        return A

    def _by_svd(self, A: np.ndarray, step: float) -> np.ndarray:
        P, sigma, Qt = svd(A)
        self._frame = None
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
        if self.basis is None or not self.basis.shape[1]:
            return A  # LAPACK in SciPy before 1.13 refuses empty matrices
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
        memory = {"count": np.array([count, self._trust_gram, self._moved])}
        others = {"large": self._large, "frame": self._frame}
        return memory | {name: a for name, a in others.items() if a is not None}

    def recall(self, memory: dict[str, np.ndarray]) -> None:
        count = memory["count"]
        self.values = None if count[0] < 0 else np.zeros(int(count[0]))
        self._trust_gram, self._moved = bool(count[1]), float(count[2])
        self._large, self._frame = memory.get("large"), memory.get("frame")


def _above(K: np.ndarray, threshold: float, last: np.ndarray | None):
    """Eigenpairs of K, descending: all, or those above threshold^2 if they are few."""
    K = K.T  # symmetric, and in the order in which LAPACK can overwrite it
    if last is not None and len(last) < FEW * len(K):
        squares, B = linalg.eigh(
            K,
            subset_by_value=(threshold**2, np.inf),
            overwrite_a=True,
            check_finite=False,
        )
    else:
        squares, B = eigh(K, overwrite=True)
    return squares[::-1], B[:, ::-1]


def _in_parts(
    A: np.ndarray, threshold: float, V: np.ndarray, scratch: np.ndarray | None
):
    """All eigenpairs of A A^T, descending, in single precision.

    An error of eps ||A||^2 would be large beside threshold^2. So the largest
    eigenvectors V are found first, by subspace iteration from the last ones, and the
    rest of A is decomposed without them: A - V V^T A. In its Gram matrix they get an
    eigenvalue above all others. Returns None if there are too many, if one is too large
    for single precision, or if V is not near.
    """
    k = V.shape[1]
    if k > MOST * len(A):
        return None
    K, mark = A, float(2 * (LARGE * threshold) ** 2)  # keeps the precision of K
    if k:
        for _ in range(STEPS):
            V, _ = orthonormal(A @ (A.T @ V))
        values, R = linalg.eigh(double_gram(A.T @ V), check_finite=False)
        V = V @ R.astype(V.dtype)
        W = A.T @ V
        outside = linalg.norm(A @ W - V * values)
        limit = (GRAM_LIMITS[A.dtype] * threshold) ** 2
        if not (outside <= NEAR * values[0] and values[-1] <= limit):
            return None
        K = short_side(np.empty_like(A) if scratch is None else scratch)
        np.matmul(V, W.T, out=K)
        np.subtract(A, K, out=K)
    K = K @ K.T
    if k:
        K += mark * (V @ V.T)
    squares, B = eigh(K.T, overwrite=True)
    if k:
        if not squares[-k - 1] < 0.9 * mark:  # another one has become large
            return None
        squares[-k:], B[:, -k:] = values, V
    return squares[::-1], B[:, ::-1]
