"""Errors and scores of results with known truth."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.cluster import contingency_matrix

from rpcag.graphs.inputs import refuse_masked

__all__ = [
    "ForegroundScores",
    "clustering_error",
    "foreground_scores",
    "recovery_error",
]
KNOWN = "select the known entries: index all arrays with the same mask"


def clustering_error(y_true, y_pred, *, label="matching") -> float:
    """Share of samples whose class is not the label of their cluster.

    Parameters
    ----------
    y_true, y_pred : array of shape (n_samples,)
        Classes and clusters.
    label : {"matching", "majority"}, default="matching"
        "matching": clusters and classes are matched one to one, by the Hungarian
        method. "majority": the label of a cluster is its most common class, so that the
        error is one minus the purity.

    Examples
    --------
    >>> from rpcag.metrics import clustering_error
    >>> clustering_error([0, 0, 1, 1], [5, 5, 5, 7])
    0.25
    """
    if label not in ("matching", "majority"):
        raise ValueError(f"label must be 'matching' or 'majority', got {label!r}")
    refuse_masked(KNOWN, y_true=y_true, y_pred=y_pred)
    counts = contingency_matrix(y_true, y_pred)
    if label == "majority":
        return float(1 - counts.max(axis=0).sum() / counts.sum())
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
    _check_same_shape(L=L, truth=truth)
    L, truth = np.asarray(L, dtype=float), np.asarray(truth, dtype=float)
    size = np.linalg.norm(truth)
    if size == 0:
        raise ValueError("truth is zero, so a relative error is not defined")
    return float(np.linalg.norm(L - truth) / size)


class ForegroundScores(NamedTuple):
    """Precision, recall and F of a foreground mask, between 0 and 1."""

    precision: float
    recall: float
    f: float


def foreground_scores(mask, truth, valid=None) -> ForegroundScores:
    """Precision, recall and their harmonic mean F over the pixels of all frames.

    Pixels of all frames are pooled, so frames with more foreground count more.

    Parameters
    ----------
    mask, truth : boolean arrays of one shape
        True on the estimated and on the true foreground.
    valid : boolean array of the same shape, optional
        False where the truth is unknown; these pixels do not count.

    Returns
    -------
    ForegroundScores
        Named tuple of precision, recall and f. All are 1 if both masks are empty.
        Otherwise 0 / 0 counts as 0.

    Examples
    --------
    >>> from rpcag.metrics import foreground_scores
    >>> foreground_scores([True, True, False, False], [True, False, True, False])
    ForegroundScores(precision=0.5, recall=0.5, f=0.5)
    """
    _check_same_shape(mask=mask, truth=truth)
    mask, truth = _boolean("mask", mask), _boolean("truth", truth)
    if valid is not None:
        _check_same_shape(valid=valid, truth=truth)
        valid = _boolean("valid", valid)
        mask, truth = mask[valid], truth[valid]
    right = int((mask & truth).sum())
    found, there = int(mask.sum()), int(truth.sum())
    if found == there == 0:
        return ForegroundScores(1.0, 1.0, 1.0)
    parts = (found, there, (found + there) / 2)
    return ForegroundScores(*(right / max(part, 0.5) for part in parts))


def _boolean(name: str, array) -> np.ndarray:
    array = np.asarray(array)
    if array.dtype != bool and not np.isin(array, (0, 1)).all():
        raise ValueError(f"{name} must be boolean, got values of {array.dtype}")
    return array.astype(bool)


def _check_same_shape(**arrays) -> None:
    refuse_masked(KNOWN, **arrays)
    shape, other = map(np.shape, arrays.values())
    if shape != other:
        names = " and ".join(arrays)
        raise ValueError(f"{names} must have one shape, got {shape} and {other}")
