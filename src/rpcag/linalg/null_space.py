"""The null space of a graph Laplacian, written down instead of computed."""

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from rpcag.linalg.rounding import UNIT


class NullSpace:
    """Vectors c[component of i] root_i, for any number c per connected component.

    A vertex without neighbors is a component of its own.

    Parameters
    ----------
    adjacency : ndarray or sparse array
    root : ndarray, optional
        Roots of the degrees, for the normalized Laplacian; for the combinatorial one
        ones take their place.

    Attributes
    ----------
    n_parts, label : int, ndarray
        The number of components, and that of every vertex.
    root : ndarray
        At most one, and one somewhere in every component.
    rounding : float
        Relative, of the roots: a degree is a sum.
    """

    def __init__(self, adjacency: Any, root: np.ndarray | None = None) -> None:
        size = adjacency.shape[0]
        # A pattern: of a dense matrix small entries would not count as edges.
        pattern = sparse.csr_array(adjacency != 0)
        self.n_parts, self.label = connected_components(pattern, directed=False)
        self.root, self.rounding = np.ones(size), 0.0
        if root is not None:
            most = np.zeros(self.n_parts)
            np.maximum.at(most, self.label, root)
            alone = most[self.label] == 0
            self.root[~alone] = root[~alone] / most[self.label][~alone]
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
