"""Fill missing pixels of images by minimizing their total variation."""

import numpy as np


def inpaint_tv(
    X: np.ndarray,
    image_shape: tuple[int, ...],
    mask: np.ndarray,
    *,
    tol: float = 1e-3,
    max_iter: int = 500,
) -> np.ndarray:
    """Fill the pixels of gray images where the mask is false, all images at once.

    Every image u minimizes sum_ij ||grad u_ij||_2 subject to u = x on the known pixels,
    by the primal-dual method of Chambolle and Pock, until no pixel moves by more than
    `tol` times its image's range in ten iterations. Images without any known pixel are
    NaN.

    >>> X, mask = np.array([[1.0, 9.0, 3.0] * 2]), np.array([[True, False, True] * 2])
    >>> inpaint_tv(X, (2, 3), mask).round(2)[0, [0, 2]]
    array([1., 3.])
    """
    X, known = X.astype(np.float64), mask
    height, width = image_shape
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
