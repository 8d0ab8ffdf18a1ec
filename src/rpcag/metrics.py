"""How good an answer is, where the truth is known."""

from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix


def clustering_error(y_true, y_pred, *, label="matching") -> float:
    """Share of samples that are not of their cluster's label.

    Parameters
    ----------
    y_true, y_pred : array of shape (n_samples,)
        Classes and clusters.
    label : {"matching", "majority"}, default="matching"
        A cluster's label is its class in the best one-to-one matching of clusters and
        classes (Hungarian method), or the class most of its samples have (then the
        error is one minus the purity).

    Examples
    --------
    >>> from rpcag.metrics import clustering_error
    >>> clustering_error([0, 0, 1, 1], [5, 5, 5, 7])
    0.25
    """
    if label not in ("matching", "majority"):
        raise ValueError(f"label must be 'matching' or 'majority', got {label!r}")
    counts = contingency_matrix(y_true, y_pred)
    if label == "majority":
        return float(1 - counts.max(axis=0).sum() / counts.sum())
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(1 - counts[rows, columns].sum() / counts.sum())
