"""The complete graph of the paper."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rpcag.graphs.builder import GraphBuilder
from rpcag.graphs.distances import distance_blocks, distances_within
from rpcag.graphs.options import POSITIVE


@dataclass(eq=False, repr=False, kw_only=True)
class CompleteGraph(GraphBuilder):
    """Join every pair of samples, with weight exp(-(Omega_ij - omega_min)^2 / sigma2).

    Omega are the RMS distances over the features that both rows observe. omega_min is
    the smallest between two different rows (Section "Normalized Graph Laplacian" of the
    paper). The graph is dense: n x n numbers.

    Parameters
    ----------
    sigma2 : float, default=0.05
        Width of the kernel, for features of order one. Scale images to [0, 1] or
        standardize the features first; otherwise nearly all weights vanish.

    Examples
    --------
    >>> from rpcag.graphs import CompleteGraph
    >>> CompleteGraph()([[0.0], [0.2], [0.5]]).round(2)
    array([[0.  , 1.  , 0.17],
           [1.  , 0.  , 0.82],
           [0.17, 0.82, 0.  ]])
    """

    _parameter_constraints: ClassVar = {"sigma2": [POSITIVE]}

    sigma2: float = 0.05

    def _build(self, rows):
        distances = distances_within(rows, np.inf)
        self.omega_min_ = distances.min(initial=np.inf)
        return self._weights(distances)

    def _connect(self, rows):
        distances = np.vstack(list(distance_blocks(rows, self._rows)))
        return self._weights(np.maximum(distances, self.omega_min_))

    def _weights(self, distances):
        if not np.isfinite(self.omega_min_):  # no two rows share a feature
            return np.zeros_like(distances)
        with np.errstate(over="ignore"):  # far apart is far apart
            return np.exp(-((distances - self.omega_min_) ** 2) / self.sigma2)
