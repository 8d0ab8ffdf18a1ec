"""Bounds of rounding errors, so that a certificate holds to its last digit.

All bounds are worst cases (Higham, Accuracy and Stability of Numerical Algorithms,
chapters 3 and 4), not estimates. Second-order terms are covered by whole numbers that
are larger than needed.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

# Unit roundoff of double precision, in which every certificate is summed.
UNIT = 2.0**-53
# NumPy adds at most 16 terms in a row and halves the rest (pairwise summation), so a
# sum of up to 2^40 terms has at most this many roundings on the way to any of them.
PAIRWISE = 64
# Steps of the power method; more would bring the bound of the norm nearer to it.
STEPS = 8


def unit(dtype: Any) -> float:
    """Largest relative error of rounding to a floating-point type."""
    return float(np.finfo(dtype).eps) / 2


def total(terms: np.ndarray) -> np.ndarray:
    """The sum of terms in double precision, and the sum of their sizes."""
    return np.array([terms.sum(), np.abs(terms).sum()])


def total_error(size: float, n_blocks: int) -> float:
    """Of a sum of `n_blocks` pairwise sums of rounded products, by the sum of sizes."""
    return (PAIRWISE + n_blocks) * UNIT * float(size)


def rounded_down(number: float, dtype: Any) -> Any:
    """The largest number of this type that is not above `number`."""
    kind = np.dtype(dtype).type
    rounded = kind(number)
    if float(rounded) > number:  # in double precision, which both numbers have
        rounded = np.nextafter(rounded, kind(-np.inf))
    return rounded


def in_unit(X: np.ndarray, unit: float) -> np.ndarray:
    """X / unit for a power of two: exact, also where 1 / unit would overflow."""
    return np.ldexp(X, 1 - math.frexp(unit)[1])


def from_unit(X: np.ndarray, unit: float) -> np.ndarray:
    """X unit for a power of two."""
    return np.ldexp(X, math.frexp(unit)[1] - 1)


def row_sizes(Phi: Any) -> np.ndarray:
    """Sum of the sizes of the entries of every row."""
    return np.asarray(abs(Phi).sum(axis=1), dtype=np.float64).reshape(-1)


def product_error(Phi: Any) -> float:
    """c with |fl(factor Phi Y) - factor Phi Y| <= c |factor| |Phi| |Y|, entry by entry.

    Phi is the exact Laplacian of its graph. With at most k entries in a row, its stored
    entries are off by k + 6 roundings (degree, root, products), the product with Y by k
    more, and a factor and an addition by a few.
    """
    longest = Phi.shape[1]
    if sparse.issparse(Phi):
        longest = int(np.diff(sparse.csr_array(Phi).indptr).max(initial=0))
    return (2 * longest + 16) * UNIT


def size_norm(Phi: Any) -> float:
    """A bound of the spectral norm of |Phi|, symmetric, the sizes of its entries.

    For every positive x it is at most max_i (|Phi| x)_i / x_i (Collatz, Wielandt); a
    few steps of the power method make a good x.
    """
    sizes = abs(Phi)
    x = np.ones(Phi.shape[0])
    best = np.inf
    for _ in range(STEPS):
        image = np.asarray(sizes @ x).reshape(-1)
        best = min(best, float((image / x).max(initial=0.0)))
        top = image.max(initial=0.0)
        if not (np.isfinite(best) and top > 0):
            break
        # Not below a share of the largest: x has to stay positive.
        x = np.maximum(image / top, 1e-8)
    return best * (1 + 1e-8)
