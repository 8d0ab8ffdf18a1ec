"""A graph between frames of the same light, whatever moves in them."""

import numpy as np
from scipy import sparse

PIXELS = 256
DARKEST = 1 / 255  # noise is at least the step of 8 bits


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
    """Every frame and those with the most similar background.

    The distance of two frames is the mean of the smaller half of their differences, in
    units of each pixel's noise, over a sample of the pixels: objects that cover less
    than half of the picture do not count. A frame is joined to its nearest ones with
    weights exp(-(d/d0 - 1)^2) / n_neighbors, or 1 / n_neighbors where d is below d0,
    the median distance of neighbours: so frames joined to their like have a degree of
    about one, and a frame like no other, as while lights go on, is hardly joined.

    Parameters
    ----------
    n_neighbors : int, default=10

    Attributes
    ----------
    adjacency_ : csr_array of shape (n_frames, n_frames)
    noise_ : float
        Median deviation of the noise of a pixel.
    """

    def __init__(self, n_neighbors: int = 10) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: np.ndarray) -> "FrameGraph":
        self._columns = sample_columns(X.shape[1])
        noise = pixel_noise(X[:, self._columns])
        self.noise_ = float(np.median(noise))
        self._noise = noise
        self._rows = self._features(X)
        n = len(X)
        k = min(self.n_neighbors, n - 1)
        neighbors, distances = self._nearest(self._rows, k, own=True)
        self._typical = float(np.median(distances))
        W = self._edges(neighbors, distances, n)
        self.adjacency_ = sparse.csr_array((W + W.T) / 2)
        return self

    def connect(self, X: np.ndarray) -> sparse.csr_array:
        """Weights between new frames and those of the graph."""
        k = min(self.n_neighbors, len(self._rows))
        neighbors, distances = self._nearest(self._features(X), k)
        return self._edges(neighbors, distances, len(self._rows))

    def _features(self, X: np.ndarray) -> np.ndarray:
        return (X[:, self._columns] / self._noise).astype(np.float32)

    def _nearest(self, Y: np.ndarray, k: int, *, own: bool = False):
        """Indices and distances of k neighbours among the rows of the graph."""
        neighbors = np.empty((len(Y), k), int)
        distances = np.empty((len(Y), k))
        half = (Y.shape[1] + 1) // 2
        for i, y in enumerate(Y):
            apart = np.partition(np.abs(self._rows - y), half - 1, axis=1)
            d = apart[:, :half].mean(axis=1)
            if own:
                d[i] = np.inf
            neighbors[i] = np.argpartition(d, k - 1)[:k]
            distances[i] = d[neighbors[i]]
        return neighbors, distances

    def _edges(self, neighbors: np.ndarray, distances: np.ndarray, n: int):
        beyond = np.maximum(distances - self._typical, 0.0)
        beyond /= max(self._typical, 1e-12)
        weights = np.exp(-np.square(beyond)) / self.n_neighbors
        i = np.repeat(np.arange(len(neighbors)), neighbors.shape[1])
        entries = weights.ravel(), (i, neighbors.ravel())
        return sparse.csr_array(entries, shape=(len(neighbors), n))
