"""Bound how far any L, from any software, is from the optimum."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions, validate_params
from sklearn.utils.validation import check_array

from rpcag.graphs.check import check_graph
from rpcag.graphs.inputs import as_numbers, check_rows
from rpcag.graphs.laplacian import laplacian as laplacian_of
from rpcag.graphs.options import NUMBER, POSITIVE
from rpcag.linalg.gram import factorize, spectral_norm
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.threads import one_blas_thread_each
from rpcag.losses import DataTerm, Loss, nearest
from rpcag.models.checks import OPTIONS, check_observed
from rpcag.models.data_loss import KINDS, DataLoss
from rpcag.penalties import GraphSmoothness
from rpcag.solvers import DualPoint
from rpcag.solvers.certificates import dual_scale, dual_value


@dataclass(frozen=True)
class Certificate:
    """A bound on how far L is from the optimum, with everything that proves it.

    Attributes
    ----------
    objective : float
        Objective at `L`.
    lower_bound : float
        No matrix has a smaller objective.
    gap : float
        (objective - lower_bound) / objective.
    dual : DualPoint
        D and W, from which the bound follows.
    X, L : ndarray
    loss : rpcag.losses.Loss
    gamma : float
    Phi : ndarray, sparse array or None
        Laplacian of the graph.
    """

    objective: float
    lower_bound: float
    gap: float
    dual: DualPoint
    X: np.ndarray
    L: np.ndarray
    loss: Loss
    gamma: float
    Phi: Any

    def check(self) -> float:
        """Recompute the gap with plain NumPy from `X`, `L` and `dual`.

        It uses no part of the solvers. docs/certificate.md derives every line.
        """
        seen = ~np.isnan(self.X)
        X, R = np.where(seen, self.X, 0), np.where(seen, self.X - self.L, 0)
        D = nearest(self.loss, np.where(seen, self.dual.D, 0.0))
        Y, smooth, rough = D, 0.0, 0.0
        if self.gamma > 0:
            W = self.dual.W
            Y = D - 2 * self.gamma * (self.Phi @ W)
            smooth = self.gamma * np.sum(W * (self.Phi @ W))
            rough = self.gamma * np.sum(self.L * (self.Phi @ self.L))
        s = 1 / max(1.0, float(np.linalg.norm(Y, 2)))
        bound = s * np.sum(D * X) - s**2 * (self.loss.conjugate(D).sum() + smooth)
        objective = np.linalg.norm(self.L, "nuc") + self.loss.value(R).sum() + rough
        return float((objective - bound) / objective) if objective else 0.0


@validate_params(
    OPTIONS
    | {"lam": [POSITIVE], "loss": [StrOptions(set(KINDS))], "dual": [DualPoint, None]}
    | {"lam_rows": [NUMBER], "mu": [NUMBER]},
    prefer_skip_nested_validation=True,
)
def certify(
    X,
    L,
    *,
    lam,
    gamma=0.0,
    graph=None,
    laplacian="normalized",
    loss="entries",
    lam_rows=0.0,
    mu=0.0,
    dual=None,
    tol=1e-3,
    max_iter=1000,
) -> Certificate:
    """Prove how far L is from the optimum of Robust PCA (on graphs).

    The problem is that of `RPCA` and `RPCAG`:

        minimize  ||L||_* + lam ||M * (X - L)||_1 + gamma tr(L.T @ Phi @ L)

    L may come from any software. The solver of `RPCA` runs until its lower bound of the
    optimum is near the objective at L.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        NaN marks a missing entry.
    L : array-like of shape (n_samples, n_features)
        The matrix to certify.
    lam : float
        Weight of the sparse part.
    gamma : float, default=0
        Weight of the smoothness.
    graph : array, sparse array or graph, optional
        Symmetric adjacency between samples; needed if gamma is not 0.
    laplacian : {"normalized", "combinatorial"}, default="normalized"
        I - D^-1/2 A D^-1/2, or D - A, of the adjacency A with degrees D.
    loss : {"entries", "rows", "both"}, default="entries"
        As in `RPCA`. For "both", `lam_rows` is the weight of a sample.
    lam_rows : float, default=0
    mu : float, default=0
        With noise, X = L + S + N and ||N||_F^2 / (2 mu) is in the objective.
    dual : DualPoint, optional
        A dual point that is already known, such as `dual_` of a fitted model. It is
        used as it is if it proves `tol`.
    tol : float, default=1e-3
        Gap that suffices. Smaller values may take longer.
    max_iter : int, default=1000
        Maximum number of iterations. If the gap stays large, either L is not near the
        optimum, or more iterations are needed to prove that it is.

    Returns
    -------
    Certificate

    Examples
    --------
    >>> import numpy as np
    >>> import rpcag
    >>> X = np.outer(np.ones(20), np.arange(1.0, 11.0))
    >>> L = X.copy()
    >>> X[3, 4] = 50.0
    >>> rpcag.certify(X, L, lam=0.3).gap <= 1e-3
    True
    """
    X = check_rows(X)
    check_observed(X)
    L = check_array(as_numbers(L, "L"), dtype=np.float64, input_name="L")
    parts = zip(("L", "dual.D", "dual.W"), (L, *(dual or ())), strict=False)
    for name, A in parts:
        if A is not None and np.shape(A) != X.shape:
            raise ValueError(
                f"{name} must have the shape of X, {X.shape}, got {np.shape(A)}"
            )
    if loss == "both" and lam_rows == 0:
        raise ValueError("loss='both' needs lam_rows, the weight of a sample, got 0")
    if gamma > 0 and (graph is None or isinstance(graph, str)):
        raise ValueError(
            f"gamma={gamma:.3g} needs the edge weights of the graph, got {graph!r}; "
            "pass a matrix, such as adjacency_ of a fitted model"
        )
    Phi = laplacian_of(check_graph(graph, len(X)), laplacian) if gamma > 0 else None
    stated = DataLoss(loss, float(lam), float(lam_rows), 0.0, float(mu))
    shifted = None if Phi is None else ShiftedLaplacian(Phi)
    data = DataTerm(X, stated.build())
    smooth = None if shifted is None else GraphSmoothness(shifted, float(gamma))
    with one_blas_thread_each():
        objective = float(factorize(L, None)[1].sum()) + data.value(L)
        objective += 0.0 if smooth is None else smooth.value(L)
        goal = (1 - tol) * objective
        proofs = [(0.0, DualPoint(0 * L, None if Phi is None else 0 * L))]
        if dual is not None:
            proofs.append(_lower_bound(data, smooth, dual, tol))
        if proofs[-1][0] < goal:
            result = stated.problem(X, float(gamma), shifted).solve(
                tol=tol / 3,
                max_iter=max_iter,
                callback=lambda progress: progress.lower_bound >= goal,
            )
            proofs.append(_lower_bound(data, smooth, result.dual, tol))
    found, best = max(proofs, key=lambda proof: proof[0])
    bound = min(found, objective)
    gap = (objective - bound) / objective if objective else 0.0
    return Certificate(objective, bound, gap, best, X, L, data.loss, float(gamma), Phi)


def _lower_bound(
    data: DataTerm, smooth: GraphSmoothness | None, dual: Any, tol: float
) -> tuple[float, DualPoint]:
    """A lower bound of the optimum, rounded down, and the point made feasible."""
    total = np.zeros(data.X.shape)
    Y = -np.asarray(dual.D, dtype=np.float64)
    linear, quadratic, error = data.add_dual(Y, total)
    D, W = -total, None
    if smooth is not None:
        if dual.W is None:
            raise ValueError("dual has no W, which is needed if gamma is not 0")
        W = np.asarray(dual.W, dtype=np.float64)
        _, more, off = smooth.add_dual(W, total)
        quadratic, error = quadratic + more, error + off
    norm = spectral_norm(total, tol / 50) + error
    scale = dual_scale(linear, quadratic, norm)
    feasible = DualPoint(scale * D, None if W is None else scale * W)
    return dual_value(linear, quadratic, norm), feasible
