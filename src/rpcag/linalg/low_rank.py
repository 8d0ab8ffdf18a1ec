"""Whether a matrix has a low rank, without its singular value decomposition."""

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
    """A basis of the shorter side of A if the rest of A is negligible, else None.

    Also a bound on the nuclear norm of the rest.

    The columns of A G, with a Gaussian matrix G, almost surely span A if they are no
    fewer than its rank (Halko, Martinsson, Tropp, 2011). The rest E is computed, and
    ||E||_* <= sqrt(n) ||E||_F is at most the share `accuracy` of ||A||_F <= ||A||_*.
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
