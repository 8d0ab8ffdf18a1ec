"""Singular value thresholding, by the fastest exact method for the shape."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg

from rpcag.linalg.blocks import column_blocks
from rpcag.linalg.orthonormal import orthonormal
from rpcag.linalg.rounding import UNIT
from rpcag.linalg.threads import product

# A Gram matrix squares the singular values: an error of eps * top^2 in an eigenvalue
# moves a singular value at the threshold t by eps * top^2 / (2 t), that is by
# eps * (top / t) relative to the largest. Beyond these ratios LAPACK's SVD takes over.
GRAM_LIMITS = {np.dtype(np.float64): 1e6, np.dtype(np.float32): 300.0}
# Beyond this ratio the sum of the singular values has less than twelve digits.
SPREAD = 1e4
# Up to this size the memory of a Gram matrix in double precision does not matter.
SMALL = 300

# Entries that are converted to double precision at a time.
PIECE = 2**19
# Entries that the singular value step takes at a time: fewer make matrix products slow,
# more take memory beside A.
WIDE = 2**18
# Share of the eigenpairs below which LAPACK's method for some of them (bisection) is
# used. A larger share is slow: half of them take two to three times as long as all by
# divide and conquer. A smaller one gives up its gain on matrices of very low rank.
FEW = 1 / 8
# Of `_in_parts`. Singular values above LARGE thresholds are found in double precision:
# with a larger limit the rounding in the smallest ones, about LARGE^2 eps / 2 of the
# threshold, shows in the loss; with a smaller one there are more of them. If they are
# more than the share MOST of all, double precision for all is as fast.
LARGE, MOST = 30.0, 1 / 8
# Steps of subspace iteration, and what they may leave, as a share of the smallest
# eigenvalue found: it moves singular values at the threshold by NEAR / (2 LARGE).
STEPS, NEAR = 3, 1e-2
# Up to this size all eigenvalues are as cheap as one by Lanczos, and its steps. More
# steps find a tighter bound, at the price of a product with a vector each.
LANCZOS_SIZE, LANCZOS_STEPS = 150, 60


def gram(
    A: np.ndarray, scratch: np.ndarray | None = None, double: bool = False
) -> np.ndarray:
    """A A^T, in the memory of `scratch` where there is one.

    It is in double precision even for a single precision A, unless it would be as large
    as A and double precision is not requested.
    """
    size = A.shape[0]
    double = double or 8 * size**2 <= A.nbytes or size <= SMALL
    dtype = np.dtype(np.float64) if double else A.dtype
    if scratch is not None and scratch.nbytes >= dtype.itemsize * size**2:
        flat = scratch.reshape(-1)[: size**2 * dtype.itemsize // scratch.itemsize]
        K = flat.view(dtype).reshape(size, size)
    else:
        K = np.empty((size, size), dtype)
    if A.dtype == dtype:
        return np.matmul(A, A.T, out=K)
    K.fill(0)
    for columns in column_blocks(A.shape, WIDE, most=A.shape[1]):
        piece = A[:, columns].astype(np.float64)
        K += piece @ piece.T
    return K


def add_square(K: np.ndarray, A: np.ndarray) -> None:
    """Add A A^T to the lower triangle of K, in double precision and column order."""
    linalg.blas.dsyrk(1.0, A.T, beta=1.0, c=K, trans=1, lower=1, overwrite_c=1)


def fill_upper(K: np.ndarray) -> np.ndarray:
    """Copy the lower triangle of K to the upper one."""
    for i in range(1, len(K)):
        K[:i, i] = K[i, :i]
    return K


def excess(A: np.ndarray) -> np.ndarray | None:
    """A minus its projection onto the unit ball of the spectral norm, if not zero.

    With A = P Sigma Q^T it is P max(Sigma - 1, 0) Q^T, here by the Gram matrix, which
    squares the rounding errors of small singular values: these have none.
    """
    short = short_side(A)
    squares, B = linalg.eigh(
        (short @ short.T).T, driver="evd", overwrite_a=True, check_finite=False
    )
    B = B[:, squares > 1]
    if not B.shape[1]:
        return None
    over = B * (1 - 1 / np.sqrt(squares[squares > 1]))
    many = 2 * B.shape[1] > len(B)
    Z = (over @ B.T) @ short if many else over @ (B.T @ short)
    return Z if short is A else Z.T


def singular_values(A: np.ndarray, accuracy: float = 1e-10) -> np.ndarray:
    """By the Gram matrix in double precision, if it gives their sum accurately.

    Its eigenvalues are off by e = n u ||A||^2, so a singular value s is off by
    min(e / s, sqrt(e)); those below sqrt(e) are returned as zero.
    """
    if min(A.shape) > SMALL:
        squares = linalg.eigvalsh(gram(short_side(A), double=True), overwrite_a=True)
        e = len(squares) * UNIT * max(squares[-1], 0.0)
        values = np.sqrt(np.where(squares > e, squares, 0.0))
        error = np.minimum(e / np.maximum(values, 1e-300), math.sqrt(e)).sum()
        if error <= accuracy * values.sum():
            return values
    return linalg.svdvals(A, check_finite=False)


def short_side(A: np.ndarray) -> np.ndarray:
    """A or its transpose (a view), whichever has fewer rows."""
    return A if A.shape[0] <= A.shape[1] else A.T


def spectral_norm(A: np.ndarray, accuracy: float = 0.0) -> float:
    """||A||_2, rounded up by more than the rounding errors of its square."""
    if not A.size:
        return 0.0
    short = short_side(A)
    if A.dtype == np.float64:
        return proven_norm(short @ short.T, accuracy, short.shape[1])
    K = np.zeros((len(short), len(short)))
    for columns in column_blocks(short.shape, PIECE, most=short.shape[1]):
        piece = short[:, columns].astype(np.float64)
        K += piece @ piece.T
    return proven_norm(K, accuracy, short.shape[1])


def rounding(A: np.ndarray) -> float:
    """A generous bound on the relative rounding error of ||A||_2."""
    return 4 * float(np.finfo(A.dtype).eps) * math.sqrt(min(A.shape))


def proven_norm(K: np.ndarray, accuracy: float, length: int = 0) -> float:
    """Bound ||A||_2 from above, given K = A A^T, to within twice `accuracy`.

    Lanczos finds a lower bound s^2 of the largest eigenvalue. If c^2 I - K has a
    Cholesky factor for a c slightly larger than s, then ||A||_2 < c. This proof takes
    a tenth of the time of an eigenvalue. If it fails for several c, the eigenvalue is
    computed. K is overwritten.

    Bounds on rounding errors are added, with u = 2^-53 and n the size of K. If rows of
    A have `length` entries, the error of K is at most length u tr K in norm. A Cholesky
    factor proves eigenvalues of at least -(n + 1) u tr(c^2 I - K) (Rump, 2006). The
    error of LAPACK's eigenvalues is about n u ||K||; ten times that is added.
    """
    size = len(K)
    if not np.isfinite(K[0, 0]) or not np.isfinite(K).all():
        return np.inf
    lost = (length + 4) * UNIT * float(np.trace(K))
    if size > LANCZOS_SIZE and accuracy > 10 * rounding(K):
        largest = _ritz_value(K)
        for slack in (0.5, 1, 2, 4):
            bound = largest * (1 + slack * accuracy)
            if is_below(K, bound):
                return _root(bound * (1 + (size + 2) ** 2 * UNIT) + lost)
    largest = float(_largest(K)) if size > 1 else float(K[0, 0])
    return _root(max(largest, 0.0) * (1 + 10 * size * UNIT) + lost)


def _ritz_value(K: np.ndarray) -> float:
    """A lower bound of the largest eigenvalue, by STEPS steps of Lanczos.

    If many eigenvalues are close to the largest, the bound is soon among them, even
    though the eigenvectors converge slowly.
    """
    size = len(K)
    V = np.empty((LANCZOS_STEPS, size))
    v = np.random.default_rng(0).standard_normal(size)
    diagonal: list[float] = []
    beside: list[float] = []
    for k in range(LANCZOS_STEPS):
        norm = float(linalg.norm(v, check_finite=False))  # does not overflow
        if k and norm <= 1e-10 * diagonal[0]:
            break
        V[k] = v / norm
        beside.append(norm)
        v = K @ V[k]
        diagonal.append(float(V[k] @ v))
        for _ in range(2):
            v -= V[: k + 1].T @ (V[: k + 1] @ v)
    values = linalg.eigvalsh_tridiagonal(diagonal, beside[1:], check_finite=False)
    return max(float(values[-1]), 0.0)


def _root(square: float) -> float:
    """The square root, rounded up."""
    return math.sqrt(square) * (1 + 4 * UNIT)


def is_below(K: np.ndarray, bound: float) -> bool:
    """Whether K is below the bound, proven by a Cholesky factor of bound I - K.

    The factor uses one triangle of K, which is then restored from the other. LAPACK
    copies a K that is not aligned, such as one from another process.
    """
    if not bound > 0:
        return False
    K = K if K.flags.f_contiguous else K.T
    diagonal = K.diagonal().copy()
    np.negative(K, out=K)
    np.fill_diagonal(K, bound - diagonal)
    (potrf,) = linalg.get_lapack_funcs(("potrf",), (K,))
    _, failed = potrf(K, lower=1, overwrite_a=1, clean=0)
    fill_upper(K.T)
    np.negative(K, out=K)
    np.fill_diagonal(K, diagonal)
    return failed == 0


def _largest(K: np.ndarray) -> float:
    """The largest eigenvalue, by bisection; K is overwritten.

    LAPACK's faster method finds none where many eigenvalues coincide.
    """
    size = len(K)
    sytrd, sytrd_lwork = linalg.get_lapack_funcs(("sytrd", "sytrd_lwork"), (K,))
    lwork, _ = sytrd_lwork(size, lower=1)
    _, diagonal, subdiagonal, _, _ = sytrd(
        K.T, lower=1, lwork=int(lwork), overwrite_a=True
    )
    try:
        found = linalg.eigvalsh_tridiagonal(
            diagonal,
            subdiagonal,
            select="i",
            select_range=(size - 1, size - 1),
            lapack_driver="stebz",
            check_finite=False,
        )
    except linalg.LinAlgError:  # so many coincide that it cannot count them
        found = linalg.eigvalsh_tridiagonal(
            diagonal, subdiagonal, lapack_driver="sterf", check_finite=False
        )
    return found[-1]


@dataclass
class SingularValueThreshold:
    """D_t(A) = P max(Sigma - t, 0) Q^T for A = P Sigma Q^T, call after call.

    Keeps the singular values and the basis of its last result. The caller uses them,
    and they determine the method of the next call.
    """

    method: str = "auto"
    rough: bool = False  # whether single precision does for the smaller eigenvalues
    basis: np.ndarray | None = None  # orthonormal columns, on the shorter side
    values: np.ndarray | None = None  # singular values after shrinkage, descending
    used: str = ""
    is_rough_sum: bool = False  # whether the sum of `values` has lost digits
    _trust_gram: bool = True
    _large: np.ndarray | None = None  # of the basis, for the next call if it is rough

    def __call__(
        self, A: np.ndarray, threshold: float, scratch: np.ndarray | None = None
    ) -> np.ndarray:
        """Replace A by D_threshold(A); `scratch`, of its size, may be overwritten."""
        short = short_side(A)
        by_gram = self.method != "lapack" and self._trust_gram and len(short) > 1
        if not (by_gram and self._by_gram(short, threshold, scratch)):
            return self._by_lapack(A, threshold)
        assert self.basis is not None
        assert self.values is not None
        # D_t(A) = B diag(s / (s + t)) B^T A with B the kept eigenvectors of A A^T, a
        # few columns at a time.
        shrink = (self.values / (self.values + threshold)).astype(A.dtype)
        B = self.basis.astype(A.dtype, copy=False)
        scaled = B * shrink
        pieces = column_blocks(short.shape, WIDE, most=short.shape[1])
        if 2 * B.shape[1] < B.shape[0]:
            for columns in pieces:
                short[:, columns] = scaled @ (B.T @ short[:, columns])
        elif scratch is not None:
            out = short_side(scratch)
            np.copyto(short, np.matmul(scaled @ B.T, short, out=out))
        else:
            product = scaled @ B.T
            for columns in pieces:
                short[:, columns] = product @ short[:, columns]
        return A

    def memory(self) -> dict[str, np.ndarray]:
        """State that the next call takes from this one, for `recall`."""
        count = -1 if self.values is None else len(self.values)
        memory = {"count": np.array([count, self._trust_gram], dtype=np.int64)}
        return memory if self._large is None else memory | {"large": self._large}

    def recall(self, count: np.ndarray, large: np.ndarray | None) -> None:
        self.values = None if count[0] < 0 else np.zeros(count[0])
        self._trust_gram, self._large = bool(count[1]), large

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

    def _by_gram(self, short, threshold: float, scratch) -> bool:
        K = gram(short, scratch, self.rough)
        self.used = "gram"
        found = None
        if self._large is not None:
            found = _in_parts(K, threshold, self._large)
        squares, B = found or _above(K, threshold, self.values)
        sigma = np.sqrt(np.maximum(squares, 0.0, dtype=np.float64))
        if len(sigma) and sigma[0] > GRAM_LIMITS[K.dtype] * threshold:
            self._trust_gram = False
            return False
        self.is_rough_sum = len(sigma) > 0 and sigma[0] > SPREAD * threshold
        # A copy: the eigenvectors may lie in the scratch memory.
        self.values, self.basis = sigma - threshold, B.copy()
        if self.rough:
            large = int(np.count_nonzero(sigma > LARGE * threshold))
            self._large = self.basis[:, :large].copy()
        return True

    def _by_lapack(self, A: np.ndarray, threshold: float) -> np.ndarray:
        P, sigma, Qt = _svd(A)
        rank = int(np.count_nonzero(sigma > threshold))
        self.used, self.is_rough_sum = "lapack", False
        self.values = (sigma[:rank] - threshold).astype(np.float64)
        self.basis = P[:, :rank] if A.shape[0] <= A.shape[1] else Qt[:rank].T
        shrunk = self.values.astype(A.dtype)
        return np.matmul(P[:, :rank] * shrunk, Qt[:rank], out=A)


def _svd(A: np.ndarray):
    try:
        return linalg.svd(A, full_matrices=False, check_finite=False)
    except linalg.LinAlgError:  # divide and conquer may fail where QR steps succeed
        return linalg.svd(
            A, full_matrices=False, check_finite=False, lapack_driver="gesvd"
        )


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
        squares, B = linalg.eigh(K, driver="evd", overwrite_a=True, check_finite=False)
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


def factorize(
    A: np.ndarray, basis: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A = P diag(s) Q^T of a matrix whose shorter side is spanned by `basis`."""
    if basis is None:
        P, s, Qt = _svd(A)
    elif basis.shape[1] == 0:
        none = np.empty(0, A.dtype)
        return none.reshape(len(A), 0), none, none.reshape(0, A.shape[1])
    else:
        B = basis.astype(A.dtype, copy=False)
        # The SVD of a thin matrix: that of its triangle.
        if A.shape[0] <= A.shape[1]:
            N, C = orthonormal(product(A.T, B))
            right, s, small = _svd(C)
            P, Qt = B @ small.T, product(N, right).T
        else:
            N, C = orthonormal(product(A, B))
            left, s, small = _svd(C)
            P, Qt = N @ left, small @ B.T
    kept = s > s[:1].sum() * max(A.shape) * np.finfo(A.dtype).eps
    return P[:, kept], s[kept], Qt[kept]
