"""Singular values and norms of A by the Gram matrix A A^T of its shorter side.

The Gram matrix squares the singular values, and their rounding errors. So every
function states where its result is accurate, or adds a bound on its errors.
"""

import math

import numpy as np
from scipy import linalg

from rpcag.linalg.blocks import column_blocks
from rpcag.linalg.orthonormal import orthonormal
from rpcag.linalg.rounding import UNIT
from rpcag.linalg.threads import product

# Up to this size the memory of a Gram matrix in double precision does not matter.
SMALL = 300
# Number of entries of A that are processed at a time. Products of fewer are slow.
WIDE = 2**18
# Up to this size all eigenvalues are as cheap as one by Lanczos. More steps of Lanczos
# give a tighter bound.
LANCZOS_SIZE, LANCZOS_STEPS = 150, 60


def gram(
    A: np.ndarray, scratch: np.ndarray | None = None, double: bool = False
) -> np.ndarray:
    """A A^T, in the memory of `scratch` if it fits there.

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
    # Enough columns at a time that adding to K takes little of the time.
    for columns in column_blocks(A.shape, max(WIDE, 2 * size**2), most=A.shape[1]):
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


def short_side(A: np.ndarray) -> np.ndarray:
    """A or its transpose (a view), whichever has fewer rows."""
    return A if A.shape[0] <= A.shape[1] else A.T


def multiply_left(B: np.ndarray, weights: np.ndarray, A: np.ndarray) -> None:
    """Replace A by B diag(weights) B^T A, a few columns at a time; no weight is < 0."""
    C = B * np.sqrt(weights).astype(B.dtype)
    # NumPy computes half of a product with its own transpose.
    square = C @ C.T if 2 * C.shape[1] >= len(C) else None
    for columns in column_blocks(A.shape, WIDE, most=A.shape[1]):
        piece = A[:, columns]
        A[:, columns] = C @ (C.T @ piece) if square is None else square @ piece


def eigh(A: np.ndarray, *, overwrite: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """All eigenvalues, ascending, and eigenvectors: divide and conquer, in LAPACK.

    SciPy before 1.13 refuses matrices of one row there.
    """
    driver = "evd" if len(A) > 1 else "ev"
    return linalg.eigh(A, driver=driver, overwrite_a=overwrite, check_finite=False)


def excess(A: np.ndarray) -> np.ndarray | None:
    """A minus its projection onto the unit ball of the spectral norm, if not zero.

    With A = P Sigma Q^T it is P max(Sigma - 1, 0) Q^T. The rounding errors of small
    singular values do not matter, because these have no excess.
    """
    short = short_side(A)
    squares, B = eigh((short @ short.T).T, overwrite=True)
    B = B[:, squares > 1]
    if not B.shape[1]:
        return None
    Z = A.copy()
    multiply_left(B, 1 - 1 / np.sqrt(squares[squares > 1]), short_side(Z))
    return Z


def singular_values(A: np.ndarray, accuracy: float = 1e-10) -> np.ndarray:
    """Singular values, by the Gram matrix if it gives their sum accurately.

    Its eigenvalues are off by e = n u ||A||^2, so a singular value s is off by
    min(e / s, sqrt(e)). Those below sqrt(e) are returned as zero.
    """
    if min(A.shape) > SMALL:
        squares = linalg.eigvalsh(gram(short_side(A), double=True), overwrite_a=True)
        e = len(squares) * UNIT * max(squares[-1], 0.0)
        values = np.sqrt(np.where(squares > e, squares, 0.0))
        error = np.minimum(e / np.maximum(values, 1e-300), math.sqrt(e)).sum()
        if error <= accuracy * values.sum():
            return values
    return linalg.svdvals(A, check_finite=False)


def svd(A: np.ndarray):
    try:
        return linalg.svd(A, full_matrices=False, check_finite=False)
    except linalg.LinAlgError:  # divide and conquer may fail where QR steps succeed
        return linalg.svd(
            A, full_matrices=False, check_finite=False, lapack_driver="gesvd"
        )


def factorize(
    A: np.ndarray, basis: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A = P diag(s) Q^T of a matrix whose shorter side is spanned by `basis`."""
    if basis is None:
        P, s, Qt = svd(A)
    elif basis.shape[1] == 0:
        none = np.empty(0, A.dtype)
        return none.reshape(len(A), 0), none, none.reshape(0, A.shape[1])
    else:
        B, is_tall = basis.astype(A.dtype, copy=False), A.shape[0] > A.shape[1]
        # The SVD of a thin matrix: that of its triangle.
        N, C = orthonormal(product(A if is_tall else A.T, B))
        left, s, right = svd(C)
        P, Qt = product(N, left), right @ B.T
        if not is_tall:
            P, Qt = Qt.T, P.T
    kept = s > s[:1].sum() * max(A.shape) * np.finfo(A.dtype).eps
    return P[:, kept], s[kept], Qt[kept]


def spectral_norm(A: np.ndarray, accuracy: float = 0.0) -> float:
    """||A||_2, rounded up by more than the rounding errors of its square."""
    if not A.size:
        return 0.0
    return proven_norm(gram(short_side(A), double=True), accuracy, max(A.shape))


def proven_norm(K: np.ndarray, accuracy: float, length: int = 0) -> float:
    """Bound ||A||_2 from above, given K = A A^T, to within twice `accuracy`.

    Lanczos finds a lower bound s^2 of the largest eigenvalue. If c^2 I - K has a
    Cholesky factor for a c slightly larger than s, then ||A||_2 < c. If that fails for
    several c, the eigenvalue is computed. K is overwritten.

    Bounds on rounding errors are added, with u = 2^-53 and n the size of K. If rows of
    A have `length` entries, the error of K is at most length u tr K in norm. A Cholesky
    factor proves eigenvalues of at least -(n + 1) u tr(c^2 I - K) (Rump, 2006). The
    error of LAPACK's eigenvalues is about n u ||K||; ten times that is added.
    """
    size = len(K)
    if not np.isfinite(K).all():
        return np.inf
    up = 1 + 4 * UNIT  # for the rounding of the square root
    lost = (length + 4) * UNIT * float(np.trace(K))
    rounding = 4 * float(np.finfo(K.dtype).eps) * math.sqrt(size)
    if size > LANCZOS_SIZE and accuracy > 10 * rounding:
        largest = _ritz_value(K)
        for slack in (1, 3):
            bound = largest * (1 + slack * accuracy)
            if is_below(K, bound):
                return up * math.sqrt(bound * (1 + (size + 2) ** 2 * UNIT) + lost)
    largest = float(linalg.eigvalsh(K, overwrite_a=True, check_finite=False)[-1])
    return up * math.sqrt(max(largest, 0.0) * (1 + 10 * size * UNIT) + lost)


def _ritz_value(K: np.ndarray) -> float:
    """A lower bound of the largest eigenvalue, by a few steps of Lanczos."""
    size = len(K)
    V = np.empty((LANCZOS_STEPS, size))
    v = np.random.default_rng(0).standard_normal(size)
    diagonal, beside = list[float](), list[float]()
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


def is_below(K: np.ndarray, bound: float) -> bool:
    """Whether K is below the bound, proven by a Cholesky factor of bound I - K.

    The factor uses one triangle of K, which is then restored from the other.
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
