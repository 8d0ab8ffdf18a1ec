"""Manifold matrix factorization, on one graph, several graphs or hypergraphs."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from rpcag.graphs.hypergraph import KNNHypergraph, check_incidence, expansion
from rpcag.graphs.neighbors import KNNGraph
from rpcag.models.base import FactorModel
from rpcag.models.checks import OPTIONS, auto_or, check_stiffness
from rpcag.models.graph import ModelGraph, check_edges
from rpcag.solvers.mmf import mmf, mmmf


@dataclass(eq=False, repr=False)
class MMF(FactorModel):
    """Manifold matrix factorization: orthonormal directions, smooth components.

    minimize ||X - Q U^T||_F^2 + gamma tr(Q^T Phi Q) over Q and U,   U^T U = I

    This has a closed form: U holds the eigenvectors of the `n_components` largest
    eigenvalues of X^T (I + gamma Phi)^-1 X, and Q = (I + gamma Phi)^-1 X U. X is not
    centered.

    Parameters
    ----------
    n_components, graph, laplacian
        As in `GLPCA`.
    gamma : float, default=1.0
        Weight of the smoothness; it has no unit. 0 is PCA (of centered data).

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Q.
    components_ : ndarray of shape (n_components, n_features)
        U^T, with orthonormal rows.
    gamma_ : float
    low_rank_, n_components_, adjacency_, objective_, n_iter_, feature_names_in_
        As in `GLPCA`.

    References
    ----------
    Zhang, Zhao, "Low-Rank Matrix Approximation with Manifold Regularization", TPAMI
    2013.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag import MMF
    >>> X = np.repeat([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]], 12, axis=0)
    >>> model = MMF(2, gamma=1.0).fit(X)
    >>> np.allclose(model.components_ @ model.components_.T, np.eye(2))
    True
    """

    n_components: int = 2
    _: KW_ONLY
    gamma: float = 1.0
    graph: Any = "knn"
    laplacian: str = "normalized"

    def _factorize(self, X, scaled, d):
        graph = self._build_graph(X)
        Phi, gamma = graph.laplacian, float(self.gamma)
        check_stiffness(gamma, [Phi])
        Q, U = mmf(scaled, Phi, gamma, d)
        residual = float(np.sum((scaled - Q @ U.T) ** 2))
        rough = graph.null.without(Q)  # the rest of Q adds only rounding errors
        roughness = float(np.sum(rough * (Phi @ rough)))
        self._set_factors(Q * self._unit, U, X)
        self.gamma_ = gamma
        self.objective_ = (residual + gamma * roughness) * self._unit**2
        self.n_iter_ = 1

    def _embed(self, X, Q, curvature, pull):
        """Rows of (I + gamma Phi) Q = X U: q (1 + gamma c) = x U + gamma pull.

        A mean of x U and pull / c, so ||q|| <= max(||x U||, sqrt(2) max_j ||q_j||).
        """
        XU = X @ self.components_.T.astype(np.float64)
        return (XU + self.gamma_ * pull) / (1 + self.gamma_ * curvature)[:, None]


@dataclass(eq=False, repr=False)
class _Mixture(FactorModel):
    """Several graphs, or hypergraphs, with weights alpha on the simplex."""

    _embed = MMF._embed
    _parameter_constraints = OPTIONS | {"weight_penalty": auto_or()}

    n_components: int = 2
    _: KW_ONLY
    gamma: float = 1.0
    weight_penalty: float | str = "auto"
    graphs: Any = "auto"
    tol: float = 1e-5
    max_iter: int = 1000

    _ensemble: ClassVar[tuple]  # of graphs="auto"

    def _build(self, graph, X, name: str) -> Any:
        """The graph of the rows of X."""
        raise NotImplementedError

    def _factorize(self, X, scaled, d):
        graphs = self.graphs
        if isinstance(graphs, str) and graphs == "auto":
            graphs = self._ensemble
        if not isinstance(graphs, (list, tuple)):
            raise TypeError(
                f"graphs must be 'auto' or a list of graphs, got "
                f"{type(graphs).__name__}; for one graph write [graph]"
            )
        if not graphs:
            raise ValueError("graphs must hold at least one graph, got an empty list")
        self._graphs = [
            self._build(graph, X, f"graphs[{g}]") for g, graph in enumerate(graphs)
        ]
        self.laplacians_ = [graph.laplacian for graph in self._graphs]
        self.gamma_ = float(self.gamma)
        check_stiffness(self.gamma_, self.laplacians_)
        penalty = None
        if not isinstance(self.weight_penalty, str):
            penalty = self._in_units("weight_penalty", scaled)
        options: Any = {"tol": float(self.tol), "max_iter": self.max_iter}
        result, self.graph_weights_, penalty = mmmf(
            scaled, self.laplacians_, self.gamma_, penalty, d, **options
        )
        self._set_factors(result.Q * self._unit, result.U, X)
        self.weight_penalty_ = penalty * self._unit**2
        self.n_iter_ = len(result.history)
        self._set_history(result.history, result.converged)

    def _edges(self, X, adjacency):
        if adjacency is None:
            return super()._edges(X, None)
        count, shape = len(self._graphs), (len(X), len(self.embedding_))
        if not isinstance(adjacency, (list, tuple)) or len(adjacency) != count:
            raise ValueError(
                f"adjacency must be a list of {count} arrays, one per graph, got "
                f"{type(adjacency).__name__}"
            )
        return [A if A is None else check_edges(A, *shape) for A in adjacency]


@dataclass(eq=False, repr=False, kw_only=True)
class MMMF(_Mixture):
    """Multiple manifold matrix factorization: a mixture of graphs, weights learned.

    minimize ||X - Q U^T||_F^2 + gamma tr(Q^T (sum_g alpha_g Phi_g) Q)
    + weight_penalty ||alpha||^2 over Q, U and alpha,   U^T U = I,   alpha >= 0,
    1^T alpha = 1

    Alternates between the closed form of `MMF` for Q and U, and a projection onto the
    simplex for alpha. The objective never increases. X is not centered.

    Parameters
    ----------
    n_components, laplacian
        As in `MMF`.
    gamma : float, default=1.0
        Weight of the smoothness; it has no unit.
    weight_penalty : float or "auto", default="auto"
        How evenly the graphs are weighted, in the unit of X squared: large values give
        equal weights, 0 chooses the smoothest graph. "auto" is gamma times the mean
        roughness tr(Q^T Phi_g Q) under equal weights.
    graphs : "auto" or list, default="auto"
        Each as the `graph` of `RPCAG`. "auto" is ``KNNGraph`` with the heat kernel and
        5, 10 and 20 neighbors, and one with 10 neighbors by correlation.
    tol : float, default=1e-5
        Relative decrease of the objective per iteration at which to stop.
    max_iter : int, default=1000
        Maximum number of iterations.

    Attributes
    ----------
    graph_weights_ : ndarray of shape (n_graphs,)
        alpha.
    gamma_, weight_penalty_ : float
    laplacians_ : list of csr_array or ndarray
    history_ : dict of ndarray
        ``objective`` after every alternation.
    n_iter_ : int
    embedding_, components_, low_rank_, n_components_, objective_, feature_names_in_
        As in `MMF`.

    References
    ----------
    Tao, Ip, Wang, Shu, "Low Rank Approximation with Sparse Integration of Multiple
    Manifolds for Data Representation", Applied Intelligence 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag import MMMF
    >>> from rpcag.graphs import KNNGraph
    >>> X = np.repeat([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]], 12, axis=0)
    >>> graphs = [KNNGraph(5), 1 - np.eye(24)]  # the second joins everything
    >>> model = MMMF(2, graphs=graphs).fit(X)
    >>> bool(model.graph_weights_[0] > model.graph_weights_[1])
    True
    """

    laplacian: str = "normalized"

    _ensemble = (
        *(KNNGraph(n_neighbors) for n_neighbors in (5, 10, 20)),
        KNNGraph(10, weights="correlation"),
    )

    def _build(self, graph, X, name):
        return ModelGraph.of(graph, X, self.laplacian, name=name)


class MHMF(_Mixture):
    """Multiple hypergraph matrix factorization: a mixture of hypergraphs.

    minimize ||X - Q U^T||_F^2 + gamma tr(Q^T (sum_g alpha_g Phi_g) Q)
    + weight_penalty ||alpha||^2 over Q, U and alpha,   U^T U = I,   alpha >= 0,
    1^T alpha = 1

    As `MMMF`, with Laplacians Phi_g = I - Dv^-1/2 H We De^-1 H^T Dv^-1/2 of
    hypergraphs, whose edges join any number of samples. X is not centered.

    Parameters
    ----------
    n_components, gamma, weight_penalty, tol, max_iter
        As in `MMMF`.
    graphs : "auto" or list, default="auto"
        Hypergraphs: builders ``rpcag.graphs.KNNHypergraph``, or incidence arrays of
        shape (n_samples, n_edges), dense or sparse. "auto" is ``KNNHypergraph`` with 5,
        10 and 20 neighbors. For new rows of an incidence, pass `adjacency` with weights
        as in ``KNNHypergraph.adjacency_``.

    Attributes
    ----------
    **others**
        As in `MMMF`.

    References
    ----------
    Jin, Yu, You, Zeng, Li, Yu, "Low-Rank Matrix Factorization with Multiple Hypergraph
    Regularizer", Pattern Recognition 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag import MHMF
    >>> X = np.repeat([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]], 12, axis=0)
    >>> model = MHMF(2).fit(X)
    >>> round(float(model.graph_weights_.sum()), 6)
    1.0
    """

    _ensemble = (KNNHypergraph(5), KNNHypergraph(10), KNNHypergraph(20))

    def _build(self, graph, X, name):
        if isinstance(graph, KNNHypergraph):
            return ModelGraph.of(graph, X, name=name)
        if isinstance(graph, (str, BaseEstimator, type)):
            raise TypeError(
                f"{name} must be a KNNHypergraph of rpcag.graphs or an incidence, "
                f"got {graph!r}"
            )
        H = check_incidence(graph, len(X), name=name)
        return ModelGraph(None, expansion(H), name=name)
