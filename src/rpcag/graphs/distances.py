"""Distances between rows over the features that both rows observe."""

from collections.abc import Iterator

import numpy as np

from rpcag.graphs.inputs import check_rows, refuse_masked
from rpcag.linalg.blocks import row_blocks

# Pairs of rows whose distances are held at a time: 8 MiB of doubles, and about six
# arrays of that size while neighbors are searched.
PAIRS = 2**20


def observed(X, mask=None) -> tuple[np.ndarray, np.ndarray | None]:
    """X in double precision with zeros where it is not observed, and its mask."""
    X = check_rows(X, ensure_min_features=0)
    missing = np.isnan(X)
    if mask is not None:
        refuse_masked("it must be True or False for every entry", mask=mask)
        mask = np.asarray(mask)
        if mask.shape != X.shape or mask.dtype != bool:
            raise ValueError(
                f"mask must be a boolean array of shape {X.shape} (True where "
                f"observed), got {mask.dtype} of shape {mask.shape}"
            )
        missing |= ~mask
    if not missing.any():
        return X, None
    return np.where(missing, 0.0, X), ~missing


def take_rows(rows, which) -> tuple[np.ndarray, np.ndarray | None]:
    X, M = rows
    return X[which], None if M is None else M[which]


def distances_within(rows, diagonal: float) -> np.ndarray:
    """RMS distances between rows, with this diagonal, as in the paper.

    Omega_ij = sqrt( ||M_ij o (x_i - x_j)||^2 / ||M_ij||_1 ) over the features that both
    rows observe. It is infinite for pairs that share no feature.
    """
    distances = np.vstack(list(distance_blocks(rows, rows)))
    distances = (distances + distances.T) / 2
    np.fill_diagonal(distances, diagonal)
    return distances


def distance_blocks(rows, others) -> Iterator[np.ndarray]:
    """RMS distances from some rows at a time to all others."""
    (X, M), (Y, N) = rows, others
    center, scale = center_and_scale(Y, N)
    X, Y = X / scale - center, Y / scale - center
    complete = M is None and N is None
    if not complete:
        M, N = _indicator(M, X.shape), _indicator(N, Y.shape)
        X, Y = X * M, Y * N
    X2, Y2 = X**2, Y**2
    # Cancellation leaves about this share of the squares where there is no distance.
    rounding = 4 * np.finfo(float).eps * max(8.0, np.sqrt(X.shape[1]))
    for part in row_blocks((len(X), len(Y)), PAIRS):
        if complete:
            sizes = X2[part].sum(axis=1)[:, None] + Y2.sum(axis=1)
            count = np.full(sizes.shape, float(X.shape[1]))
        else:
            sizes = X2[part] @ N.T + M[part] @ Y2.T
            count = M[part] @ N.T
        squares = sizes - 2 * (X[part] @ Y.T)
        squares[squares <= rounding * sizes] = 0.0
        apart = count == 0
        squares /= np.where(apart, 1.0, count)
        squares[apart] = np.inf
        yield np.sqrt(squares, out=squares) * scale


def _indicator(mask: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray:
    return np.ones(shape) if mask is None else mask.astype(np.float64)


def center_and_scale(Y: np.ndarray, N: np.ndarray | None):
    """A shift and a unit in which squares are accurate and do not overflow.

    Distances do not depend on them. The median, not the mean: one gross error would
    move the mean far from all other rows, and their distances would cancel.
    """
    scale = np.abs(Y).max(initial=0.0) or 1.0
    if N is None:
        return np.median(Y / scale, axis=0), scale
    seen = np.ma.masked_array(Y / scale, mask=~N)
    return np.ma.filled(np.ma.median(seen, axis=0), 0.0), scale
