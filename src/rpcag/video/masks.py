"""From a frame and its background to a mask of what moves.

1. In every pixel the root of |S| (over colours, of its root mean square) is averaged
   with a Gaussian of one pixel. The root makes noise and objects alike in spread, and
   keeps an edge of high contrast from swelling into its surroundings; sizes, not signed
   values, are averaged, since texture inside an object has both signs.
2. One threshold for the video: Otsu's, the value that splits these averages into the
   two classes of least variance, but at least FLOOR deviations (from the median
   absolute deviation) above their median, so that noise alone gives an empty mask.
3. What is only lit differently is taken out: where the frame is, around a pixel (in a
   Gaussian window of 1 or of 2.5 pixels), gain times background plus offset, up to
   SIGMAS deviations of the noise, and the texture of the background is seen in both.
   These are shadows and reflections.
4. Clean-up: what a disk of two pixels cannot pass is closed, holes are filled, and
   regions under twenty pixels dropped.

Pixels are those of a frame of 160 x 120; lengths grow with the root of the area. No
step knows what the true foreground is.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

REFERENCE = 160 * 120
POWER = 0.5
BLUR, GAP, AREA = 1.0, 2.0, 20.0
WINDOWS = (1.0, 2.5)
FLOOR = 6.0
SIGMAS = 4.0
TEXTURE = 2.0  # variance of the background, in units of that of the noise
BINS = 4096
NORMAL = 0.6745  # median size of a standard normal number


@dataclass(frozen=True)
class MaskRule:
    """Masks of frames from their backgrounds, both in units of the brightest value.

    Parameters
    ----------
    threshold : float
        Of the averaged root of |S|.
    noise : float
        Deviation of S where nothing moves.
    """

    threshold: float
    noise: float

    def __call__(self, frames: np.ndarray, background: np.ndarray) -> np.ndarray:
        found = evidence(frames - background) > self.threshold
        found &= ~lit_differently(frames, background, self.noise)
        return np.stack([clean(mask) for mask in found])


class MaskEstimate:
    """The rule for a video, from frames that come in parts."""

    def __init__(self) -> None:
        # Sizes and their roots are at most one, mostly; what is larger counts as one.
        self._edges = np.linspace(0.0, 1.0, BINS + 1)
        self._middles = (self._edges[1:] + self._edges[:-1]) / 2
        self._sizes = np.zeros(BINS, np.int64)
        self._averages = np.zeros(BINS, np.int64)

    def add(self, S: np.ndarray) -> None:
        self._sizes += self._histogram(np.abs(S))
        self._averages += self._histogram(evidence(S))

    def rule(self) -> MaskRule:
        noise = _median(self._middles, self._sizes) / NORMAL
        middle = _median(self._middles, self._averages)
        apart = np.abs(self._middles - middle)
        order = np.argsort(apart)
        spread = _median(apart[order], self._averages[order]) / NORMAL
        floor = middle + FLOOR * max(spread, 1 / BINS)
        return MaskRule(max(otsu(self._middles, self._averages), floor), noise)

    def _histogram(self, values: np.ndarray) -> np.ndarray:
        return np.histogram(np.minimum(values, 1.0), self._edges)[0]


def pixel_unit(height: int, width: int) -> float:
    """Length of a pixel of a 160 x 120 frame, at least one."""
    return max(1.0, math.sqrt(height * width / REFERENCE))


def evidence(S: np.ndarray) -> np.ndarray:
    """Step 1, for S of shape (n_frames, height, width) or (..., 3)."""
    size = np.abs(S) if S.ndim == 3 else np.sqrt(np.mean(np.square(S), axis=3))
    return _blurred(size**POWER, BLUR)


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


def lit_differently(
    frames: np.ndarray, background: np.ndarray, noise: float
) -> np.ndarray:
    """Step 3: where a line through (background, frame) leaves nothing but noise.

    By least squares in a window the gain is cov(x, b) / var(b), what it explains of
    the frame is cov(x, b)^2 / var(b), more than the noise where the background is
    seen, and what it leaves is var(x) minus that.
    """
    if frames.ndim == 4:
        frames, background = frames.mean(axis=3), background.mean(axis=3)
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


def clean(mask: np.ndarray) -> np.ndarray:
    """Step 4, for one frame."""
    unit = pixel_unit(*mask.shape)
    mask = ndimage.binary_fill_holes(_close(mask, GAP * unit))
    labels, _ = ndimage.label(mask)
    keep = np.bincount(labels.ravel()) >= AREA * unit**2
    keep[0] = False
    return keep[labels]


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
