"""k-means as the paper's tables need it: plain k-means++, and errors of many runs."""

import numpy as np
from sklearn.cluster import KMeans, kmeans_plusplus

from rpcag.metrics import clustering_error


def single_start(Q: np.ndarray, k: int, rng: np.random.RandomState) -> KMeans:
    """Lloyd's method from one plain k-means++ start.

    scikit-learn's own start is greedy (it tries several centres at every step), which
    moves errors by up to five points and is not what the paper ran.
    """
    centres, _ = kmeans_plusplus(Q, k, n_local_trials=1, random_state=rng)
    return KMeans(k, init=centres, n_init=1).fit(Q)


def errors(Q: np.ndarray, y: np.ndarray, k: int, runs: int, starts: int, seed: int):
    """Errors of several runs, each the best of some starts, in its own objective.

    Returns an array (runs x 2): by one-to-one matching, and by majority label.
    """
    if Q.shape[1] == 0:  # nothing tells the samples apart: one cluster
        Q = np.zeros((len(Q), 1))
    rng = np.random.RandomState(seed)
    found = np.empty((runs, 2))
    for run in range(runs):
        best = min(
            (single_start(Q, k, rng) for _ in range(starts)),
            key=lambda answer: answer.inertia_,
        )
        found[run] = [
            clustering_error(y, best.labels_, label=label)
            for label in ("matching", "majority")
        ]
    return found
