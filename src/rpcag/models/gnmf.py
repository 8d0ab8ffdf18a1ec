"""Graph-regularized non-negative matrix factorization."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import NMF

from rpcag.models.base import FactorModel
from rpcag.models.checks import check_stiffness
from rpcag.solvers.gnmf import gnmf, nonnegative_rows


@dataclass(eq=False, repr=False)
class GNMF(FactorModel):
    """Non-negative matrix factorization with components that are smooth on a graph.

    minimize ||X - Q U^T||_F^2 + gamma tr(Q^T Phi Q) over Q and U,   Q >= 0,   U >= 0,
    ||u_k|| = 1

    Without the unit norms, the problem has no solution: shrinking Q and stretching U
    would lower the smoothness term at no cost. The problem is not convex. Columns are
    updated in turn, and never increase the objective (``rpcag.solvers.gnmf`` derives
    the updates). The solver starts from scikit-learn's initialization of `NMF`, or from
    its solution if gamma is 0.

    Parameters
    ----------
    n_components, graph, laplacian
        As in `GLPCA`.
    tol, max_iter
        As in `MMMF`.
    gamma : float, default=1.0
        Weight of the smoothness; it has no unit. 0 is non-negative matrix
        factorization.
    random_state : int, RandomState or None, default=0
        Random seed of the initialization, if its singular vectors are approximated.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Q.
    components_ : ndarray of shape (n_components, n_features)
        U^T, with rows of unit norm; a component that is not needed is zero in both.
    gamma_ : float
    history_ : dict of ndarray
        ``objective`` at the start and after every iteration.
    n_iter_ : int
    low_rank_, n_components_, adjacency_, objective_, feature_names_in_
        As in `GLPCA`.

    References
    ----------
    Cai, He, Han, Huang, "Graph Regularized Nonnegative Matrix Factorization for Data
    Representation", TPAMI 2011.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag import GNMF
    >>> X = np.repeat([[0.0, 1.0, 2.0], [2.0, 0.0, 0.0]], 12, axis=0)
    >>> model = GNMF(2).fit(X)
    >>> (model.low_rank_[[0, 12]].round(1) + 0.0).tolist()
    [[0.0, 1.0, 2.0], [2.0, 0.0, 0.0]]
    """

    n_components: int = 2
    _: KW_ONLY
    gamma: float = 1.0
    graph: Any = "knn"
    laplacian: str = "normalized"
    tol: float = 1e-5
    max_iter: int = 1000
    random_state: Any = 0

    def _validate(self, X, reset):
        X = super()._validate(X, reset)
        if X.min() < 0:
            raise ValueError(
                f"Negative values in data passed to GNMF: X goes down to {X.min():.3g};"
                " shift or clip it, or use MMF"
            )
        return X

    def _factorize(self, X, scaled, d):
        graph, gamma = self._build_graph(X), float(self.gamma)
        check_stiffness(gamma, [graph.laplacian])
        start = self._start(scaled, d)
        options: Any = {"tol": float(self.tol), "max_iter": self.max_iter}
        result = gnmf(scaled, graph.laplacian, gamma, start, graph.null, **options)
        self._set_factors(result.Q * self._unit, result.U, X)
        self.gamma_ = gamma
        self.n_iter_ = len(result.history) - 1
        self._set_history(result.history, result.converged)

    def _start(self, scaled, d):
        """Scikit-learn's NNDSVD initialization of `NMF`, through its first iteration.

        Without a graph, it is the solution of NMF, for X in its own unit, since
        "nndsvda" depends on that. With a tolerance of zero, NMF never warns.
        """
        size = float(scaled.mean()) or 1.0
        options: dict[str, Any] = {"init": "nndsvd", "max_iter": 1}
        if self.gamma == 0:
            options = {"init": "nndsvda"}
            if 1e-30 < self._unit < 1e30:
                size = 1 / self._unit
        first = NMF(d, random_state=self.random_state, tol=0, **options)
        with np.errstate(invalid="ignore"):
            Q = first.fit_transform(scaled / size)
        if not (np.isfinite(Q).all() and np.isfinite(first.components_).all()):
            # NNDSVD is 0 / 0 where a singular vector has no positive part.
            first.set_params(init="random")
            Q = first.fit_transform(scaled / size)
        return Q * size, first.components_.T

    def _embed(self, X, Q, curvature, pull):
        """Minimize ||x - q U^T||^2 + gamma (c ||q||^2 - 2 q pull) over q >= 0.

        The columns of U >= 0 have unit norm, so ||q U^T|| >= ||q||, and stationarity
        along q gives ||q|| <= max(||x||, sqrt(2) max_j ||q_j||).
        """
        U = self.components_.T.astype(np.float64)
        XU = X @ U + self.gamma_ * pull
        return nonnegative_rows(XU, U.T @ U, self.gamma_ * curvature)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
