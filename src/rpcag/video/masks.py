"""Compute the mask of moving objects from a frame and its background.

1. Residual: the square root of |S| at every pixel, or of its root mean square over
   colors. The root makes the spread of noise and objects similar.
2. Threshold: one for the video. It is Otsu's, which splits the roots into the two
   classes of least variance, but at least FLOOR robust deviations above their median,
   so that noise alone gives an empty mask.
3. Light: regions that are only lit differently, such as shadows and reflections, are
   removed. There the frame is a gain times the background plus an offset, and both show
   the texture; or it is darker by a gain that changes slowly, and shows the texture.
4. Shape: gaps are closed with a disk, holes are filled, and small regions are dropped.
   Regions are also dropped if the background has a step along their outline and the
   frame has none: an object that was there most of the time has left.

Lengths are in pixels of a frame of 160 x 120 and grow with the root of the area. The
constants come from a search on synthetic videos (docs/design_video.md).
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import ndimage

REFERENCE = 160 * 120
FLOOR = 4.0
STEPS = 5.4  # smallest |S| that counts, in steps between gray levels
WINDOW = 2.5  # width of a Gaussian, in pixels
SIGMAS = 4.0  # noise deviations that regions with other light may leave
TEXTURE = 2.0  # variance of the background, in units of the noise variance
SHADE = 0.6  # smallest gain of a shadow
SLOPE = 0.06  # change of their gain within a pixel
UNEVEN = 4.0  # maximum variance of noise in a small window, over its mean
GAP, AREA, LEAST_AREA = 2.0, 40.0, 10.0
GHOST = 0.75  # step of the frame along an outline, over that of the background
BINS = 4096
NORMAL = 0.6745  # median size of a standard normal number


@dataclass(frozen=True)
class MaskRule:
    """Compute masks from frames and backgrounds with values between 0 and 1.

    Parameters
    ----------
    threshold : float
        Smallest square root of ``|S|`` that counts as motion. S is the frame minus its
        background.
    noise : float
        Standard deviation of S where nothing moves.
    """

    threshold: float
    noise: float

    def __call__(self, frames: np.ndarray, background: np.ndarray) -> np.ndarray:
        found = evidence(frames - background) > self.threshold
        return refined(found, frames, background, self.noise)


def fit_mask_rule(residuals: Iterable[np.ndarray], step: float = 1 / 255) -> MaskRule:
    """Estimate the rule of a video from its residuals S, which come in parts.

    Parameters
    ----------
    residuals : iterable of arrays of shape (n_frames, height, width) or (..., 3)
        Frames minus their backgrounds, for values from 0 to 1.
    step : float
        Step from one gray level to the next. Noise in S is at least that.
    """
    values = (np.arange(BINS) + 0.5) / BINS
    sizes, roots = np.zeros((2, BINS), np.int64)
    for S in residuals:
        sizes += _histogram(np.abs(S))
        roots += _histogram(evidence(S))
    noise = max(_median(values, sizes) / NORMAL, step)
    middle = _median(values, roots)
    apart = np.abs(values - middle)
    order = np.argsort(apart)
    spread = _median(apart[order], roots[order]) / NORMAL
    least = max(middle + FLOOR * spread, math.sqrt(STEPS * step))
    return MaskRule(max(otsu(values, roots), least), noise)


def _histogram(values: np.ndarray) -> np.ndarray:
    """Values are at most one, mostly; what is larger counts as one."""
    bins = np.minimum(values * np.float32(BINS), BINS - 1).astype(np.intp)
    return np.bincount(bins.ravel(), minlength=BINS)


def _median(values: np.ndarray, counts: np.ndarray) -> float:
    return float(values[np.searchsorted(np.cumsum(counts), counts.sum() / 2)])


def evidence(S: np.ndarray) -> np.ndarray:
    """Step 1, for S of shape (n_frames, height, width) or (..., 3)."""
    if S.ndim == 3:
        return np.sqrt(np.abs(S))
    return np.sqrt(np.sqrt(np.einsum("nhwc,nhwc->nhw", S, S) / S.shape[3]))


def otsu(values: np.ndarray, counts: np.ndarray) -> float:
    """Step 2: the value that splits a histogram with the least variance in its parts.

    With w the share below and s the sum below, of mean T in all, that is the largest
    (T w - s)^2 / (w (1 - w)): the variance between the parts.
    """
    share = np.cumsum(counts) / counts.sum()
    total = np.cumsum(counts * values) / counts.sum()
    between = np.zeros(len(values))
    inside = (share > 0) & (share < 1)
    w, s = share[inside], total[inside]
    between[inside] = (total[-1] * w - s) ** 2 / (w * (1 - w))
    return float(values[np.argmax(between)])


def refined(
    found: np.ndarray, frames: np.ndarray, background: np.ndarray, noise: float
) -> np.ndarray:
    """Remove changes of light from a mask, and clean its shape (steps 3 and 4)."""
    frames, background = mean_of_colors(frames), mean_of_colors(background)
    found = found & ~lit_differently(frames, background, noise)
    cleaned = np.stack([clean(mask) for mask in found])
    return without_ghosts(cleaned, frames, background)


def lit_differently(
    frames: np.ndarray, background: np.ndarray, noise: float
) -> np.ndarray:
    """Step 3: where a linear fit of the frame to the background leaves only noise.

    By least squares in a window, the gain is cov(x, b) / var(b). It explains
    cov(x, b)^2 / var(b) of the variance of the frame, which exceeds the noise where the
    background is visible. The rest is var(x) minus that.

    The gain of a soft shadow changes within a window. It is estimated in a small
    window, without offset, as E(xb) / E(b^2). The rest, E(x^2) - gain E(xb), is noise
    and the change of the gain. A small window has a dozen values, so the variance of
    noise is mostly within half of its mean, but compression makes it uneven.

    The rest is also small inside an object of one color. So if the background has a
    texture, half of it must be visible. Otherwise the outline of the object stays in
    the mask, and is filled.
    """
    moments = [frames, background, frames**2, background**2, frames * background]
    x, b, xx, bb, xb = (window_mean(part, WINDOW) for part in moments)
    var_x, var_b, cov = xx - x**2, bb - b**2, xb - x * b
    textured = var_b > TEXTURE * noise**2
    seen = (cov > 0) & (cov**2 > noise**2 * var_b)
    left = var_x * var_b - cov**2
    lit = textured & seen & (left < (SIGMAS * noise) ** 2 * var_b)

    xx, bb, xb = (window_mean(part, 1.0) for part in moments[2:])
    gain = xb / np.maximum(bb, noise**2)
    left = xx - gain * xb
    slow = left < UNEVEN * noise**2 + SLOPE**2 * bb
    shown = ~textured | (cov > gain * var_b / 2)
    shade = slow & shown & (gain > SHADE) & (gain < 1)
    return at_every_pixel(lit | shade, frames.shape[1:])


def clean(mask: np.ndarray) -> np.ndarray:
    """Step 4, for one frame."""
    if not mask.any():
        return mask
    filled = ndimage.binary_fill_holes(_close(mask, GAP * pixel_unit(*mask.shape)))
    labels, _ = ndimage.label(filled)
    keep = np.bincount(labels.ravel()) >= max(AREA * mask.size / REFERENCE, LEAST_AREA)
    keep[0] = False
    return keep[labels]


def _close(mask: np.ndarray, radius: float) -> np.ndarray:
    """Dilation and erosion by a disk, as distances; the border is repeated."""
    reach = radius + 0.25
    border = int(reach)
    padded = np.pad(np.pad(mask, border, mode="edge"), border + 1)
    grown = ndimage.distance_transform_edt(~padded) <= reach
    closed = ndimage.distance_transform_edt(grown) > reach
    inner = slice(2 * border + 1, -2 * border - 1)
    return closed[inner, inner]


def without_ghosts(
    masks: np.ndarray, frames: np.ndarray, background: np.ndarray
) -> np.ndarray:
    """Step 4: drop regions along whose outline only the background has a step.

    A step is the difference between the means inside the region and outside of all
    regions, in a window. Means ignore the texture of a background behind a plain
    object.
    """
    kept = np.zeros_like(masks)
    inside = window_mean(masks.astype(frames.dtype), WINDOW)
    inner, outer = np.maximum(inside, 1e-6), np.maximum(1 - inside, 1e-6)
    steps = []
    for image in (frames, background):
        total = window_mean(image * masks, WINDOW)
        step = total / inner - (window_mean(image, WINDOW) - total) / outer
        steps.append(at_every_pixel(step**2, masks.shape[1:]))
    for i, mask in enumerate(masks):
        labels, count = ndimage.label(mask)
        around = np.where(mask, labels, ndimage.maximum_filter(labels, 3))
        outline = np.where(ndimage.minimum_filter(mask, 3), 0, around).ravel()
        step, behind = (np.bincount(outline, s[i].ravel(), count + 1) for s in steps)
        keep = step >= GHOST**2 * behind
        keep[0] = False
        kept[i] = keep[labels]
    return kept


def mean_of_colors(images: np.ndarray) -> np.ndarray:
    if images.ndim == 3:
        return images
    return images @ np.full(images.shape[3], 1 / images.shape[3], images.dtype)


def window_mean(images: np.ndarray, width: float) -> np.ndarray:
    """Mean in a Gaussian window around every pixel of a 160 x 120 frame.

    Larger frames have one value for every square of pixels that such a pixel covers;
    `at_every_pixel` repeats it.
    """
    height, across = images.shape[1:]
    unit = pixel_unit(height, across)
    rows = _window(height, width * unit, int(unit), images.dtype)
    columns = _window(across, width * unit, int(unit), images.dtype)
    return rows @ images @ columns.T


def at_every_pixel(values: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    side = int(pixel_unit(*shape))
    if side == 1:
        return values
    repeated = values.repeat(side, axis=1).repeat(side, axis=2)
    return repeated[:, : shape[0], : shape[1]]


@lru_cache(maxsize=16)
def _window(length: int, width: float, side: int, dtype: np.dtype) -> np.ndarray:
    """Gaussian means along an axis, averaged over `side` neighbors, as a matrix."""
    means = ndimage.gaussian_filter1d(np.eye(length), width, axis=0)
    starts = np.arange(0, length, side)
    counts = np.diff(starts, append=length)[:, None]
    return (np.add.reduceat(means, starts) / counts).astype(dtype)


def pixel_unit(height: int, width: int) -> float:
    """Length of a pixel of a 160 x 120 frame, at least one."""
    return max(1.0, math.sqrt(height * width / REFERENCE))
