"""k-means as the paper's tables need it: plain k-means++, many runs at once."""

import numpy as np
from scipy import sparse
from sklearn.metrics.cluster import contingency_matrix

from rpcag.metrics import clustering_error

MAX_ITER = 300
# Distances that are held at a time: samples times runs times clusters.
HELD = 4_000_000


def kmeans(
    X: np.ndarray, k: int, runs: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Lloyd's method from plain k-means++ starts, all runs side by side.

    scikit-learn's k-means++ is greedy (it tries several centers at every step), which
    moves the errors of the study by up to five points and is not what the paper ran;
    and its thousands of small runs would take most of the study's time.

    Returns the labels (runs x n) and the sums of squared distances (runs).
    """
    most = max(1, HELD // (len(X) * k))
    counts = (min(most, runs - first) for first in range(0, runs, most))
    parts = [_lloyd(X, _spread(X, k, count, rng)) for count in counts]
    labels, inertia = zip(*parts, strict=True)
    return np.vstack(labels), np.concatenate(inertia)


def _spread(X: np.ndarray, k: int, runs: int, rng) -> np.ndarray:
    """Centers (runs x k x p): samples drawn by their squared distance to the others."""
    n = len(X)
    squares = np.einsum("ij,ij->i", X, X)
    chosen = np.empty((runs, k), int)
    nearest = np.full((runs, n), np.inf)
    for j in range(k):
        if j == 0:
            chosen[:, 0] = rng.integers(n, size=runs)
        else:
            total = np.cumsum(nearest, axis=1)
            # Where all samples coincide with centers, any one will do.
            target = rng.random(runs) * total[:, -1]
            found = (total < target[:, None]).sum(axis=1)
            chosen[:, j] = np.minimum(found, n - 1)
        center = X[chosen[:, j]]
        distance = squares + squares[chosen[:, j], None] - 2 * center @ X.T
        np.minimum(nearest, np.maximum(distance, 0), out=nearest)
    return X[chosen]


def _lloyd(X: np.ndarray, centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    runs, k, p = centers.shape
    n = len(X)
    labels = np.full((runs, n), -1)
    inertia = np.zeros(runs)
    squares = np.einsum("ij,ij->i", X, X)
    active = np.arange(runs)
    for _ in range(MAX_ITER):
        C = centers[active]
        scores = np.einsum("rkp,rkp->rk", C, C)[:, None, :]
        flat = X @ C.reshape(-1, p).T
        distances = scores - 2 * flat.reshape(n, len(active), k).swapaxes(0, 1)
        new = distances.argmin(axis=2)
        least = np.take_along_axis(distances, new[:, :, None], axis=2)[:, :, 0]
        least += squares
        inertia[active] = least.sum(axis=1)
        moved = (new != labels[active]).any(axis=1)
        labels[active] = new
        centers[active] = _means(X, new, least, k)
        active = active[moved]
        if not len(active):
            break
    return labels, np.maximum(inertia, 0)


def _means(X: np.ndarray, labels: np.ndarray, distances: np.ndarray, k: int):
    """Centers of the clusters; an empty one moves to the sample farthest from its own.

    All clusters of all runs are the rows of one sparse matrix of memberships.
    """
    runs, n = labels.shape
    rows = (labels + k * np.arange(runs)[:, None]).ravel()
    columns = np.tile(np.arange(n), runs)
    members = sparse.csr_array(
        (np.ones(rows.size, X.dtype), (rows, columns)), shape=(runs * k, n)
    )
    count = np.bincount(rows, minlength=runs * k)
    centers = (members @ X) / np.maximum(count, 1)[:, None]
    for empty in np.flatnonzero(count == 0):
        run = empty // k
        farthest = int(distances[run].argmax())
        centers[empty] = X[farthest]
        distances[run, farthest] = -np.inf
    return centers.reshape(runs, k, -1)


def errors(
    Q: np.ndarray, y: np.ndarray, k: int, runs: int, starts: int, seed: int
) -> np.ndarray:
    """Errors of several runs, each the best of some starts, in its own objective.

    Returns an array (runs x 2): by one-to-one matching, and by majority label.
    """
    if Q.shape[1] == 0:  # nothing tells the samples apart: one cluster
        Q = np.zeros((len(Q), 1))
    rng = np.random.default_rng(seed)
    labels, inertia = kmeans(np.ascontiguousarray(Q), k, runs * starts, rng)
    best = inertia.reshape(runs, starts).argmin(axis=1) + starts * np.arange(runs)
    return np.array(
        [
            [clustering_error(y, labels[run]), majority_error(y, labels[run])]
            for run in best
        ]
    )


def majority_error(y: np.ndarray, clusters: np.ndarray) -> float:
    """Share of samples that are not of the most common class of their cluster."""
    counts = contingency_matrix(y, clusters)
    return float(1 - counts.max(axis=0).sum() / counts.sum())
