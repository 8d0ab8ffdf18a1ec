"""Features on one scale, in spite of gross errors."""

import numpy as np

# The quartiles of a normal distribution are this many deviations apart.
NORMAL = 1.349


def centre_and_scale(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Median and deviation of every feature, the latter from the quartiles.

    Half of a feature may be wrong, or a quarter on one side, and neither moves far. A
    feature whose quartiles coincide has its standard deviation, a constant one scale 1.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.files.scaling import centre_and_scale
    >>> centre_and_scale(np.array([[1.0], [2.0], [3.0], [4.0], [999.0]]))[0]
    array([3.])
    """
    centre, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    seen = ~np.isnan(X).all(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):  # near the largest numbers
        low, middle, high = np.nanpercentile(X[:, seen], [25, 50, 75], axis=0)
        deviation = np.nanstd(X[:, seen], axis=0)
        spread = np.where(high > low, (high - low) / NORMAL, deviation)
    centre[seen] = np.where(np.isfinite(middle), middle, 0.0)
    scale[seen] = np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
    return centre.astype(X.dtype), scale.astype(X.dtype)


def standardised(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(X - centre) / scale, and the two."""
    centre, scale = centre_and_scale(X)
    with np.errstate(over="ignore"):
        Z = (X - centre) / scale
    if np.isinf(Z).any():
        raise ValueError(
            f"X has entries of size {np.nanmax(np.abs(X)):.1e}, too large to be "
            "standardised; rescale X"
        )
    return Z, centre, scale
