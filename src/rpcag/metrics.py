"""Errors and scores of results with known truth."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from rpcag.graphs.inputs import refuse_masked

__all__ = ["clustering_error", "recovery_error"]
KNOWN = "select the known entries: index all arrays with the same mask"


def clustering_error(y_true, y_pred) -> float:
    """Share of samples whose class is not the one that is matched to their cluster.

    Clusters and classes are matched one to one, by the Hungarian method.

    Parameters
    ----------
    y_true, y_pred : array of shape (n_samples,)
        Classes and clusters.

    Examples
    --------
    >>> from rpcag.metrics import clustering_error
    >>> clustering_error([0, 0, 1, 1], [5, 5, 5, 7])
    0.25
    """
    refuse_masked(KNOWN, y_true=y_true, y_pred=y_pred)
    counts = contingency_matrix(y_true, y_pred)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(1 - counts[rows, columns].sum() / counts.sum())


def recovery_error(L, truth) -> float:
    """Relative distance ||L - truth||_F / ||truth||_F.

    Parameters
    ----------
    L, truth : arrays of one shape
        The estimated and the true low-rank matrix.

    Examples
    --------
    >>> from rpcag.metrics import recovery_error
    >>> recovery_error([[3.0, 0.0]], [[4.0, 0.0]])
    0.25
    """
    refuse_masked(KNOWN, L=L, truth=truth)
    L, truth = np.asarray(L, dtype=float), np.asarray(truth, dtype=float)
    if L.shape != truth.shape:
        raise ValueError(
            f"L and truth must have one shape, got {L.shape} and {truth.shape}"
        )
    size = np.linalg.norm(truth)
    if size == 0:
        raise ValueError("truth is zero, so a relative error is not defined")
    return float(np.linalg.norm(L - truth) / size)
