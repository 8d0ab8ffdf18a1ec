"""A graph between frames with the same light, robust to moving objects."""

import math

import numpy as np
from scipy import sparse

from rpcag.video.pixels import scaled

CELLS, PIXELS = 4, 16  # cells along each side, and pixels sampled from each
LIKE = 0.8  # share of the picture that must be alike
PARTS = 10  # number of consecutive parts of the video, of equal length
# Frames at this distance, in deviations of the noise, hardly have the same light.
SLACK = 2.0


def gray_step(X: np.ndarray) -> float:
    """Return the smallest difference of two values, such as 1 / 255."""
    steps = np.abs(np.diff(X, axis=0))
    steps = steps[steps > 0]
    return float(np.quantile(steps, 0.01)) if steps.size else 1 / 255


def pixel_noise(X: np.ndarray) -> np.ndarray:
    """Estimate the deviation of the noise in every column from successive rows.

    The median of |x - x'| is 0.6745 sqrt(2) deviations for normal noise. Objects that
    cross a pixel in less than half of the steps hardly change it. Noise is at least the
    step from one gray level to the next.
    """
    steps = np.median(np.abs(np.diff(X, axis=0)), axis=0)
    return np.maximum(steps / (0.6745 * np.sqrt(2)), gray_step(X))


def sample_columns(shape: tuple[int, ...]) -> np.ndarray:
    """Choose equally many pixels of every cell of a picture, always the same.

    Returns indices into a flat picture, cell by cell.
    """
    rng = np.random.default_rng(0)
    numbers = np.arange(math.prod(shape)).reshape(shape)
    height, width = shape[:2]
    cells = [
        part.ravel()
        for band in np.array_split(numbers, min(CELLS, height), axis=0)
        for part in np.array_split(band, min(CELLS, width), axis=1)
    ]
    return np.concatenate([rng.choice(cell, PIXELS) for cell in cells])


class FrameGraph:
    """Join every frame to frames with the most similar background in the whole video.

    The picture is divided into sixteen cells. In a cell, the distance of two frames is
    the mean of the smaller half of their differences over a sample of pixels, in units
    of each pixel's noise. The distance of the frames is the 80 % quantile over cells.
    So objects that cover less than half of a cell, or few cells, do not count, while a
    change of light in a quarter of the picture does.

    Successive frames are the most similar ones, but they show the same standing
    objects. So a frame is joined to the nearest frame in every tenth of the video. The
    weights are exp(-(d / SLACK)^2), divided by their sum if that is above one. Frames
    with similar ones elsewhere have a degree of about one. A frame unlike all others,
    such as while lights go on, is hardly joined.

    `noise_` is the median deviation of the noise of a pixel, and `step_` the step
    between gray levels.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._columns = sample_columns(shape)

    def fit(self, X: np.ndarray) -> "FrameGraph":
        sample = scaled(X[:, self._columns])
        self._noise, self.step_ = pixel_noise(sample), gray_step(sample)
        self.noise_ = float(np.median(self._noise))
        self._rows = sample / self._noise
        W = self._nearest(self._rows, own=True)
        self.adjacency_ = sparse.csr_array((W + W.T) / 2)
        self.adjacency_.eliminate_zeros()
        return self

    def connect(self, X: np.ndarray) -> sparse.csr_array:
        """Return weights between new frames and those of the graph."""
        return self._nearest(scaled(X[:, self._columns]) / self._noise)

    def _distances(self, y: np.ndarray) -> np.ndarray:
        """Return the distances of a row to all rows of the graph."""
        apart = np.abs(self._rows - y).reshape(len(self._rows), -1, PIXELS)
        half = PIXELS // 2
        cells = np.partition(apart, half - 1, axis=2)[:, :, :half].mean(axis=2)
        last = math.ceil(LIKE * cells.shape[1]) - 1
        return np.partition(cells, last, axis=1)[:, last]

    def _nearest(self, Y: np.ndarray, *, own: bool = False) -> sparse.csr_array:
        """Return weights of the nearest row of every part, for rows of Y."""
        n = len(self._rows)
        parts = np.array_split(np.arange(n), min(PARTS, n))
        neighbors = np.empty((len(Y), len(parts)), int)
        distances = np.empty((len(Y), len(parts)))
        for i, y in enumerate(Y):
            d = self._distances(y)
            if own:
                d[i] = np.inf
            neighbors[i] = [part[np.argmin(d[part])] for part in parts]
            distances[i] = d[neighbors[i]]
        weights = np.exp(-np.square(distances / SLACK))
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1.0)
        rows = np.repeat(np.arange(len(Y)), len(parts))
        entries = weights.ravel(), (rows, neighbors.ravel())
        return sparse.csr_array(entries, shape=(len(Y), n))
