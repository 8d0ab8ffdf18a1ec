"""From a frame and its background to a mask of what moves.

1. Of every pixel the root of |S| (over colours, of its root mean square): it makes
   noise and objects alike in spread.
2. One threshold for the video: Otsu's, the value that splits these roots into the two
   classes of least variance, but at least FLOOR deviations (from the median absolute
   deviation) above their median, so that noise alone gives an empty mask.
3. An edge ends where it has lost half of its height: a pixel counts only if it has EDGE
   of the largest root near it. Else what stands out much grows by a pixel.
4. What is only lit differently is taken out: where the frame is, around a pixel, gain
   times background plus offset, and the texture of the background is seen in both;
   and where it is darker by a gain that changes but slowly. These are shadows and
   reflections.
5. Clean-up: what a disk cannot pass is closed, holes are filled, and small regions
   dropped, as are those whose outline is more of an edge in the background than in the
   frame: somebody who was there most of the time has left.

Pixels are those of a frame of 160 x 120; lengths grow with the root of the area. The
constants are those of the best masks of made-up videos (docs/video.md).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

REFERENCE = 160 * 120
LEAST = 1 / 255  # noise is at least the step of 8 bits
FLOOR = 4.0
EDGE, NEAR = 0.6, 2.0  # of the root, so about a third of |S|; pixels
WINDOWS = (2.5,)  # widths of Gaussians, in pixels
SIGMAS = 3.0  # of the noise that may be left of what is lit differently
TEXTURE = 2.0  # variance of the background, in units of that of the noise
SHADE = 0.6  # shadows are no darker
SLOPE = 0.06  # change of their gain within a pixel
GAP, AREA = 2.0, 40.0
GHOST = 1.0  # edge of the frame on an outline, in units of that of the background
BINS = 4096
NORMAL = 0.6745  # median size of a standard normal number
ROOT_MEDIAN, ROOT_SPREAD = 0.8213, 0.3766  # of its root, the latter as of a deviation


@dataclass(frozen=True)
class MaskRule:
    """Masks of frames from their backgrounds, both in units of the brightest value.

    Parameters
    ----------
    threshold : float
        Of the root of |S|.
    noise : float
        Deviation of S where nothing moves.
    """

    threshold: float
    noise: float

    def __call__(self, frames: np.ndarray, background: np.ndarray) -> np.ndarray:
        found = stands_out(evidence(frames - background), self.threshold)
        return refined(found, frames, background, self.noise)


class MaskEstimate:
    """The rule for a video, from frames that come in parts."""

    def __init__(self) -> None:
        # Sizes and their roots are at most one, mostly; what is larger counts as one.
        self._edges = np.linspace(0.0, 1.0, BINS + 1)
        self._middles = (self._edges[1:] + self._edges[:-1]) / 2
        self._sizes = np.zeros(BINS, np.int64)
        self._roots = np.zeros(BINS, np.int64)

    def add(self, S: np.ndarray, roots: np.ndarray | None = None) -> None:
        self._sizes += self._histogram(np.abs(S))
        self._roots += self._histogram(evidence(S) if roots is None else roots)

    def rule(self) -> MaskRule:
        noise = max(_median(self._middles, self._sizes) / NORMAL, LEAST)
        middle = _median(self._middles, self._roots)
        apart = np.abs(self._middles - middle)
        order = np.argsort(apart)
        spread = _median(apart[order], self._roots[order]) / NORMAL
        middle = max(middle, ROOT_MEDIAN * math.sqrt(LEAST))
        spread = max(spread, ROOT_SPREAD * math.sqrt(LEAST))
        floor = middle + FLOOR * spread
        return MaskRule(max(otsu(self._middles, self._roots), floor), noise)

    def _histogram(self, values: np.ndarray) -> np.ndarray:
        return np.histogram(np.minimum(values, 1.0), self._edges)[0]


def pixel_unit(height: int, width: int) -> float:
    """Length of a pixel of a 160 x 120 frame, at least one."""
    return max(1.0, math.sqrt(height * width / REFERENCE))


def evidence(S: np.ndarray) -> np.ndarray:
    """Step 1, for S of shape (n_frames, height, width) or (..., 3)."""
    size = np.abs(S) if S.ndim == 3 else np.sqrt(np.mean(np.square(S), axis=3))
    return np.sqrt(size)


def otsu(values: np.ndarray, counts: np.ndarray) -> float:
    """The value that splits a histogram with the least variance within its parts.

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


