"""Find a basis of a matrix of low rank without its singular value decomposition."""

import math

import numpy as np

from rpcag.linalg.gram import short_side
from rpcag.linalg.orthonormal import orthonormal
from rpcag.linalg.threads import product

# Columns of the first trial; every other has twice as many.
WIDTH = 32


def low_rank_basis(
    A: np.ndarray, most: float, accuracy: float
) -> tuple[np.ndarray | None, float]:
    """A basis of the shorter side of A, and a bound on the nuclear norm of the rest.

    The basis is None if A has no accurate one with fewer than 2 `most` columns.

    With a Gaussian matrix G, the columns of A G almost surely span A if there are at
    least as many as the rank of A (Halko, Martinsson, Tropp, 2011). The rest of A, E,
    is computed. The basis is accurate if the bound sqrt(n) ||E||_F on ||E||_* is at
    most the share `accuracy` of ||A||_F, which is at most ||A||_*.
    """
    short, rng = short_side(A), np.random.default_rng(0)
    limit, root = accuracy * float(np.linalg.norm(A)), math.sqrt(len(short))
    width = WIDTH
    while width < 2 * most:
        Q, _ = orthonormal(product(short, rng.standard_normal((short.shape[1], width))))
        rest = root * float(np.linalg.norm(short - product(Q, product(Q.T, short))))
        if rest <= limit:
            return Q, rest
        width *= 2
    return None, 0.0
