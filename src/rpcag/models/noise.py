"""The level of dense noise in X = L + S + N, and the weights for it.

If S is zero, L is X with its singular values lowered by mu, so mu has to be above the
norm of the noise: sigma (sqrt(n) + sqrt(p)) for independent entries with standard
deviation sigma. Residuals beyond lam mu are gross errors; lam mu = LIMIT sigma. Then
the dual point off the signal is clip(N + S, -LIMIT sigma, LIMIT sigma) / mu, whose
entries have a root mean square of `excess` sigma / mu. L has no spurious rank if its
norm is below one,

    mu = excess sigma (sqrt(n) + sqrt(p)) sqrt(share of observed entries).

`excess` is 0.92 without gross errors and 1.03 if a tenth of the entries are wrong.
"""

import math
from typing import NamedTuple

import numpy as np

from rpcag.linalg.gram import factorize
from rpcag.linalg.typical import observed_share
from rpcag.losses import L1, Huber
from rpcag.models.rules import theory_lam
from rpcag.solvers.problem import Problem

# Residuals beyond this many deviations are gross errors: 9 % of normal noise. A larger
# limit makes S sparser, and L worse where many entries are wrong: mu has to grow.
LIMIT = 1.7
# The norm of a sample is a gross error from this many of its typical noise norms.
ROW_LIMIT = 1.2
# Factor of the mu derived above, for the fluctuations of norms. If it is smaller, the
# rank is too large; if it is larger, L shrinks more than necessary.
MARGIN = 1.03
# `excess` if the noise level is given; suits up to 15 % gross errors.
EXCESS = 1.1
# Centers of features count in steps of this many deviations. Larger steps leave offsets
# that dominate the objective; with smaller ones, structure near zero is changed.
FAR = 10.0
# Maximum number of rows and columns from which the level is estimated.
SIDE = 500
ROUNDS = 20
# Relative change of the level at which it has converged.
SETTLED = 0.02
# A level below this share of the spread of X counts as zero: solvers cannot resolve it.
NONE = 1e-4
# Gap of the fits relative to the level, and its limits.
ACCURACY, FINEST, COARSEST = 0.03, 1e-5, 1e-2
# Share of the degrees of freedom that residuals must keep to estimate the level.
LEFT = 0.3
# The estimate uses residuals within INSIDE deviations: 98.8 % of normal noise. Their
# median size is MEDIAN_INSIDE deviations; MEDIAN is that of all residuals.
INSIDE, MEDIAN_INSIDE, MEDIAN = 2.5, 0.66475, 0.6745


class Noise(NamedTuple):
    """Standard deviation of the noise, and `excess` of the module's docstring."""

    sigma: float
    excess: float = EXCESS


def noise_weights(
    shape: tuple[int, int], observed: float, sigma: float, excess: float
) -> tuple[float, float]:
    """lam and mu for noise of standard deviation sigma."""
    n, p = shape
    mu = excess * sigma * math.sqrt(observed) * (math.sqrt(n) + math.sqrt(p))
    return LIMIT * sigma / mu, mu


def estimate_noise(X: np.ndarray) -> Noise:
    """Estimate the noise level: the one at which a fit has residuals of that level.

    Starts with Robust PCA. Every round fits X = L + S + N at the current level, undoes
    the shrinkage of L, and measures the level of the residuals. It is zero if they are
    below the precision of a fit.
    """
    X = _part(X)
    shape, observed = X.shape, observed_share(X)
    seen = ~np.isnan(X)
    n, p = shape
    spread = residual_scale((X - np.nanmedian(X, axis=0))[seen])
    if not spread > 0:
        return Noise(0.0, 1.0)
    lam, sigma, mu, excess, free = theory_lam(shape, observed), 0.0, 0.0, 1.0, 1.0
    state = None
    for _ in range(ROUNDS):
        loss, tol = None, COARSEST
        if sigma > 0:
            lam, mu = noise_weights(shape, observed, sigma, excess)
            loss = Huber(L1(lam), mu)
            tol = min(max(ACCURACY * sigma / spread, FINEST), COARSEST)
        result = Problem(X, lam, loss=loss).solve(tol=tol, max_iter=200, start=state)
        # L of Robust PCA has a high rank, which is a slow start.
        state, L = result.state if sigma > 0 else None, result.x
        P, s, Vt = factorize(L, result.basis)
        # Only free entries act on L, so it is shrunk by mu over their share.
        residuals = (X - L - mu / (observed * free) * (P @ Vt))[seen]
        left = 1 - len(s) * (n + p - len(s)) / (n * p * observed * free)
        found = residual_scale(residuals) / math.sqrt(max(left, 0.1))
        if left < LEFT:  # L fits the noise: raise the level until it does not
            found, free, excess = max(found, 2 * sigma, 0.02 * spread), 1.0, 1.0
        elif found > NONE * spread:
            clipped = np.clip(residuals / found, -LIMIT, LIMIT)
            free = max(float(np.mean(np.abs(clipped) < LIMIT)), 0.1)
            excess = MARGIN * math.sqrt(float(np.mean(clipped**2)))
        else:
            return Noise(0.0, 1.0)
        before, sigma = sigma, found
        if abs(sigma - before) < SETTLED * sigma:
            break
    return Noise(sigma, excess)


def residual_scale(residuals: np.ndarray) -> float:
    """Standard deviation of normal noise with gross errors, from entries `INSIDE`."""
    sizes = np.abs(residuals)
    scale = float(np.median(sizes)) / MEDIAN if sizes.size else 0.0
    for _ in range(50):
        inside = sizes[sizes <= INSIDE * scale]
        if not inside.size:
            break
        before, scale = scale, float(np.median(inside)) / MEDIAN_INSIDE
        if abs(scale - before) <= 1e-3 * scale:
            break
    return scale


def _part(X: np.ndarray) -> np.ndarray:
    """At most SIDE rows and columns of X, near zero, drawn with a fixed seed.

    Transposed if X is wide: the level is the same, and medians of long columns are
    more accurate.
    """
    rng = np.random.default_rng(0)
    for axis in (0, 1):
        kept = np.flatnonzero(~np.isnan(X).all(axis=1 - axis))
        if len(kept) > SIDE:
            kept = np.sort(rng.choice(kept, SIDE, replace=False))
        X = np.take(X, kept, axis=axis)
    # The level is the same without an offset, whose norm the gap would be relative to.
    # It is rounded, because medians of a few rows would make entries zero.
    center = np.nanmedian(X, axis=0)
    far = FAR * residual_scale((X - center)[~np.isnan(X)])
    X = X - far * np.rint(center / far) if far > 0 else X
    X = X if len(X) >= X.shape[1] else X.T
    return np.ascontiguousarray(X, dtype=np.float64)
