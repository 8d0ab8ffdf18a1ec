"""Center and scale features, and return to their units."""

from typing import Any

import numpy as np

from rpcag.graphs.inputs import is_dask
from rpcag.linalg.blocks import column_blocks

KINDS = ("robust", "standard")
# The quartiles of a normal distribution are this many deviations apart.
NORMAL = 1.349
# Robust centers are means of entries that are clipped at CLIPPED quartile deviations
# from the median. Larger values let gross errors move the center; with smaller ones it
# is the median, which predicts skewed features with a larger squared error.
CLIPPED = 2.5
# Robust scales are the TAIL quantile of the distances from the median over that of a
# normal variable, so that features with heavy tails do not dominate; at least one, and
# at most HEAVY quartile deviations, because it may be the size of gross errors.
TAIL, TAIL_NORMAL, HEAVY = 95, 1.96, 2.5
# Spread of a feature, in rounding errors of its center, up to which it is constant. A
# smaller number would turn rounding errors into a feature of unit variance.
ROUNDING = 10
# Ratio of robust scales from which features are in different units: those with smaller
# scales hardly change the result. Pixels of images differ by up to about twenty, except
# for the SMALLEST share of features, such as pixels at the edge, which are left out.
DIFFERENT, SMALLEST = 30.0, 0.05
# Entries of X that are sorted at a time: 8 MiB of doubles.
PIECE = 2**20


def center_and_scale(X: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Center and scale of every feature, ignoring NaN.

    "robust": the mean of the clipped entries, and the deviation by the 95 % quantile of
    the distances from the median, between one and 2.5 quartile deviations. Up to a
    quarter of the entries of a feature can be gross errors. If the quartiles coincide,
    these are the median and the standard deviation.

    "standard": the mean and the standard deviation.

    The scale of a constant feature is 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.models.scaling import center_and_scale
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0], [999.0]])
    >>> center, scale = center_and_scale(X, "robust")
    >>> center.round(2), scale.round(2)
    (array([3.34]), array([3.71]))
    """
    center, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    seen = np.flatnonzero(~np.isnan(X).all(axis=0))
    for some in column_blocks((len(X), len(seen)), PIECE, PIECE):
        center[seen[some]], scale[seen[some]] = _measure(X[:, seen[some]], kind)
    return center, scale


def standardize(X: Any, center: np.ndarray, scale: np.ndarray, dtype=None) -> Any:
    """(X - center) / scale, in the precision of X or `dtype`; also of a Dask array."""
    with np.errstate(over="ignore"):
        Z = ((X - center) / scale).astype(dtype or X.dtype, copy=False)
    if not is_dask(X) and np.isinf(Z).any():
        i, j = np.argwhere(np.isinf(Z))[0]
        raise ValueError(
            f"X has an entry of size {abs(X[i, j]):.3g} in row {i}, column {j}, whose "
            f"scale is {scale[j]:.3g}: too large to be scaled; rescale X, or mark the "
            "entry as missing by NaN"
        )
    return Z


def restore(L: Any, center: np.ndarray | float, scale: np.ndarray) -> Any:
    """L * scale + center, in the precision of L; also of a Dask array."""
    with np.errstate(over="ignore"):
        X = (L * scale + center).astype(L.dtype, copy=False)
    if not is_dask(L) and not np.isfinite(X).all():
        raise ValueError(
            f"the result overflows {L.dtype} in the unit of X; rescale X, whose "
            f"features have scales up to {scale.max():.3g}"
        )
    return X


def ratio_of_scales(X: np.ndarray) -> float:
    """How much larger the largest scale of a feature is than nearly all others.

    Scales are distances of quartiles. Features whose quartiles coincide, like counts
    that are mostly zero, say little about units and are left out.
    """
    scale = np.zeros(X.shape[1])
    seen = np.flatnonzero(~np.isnan(X).all(axis=0))
    for some in column_blocks((len(X), len(seen)), PIECE, PIECE):
        low, high = np.nanpercentile(X[:, seen[some]], [25, 75], axis=0)
        scale[seen[some]] = high / 2 - low / 2  # halves: a difference may overflow
    scale = scale[scale > 0]
    if scale.size == 0:
        return 1.0
    with np.errstate(over="ignore"):
        return float(scale.max() / np.quantile(scale, SMALLEST, method="lower"))


def in_words(ratio: float) -> str:
    """A ratio with two digits: 1200, 1.2e+09."""
    return f"{float(f'{ratio:.2g}'):g}"


def _measure(X: np.ndarray, kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Of features with observed entries, in units in which no square overflows."""
    largest = np.nanmax(np.abs(X), axis=0).astype(np.float64)
    unit = np.ldexp(1.0, np.clip(np.frexp(largest)[1], -1074, 1023))
    Y = X / unit  # powers of two: exact
    deviation = np.nanstd(Y, axis=0)
    if kind == "standard":
        middle, spread = np.nanmean(Y, axis=0), deviation
    else:
        low, middle, high = np.nanpercentile(Y, [25, 50, 75], axis=0)
        quartile = (high - low) / NORMAL
        distances = Y - middle
        tail = np.nanpercentile(np.abs(distances), TAIL, axis=0) / TAIL_NORMAL
        spread = np.where(
            quartile > 0, np.clip(tail, quartile, HEAVY * quartile), deviation
        )
        limit = CLIPPED * quartile
        middle += np.nanmean(np.clip(distances, -limit, limit), axis=0)
    rounding = ROUNDING * float(np.finfo(X.dtype).eps) * np.abs(middle)
    varies = (spread > rounding) & (np.nanmax(Y, axis=0) > np.nanmin(Y, axis=0))
    with np.errstate(over="ignore"):
        scale = np.maximum(spread * unit, np.finfo(np.float64).smallest_subnormal)
    scale = np.minimum(scale, np.finfo(np.float64).max)
    return middle * unit, np.where(varies, scale, 1.0)
