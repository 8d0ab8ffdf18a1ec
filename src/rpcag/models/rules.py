"""Weights by rule, without any fit."""

import math

import numpy as np

from rpcag.linalg.typical import observed_share, typical_size

# lam for gamma="clustering", in units of the theory's: the more the graph smooths L,
# the less a small lam is needed. Larger values put fewer entries into S; clustering
# errors are similar from 1 to 4 (benchmarks/clustering.py).
CLUSTERING_LAM = 2.0


def theory_lam(shape: tuple[int, int], observed: float = 1.0) -> float:
    """The rule of Candès et al., also if entries are both corrupted and missing."""
    return 1 / math.sqrt(observed * max(shape))


def clustering_gamma(
    shape: tuple[int, int], size: float, observed: float = 1.0
) -> float:
    """4 / sqrt(max(n, p)) in units of 1 / size, times the share that is observed.

    The factor 4 was measured on the paper's data sets. The loss is a sum over observed
    entries only, and the smoothness over all, so gamma is proportional to the share.
    """
    return 4 * observed / math.sqrt(max(shape)) / size


def resolve_lam(lam, X: np.ndarray) -> float:
    """The rule of Candès et al. for "theory", or the number given."""
    if not isinstance(lam, str):
        return float(lam)
    return theory_lam(X.shape, observed_share(X))


def resolve_gamma(gamma, X: np.ndarray) -> float:
    """The rule measured on the paper's data for "clustering", or the number given."""
    if not isinstance(gamma, str):
        return float(gamma)
    return clustering_gamma(X.shape, typical_size(X), observed_share(X))


def resolve_weights(lam, gamma, X: np.ndarray) -> tuple[float | None, float | None]:
    """lam and gamma as numbers; None where they are to be chosen from the data.

    With gamma="clustering", lam="auto" is `CLUSTERING_LAM` times that of the theory.
    """
    if lam == "auto" and gamma == "clustering":
        lam = CLUSTERING_LAM * resolve_lam("theory", X)
    return (
        None if lam == "auto" else resolve_lam(lam, X),
        None if gamma == "auto" else resolve_gamma(gamma, X),
    )
