"""Find the moving entries of a video, which are not background."""

import math

import numpy as np

from rpcag.video.masks import at_every_pixel, mean_of_colors, window_mean
from rpcag.video.pixels import scaled

# Steps are averaged with a Gaussian of WIDTH pixels and count as motion from STEP
# deviations of the noise. Noise alone has 2 / sqrt(pi) = 1.13 deviations on average,
# with a deviation of 0.24 after averaging.
WIDTH, STEP = 1.0, 3.0
MEDIAN = 20_000  # values, or up to twice as many, to estimate changes of light
# If more than this share of a frame changes at once, it is a change of light.
MOST = 0.5
# Maximum shift of a background from the median of its entries: to the quartiles.
PULL = 0.5


def moving(frames: np.ndarray, noise: float, least: float) -> np.ndarray:
    """Where frames differ from the one before or after by more than noise and light.

    A pixel changes when an object enters or leaves it, and while its texture passes;
    the background behind it does not change. So where objects are present most of the
    time, the most frequent value is not the background, but the most frequent value
    among still entries is. At least this share of the entries of a pixel, or of a
    frame, must be still for the others to count; see `least_still`.
    """
    found = np.zeros(frames.shape[:3], bool)
    before = scaled(frames[0])
    for t in range(1, len(frames)):
        now = scaled(frames[t])
        step, before = now - before, now
        some = step.ravel()[:: max(1, step.size // MEDIAN)]
        step = np.abs(step - np.median(some))
        moved = window_mean(mean_of_colors(step[None]), WIDTH) > STEP * noise
        if moved.mean() <= MOST:
            found[t - 1 : t + 1] |= at_every_pixel(moved, found.shape[1:])
    found[:, found.mean(axis=0) > 1 - least] = False  # leaves, for instance
    found[found.mean(axis=(1, 2)) > 1 - least] = False
    return found


def least_still(n: int, p: int) -> float:
    """Return the share of entries of a pixel, or a frame, that must remain.

    The nuclear norm shrinks every entry of a background of rank one with a force of
    about 1 / sqrt(n p). The remaining entries balance it with at most their share times
    lam, where lam = 1 / (sqrt(n) + sqrt(p)). If this takes more than PULL of their
    limit, all entries are kept.
    """
    return (1 / math.sqrt(n) + 1 / math.sqrt(p)) / PULL
