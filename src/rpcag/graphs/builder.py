"""Base class of all graph builders."""

import hashlib
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted, validate_data

from rpcag.graphs.distances import observed, take_rows
from rpcag.graphs.inputs import as_numbers, check_rows, explained


class Estimator(BaseEstimator):
    """An estimator whose parameters are the fields of a dataclass."""

    _takes_missing = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def _validate(self, X, reset: bool) -> np.ndarray:
        """X in floats; the options are checked first if it is that of `fit`."""
        if reset:
            self._validate_params()
        options = {
            "dtype": [np.float64, np.float32],
            "order": "C",
            "ensure_all_finite": "allow-nan" if self._takes_missing else True,
        }
        with explained(missing=self._takes_missing):
            return validate_data(self, as_numbers(X), reset=reset, **options)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_missing
        return tags

    def __dask_tokenize__(self):
        # Dask would take estimators with equal fields for equal, whatever the data.
        from dask.base import normalize_token

        return normalize_token((type(self), vars(self)))


class GraphBuilder(Estimator):
    """Build a graph between rows, and connect new rows to it.

    Builders are scikit-learn estimators, so their options can be tuned in a grid search
    (``graph__n_neighbors``).
    """

    # Whether the edges depend on the order of the rows, and not on their values. Then
    # the rows of `connect` belong together, and a part of the rows has no graph.
    by_order = False
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
        self._validate_params()
        rows = observed(check_rows(X), mask)
        self._remember(rows)
        self.adjacency_ = self._build(rows)
        return self

    def connect(self, X, mask=None):
        """Weights between new rows and the rows of the graph, (n_new, n_samples).

        A new row is connected by the same rule as the rows of the graph. If it equals
        a row of the graph, it gets the neighbors of that row (of the first such row).
        """
        check_is_fitted(self, "adjacency_")
        rows = observed(check_rows(X), mask)
        doubles = self._doubles(rows)
        new = doubles < 0
        if new.all():
            return self._connect(rows)
        known = self.adjacency_[doubles[~new]]
        if not new.any():
            return known
        both = [known, self._connect(take_rows(rows, new))]
        order = np.argsort(np.argsort(new, kind="stable"))  # back to that of X
        if sparse.issparse(known):
            return sparse.csr_array(sparse.vstack(both, format="csr")[order])
        return np.concatenate(both)[order]

    def _remember(self, rows) -> None:
        """Store what `connect` needs to know of the rows."""
        values, seen = rows
        # A copy: later changes of the caller's array must not affect `connect`.
        self._rows = values.copy() if seen is None else values, seen
        self._places: dict[bytes, int] | None = None  # made by the first `connect`

    def _doubles(self, rows) -> np.ndarray:
        """The first row of the graph that equals each row, or -1."""
        if self._places is None:
            self._places = {}
            for i, key in enumerate(row_keys(self._rows)):
                self._places.setdefault(key, i)
        found = [self._places.get(key, -1) for key in row_keys(rows)]
        return np.array(found, dtype=int)

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
