"""What all graph builders share."""

import math
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_array, check_is_fitted

from rpcag.graphs.distances import distance_blocks, observed
from rpcag.graphs.inpainting import inpaint_tv


def check_positive(name: str, value: Any) -> None:
    """Refuse an option that is not a positive number, by name."""
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a positive number, got {value!r}")


class GraphBuilder(BaseEstimator):
    """Build a graph between rows, and connect new rows to it.

    Builders are scikit-learn estimators, so that their options can be searched
    (``graph__n_neighbors``). Called with X they return the adjacency; fitted they also
    connect rows that were not there.
    """

    image_shape: tuple[int, int] | None
    adjacency_: object

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
        X = check_array(
            X, dtype=np.float64, ensure_all_finite="allow-nan", ensure_min_samples=1
        )
        rows, seen = self._prepare(X, mask)
        # A copy: `connect` must not see what happens to the caller's array later.
        self._rows = rows.copy() if rows is X else rows, seen
        self.adjacency_ = self._build(self._rows)
        return self

    def connect(self, X, mask=None):
        """Weights between new rows and the rows of the graph.

        A new row is connected by the rule that connected the others. If it equals a
        row of the graph it is taken for that row, which is not its own neighbour.

        Returns
        -------
        csr_array or ndarray of shape (n_new, n_samples)
        """
        check_is_fitted(self, "adjacency_")
        X = check_array(X, dtype=np.float64, ensure_all_finite="allow-nan")
        return self._connect(self._prepare(X, mask))

    def _prepare(self, X, mask):
        if self.image_shape is not None:
            return observed(inpaint_tv(X, self.image_shape, mask=mask))
        return observed(X, mask)

    def _distances_to_graph(self, rows):
        """Blocks of distances to the graph's rows, and the columns of rows' doubles.

        A row that equals one of the graph is taken for it: its double is put at an
        infinite distance. Rows without a double have column -1.
        """
        for distances in distance_blocks(rows, self._rows):
            here = np.arange(len(distances))
            nearest = distances.argmin(axis=1)
            doubles = np.where(distances[here, nearest] == 0, nearest, -1)
            twice = doubles >= 0
            distances[here[twice], doubles[twice]] = np.inf
            yield distances, doubles

    def _build(self, rows):
        raise NotImplementedError

    def _connect(self, rows):
        raise NotImplementedError
