"""Graph-Laplacian PCA and its robust version."""

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import linalg

from rpcag.graphs.options import NUMBER, Range
from rpcag.linalg.eigen import column_signs, largest_eigenvalue
from rpcag.linalg.gram import spectral_norm
from rpcag.models.base import FactorModel
from rpcag.models.checks import OPTIONS
from rpcag.solvers.glpca import glpca, rglpca


@dataclass(eq=False, repr=False)
class GLPCA(FactorModel):
    """Graph-Laplacian PCA: principal components that are smooth on a graph.

    minimize ||X - Q U^T||_F^2 + gamma tr(Q^T Phi Q) over Q and U,   Q^T Q = I

    This has a closed form: Q holds the eigenvectors of the `n_components` largest
    eigenvalues of X X^T - gamma Phi, and U = X^T Q. X is not centered.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most min(n_samples, n_features).
    beta : float in [0, 1), optional
        Share of the graph, 0.5 unless `gamma` is given:
        gamma = beta / (1 - beta) * (largest eigenvalue of X X^T) / (that of Phi).
        0 is PCA (of centered data). As beta approaches 1, Q approaches the lowest
        eigenvectors of Phi.
    gamma : float, optional
        Weight of the smoothness, in the unit of X squared, instead of `beta`.
    graph : "knn", "robust", "complete", "chain", builder or adjacency, default="knn"
        Graph between samples, as in `RPCAG`. "knn" joins nearest neighbors in X.
    laplacian : {"normalized", "combinatorial"}, default="normalized"
        I - D^-1/2 A D^-1/2, or D - A, of the adjacency A with degrees D.
    drop_constant : bool, default=False
        Keep the constant vector out of Q, as the authors do, by adding the largest
        eigenvalue of Phi times 11^T / n to Phi. Use it with centered data and the
        combinatorial Laplacian, whose lowest eigenvector is constant.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Q, with orthonormal columns.
    components_ : ndarray of shape (n_components, n_features)
        U^T.
    low_rank_ : ndarray of shape (n_samples, n_features)
        Q U^T, computed on access.
    n_components_ : int
    gamma_, beta_ : float
    adjacency_, laplacian_ : csr_array or ndarray of shape (n_samples, n_samples)
    objective_ : float
    n_iter_ : int
        1: closed form.
    n_features_in_, feature_names_in_ : int, ndarray of str
        Number of columns of X, and their names, if it has any.

    References
    ----------
    Jiang, Ding, Luo, Tang, "Graph-Laplacian PCA: Closed-Form Solution and Robustness",
    CVPR 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag import GLPCA
    >>> X = np.repeat([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]], 12, axis=0)
    >>> model = GLPCA(2, beta=0.5).fit(X)
    >>> np.allclose(model.embedding_.T @ model.embedding_, np.eye(2))
    True
    """

    _parameter_constraints = OPTIONS | {
        "beta": [Range(Real, 0, 1, closed="left"), None],
        "gamma": [NUMBER, None],
        "drop_constant": ["boolean"],
    }

    _scales_embedding = False

    n_components: int = 2
    _: KW_ONLY
    beta: float | None = None
    gamma: float | None = None
    graph: Any = "knn"
    laplacian: str = "normalized"
    drop_constant: bool = False

    def _factorize(self, X, scaled, d):
        if self.beta is not None and self.gamma is not None:
            raise ValueError(
                f"give beta or gamma, not both: got beta={self.beta!r} and "
                f"gamma={self.gamma!r}"
            )
        Phi = self._build_graph(X).laplacian
        top = largest_eigenvalue(Phi)
        self._constant = top if self.drop_constant else 0.0
        # Both terms are of degree two in X: gamma has the unit of X squared.
        natural = spectral_norm(scaled) ** 2 / top if top > 0 else 1.0
        natural *= self._degree_correction(scaled)
        if self.gamma is None:
            self.beta_ = 0.5 if self.beta is None else float(self.beta)
            gamma = self.beta_ / (1 - self.beta_) * natural
        else:
            gamma = self._in_units("gamma", scaled)
            self.beta_ = gamma / (gamma + natural) if gamma + natural > 0 else 0.0
        self.gamma_ = gamma * self._unit**self._degree
        Q, U = self._solve(scaled, Phi, gamma, d)
        signs = column_signs(U)
        Q, U = Q * signs, U * signs
        S = Q.T @ (Phi @ Q)
        S += self._constant * len(Q) * np.outer(Q.mean(axis=0), Q.mean(axis=0))
        value = self._loss(scaled - Q @ U.T) + gamma * float(np.trace(S))
        self.objective_ = value * self._unit**self._degree
        self._scaled_gamma, self._scaled_U, self._S = gamma, U, S
        self._set_factors(Q, U * self._unit, X)

    def _degree_correction(self, scaled) -> float:
        return 1.0

    def _solve(self, scaled, Phi, gamma, d):
        self.n_iter_ = 1
        return glpca(scaled, Phi, gamma, d, self._constant)

    def _loss(self, R) -> float:
        return float(np.sum(R**2))

    @property
    def _needs_edges(self) -> bool:
        return self._scaled_gamma > 0

    def _embed(self, X, Q, curvature, pull):
        """Rows q of X X^T Q - gamma Phi Q = Q Lambda, Lambda = U^T U - gamma Q^T Phi Q.

        q (Lambda + gamma c) = x U + gamma pull

        The divisor Lambda + gamma c of a rough column may be near zero or negative. So
        new rows are limited: |q_k| <= max(|x U (U^T U)^-1|_k, max_i |q_ik|).
        """
        U, gamma = self._scaled_U, self._scaled_gamma
        pull = pull - self._constant * Q.mean(axis=0)
        Lambda = np.diag(U.T @ U - gamma * self._S)
        divisor = Lambda + gamma * curvature[:, None]
        safe = np.abs(divisor) > 1e-12 * np.abs(divisor).max(axis=1, keepdims=True)
        xU = X @ U
        found = np.where(safe, (xU + gamma * pull) / np.where(safe, divisor, 1), 0.0)
        limit = np.maximum(np.abs(self._least_squares(xU)), np.abs(Q).max(axis=0))
        return np.clip(found, -limit, limit)

    def _least_squares(self, xU):
        """The embedding q of a row without the graph."""
        # If U is rank deficient, many q fit: take the shortest.
        return xU @ _inverses(self._scaled_U.T @ self._scaled_U)


