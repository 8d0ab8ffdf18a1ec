"""The imputers that benchmarks/weights.py compares; each fills in the NaN of X."""

from collections.abc import Iterator

import numpy as np
from scipy import linalg
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from rpcag import RPCA, RPCAG
from rpcag.graphs.laplacian import laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.typical import observed_share, typical_size
from rpcag.models import RobustGraph
from rpcag.models.rules import clustering_gamma, theory_lam
from rpcag.solvers.problem import Problem
from rpcag.tables import RobustImputer

# The grid: lam relative to the theory's, gamma relative to that for clustering.
LAMS = (1.0, 2**0.5, 2.0, 8**0.5, 4.0, 8.0)
GAMMAS = (0.0, 1 / 64, 1 / 16, 1 / 4, 1.0, 4.0, 16.0)
# Certified gap of a cell. With 3e-4 the best error changes by up to 0.4 % and that of
# any one cell by up to 1 % (ten cases).
GAP, MAX_ITER = 3e-3, 1000
# Columns up to which IterativeImputer uses all of them to predict one. With 1000 of
# them that is 10 000 regressions of 0.08 s each. Wider data use NEAREST columns, drawn
# with probabilities that grow with the correlation: not quite its default.
WIDE, NEAREST = 200, 100
# SoftImpute: share of the observed entries that choose the threshold, ratio of
# successive thresholds, and how many may be worse than the best before it stops.
HELD_OUT, RATIO, PATIENCE = 0.1, 0.8, 3


def low_rank(model):
    """The low-rank part of a model of rpcag; columns in other units are rescaled."""

    def fill(X: np.ndarray, unit: str) -> np.ndarray:
        found = clone(model)
        if unit == "raw":
            if "scale" not in model.get_params():
                raise NotImplementedError(f"{type(model).__name__} has no scale option")
            found.set_params(scale="robust")
        return found.fit(X).low_rank_

    return fill


def of_sklearn(imputer):
    return lambda X, unit: imputer.fit_transform(X)


def iterative(X: np.ndarray, unit: str) -> np.ndarray:
    nearest = NEAREST if X.shape[1] > WIDE else None
    imputer = IterativeImputer(n_nearest_features=nearest, random_state=0)
    return imputer.fit_transform(X)


def forest(**options):
    """As R's missForest, with 30 trees instead of 100 and at most 5 rounds, not 10."""
    trees = RandomForestRegressor(
        n_estimators=30, max_features="sqrt", random_state=0, **options
    )
    return of_sklearn(IterativeImputer(trees, max_iter=5, random_state=0))


def of_qolmat(name: str):
    """An imputer of qolmat with its defaults; it standardizes the columns itself."""

    def fill(X: np.ndarray, unit: str) -> np.ndarray:
        import pandas as pd
        from qolmat.imputations import imputers

        imputer = getattr(imputers, name)(random_state=0)
        return imputer.fit_transform(pd.DataFrame(X)).to_numpy()

    return fill


def soft_impute(X: np.ndarray, unit: str) -> np.ndarray:
    """SoftImpute; the threshold is the one that predicts held-out entries best."""
    mean = np.nanmean(X, axis=0)
    X = X - mean
    observed = ~np.isnan(X)
    held_out = observed & (np.random.default_rng(3).random(X.shape) < HELD_OUT)
    seen = observed & ~held_out
    threshold = largest = linalg.svdvals(np.where(seen, X, 0.0))[0]
    L, errors = np.zeros_like(X), [np.mean(X[held_out] ** 2)]
    while np.argmin(errors) >= len(errors) - PATIENCE and threshold > 1e-3 * largest:
        threshold *= RATIO
        L = _complete(X, seen, L, threshold)
        errors.append(np.mean((L - X)[held_out] ** 2))
    L = np.zeros_like(X)
    for step in range(1, int(np.argmin(errors)) + 1):
        L = _complete(X, observed, L, largest * RATIO**step)
    return L + mean


def _complete(X, seen, L, threshold: float) -> np.ndarray:
    """Minimize 1/2 ||X - L||^2 over the seen entries + threshold ||L||_*, from L."""
    for _ in range(200):
        filled = np.where(seen, X, L)
        # Soft thresholding of the singular values, by the smaller Gram matrix.
        tall = filled if X.shape[0] >= X.shape[1] else filled.T
        squares, V = linalg.eigh(tall.T @ tall)
        s = np.sqrt(np.maximum(squares, 0))
        kept = s > threshold
        V = V[:, kept]
        new = (tall @ V * (1 - threshold / s[kept])) @ V.T
        new = new if X.shape[0] >= X.shape[1] else new.T
        change = np.linalg.norm(new - L)
        L = new
        if change <= 1e-4 * np.linalg.norm(L):
            break
    return L


def grid(X: np.ndarray) -> Iterator[np.ndarray]:
    """L of Robust PCA on the robust graph for every lam and gamma, in this order."""
    share = observed_share(X)
    lam = theory_lam(X.shape, share)
    gamma = clustering_gamma(X.shape, typical_size(X), share)
    theory = Problem(X, lam).solve(tol=GAP, max_iter=MAX_ITER)
    adjacency = RobustGraph()._of_low_rank(X, theory.x)
    shifted = ShiftedLaplacian(laplacian(adjacency, "normalized"))
    for c in LAMS:
        start = None
        for g in GAMMAS:
            cell = Problem(X, c * lam, g * gamma, shifted)
            result = cell.solve(tol=GAP, max_iter=MAX_ITER, start=start)
            start = result.state
            yield result.x


# Name -> function of the data and their unit.
METHODS = {
    "median": of_sklearn(SimpleImputer(strategy="median")),
    "KNN": of_sklearn(KNNImputer(n_neighbors=10)),
    "Iterative": iterative,
    "SoftImpute": soft_impute,
    "RPCA theory": low_rank(RPCA(lam="theory")),
    "RPCAG theory": low_rank(RPCAG(lam="theory", gamma="clustering")),
    # R's forests split nodes of more than five entries.
    "missForest": forest(min_samples_split=6),
    "missForest leaf 5": forest(min_samples_leaf=5),
    "qolmat PCP": of_qolmat("ImputerRpcaPcp"),
    "qolmat noisy": of_qolmat("ImputerRpcaNoisy"),
    "RPCA": low_rank(RPCA()),
    "RPCAG": low_rank(RPCAG()),
    "RobustImputer": of_sklearn(RobustImputer()),
}
# Not run on the sets: they would take hours there.
ONLY_TABLES = ("missForest", "missForest leaf 5", "qolmat noisy")
