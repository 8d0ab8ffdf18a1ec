"""Corrupt data for experiments, as in the paper.

Every function returns a corrupted copy and a boolean mask, which is True where an entry
is unchanged.
"""

from numbers import Real

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions, validate_params

from rpcag.graphs.inpainting import check_image_shape
from rpcag.graphs.inputs import with_nan
from rpcag.graphs.options import POSITIVE, Range

__all__ = ["add_sign_errors", "drop_entries", "occlude_blocks"]

SHARE = Range(Real, 0, 1, closed="both")
checked = validate_params(
    {
        "share": [SHARE],
        "samples": [SHARE],
        "size": [POSITIVE],
        "signs": [StrOptions({"random", "coherent"})],
        "random_state": ["random_state"],
    },
    prefer_skip_nested_validation=True,
)


@checked
def occlude_blocks(
    X, image_shape, share=0.25, *, samples=1.0, value=0.0, random_state=None
):
    """Cover a square block of every image, at a random place.

    Parameters
    ----------
    X : array of shape (n_images, height * width [* channels])
    image_shape : tuple of int
        (height, width) or (height, width, channels); a block covers all channels.
    share : float, default=0.25
        Share of the area of the image that the block covers.
    samples : float, default=1.0
        Share of the images that are covered, drawn at random.
    value : float, default=0.0
        Value of covered pixels. NaN marks them as missing.
    random_state : int, RandomState or None

    Returns
    -------
    occluded, mask : ndarrays of the shape of X

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.corruption import occlude_blocks
    >>> occluded, mask = occlude_blocks(np.ones((1, 16)), (4, 4), random_state=0)
    >>> occluded.reshape(4, 4)
    array([[1., 0., 0., 1.],
           [1., 0., 0., 1.],
           [1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """
    X = _check_rows(X, "image")
    height, width, *channels = check_image_shape(image_shape, X.shape, channels=True)
    rng = check_random_state(random_state)
    rows = min(height, round(np.sqrt(share * height * width)))
    columns = min(width, round(share * height * width / rows)) if rows else 0
    mask = np.ones((len(X), height, width, *channels), dtype=bool)
    tops = rng.randint(height - rows + 1, size=len(X))
    lefts = rng.randint(width - columns + 1, size=len(X))
    # Drawn last: an image that is hit has the same block whatever `samples` is.
    hit = _draw_samples(len(X), samples, rng)
    for i in hit:
        mask[i, tops[i] : tops[i] + rows, lefts[i] : lefts[i] + columns] = False
    mask = mask.reshape(X.shape)
    return _put(X, mask, value), mask


@checked
def drop_entries(X, share=0.25, *, samples=1.0, value=0.0, random_state=None):
    """Remove random entries of every sample.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    share : float, default=0.25
        Share of the entries to remove: exactly ``round(share * n_features)`` of every
        sample.
    samples, value, random_state
        As in `occlude_blocks`.

    Returns
    -------
    dropped, mask : ndarrays of the shape of X

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.corruption import drop_entries
    >>> dropped, mask = drop_entries(np.ones((2, 6)), share=0.5, random_state=0)
    >>> mask.sum(axis=1)
    array([3, 3])
    """
    X = _check_rows(X, "sample")
    rng = check_random_state(random_state)
    lost = rng.rand(*X.shape).argsort(axis=1)[:, : round(share * X.shape[1])]
    hit = _draw_samples(len(X), samples, rng)
    mask = np.ones(X.shape, dtype=bool)
    mask[hit[:, None], lost[hit]] = False
    return _put(X, mask, value), mask


@checked
def add_sign_errors(X, share=0.1, *, size=1.0, signs="random", random_state=None):
    """Add errors of one size and random sign, the S of X = L + S.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        The matrix to corrupt, such as a low-rank L.
    share : float, default=0.1
        Probability of an error, independently for every entry. The actual share varies.
    size : float, default=1.0
        Absolute value of the errors.
    signs : {"random", "coherent"}, default="random"
        "random": either sign with probability one half. "coherent": the sign of the
        entry of X (+ for zero), which is the harder case.
    random_state : int, RandomState or None
        With the same state, the errors of a smaller share are a subset of those of a
        larger one.

    Returns
    -------
    corrupted, mask : ndarrays of the shape of X

    Notes
    -----
    In the paper, a corrupted entry "takes a value ±1", as in Candès et al. (2011).
    There these are entries of S in X = L + S, so errors are added to entries.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.corruption import add_sign_errors
    >>> L = np.array([[0.5, -0.5, 0.5, -0.5]])
    >>> add_sign_errors(L, 0.6, signs="coherent", random_state=0)[0]
    array([[ 1.5, -0.5,  0.5, -1.5]])
    """
    X = _check_rows(X, "sample")
    rng = check_random_state(random_state)
    mask = rng.random_sample(X.shape) >= share
    positive = rng.random_sample(X.shape) < 0.5 if signs == "random" else X >= 0
    S = np.where(mask, 0, np.where(positive, size, -size))
    return X + S.astype(np.result_type(X, np.float32)), mask


def _check_rows(X, row: str) -> np.ndarray:
    X = np.asarray(with_nan(X))
    if X.ndim != 2:
        raise ValueError(f"X must have one row per {row}, got shape {X.shape}")
    return X


def _draw_samples(n: int, share, rng) -> np.ndarray:
    """Which samples are hit. If all are, nothing is drawn."""
    count = round(share * n)
    return np.arange(n) if count == n else rng.permutation(n)[:count]


def _put(X: np.ndarray, mask: np.ndarray, value) -> np.ndarray:
    """X with the value where the mask is False, in the dtype of X."""
    with np.errstate(invalid="ignore"):
        cast = np.asarray(value).astype(X.dtype)
    if X.dtype.kind in "biu" and cast != value:
        raise ValueError(
            f"value={value!r} cannot be stored in an array of {X.dtype}: "
            f"convert X to float first"
        )
    return np.where(mask, X, cast)
