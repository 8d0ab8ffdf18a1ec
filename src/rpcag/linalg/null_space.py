"""The null space of a graph Laplacian, in closed form."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from rpcag.linalg.rounding import UNIT


class NullSpace:
    """All vectors with entries c[component of i] root_i.

    c has one number per connected component. A vertex without neighbors is a component.
    `root` are the square roots of the degrees for the normalized Laplacian, and ones,
    the default, for the combinatorial one.

    Attributes
    ----------
    n_parts, label : int, ndarray
        The number of components, and the component of every vertex.
    root : ndarray
        The roots, scaled so that the largest in every component is 1.
    rounding : float
        Bound on the relative rounding error of the roots: a degree is a sum.
    """

    def __init__(self, adjacency: Any, root: np.ndarray | None = None) -> None:
        size = adjacency.shape[0]
        # The pattern, since in a dense matrix tiny entries would not count as edges.
        pattern = sparse.csr_array(adjacency != 0)
        self.n_parts, self.label = connected_components(pattern, directed=False)
        self.root, self.rounding = np.ones(size), 0.0
        if root is not None:
            most = np.zeros(self.n_parts)
            np.maximum.at(most, self.label, root)
            np.divide(root, most[self.label], out=self.root, where=root > 0)
            longest = int(np.diff(pattern.indptr).max(initial=0))
            self.rounding = (longest + 8) * UNIT
        mass = np.bincount(self.label, self.root**2, minlength=self.n_parts)
        where = self.label, np.arange(size)
        self._mean = sparse.csr_array(
            (self.root / mass[self.label], where), shape=(self.n_parts, size)
        )

    def without(self, Y: np.ndarray) -> np.ndarray:
        """Y minus its part in the null space, up to rounding: Phi Y stays the same."""
        return Y - self.root[:, None] * (self._mean @ Y)[self.label]
