"""Bounds on rounding errors, so that a certificate is valid despite rounding.

All bounds are worst cases (Higham, Accuracy and Stability of Numerical Algorithms,
chapters 3 and 4). Integer factors are larger than needed, to cover second-order terms.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

# Unit roundoff of double precision, in which every certificate is summed.
UNIT = 2.0**-53
# Roundings that a term takes part in, at most, in a sum of up to 2^40 terms. NumPy adds
# at most 16 terms in sequence and splits longer sums in halves (pairwise summation).
PAIRWISE = 64
# Steps of the power method. More steps make the bound on the norm tighter.
STEPS = 8


def unit(dtype: Any) -> float:
    """Largest relative error of rounding to a floating-point type."""
    return float(np.finfo(dtype).eps) / 2


def total(terms: np.ndarray) -> np.ndarray:
    """The sum of terms in double precision, and the sum of their absolute values."""
    return np.array([terms.sum(), np.abs(terms).sum()])


def total_error(size: float, n_blocks: int) -> float:
    """Bound on the rounding error of a sum of `n_blocks` pairwise sums of products.

    `size` is the sum of the absolute values.
    """
    return (PAIRWISE + n_blocks) * UNIT * float(size)


def in_unit(X: np.ndarray, unit: float) -> np.ndarray:
    """X / unit, exactly, for a power of two; 1 / unit itself could overflow."""
    return np.ldexp(X, 1 - math.frexp(unit)[1])


def from_unit(X: np.ndarray, unit: float) -> np.ndarray:
    """X * unit, exactly, for a power of two."""
    return np.ldexp(X, math.frexp(unit)[1] - 1)


def row_sizes(Phi: Any) -> np.ndarray:
    """Sum of the absolute values of every row."""
    return np.asarray(abs(Phi).sum(axis=1), dtype=np.float64).reshape(-1)


def product_error(Phi: Any) -> float:
    """c with |fl(factor Phi Y) - factor Phi Y| <= c |factor| |Phi| |Y|, entry by entry.

    Phi is the exact Laplacian. With k entries in its longest row, the stored entries
    have k + 6 roundings (degree, root, products). The product with Y adds k more, and
    the factor and an addition add a few.
    """
    longest = Phi.shape[1]
    if sparse.issparse(Phi):
        longest = int(np.diff(sparse.csr_array(Phi).indptr).max(initial=0))
    return (2 * longest + 16) * UNIT


def size_norm(Phi: Any) -> float:
    """An upper bound on the spectral norm of |Phi|, the entrywise absolute value.

    For every positive x the norm is at most max_i (|Phi| x)_i / x_i (Collatz,
    Wielandt). A few steps of the power method give a good x.
    """
    sizes, x, best = abs(Phi), np.ones(Phi.shape[0]), np.inf
    for _ in range(STEPS):
        image = np.asarray(sizes @ x).reshape(-1)
        best = min(best, float((image / x).max(initial=0.0)))
        top = image.max(initial=0.0)
        if not (np.isfinite(best) and top > 0):
            break
        # Bounded below, because x must stay positive.
        x = np.maximum(image / top, 1e-8)
    return best * (1 + 1e-8)