@dataclass(eq=False, repr=False, kw_only=True)
class RGLPCA(GLPCA):
    """Robust graph-Laplacian PCA: a norm per sample instead of squares.

    minimize ||X - Q U^T||_2,1 + gamma tr(Q^T Phi Q) over Q and U,   Q^T Q = I

    The l2,1 norm adds the Euclidean norms of the rows, so the error of a corrupted
    sample is not squared. The problem is not convex. The solver (ADMM) starts from the
    solution of `GLPCA` and never returns a larger objective. X is not centered.

    Parameters
    ----------
    n_components, graph, laplacian, drop_constant
        As in `GLPCA`.
    beta : float in [0, 1), optional
        Share of the graph, 0.5 unless `gamma` is given. gamma is that of `GLPCA`
        divided by twice the median norm of a row of X: squares of that size weigh as
        much as norms.
    gamma : float, optional
        Weight of the smoothness, in the unit of X, instead of `beta`.
    tol : float, default=1e-4
        Relative primal and dual residual of ADMM at which to stop. There are two
        copies of the low-rank matrix: the primal residual is their distance, and the
        dual residual is the change of one of them in an iteration.
    max_iter : int, default=1000
        Maximum number of iterations.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        Q, with orthonormal columns, rotated so that the columns of U are orthogonal.
    residual_ : float
        The larger of the two relative residuals at the end.
    history_ : dict of ndarray
        ``objective``, ``primal_residual`` and ``dual_residual`` of every iteration.
    n_iter_ : int
    **others**
        As in `GLPCA`.

    References
    ----------
    Jiang et al., CVPR 2013: see `GLPCA`.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag import RGLPCA
    >>> X = np.outer(np.arange(1.0, 21.0), [1.0, 2.0, 2.0])
    >>> X[3] = [100.0, 0.0, 0.0]  # one corrupted sample
    >>> model = RGLPCA(1, gamma=0.0).fit(X)
    >>> (model.components_[0] / np.linalg.norm(model.components_[0])).round(3)
    array([0.333, 0.667, 0.667])
    """

    _degree = 1

    tol: float = 1e-4
    max_iter: int = 1000

    def _degree_correction(self, scaled):
        norms = np.linalg.norm(scaled, axis=1)
        self._norm = float(np.median(norms[norms > 0])) if norms.any() else 1.0
        return 1 / (2 * self._norm)

    def _solve(self, scaled, Phi, gamma, d):
        start = glpca(scaled, Phi, 2 * self._norm * gamma, d, self._constant)
        options: Any = {"tol": float(self.tol), "max_iter": self.max_iter}
        result = rglpca(scaled, Phi, gamma, start, self._constant, **options)
        self.n_iter_ = max(len(result.history), 1)
        columns = (np.array(result.history).reshape(-1, 3) * [self._unit, 1, 1]).T
        names = ("objective", "primal_residual", "dual_residual")
        self.history_ = dict(zip(names, columns, strict=True))
        self.residual_ = max(result.history[-1][1:]) if result.history else 0.0
        if not result.converged:
            self._warn_max_iter(self.residual_, "a relative residual")
        # Q R, U R has the same objective for every rotation R.
        _, _, Rt = linalg.svd(result.U, full_matrices=False, check_finite=False)
        return result.Q @ Rt.T, result.U @ Rt.T

    def _loss(self, R):
        return float(np.linalg.norm(R, axis=1).sum())

    def _embed(self, X, Q, curvature, pull):
        """With w = 1 / ||x - q U^T||, stationarity in U and Q reads for every row

        q (w U^T U + 2 gamma (c I - Q^T Phi Q)) = w x U + 2 gamma pull

        since the multiplier of Q^T Q = I is 2 gamma Q^T Phi Q. Solved by iteratively
        reweighted least squares. The system may be indefinite, so the norm of new rows
        is limited: ||q|| <= max(||x U (U^T U)^-1||, max_i ||q_i||).
        """
        U, gamma = self._scaled_U, self._scaled_gamma
        pull = pull - self._constant * Q.mean(axis=0)
        gram, xU = U.T @ U, X @ U
        q = self._least_squares(xU)
        if gamma == 0:
            return q
        tie = 2 * gamma * (curvature[:, None, None] * np.eye(U.shape[1]) - self._S)
        longest = np.linalg.norm(Q, axis=1).max()
        limit = np.maximum(np.linalg.norm(q, axis=1), longest)
        floor = 1e-9 * np.maximum(np.linalg.norm(X, axis=1), 1e-300)
        active = np.arange(len(X))
        for _ in range(200):
            norms = np.linalg.norm(X[active] - q[active] @ U.T, axis=1)
            r = np.maximum(norms, floor[active])[:, None]
            # Both sides times r = 1 / w: finite also where the residual vanishes.
            systems = gram + r[:, :, None] * tie[active]
            right = (xU[active] + 2 * gamma * r * pull[active])[:, :, None]
            try:
                new = np.linalg.solve(systems, right)[:, :, 0]
            except np.linalg.LinAlgError:  # some are singular: take the shortest
                new = (_inverses(systems) @ right)[:, :, 0]
            norms = np.maximum(np.linalg.norm(new, axis=1), 1e-300)
            new *= np.minimum(1, limit[active] / norms)[:, None]
            change = np.abs(new - q[active]).max(axis=1)
            q[active] = new
            active = active[change > 1e-10 * np.abs(new).max(axis=1)]
            if active.size == 0:
                break
        return q

    def _row_width(self, X, dense):
        return max(super()._row_width(X, dense), self.n_components_**2)


def _inverses(systems: np.ndarray) -> np.ndarray:
    """Pseudoinverses of symmetric matrices."""
    return np.linalg.pinv(systems, rcond=1e-14, hermitian=True)
