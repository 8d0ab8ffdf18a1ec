"""Base class of all graph builders."""

import hashlib
import math
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from rpcag.graphs.distances import observed
from rpcag.graphs.inpainting import check_image_shape, inpaint_tv
from rpcag.graphs.inputs import as_float, check_rows, shown


def check_positive(name: str, value: Any) -> None:
    """Refuse an option that is not a positive number, by name."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 < as_float(value) < math.inf:
        raise ValueError(f"{name} must be a positive number, got {shown(value)}")


class Estimator(BaseEstimator):
    """An estimator whose parameters are the fields of a dataclass."""

    def __dask_tokenize__(self):
        # Dask would take estimators with equal fields for equal, whatever the data.
        from dask.base import normalize_token

        return normalize_token((type(self), vars(self)))


class GraphBuilder(Estimator):
    """Build a graph between rows, and connect new rows to it.

    Builders are scikit-learn estimators, so their options can be tuned in a grid search
    (``graph__n_neighbors``). A call with X returns the adjacency. A fitted builder also
    connects new rows.
    """

    # Whether the edges depend on the order of the rows, and not on their values. Then
    # the rows of `connect` belong together, and a part of the rows has no graph.
    by_order = False
    image_shape: tuple[int, ...] | None
    adjacency_: Any
    _rows: Any

    def __call__(self, X, mask=None):
        """Adjacency of the graph between the rows of X.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            NaN marks a missing entry.
        mask : boolean array of the shape of X, optional
            True where an entry is observed.
        """
        return clone(self).fit(X, mask=mask).adjacency_

    def fit(self, X, y=None, *, mask=None):
        """Build the graph of the rows of X; `adjacency_` holds it."""
        X = check_rows(X)
        self._check(X)
        rows, seen = self._prepare(X, mask)
        # A copy: later changes of the caller's array must not affect `connect`.
        self._rows = rows.copy() if rows is X else rows, seen
        self._places: dict[bytes, int] | None = None  # made by the first `connect`
        self.adjacency_ = self._build(self._rows)
        return self

    def connect(self, X, mask=None):
        """Weights between new rows and the rows of the graph.

        A new row is connected by the same rule as the rows of the graph. If it equals
        a row of the graph, it gets the neighbors of that row (of the first such row).

        Returns
        -------
        csr_array or ndarray of shape (n_new, n_samples)
        """
        check_is_fitted(self, "adjacency_")
        X = check_rows(X)
        rows = self._prepare(X, mask)
        doubles = self._doubles(rows)
        new = doubles < 0
        if new.all():
            return self._connect(rows)
        known = self.adjacency_[doubles[~new]]
        if not new.any():
            return known
        return put_together(new, self._connect(take_rows(rows, new)), known)

    def _check(self, X) -> None:
        """Refuse options that are wrong or do not suit X, before anything is built."""
        if self.image_shape is not None:
            check_image_shape(self.image_shape, X.shape)

    def _prepare(self, X, mask):
        if self.image_shape is not None:
            return observed(inpaint_tv(X, self.image_shape, mask=mask))
        return observed(X, mask)

    def _doubles(self, rows) -> np.ndarray:
        """The first row of the graph that equals each row, or -1."""
        if self._places is None:
            self._places = {}
            for i, key in enumerate(row_keys(self._rows)):
                self._places.setdefault(key, i)
        return np.array(
            [self._places.get(key, -1) for key in row_keys(rows)], dtype=int
        )

    def _build(self, rows):
        raise NotImplementedError

    def _connect(self, rows):
        raise NotImplementedError


def digest(content: bytes) -> bytes:
    """A hash that is short enough to keep for every row."""
    return hashlib.blake2b(content, digest_size=16).digest()


def row_keys(rows):
    """Digests of the values and the mask of every row."""
    X, M = rows
    for i, x in enumerate(X):
        mask = b"" if M is None or M[i].all() else M[i].tobytes()
        yield digest((x + 0.0).tobytes() + mask)  # + 0.0 turns -0.0 into 0.0


def take_rows(rows, which):
    X, M = rows
    return X[which], None if M is None else M[which]


def put_together(new: np.ndarray, made, known):
    """Rows of two matrices, `made` where new and `known` elsewhere, in order."""
    order = np.argsort(np.concatenate([np.flatnonzero(new), np.flatnonzero(~new)]))
    if sparse.issparse(known):
        return sparse.csr_array(sparse.vstack([made, known], format="csr")[order])
    return np.concatenate([made, known])[order]
