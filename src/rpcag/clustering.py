"""Cluster samples by the embedding of a model."""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils.validation import check_array

# Number of starts of k-means; the best result is used.
STARTS = 10
# The unscaled embedding is used if its normalized cut is below this share of the other.
# At 1, ties decide by chance; smaller values keep the scaled one more often.
CLEARLY = 0.9

__all__ = ["cluster_embedding"]


def cluster_embedding(
    embedding, n_clusters: int, *, adjacency=None, weighted=True, random_state=0
) -> np.ndarray:
    """Cluster an embedding by k-means, after scaling samples to unit length.

    The direction of a sample determines its cluster if k orthogonal directions separate
    k clusters (Ng, Jordan, Weiss, "On Spectral Clustering", NIPS 2001). Samples are not
    scaled if there are fewer components than clusters, or if the clusters then cut
    clearly less of a given graph.

    Parameters
    ----------
    embedding : array of shape (n_samples, n_components)
        Use as many components as there are clusters.
    n_clusters : int
        Number of clusters.
    adjacency : array or sparse array of shape (n_samples, n_samples), optional
        `adjacency_` of the model.
    weighted : bool, default=True
        Whether the columns are weighted by singular values, as in `RPCAG`. Then they
        are scaled to unit length before the samples.
    random_state : int, default=0
        Random seed of k-means.

    Returns
    -------
    ndarray of shape (n_samples,)
        Clusters, numbered in the order of their first samples.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag import RPCAG
    >>> from rpcag.clustering import cluster_embedding
    >>> X = np.repeat(np.random.default_rng(0).standard_normal((2, 30)), 20, axis=0)
    >>> model = RPCAG(2, gamma="clustering").fit(X)
    >>> found = cluster_embedding(model.embedding_, 2, adjacency=model.adjacency_)
    >>> np.bincount(found)
    array([20, 20])
    """
    Q = check_array(embedding, input_name="embedding", ensure_min_features=0)
    if Q.shape[1] == 0:
        raise ValueError(
            "the embedding has no components, because the low-rank part is zero: there "
            "is nothing to cluster"
        )
    kmeans = KMeans(n_clusters, n_init=STARTS, random_state=random_state)
    if Q.shape[1] < n_clusters:
        return _in_order(kmeans.fit_predict(Q))
    found = kmeans.fit_predict(_unit(_unit(Q, axis=0) if weighted else Q, axis=1))
    if adjacency is not None:
        other = kmeans.fit_predict(Q)
        cuts = [_normalized_cut(adjacency, clusters) for clusters in (other, found)]
        if cuts[0] < CLEARLY * cuts[1]:
            found = other
    return _in_order(found)


def _normalized_cut(adjacency, clusters: np.ndarray) -> float:
    """Sum over clusters of the share of weight that leaves them."""
    members = np.equal.outer(clusters, np.unique(clusters)).astype(float)
    weights = adjacency @ members
    total = weights.sum(axis=1) @ members
    inside = np.sum(members * weights, axis=0)
    return float(np.sum(1 - inside / np.where(total > 0, total, 1)))


def _unit(Q: np.ndarray, axis: int) -> np.ndarray:
    sizes = np.linalg.norm(Q, axis=axis, keepdims=True)
    return Q / np.where(sizes > 0, sizes, 1.0)


def _in_order(clusters: np.ndarray) -> np.ndarray:
    first: dict[int, int] = {}
    return np.array([first.setdefault(c, len(first)) for c in clusters.tolist()])
