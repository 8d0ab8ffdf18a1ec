"""Regularized principal components, which have less bias than RPCAG on clean data."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from rpcag.linalg.blocks import row_blocks
from rpcag.tables.prediction_error import truncated_squares

# Iterations end when values in gaps move by less than this share of their size.
SETTLED, MOST = 1e-3, 50
# Candidates for the rank. Components that are noise are shrunk to zero, so that a rank
# that is too large does little harm.
RANKS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
# Rows from which the rank is chosen.
ROWS = 5000
# Share by which the squared error at hidden cells has to be smaller than RPCAG's, and
# ratio to it from which a first fold rules the components out.
GAIN, HOPELESS = 0.02, 1.1


@dataclass(frozen=True, eq=False)
class PrincipalComponents:
    """Z = mean + A V^T + noise, with A of variances `signal`, by regularized PCA.

    The nuclear norm lowers all singular values by the same amount, so its L is too
    small if the data are low rank plus noise. Here (Josse and Husson, 2012) gaps are
    filled with L, and L is the part of the filled table in the first eigenvectors of
    its covariance, times 1 - noise / eigenvalue: the best linear predictor of the
    signal. Both steps are repeated. Gross errors must be marked as missing.
    """

    mean: np.ndarray
    V: np.ndarray
    signal: np.ndarray
    noise: float

    @classmethod
    def fit(
        cls, Z: np.ndarray, rank: int, start: np.ndarray
    ) -> tuple["PrincipalComponents", np.ndarray]:
        """The components, and L; `start` are the first values in gaps."""
        n, p = Z.shape
        missing = np.isnan(Z)
        filled = np.where(missing, start, Z).astype(Z.dtype, copy=False)
        for _ in range(MOST):
            mean = filled.mean(axis=0, dtype=np.float64)
            w, V, total = _leading(filled, mean, rank)
            rest = max(total - float(w.sum()), 0.0)
            noise = rest / max((n - 1 - rank) * (p - rank), 1)
            signal = np.maximum(w / max(n, p) - noise, 0.0)
            shrunk = signal / np.maximum(signal + noise, np.finfo(float).tiny)
            moved = size = 0.0
            for rows in row_blocks(Z.shape):
                gaps, part = missing[rows], filled[rows]
                L = mean + ((part - mean) @ V * shrunk) @ V.T
                size += float(np.sum(part[gaps] ** 2, dtype=np.float64))
                moved += float(np.sum((L - part)[gaps] ** 2, dtype=np.float64))
                part[gaps] = L[gaps]
            if moved <= SETTLED**2 * size:
                break
        for rows in row_blocks(Z.shape):
            filled[rows] = mean + ((filled[rows] - mean) @ V * shrunk) @ V.T
        kept = signal > 0
        return cls(mean, V[:, kept], signal[kept], noise), filled

    def predict(self, Z: np.ndarray) -> np.ndarray:
        """L of new rows: mean + V a, from their observed cells o.

        a minimizes ||Z_o - mean_o - V_o a||^2 / noise + sum_k a_k^2 / signal_k. For
        complete rows this is the shrinkage of `fit`.
        """
        found = np.empty(Z.shape)
        least = np.finfo(float).eps * np.max(self.signal, initial=1.0)
        ridge = np.diag(max(self.noise, least) / self.signal)
        for rows in row_blocks((len(Z), self.V.size + 1)):
            D = Z[rows] - self.mean
            seen = ~np.isnan(D)
            D = np.where(seen, D, 0.0)
            products = np.einsum("ij,jk,jl->ikl", seen, self.V, self.V, optimize=True)
            a = np.linalg.solve(products + ridge, (D @ self.V)[:, :, None])[:, :, 0]
            found[rows] = self.mean + a @ self.V.T
        return found.astype(Z.dtype)


def predict_folds(
    Z: np.ndarray, folds: np.ndarray, predicted: np.ndarray, limit: np.ndarray
) -> tuple[int, np.ndarray]:
    """The rank and predictions of all folds, or 0 and those given if they are better.

    Errors are truncated at `limit`. Cells without a fold (-1) keep their prediction.
    """
    known = ~np.isnan(Z) & (folds >= 0)
    start = np.where(np.isnan(predicted), 0.0, predicted).astype(Z.dtype, copy=False)

    def squares(values: np.ndarray, cells: np.ndarray) -> float:
        return float(truncated_squares(Z, values, limit, cells).sum())

    rank, found = _best_rank(Z, folds, start, limit), predicted.copy()
    for fold in range(int(folds.max()) + 1):
        hidden = known & (folds == fold)
        seen = np.where(hidden, np.nan, Z)
        found[hidden] = PrincipalComponents.fit(seen, rank, start)[1][hidden]
        hopeless = HOPELESS * squares(predicted, hidden)
        if fold == 0 and squares(found, hidden) > hopeless:
            return 0, predicted
    if squares(found, known) > (1 - GAIN) * squares(predicted, known):
        return 0, predicted
    return rank, found


def _best_rank(Z, folds, start, limit) -> int:
    """The rank that predicts the first fold of some rows best."""
    step = max(1, len(Z) // ROWS)
    Z, folds, start = Z[::step], folds[::step], start[::step]
    hidden = ~np.isnan(Z) & (folds == 0)
    seen = np.where(hidden, np.nan, Z)
    errors: list[float] = []
    for rank in RANKS:
        if rank >= min(Z.shape) - 1 and errors:
            break
        L = PrincipalComponents.fit(seen, rank, start)[1]
        errors.append(float(truncated_squares(Z, L, limit, hidden).sum()))
        if len(errors) - int(np.argmin(errors)) > 3:
            break  # three larger ranks were worse
    return RANKS[int(np.argmin(errors))]


def _leading(
    X: np.ndarray, mean: np.ndarray, rank: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Largest eigenvalues of D^T D, D = X - mean, their eigenvectors, and ||D||^2."""
    n, p = X.shape
    side, is_tall = min(n, p), p <= n
    rank = min(rank, side)
    if is_tall:
        gram = np.zeros((p, p))
        for rows in row_blocks(X.shape):
            D = X[rows] - mean
            gram += D.T @ D
    else:
        D = X - mean
        gram = D @ D.T
    w, V = linalg.eigh(gram, subset_by_index=[side - rank, side - 1])
    w, V = np.maximum(w[::-1], 0.0), V[:, ::-1]
    if not is_tall:
        V = D.T @ V / np.sqrt(np.maximum(w, np.finfo(float).tiny))
    return w, V, float(np.trace(gram))