def stands_out(roots: np.ndarray, threshold: float) -> np.ndarray:
    """Step 3: what is above the threshold, up to its edges."""
    reach = round(NEAR * pixel_unit(*roots.shape[1:]))
    largest = ndimage.maximum_filter(roots, (1, 2 * reach + 1, 2 * reach + 1))
    return (roots > threshold) & (roots > EDGE * largest)


def refined(
    found: np.ndarray, frames: np.ndarray, background: np.ndarray, noise: float
) -> np.ndarray:
    """Steps 4 and 5."""
    frames, background = _grey(frames), _grey(background)
    found = found & ~lit_differently(frames, background, noise)
    found &= ~shaded(frames, background, noise)
    cleaned = np.stack([clean(mask) for mask in found])
    return without_ghosts(cleaned, frames, background)


def lit_differently(
    frames: np.ndarray, background: np.ndarray, noise: float
) -> np.ndarray:
    """Step 4: where a line through (background, frame) leaves nothing but noise.

    By least squares in a window the gain is cov(x, b) / var(b), what it explains of
    the frame is cov(x, b)^2 / var(b), more than the noise where the background is
    seen, and what it leaves is var(x) minus that.
    """
    lit = np.zeros(frames.shape, bool)
    for window in WINDOWS:
        x, b = _blurred(frames, window), _blurred(background, window)
        var_x = _blurred(frames**2, window) - x**2
        var_b = _blurred(background**2, window) - b**2
        cov = _blurred(frames * background, window) - x * b
        textured = var_b > TEXTURE * noise**2
        seen = (cov > 0) & (cov**2 > noise**2 * var_b)
        left = var_x * var_b - cov**2
        lit |= textured & seen & (left < (SIGMAS * noise) ** 2 * var_b)
    return lit


def shaded(frames: np.ndarray, background: np.ndarray, noise: float) -> np.ndarray:
    """Step 4: where the frame is a darker background, by a gain that changes slowly.

    By least squares in a window the gain is E(xb) / E(b^2) and leaves E(x^2) minus
    gain E(xb): noise, and what the gain changes within the window. Inside things of
    one colour it leaves as little, but their outlines stay, and are filled.
    """
    xb, bb = _blurred(frames * background, 1.0), _blurred(background**2, 1.0)
    gain = xb / np.maximum(bb, noise**2)
    left = _blurred(frames**2, 1.0) - gain * xb
    slow = left < (SIGMAS * noise) ** 2 + SLOPE**2 * bb
    return slow & (gain > SHADE) & (gain < 1)


def without_ghosts(
    masks: np.ndarray, frames: np.ndarray, background: np.ndarray
) -> np.ndarray:
    """Step 5: regions on whose outline the frame has an edge, as things have."""
    kept = np.empty_like(masks)
    for i, mask in enumerate(masks):
        labels, count = ndimage.label(mask)
        around = np.where(mask, labels, ndimage.maximum_filter(labels, 3))
        outline = np.where(ndimage.minimum_filter(mask, 3), 0, around).ravel()
        edge, behind = (
            np.bincount(outline, _steepness(image[i]).ravel(), count + 1)
            for image in (frames, background)
        )
        keep = edge >= GHOST * behind
        keep[0] = False
        kept[i] = keep[labels]
    return kept


def clean(mask: np.ndarray) -> np.ndarray:
    """Step 5, for one frame."""
    unit = pixel_unit(*mask.shape)
    mask = ndimage.binary_fill_holes(_close(mask, GAP * unit))
    labels, _ = ndimage.label(mask)
    keep = np.bincount(labels.ravel()) >= AREA * unit**2
    keep[0] = False
    return keep[labels]


def _grey(images: np.ndarray) -> np.ndarray:
    return images if images.ndim == 3 else images.mean(axis=3)


def _steepness(image: np.ndarray) -> np.ndarray:
    return ndimage.gaussian_gradient_magnitude(image, pixel_unit(*image.shape))


def _blurred(images: np.ndarray, width: float) -> np.ndarray:
    width *= pixel_unit(*images.shape[1:])
    return ndimage.gaussian_filter(images, (0, width, width))


def _close(mask: np.ndarray, radius: float) -> np.ndarray:
    """Dilation and erosion by a disk, as distances; nothing is eroded at the border."""
    reach = radius + 0.25
    if not mask.any():
        return mask
    grown = ndimage.distance_transform_edt(~mask) <= reach
    if grown.all():
        return grown
    border = 1 + int(reach)
    inner = ndimage.distance_transform_edt(np.pad(grown, border, mode="edge")) > reach
    return inner[border:-border, border:-border] | mask


def _median(values: np.ndarray, counts: np.ndarray) -> float:
    return float(values[np.searchsorted(np.cumsum(counts), counts.sum() / 2)])
