"""A few eigenvectors of a symmetric matrix, by the fastest accurate method."""

from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import (
    ArpackError,
    ArpackNoConvergence,
    LinearOperator,
    aslinearoperator,
    eigsh,
    splu,
)

Operator = Any  # an ndarray, a SciPy sparse array or a LinearOperator

# Up to these sizes LAPACK's direct method is as fast as any, for sparse matrices and
# operators, and for dense ones.
SMALL = 300
DENSE = 3000
# Beyond this size LAPACK would take minutes and gigabytes, so Lanczos must converge.
DIRECT = 10_000
# Maximum restarts of Lanczos. Measured on neighbor graphs of 5000 to 50000 vertices:
# in many dimensions (digits) ten or fewer suffice, 10 to 50 times faster than a
# factorization, which fills; in one or two dimensions it may need thousands, and
# there a factorization is cheap.
RESTARTS = 100
# Of `refine`: degree of the polynomials, and residual relative to the spectrum's width.
DEGREE = 8
ACCURACY = 1e-7
# Most steps of LOBPCG. The result is checked; if it fails, a direct method is used.
MOST_STEPS = 100
# Eigenvalues closer than this share of the spectrum's width count as one.
RESOLUTION = 1e-9


def eigenvectors(
    A: Operator,
    k: int,
    *,
    largest: bool = False,
    stiffness: Operator | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The k smallest (or largest) eigenpairs of symmetric A, from the outermost in.

    Uses LAPACK if A is small or dense; otherwise Lanczos (ARPACK) from a fixed vector.
    If Lanczos does not converge to the smallest eigenpairs of a sparse positive
    semi-definite A, it is run on the inverse. If it does not converge to the largest
    ones, and A is -stiffness plus a low-rank matrix, with a sparse positive
    semi-definite stiffness, LOBPCG is run with the inverse of the stiffness as a
    preconditioner.
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


def refine(
    A: np.ndarray, V: np.ndarray, k: int, lower: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """The k largest eigenpairs of A near a block V of more than k columns.

    Chebyshev polynomials damp the spectrum between `lower`, which bounds it, and the
    smallest Ritz value of the block; Rayleigh-Ritz reads off the rest. Returns Ritz
    values and vectors of the whole block, descending, or None if the first k are not
    accurate after two rounds.
    """
    for round_ in range(3):
        V, _ = linalg.qr(V, mode="economic", check_finite=False)
        AV = A @ V
        values, R = linalg.eigh(V.T @ AV, check_finite=False)
        values, R = values[::-1], R[:, ::-1]
        V, AV = V @ R, AV @ R
        residuals = np.linalg.norm(AV[:, :k] - V[:, :k] * values[:k], axis=0)
        if residuals.max() <= ACCURACY * (values[0] - lower):
            return values, V
        if round_ < 2:
            V = _chebyshev(A, V, AV, lower, values[-1])
    return None


def _chebyshev(A, V, AV, lower: float, edge: float):
    """Apply to V the Chebyshev polynomial of A, at most one on [lower, edge]."""
    center, half = (edge + lower) / 2, max((edge - lower) / 2, 1e-300)
    before, now = V, (AV - center * V) / half
    for _ in range(DEGREE - 1):
        before, now = now, (2 / half) * (A @ now - center * now) - before
        sizes = np.linalg.norm(now, axis=0)
        before, now = before / sizes, now / sizes
    return now


def largest_eigenvalue(A: Operator) -> float:
    """Largest eigenvalue of a positive semi-definite matrix."""
    size = A.shape[0]
    if size <= SMALL:
        return float(_lapack(_dense(A), 1, True)[0][0])
    try:
        value = eigsh(
            A, 1, which="LA", v0=_start(size), tol=1e-10, return_eigenvectors=False
        )[0]
    except ArpackError:
        value = _lapack(_dense(A), 1, True)[0][0]
    return float(value)


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


def _lapack(A: np.ndarray, k: int, largest: bool):
    size = len(A)
    wanted = (size - k, size - 1) if largest else (0, k - 1)
    values, V = eigh_subset(A, wanted)
    return (values[::-1], V[:, ::-1]) if largest else (values, V)


def eigh_subset(
    A: np.ndarray,
    wanted: tuple[int, int],
    B: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Eigenpairs first to last, ascending, of A v = lambda v or of A v = lambda B v.

    LAPACK's method for a subset finds too few, or fails, if many eigenvalues coincide;
    its method for all of them does not.
    """
    first, last = wanted
    try:
        values, V = linalg.eigh(A, B, subset_by_index=[first, last], check_finite=False)
        if len(values) == last - first + 1:
            return values, V
    except linalg.LinAlgError:
        pass
    driver = "evd" if B is None else "gvd"
    values, V = linalg.eigh(A, B, driver=driver, check_finite=False)
    return values[first : last + 1], V[:, first : last + 1]


def _lanczos(A: Operator, k: int, largest: bool, restarts: int):
    """Lanczos, repeated on the remainder, because it may miss equal eigenvalues."""
    values, V = _arpack(A, k, largest, restarts)
    norm = eigsh(A, 1, which="LM", v0=_start(A.shape[0]), tol=1e-2)[0]
    width = 2.1 * abs(float(norm[0]))
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


def _inverted(A, k: int):
    """Smallest eigenpairs of positive semi-definite A from those of (A + shift)^-1."""
    solve, shift = _shifted_inverse(A, 1e-6)
    inverse = LinearOperator(A.shape, solve, dtype=np.float64)
    values, V = _lanczos(inverse, k, True, RESTARTS)
    return 1 / values - shift, V


def _preconditioned(A: Operator, k: int, stiffness, known: np.ndarray):
    """Largest eigenpairs of A beside the known ones, or None if not accurate.

    Lanczos finds those that stand out; the others are soft modes of the stiffness, a
    little changed by the rest of A, and LOBPCG starts from these.
    """
    solve, _ = _shifted_inverse(stiffness, 1e-5)
    _, V = _inverted(stiffness, k + 5)
    norm = float(abs(eigsh(A, 1, which="LM", v0=_start(A.shape[0]), tol=1e-2)[0][0]))
    wanted = k - known.shape[1]
    V = _lobpcg(A, V, wanted, solve, known, 1e-12 * norm)
    V, _ = linalg.qr(np.hstack([known, V]), mode="economic")
    values, R = linalg.eigh(V.T @ (A @ V))
    values, V = values[::-1][:k], (V @ R)[:, ::-1][:, :k]
    residuals = np.linalg.norm(A @ V - V * values, axis=0)
    return (values, V) if residuals.max() <= 1e-8 * norm else None


def _lobpcg(A: Operator, V: np.ndarray, k: int, solve, known, accuracy: float):
    """A block whose first k columns are the largest eigenvectors beside the known ones.

    Knyazev's method (SIAM J. Sci. Comput. 2001): Rayleigh-Ritz on the block V, its
    preconditioned residuals and its last step, orthonormalized together. SciPy's
    version is not used: it warns if it does not converge, and a warning can only be
    silenced for all threads.
    """
    width = V.shape[1]
    more = V
    for _ in range(MOST_STEPS):
        basis = linalg.qr(np.hstack([known, more]), mode="economic")[0]
        basis = basis[:, known.shape[1] :]
        image = A @ basis
        values, R = linalg.eigh(basis.T @ image)
        values, R = values[::-1][:width], R[:, ::-1][:, :width]
        V = basis @ R
        residuals = image @ R - V * values
        if np.linalg.norm(residuals[:, :k], axis=0).max(initial=0.0) <= accuracy:
            break
        more = np.hstack([V, solve(residuals), basis[:, width:] @ R[width:]])
    return V


def _shifted_inverse(A, share: float):
    """Y -> (A + shift)^-1 Y for sparse positive semi-definite A, and the shift."""
    shift = share * float(abs(A).sum(axis=1).max())
    system = sparse.csc_array(A) + shift * sparse.eye_array(A.shape[0], format="csc")
    # Positive definite: no pivoting needed, so the order that keeps it sparse holds.
    factor = splu(
        sparse.csc_array(system),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return factor.solve, shift


def _start(size: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(size)


def _dense(A: Operator) -> np.ndarray:
    if isinstance(A, np.ndarray):
        return A
    if sparse.issparse(A):
        return A.toarray()
    return aslinearoperator(A) @ np.eye(A.shape[0])
