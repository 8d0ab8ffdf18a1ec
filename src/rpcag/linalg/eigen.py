"""A few eigenvectors of a symmetric matrix, by the fastest accurate method."""

from contextlib import suppress
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence, LinearOperator, eigsh

from rpcag.linalg.rounding import row_sizes
from rpcag.linalg.shifted import factorized

Operator = Any  # an ndarray, a SciPy sparse array or a LinearOperator

# Up to these sizes LAPACK's direct method is as fast as any, for sparse matrices and
# operators, and for dense ones.
SMALL = 300
DENSE = 3000
# Beyond this size LAPACK would take minutes and gigabytes, so Lanczos must converge.
DIRECT = 10_000
# Maximum restarts of Lanczos. Neighbor graphs in many dimensions need ten or fewer; in
# one or two dimensions it may need thousands, but there a factorization is cheap.
RESTARTS = 100
# Most steps of LOBPCG. The result is checked; if it fails, a direct method is used.
MOST_STEPS = 100
# Eigenvalues closer than this share of the spectrum's width count as one.
RESOLUTION = 1e-9


def eigenvectors(
    A: Operator, k: int, *, largest: bool = False, stiffness: Operator | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest (or largest) eigenpairs of symmetric A, from the outermost in.

    Uses LAPACK if A is small or dense; otherwise Lanczos (ARPACK) from a fixed vector.
    If that does not converge, the smallest eigenpairs of a sparse positive
    semi-definite A are found by Lanczos on its inverse. The largest ones of
    A = low rank - stiffness, with a sparse positive semi-definite stiffness, are found
    by LOBPCG, with the inverse of the stiffness as a preconditioner.
    """
    size = A.shape[0]
    limit = DENSE if isinstance(A, np.ndarray) else SMALL
    if size <= limit or k > size // 4:
        return _lapack(_dense(A), k, largest)
    try:
        return _lanczos(A, k, largest, RESTARTS)
    except ArpackNoConvergence as failure:
        if sparse.issparse(A) and not largest:
            return _inverted(A, k)
        if sparse.issparse(stiffness) and largest:
            found = _preconditioned(A, k, stiffness, failure.eigenvectors)
            if found is not None:
                return found
    if size <= DIRECT:
        return _lapack(_dense(A), k, largest)
    try:
        return _lanczos(A, k, largest, 10 * RESTARTS)
    except ArpackError as error:
        raise linalg.LinAlgError(
            f"{k} eigenvectors of a matrix of size {size} did not converge"
        ) from error


def largest_eigenvalue(A: Operator) -> float:
    """Largest eigenvalue of a positive semi-definite matrix."""
    if A.shape[0] > SMALL:
        start = _start(A.shape[0])
        with suppress(ArpackError):
            return float(eigsh(A, 1, which="LA", v0=start, tol=1e-10)[0][0])
    return float(_lapack(_dense(A), 1, True)[0][0])


def column_signs(V: np.ndarray) -> np.ndarray:
    """Signs that make the entry of largest size of every column positive.

    If several entries have the same size up to rounding, the first decides. A column
    of zeros has the sign one.
    """
    if V.size == 0:
        return np.ones(V.shape[1], V.dtype)
    sizes = np.abs(V)
    first = (sizes >= sizes.max(axis=0) * (1 - 1e-6)).argmax(axis=0)
    signs = np.sign(V[first, np.arange(V.shape[1])])
    return np.where(signs == 0, np.ones_like(signs), signs)


def eigh_subset(
    A: np.ndarray, wanted: tuple[int, int], B: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs first to last, ascending, of A v = lambda v or of A v = lambda B v.

    LAPACK's method for a subset finds too few, or fails, if many eigenvalues coincide;
    its method for all of them does not.
    """
    first, last = wanted
    with suppress(linalg.LinAlgError):
        values, V = linalg.eigh(A, B, subset_by_index=wanted, check_finite=False)
        if len(values) == last - first + 1:
            return values, V
    driver = "evd" if B is None else "gvd"
    values, V = linalg.eigh(A, B, driver=driver, check_finite=False)
    return values[first : last + 1], V[:, first : last + 1]


def _lapack(A: np.ndarray, k: int, largest: bool):
    size = len(A)
    values, V = eigh_subset(A, (size - k, size - 1) if largest else (0, k - 1))
    return (values[::-1], V[:, ::-1]) if largest else (values, V)


def _ritz(A: Operator, V: np.ndarray, k: int):
    """Rayleigh-Ritz on orthonormal V: the k largest values, vectors and residuals."""
    AV = A @ V
    values, R = linalg.eigh(V.T @ AV, check_finite=False)
    values, R = values[::-1][:k], R[:, ::-1][:, :k]
    V = V @ R
    return values, V, AV @ R - V * values


def _lanczos(A: Operator, k: int, largest: bool, restarts: int):
    """Lanczos, repeated on the remainder, because it may miss equal eigenvalues."""
    values, V = _arpack(A, k, largest, restarts)
    width = 2.1 * _norm(A)
    shift = -2 * width if largest else 2 * width
    for _ in range(k):
        rest = LinearOperator(
            A.shape, lambda x, V=V: A @ x + shift * (V @ (V.T @ x)), dtype=np.float64
        )
        value, v = _arpack(rest, 1, largest, restarts)
        overlooked = value[0] - values[-1] if largest else values[-1] - value[0]
        v -= V @ (V.T @ v)
        if overlooked <= RESOLUTION * width or np.linalg.norm(v) < 0.5:
            break
        values = np.append(values, value)
        V = np.hstack([V, v / np.linalg.norm(v)])
        order = np.argsort(-values if largest else values)[:k]
        values, V = values[order], V[:, order]
    return values, V


def _arpack(A: Operator, k: int, largest: bool, restarts: int):
    size = A.shape[0]
    values, V = eigsh(
        A,
        k,
        which="LA" if largest else "SA",
        v0=_start(size),
        ncv=min(size, max(2 * k + 1, 40)),
        maxiter=restarts,
        tol=1e-12,
    )
    order = np.argsort(-values if largest else values)
    return values[order], V[:, order]


def _norm(A: Operator) -> float:
    """Approximate spectral norm."""
    return abs(float(eigsh(A, 1, which="LM", v0=_start(A.shape[0]), tol=1e-2)[0][0]))


def _inverted(A, k: int):
    """Smallest eigenpairs of positive semi-definite A from those of (A + shift)^-1."""
    shift = 1e-6 * float(row_sizes(A).max())
    inverse = LinearOperator(A.shape, factorized(A, shift), dtype=np.float64)
    values, V = _lanczos(inverse, k, True, RESTARTS)
    return 1 / values - shift, V


def _preconditioned(A: Operator, k: int, stiffness, known: np.ndarray):
    """Largest eigenpairs of A beside the known ones, or None if not accurate.

    Lanczos finds those that stand out. The others are soft modes of the stiffness, a
    little changed by the rest of A. Knyazev's method (SIAM J. Sci. Comput. 2001) starts
    from these: Rayleigh-Ritz on the block V, its preconditioned residuals and its last
    step, orthonormalized together. SciPy's version is not used: it warns if it does not
    converge, and a warning can only be silenced for all threads.
    """
    solve = factorized(stiffness, 1e-5 * float(row_sizes(stiffness).max()))
    more = _inverted(stiffness, k + 5)[1]
    norm, wanted, width = _norm(A), k - known.shape[1], more.shape[1]
    for _ in range(MOST_STEPS):
        basis = linalg.qr(np.hstack([known, more]), mode="economic")[0]
        basis = basis[:, known.shape[1] :]
        V, residuals = _ritz(A, basis, width)[1:]
        if np.linalg.norm(residuals[:, :wanted], axis=0).max() <= 1e-12 * norm:
            break
        before = basis[:, :width]
        more = np.hstack([V, solve(residuals), V - before @ (before.T @ V)])
    basis = linalg.qr(np.hstack([known, V]), mode="economic")[0]
    values, V, residuals = _ritz(A, basis, k)
    is_accurate = np.linalg.norm(residuals, axis=0).max() <= 1e-8 * norm
    return (values, V) if is_accurate else None


def _start(size: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(size)


def _dense(A: Operator) -> np.ndarray:
    if isinstance(A, np.ndarray):
        return A
    return A.toarray() if sparse.issparse(A) else A @ np.eye(A.shape[0])
