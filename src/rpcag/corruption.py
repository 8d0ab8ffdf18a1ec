"""Spoil data as the paper does."""

import numpy as np
from sklearn.utils import check_random_state

from rpcag.graphs.inpainting import check_image_shape


def occlude_blocks(X, image_shape, share=0.25, *, value=0.0, random_state=None):
    """Cover a square block of every image, at a random place.

    Parameters
    ----------
    X : array of shape (n_images, height * width)
    image_shape : tuple of int
        (height, width).
    share : float, default=0.25
        Of the image's area that the block covers.
    value : float, default=0.0
        What is seen instead.
    random_state : int, RandomState or None

    Returns
    -------
    occluded : ndarray of the shape of X
    mask : ndarray of bool
        True where a pixel is still seen.

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
    X = np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have one row per image, got shape {X.shape}")
    height, width = check_image_shape(image_shape, X.shape)
    if not 0 <= share <= 1:
        raise ValueError(f"share must lie between 0 and 1, got {share!r}")
    rng = check_random_state(random_state)
    rows = min(height, round(np.sqrt(share * height * width)))
    columns = min(width, round(share * height * width / rows)) if rows else 0
    mask = np.ones((len(X), height, width), dtype=bool)
    tops = rng.randint(height - rows + 1, size=len(X))
    lefts = rng.randint(width - columns + 1, size=len(X))
    for image, top, left in zip(mask, tops, lefts, strict=True):
        image[top : top + rows, left : left + columns] = False
    mask = mask.reshape(X.shape)
    return np.where(mask, X, np.asarray(value, dtype=X.dtype)), mask
