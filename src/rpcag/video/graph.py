"""A graph between frames of the same light, whatever moves in them."""

import numpy as np
from scipy import sparse

PIXELS = 256
DARKEST = 1 / 255  # noise is at least the step of 8 bits
PARTS = 10  # of equal length, one after another
# Frames so many deviations of the noise apart are hardly of the same light.
SLACK = 2.0


def pixel_noise(X: np.ndarray) -> np.ndarray:
    """Deviation of the noise in every column, from rows that follow each other.

    The median of |x - x'| is 0.6745 sqrt(2) deviations for normal noise; what moves
    through a pixel in less than half of the steps does not change it.
    """
    steps = np.median(np.abs(np.diff(X, axis=0)), axis=0)
    return np.maximum(steps / (0.6745 * np.sqrt(2)), DARKEST)


def sample_columns(n_columns: int) -> np.ndarray:
    """Pixels from everywhere, the same every time."""
    some = np.random.default_rng(0).permutation(n_columns)[:PIXELS]
    return np.sort(some)


class FrameGraph:
    """Every frame and those with the most similar background, from all over the video.

    The distance of two frames is the mean of the smaller half of their differences, in
    units of each pixel's noise, over a sample of the pixels: objects that cover less
    than half of the picture do not count. Frames that follow each other are the most
    similar ones, but share whoever stands there, so a frame is joined to the nearest
    one of every tenth of the video, with weights exp(-(d / SLACK)^2), divided by their
    sum where that is more than one: so frames joined to their like have a degree of
    about one, and a frame like no other, as while lights go on, is hardly joined.

    Attributes
    ----------
    adjacency_ : csr_array of shape (n_frames, n_frames)
    noise_ : float
        Median deviation of the noise of a pixel.
    """

    def fit(self, X: np.ndarray) -> "FrameGraph":
        self._columns = sample_columns(X.shape[1])
        noise = pixel_noise(X[:, self._columns])
        self.noise_ = float(np.median(noise))
        self._noise = noise
        self._rows = self._features(X)
        W = self._nearest(self._rows, own=True)
        self.adjacency_ = sparse.csr_array((W + W.T) / 2)
        self.adjacency_.eliminate_zeros()
        return self

    def connect(self, X: np.ndarray) -> sparse.csr_array:
        """Weights between new frames and those of the graph."""
        return self._nearest(self._features(X))

    def _features(self, X: np.ndarray) -> np.ndarray:
        return (X[:, self._columns] / self._noise).astype(np.float32)

    def _nearest(self, Y: np.ndarray, *, own: bool = False) -> sparse.csr_array:
        """Weights of the nearest row of every part, for rows of Y."""
        n = len(self._rows)
        parts = np.array_split(np.arange(n), min(PARTS, n))
        neighbors = np.empty((len(Y), len(parts)), int)
        distances = np.empty((len(Y), len(parts)))
        half = (Y.shape[1] + 1) // 2
        for i, y in enumerate(Y):
            apart = np.partition(np.abs(self._rows - y), half - 1, axis=1)
            d = apart[:, :half].mean(axis=1)
            if own:
                d[i] = np.inf
            neighbors[i] = [part[np.argmin(d[part])] for part in parts]
            distances[i] = d[neighbors[i]]
        weights = np.exp(-np.square(distances / SLACK))
        weights /= np.maximum(weights.sum(axis=1, keepdims=True), 1.0)
        rows = np.repeat(np.arange(len(Y)), len(parts))
        entries = weights.ravel(), (rows, neighbors.ravel())
        return sparse.csr_array(entries, shape=(len(Y), n))
