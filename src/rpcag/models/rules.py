"""Weights by rule, without a look at the fit."""

import math


def theory_lam(shape: tuple[int, int], observed: float = 1.0) -> float:
    """The rule of Candès et al., also where only a share of the entries is observed.

    Their theorem on corrupted and missing entries has 1 / sqrt(0.1 n) for a tenth.
    """
    return 1 / math.sqrt(observed * max(shape))


def clustering_gamma(
    shape: tuple[int, int], size: float, observed: float = 1.0
) -> float:
    """4 / sqrt(max(n, p)) in units of 1 / size, times the share that is observed.

    The four was measured on the paper's data sets. The loss is a sum over what is
    observed and the smoothness one over everything: as the share falls, so must gamma.
    """
    return 4 * observed / math.sqrt(max(shape)) / size
