"""Fill missing pixels of images by minimizing their total variation."""

import math

import numpy as np

from rpcag.graphs.distances import observed


def inpaint_tv(X, image_shape, *, mask=None, tol=1e-3, max_iter=500) -> np.ndarray:
    """Fill the missing pixels of images by total variation, all images at once.

    Every image u minimizes sum_ij ||grad u_ij||_2 subject to u = x on the observed
    pixels, by the primal-dual method of Chambolle and Pock.

    Parameters
    ----------
    X : array of shape (n_images, height * width)
        NaN marks a missing pixel.
    image_shape : tuple of int
        (height, width).
    mask : boolean array of the shape of X, optional
        True where a pixel is observed.
    tol : float, default=1e-3
        Stop when no pixel moves by more than this share of its image's range in ten
        iterations.
    max_iter : int, default=500
        Maximum number of iterations.

    Returns
    -------
    ndarray of the shape of X
        Images without any observed pixel stay NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.graphs import inpaint_tv
    >>> inpaint_tv([[1.0, np.nan, 3.0, 1.0, np.nan, 3.0]], (2, 3)).round(2)[0, [0, 2]]
    array([1., 3.])
    """
    X, known = observed(X, mask)
    height, width = check_image_shape(image_shape, X.shape)
    if known is None:
        return X.copy()
    filled = np.full_like(X, np.nan)
    todo = known.any(axis=1)
    images, known = (A[todo].reshape(-1, height, width) for A in (X, known))
    count = known.sum(axis=(1, 2), keepdims=True)
    low = np.where(known, images, np.inf).min(axis=(1, 2), keepdims=True)
    high = np.where(known, images, -np.inf).max(axis=(1, 2), keepdims=True)
    span = np.where(high > low, high - low, 1.0)
    # In units of each image's range, the same step sizes suit all images.
    target = np.where(known, (images - low) / span, 0.0)
    u = np.where(known, target, target.sum(axis=(1, 2), keepdims=True) / count)
    bar = before = u
    q = np.zeros((2, *u.shape))
    # ||grad||^2 <= 8, and the method converges for tau * sigma * 8 <= 1.
    tau, sigma = 0.5, 0.25
    for iteration in range(1, max_iter + 1):
        # Dual ascent, then onto the unit ball at every pixel.
        q[0, :, :-1] += sigma * np.diff(bar, axis=1)
        q[1, :, :, :-1] += sigma * np.diff(bar, axis=2)
        q /= np.maximum(1.0, np.sqrt(q[0] ** 2 + q[1] ** 2))
        # Minus the adjoint of these differences; the last of q are zero.
        divergence = np.diff(q[0], axis=1, prepend=0) + np.diff(q[1], axis=2, prepend=0)
        new = u + tau * divergence
        new[known] = target[known]
        bar, u = 2 * new - u, new
        if iteration % 10 == 0:
            if np.abs(u - before).max(initial=0.0) <= tol:
                break
            before = u
    filled[todo] = np.where(known, images, u * span + low).reshape(-1, X.shape[1])
    return filled


def check_image_shape(
    image_shape, shape: tuple[int, ...], *, channels: bool = False
) -> tuple[int, ...]:
    """Check that the image shape, perhaps with channels, fits the features of X."""
    try:
        sides = tuple(int(length) for length in image_shape)
        fits = sides == tuple(image_shape) and min(sides) > 0
        fits = fits and len(sides) in (2, 2 + channels)
    except (TypeError, ValueError, OverflowError):
        fits = False
    if not fits:
        other = ", or three with the channels" if channels else ""
        raise ValueError(
            f"image_shape must be two positive ints, height and width{other}, got "
            f"{image_shape!r}"
        )
    if math.prod(sides) != shape[1]:
        entries = "entries" if len(sides) == 3 else "pixels"
        raise ValueError(
            f"image_shape {sides} has {math.prod(sides)} {entries} but X has "
            f"{shape[1]} features"
        )
    return sides
