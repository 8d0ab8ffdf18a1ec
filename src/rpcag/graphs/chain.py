"""Graphs between rows that are ordered, such as in time."""

from collections import Counter
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from rpcag.graphs.builder import GraphBuilder, row_keys
from rpcag.graphs.distances import observed
from rpcag.graphs.inputs import check_rows
from rpcag.graphs.options import COUNT, Range


@dataclass(eq=False, repr=False)
class Chain(GraphBuilder):
    """Every row and its neighbors in time, before and after it.

    Use it for rows in time order at equal distances, or for other ordered rows, such as
    depths or wavelengths. The values do not matter. If times are missing, insert rows
    of NaN for them.

    Rows i and j are joined with weight ::

        1 / |i - j|    if |i - j| <= steps
        1 / k          if |i - j| = k * period,  k = 1, ..., n_periods

    In a random walk, the expected squared difference of two rows is proportional to
    their lag, so every edge has the same share of the smoothness.

    Parameters
    ----------
    steps : int, default=1
        Number of rows before and after to which a row is joined. Increase it if the
        series is smooth and single rows are noisy. If the series has jumps, use 0 and a
        period.
    period : int, optional
        Number of rows in a period, at least 2, such as 24 for hours of days. Also joins
        a row to the same time in the periods before and after. It helps most where many
        rows in sequence are missing.
    n_periods : int, default=1
        Number of periods before and after to which a row is joined. Increase it if the
        periods are alike.

    Attributes
    ----------
    adjacency_ : csr_array of shape (n_samples, n_samples)

    Examples
    --------
    >>> from rpcag.graphs import Chain
    >>> Chain()([[3.0], [1.0], [2.0], [5.0]]).toarray()
    array([[0., 1., 0., 0.],
           [1., 0., 1., 0.],
           [0., 1., 0., 1.],
           [0., 0., 1., 0.]])
    """

    by_order = True
    _parameter_constraints: ClassVar = {
        "steps": [Range(Integral, 0, None, closed="left")],
        "period": [Range(Integral, 2, None, closed="left"), None],
        "n_periods": [COUNT],
    }

    steps: int = 1
    period: int | None = None
    n_periods: int = 1

    def connect(self, X, mask=None):
        """Weights between new rows and the rows of the graph.

        The rows of X are consecutive and continue the series after its last row. Rows
        of the graph that are in X keep their time, and others are placed next to them.
        """
        check_is_fitted(self, "adjacency_")
        keys = list(row_keys(observed(check_rows(X), mask)))
        return self._edges(self._positions(keys))

    def _remember(self, rows) -> None:
        self._keys = list(row_keys(rows))
        # Values identify the time of a row only if no other row has them. Rows without
        # any value, as in an outage, may occur more than once.
        seen = np.ones(len(self._keys), bool) if rows[1] is None else rows[1].any(1)
        count = Counter(self._keys)
        self._position_of = {
            key: i for i, key in enumerate(self._keys) if count[key] == 1 and seen[i]
        }

    def _build(self, rows):
        return self._edges(np.arange(len(self._keys)))

    def _positions(self, keys: list[bytes]) -> np.ndarray:
        """Positions in time of consecutive rows; those of the graph are 0 to n - 1."""
        n = len(self._keys)
        if keys == self._keys:  # also if rows are equal
            return np.arange(n)
        known = self._position_of
        # Time of the first row: from the first row whose time is known, or the end.
        starts = (known[key] - k for k, key in enumerate(keys) if key in known)
        position, positions = next(starts, n), []
        for key in keys:
            if not 0 <= position < n or self._keys[position] != key:
                position = known.get(key, position)
            positions.append(position)
            position += 1
        return np.array(positions, dtype=int)

    def _edges(self, positions: np.ndarray) -> sparse.csr_array:
        """Weights between rows at the given positions and the rows of the graph."""
        n = len(self._keys)
        # The largest lag that is possible.
        most = int(max(positions.max(), n - 1) - min(positions.min(), 0))
        weight = {h: 1 / h for h in range(1, min(self.steps, most) + 1)}
        if self.period is not None:
            n_periods = min(self.n_periods, most // self.period)
            weight |= {int(k * self.period): 1 / k for k in range(1, n_periods + 1)}
        weight |= {-h: w for h, w in weight.items()}
        lags = np.array(sorted(weight), dtype=int)
        j = positions[:, None] + lags
        inside = (j >= 0) & (j < n)
        data = np.broadcast_to([weight[h] for h in lags.tolist()], j.shape)
        indptr = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
        entries = data[inside], j[inside], indptr
        return sparse.csr_array(entries, shape=(len(positions), n))

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.steps == 0 and self.period is None:
            raise ValueError("steps=0 needs a period; set one, or steps of at least 1")
