"""Models of the graph alone: normalized cuts and Laplacian eigenmaps."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from rpcag.graphs.laplacian import degree, inverse
from rpcag.models.base import Embedding
from rpcag.models.checks import OPTIONS, check_components
from rpcag.models.graph import mean_of_neighbors
from rpcag.solvers.spectral import smoothest


@dataclass(eq=False, repr=False)
class NCuts(Embedding):
    """Normalized cuts: the smoothest orthonormal vectors on a graph.

    minimize tr(Q^T Phi Q) over Q,   Q^T Q = I

    Phi is the normalized Laplacian: Q holds its eigenvectors of the smallest
    eigenvalues. Clusters of the rows of Q are normalized cuts of the graph.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most n_samples.
    graph
        As in `GLPCA`.
    drop_first : bool, default=False
        Leave out the first vector. It has the square roots of the degrees, so it is the
        same for every graph with these degrees.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Q.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of Phi, ascending. There are as many zeros as connected components.
    n_iter_ : int
        1: solved as an eigenproblem.
    adjacency_, objective_, feature_names_in_
        As in `GLPCA`.

    References
    ----------
    Shi, Malik, "Normalized Cuts and Image Segmentation", TPAMI 2000.

    Examples
    --------
    >>> from rpcag import NCuts
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> A = [[0, 1, 1, 0, 0, 0], [1, 0, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0],
    ...      [0, 0, 0, 0, 1, 1], [0, 0, 0, 1, 0, 1], [0, 0, 0, 1, 1, 0]]
    >>> NCuts(2, graph=A).fit_transform(X)[[0, 5]].round(2)
    array([[ 0.41,  0.41],
           [ 0.41, -0.41]])
    """

    _takes_missing = _needs_edges = True
    _by_degree = False  # whether Q^T D Q = I, instead of Q^T Q = I
    _parameter_constraints = OPTIONS | {"drop_first": ["boolean"]}

    n_components: int = 2
    _: KW_ONLY
    graph: Any = "knn"
    drop_first: bool = False

    def _fit(self, X):
        first = int(self.drop_first)
        check_components(self, X, most=len(X) - first)
        graph = self._build_graph(X)
        root = np.sqrt(degree(graph.adjacency))
        used = root > 0 if self._by_degree else np.ones(len(root), bool)
        if used.sum() <= first:
            raise ValueError(
                f"graph joins {used.sum()} of the {len(X)} samples (n_samples={len(X)})"
                ": there is nothing to embed"
            )
        d = check_components(self, X, most=int(used.sum()) - first)
        Phi = graph.laplacian if used.all() else graph.laplacian[used][:, used]
        values, V = smoothest(Phi, root[used], d + first)
        Q = np.zeros((len(X), d))
        Q[used] = V[:, first:]
        self.eigenvalues_ = values[first:]
        self.objective_ = float(self.eigenvalues_.sum())
        self.n_iter_ = 1
        with np.errstate(over="ignore"):
            if self._by_degree:
                Q *= inverse(root)[:, None]
            Q = Q.astype(X.dtype)
        if not np.isfinite(Q).all():
            raise ValueError(
                f"graph has a sample whose weights sum to only "
                f"{root[used].min() ** 2:.3g}, so its coordinates overflow {X.dtype}; "
                "multiply the weights by a constant, or pass X as float64"
            )
        self._set_embedding(Q, X.dtype)

    def _embed_rows(self, X, edges):
        """The eigenvectors, continued to new rows by Nyström's formula.

        A row of Phi q = mu q reads q_i = sum_j a_ij q_j / sqrt(d_i d_j) / (1 - mu).
        Every coordinate is clipped to the range of the fitted ones, since 1 - mu may be
        small. Rows without neighbors are mapped to the origin.
        """
        Q = self.embedding_.astype(np.float64)
        (graph,) = self._graphs
        A: Any = graph.edges(X, edges)
        _, pull = graph.ties_of(A, Q)
        if self._by_degree:  # for q / sqrt(d), the sum becomes a mean
            pull = mean_of_neighbors(A, Q)
        decay = 1 - self.eigenvalues_
        safe = np.abs(decay) > 1e-10
        Z = np.where(safe, pull / np.where(safe, decay, 1), 0.0)
        Z = np.clip(Z, Q.min(axis=0), Q.max(axis=0))
        # The formula also holds for rows of fit, but it is inaccurate if mu is near 1.
        places = graph.places(A)
        Z[places >= 0] = Q[places[places >= 0]]
        Z[np.diff(A.indptr) == 0] = 0.0
        return Z


@dataclass(eq=False, repr=False, kw_only=True)
class LaplacianEigenmaps(NCuts):
    """Laplacian eigenmaps: the smoothest coordinates on a graph.

    minimize tr(Q^T (D - A) Q) over Q,   Q^T D Q = I

    Q = D^-1/2 V for the eigenvectors V of the normalized Laplacian of the smallest
    eigenvalues. Samples without neighbors are at the origin.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most the number of samples with neighbors, minus one.
    graph
        As in `NCuts`.
    drop_first : bool, default=True
        Leave out the first vector, which is constant.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Q.
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues mu of (D - A) q = mu D q, ascending.
    **others**
        As in `NCuts`.

    References
    ----------
    Belkin, Niyogi, "Laplacian Eigenmaps for Dimensionality Reduction and Data
    Representation", Neural Computation 2003.

    Examples
    --------
    >>> from rpcag import LaplacianEigenmaps
    >>> X = [[0.0], [0.1], [0.2]]
    >>> A = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> LaplacianEigenmaps(1, graph=A).fit_transform(X).round(3) + 0.0
    array([[ 0.707],
           [ 0.   ],
           [-0.707]])
    """

    drop_first: bool = True

    _by_degree = True
