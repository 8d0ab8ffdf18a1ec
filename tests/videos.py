"""A small video with known moving objects."""

import numpy as np
from scipy import ndimage
from sklearn.metrics import f1_score

HEIGHT, WIDTH = 32, 44


def scene(rng, n=40, light=None, moving=True, noise=2.0):
    """Frames of a textured wall, and where a bright square moves over it."""
    wall = ndimage.gaussian_filter(rng.standard_normal((HEIGHT, WIDTH)), 2)
    wall = 100 + 25 * wall / wall.std()
    light = np.ones(n) if light is None else light
    frames = wall * light[:, None, None]
    truth = np.zeros(frames.shape, bool)
    if moving:
        for t in range(n):
            x = t * 3 % (WIDTH - 10)
            truth[t, 12:24, x : x + 10] = True
        frames[truth] = 235
    frames = frames + noise * rng.standard_normal(frames.shape)
    return np.clip(np.rint(frames), 0, 255).astype(np.uint8), truth


def f_score(mask, truth):
    """Over the pixels of all frames; 1 if both masks are empty."""
    return f1_score(np.ravel(truth), np.ravel(mask), zero_division=1.0)
