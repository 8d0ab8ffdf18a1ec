"""The loss for the options `loss`, `noise`, `lam` and `sample_weight`."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.typical import observed_share
from rpcag.losses import L1, Both, Huber, Loss, Rows
from rpcag.models.checks import check_observed
from rpcag.models.noise import ROW_LIMIT, Noise, estimate_noise, noise_weights
from rpcag.models.rules import theory_lam
from rpcag.solvers.problem import Problem

KINDS = ("entries", "rows", "both")
# If at least this share of the cells of a sample have errors of equal size, the loss
# is smaller if the whole sample counts as an error.
QUARTER = 0.25
# The weight of a sample must exceed the norms of the rows of U V^T, the square roots of
# the leverages. Their mean square is rank / n: at three, a rank of nine is safe.
LEVERAGE = 3.0
# Both weights over those of either loss alone: the dual point of a clean entry has to
# be inside box and ball.
TOGETHER = 1.5
# Above one no sample would be an error: the nuclear norm of a row is its length.
MOST = 0.9


@dataclass(frozen=True)
class DataLoss:
    """A loss with its weights, from the options of a model."""

    kind: str = "entries"
    lam: float = 1.0  # of a cell, or of a sample if `kind` is "rows"
    lam_rows: float = 0.0  # of a sample, if `kind` is "both"
    sigma: float = 0.0  # standard deviation of the noise
    mu: float = 0.0  # the noise costs ||N||^2 / (2 mu)
    weight: np.ndarray | None = None  # of every sample; 0 makes it missing

    @property
    def is_plain(self) -> bool:
        """Whether this is the l1 norm."""
        return self.kind == "entries" and self.mu == 0 and self.weight is None

    def build(self) -> Loss:
        w: Any = 1.0
        if self.weight is not None:
            w = np.where(self.weight > 0, self.weight, 1.0)[:, None]
        if self.kind == "both":
            ball: Any = Both(self.lam * w, self.lam_rows * w)
        else:
            ball = (Rows if self.kind == "rows" else L1)(self.lam * w)
        return ball if self.mu == 0 else Huber(ball, self.mu / w)

    def multiplier(self, n_features: int) -> float:
        """Typical size of an entry of the dual point."""
        of_row = {"rows": self.lam, "both": self.lam_rows}.get(self.kind, math.inf)
        of_cell = math.inf if self.kind == "rows" else self.lam
        return min(of_cell, of_row / math.sqrt(n_features))

    def problem(
        self,
        X: np.ndarray,
        gamma: float = 0.0,
        graph: ShiftedLaplacian | None = None,
        gamma_features: float = 0.0,
        features: ShiftedLaplacian | None = None,
    ) -> Problem:
        """The nuclear norm plus this loss, and smoothness on the graphs given."""
        if self.weight is not None and not self.weight.all():
            X = np.where(self.weight[:, None] > 0, X, X.dtype.type(np.nan))
            check_observed(X)
        loss = None if self.is_plain else self.build()
        typical = self.multiplier(X.shape[1])
        return Problem(X, typical, gamma, graph, loss, features, gamma_features)

    def sparse_part(self, R: np.ndarray) -> np.ndarray:
        """S of X - L = S + N; N = mu D for the dual point D at which l(R) is taken."""
        if self.weight is not None and not self.weight.all():
            R[self.weight == 0] = 0  # they are missing, and have no S
        if self.mu == 0:
            return R
        loss: Any = self.build()
        S = R - loss.mu * loss.ball.project(R / loss.mu, 1.0)
        S[np.abs(S) <= 8 * np.finfo(R.dtype).eps * np.abs(R)] = 0  # rounding of N
        return S.astype(R.dtype, copy=False)


def resolve_loss(model, X: np.ndarray) -> DataLoss | None:
    """The loss for the options of a model; None for the l1 norm."""
    noise = estimate_noise(X) if model.noise == "auto" else None
    return loss_of(model, X.shape, observed_share(X), noise)


def loss_of(
    model, shape: tuple[int, int], observed: float, noise: Noise | None = None
) -> DataLoss | None:
    """`resolve_loss` for data with this shape and share of observed entries."""
    sigma, excess = noise or Noise(float(model.noise or 0))
    if model.loss == "entries" and sigma == 0:
        return None
    n, p = shape
    cells, mu = theory_lam(shape, observed), 0.0
    # k cells of size a cost lam k a, or lam_rows sqrt(k) a as a sample: less from
    # k = (lam_rows / lam)^2 on, which is a QUARTER of all cells.
    rows = max(cells * math.sqrt(QUARTER * observed * p), LEVERAGE / math.sqrt(n))
    rows = min(rows, MOST)
    if sigma > 0:
        cells, mu = noise_weights(shape, observed, sigma, excess)
        # Rows of pure noise are shorter than mu times the weight of a sample.
        noisy = ROW_LIMIT * sigma * math.sqrt(observed * p) / mu
        rows = min(max(rows, noisy), MOST)
    is_free = isinstance(model.lam, str)
    if model.loss == "both" and is_free and sigma == 0:
        cells, rows = TOGETHER * cells, min(TOGETHER * rows, MOST)
    by_rule = rows if model.loss == "rows" else cells
    lam = by_rule if is_free else float(model.lam)
    lam_rows = rows * lam / cells if model.loss == "both" else 0.0
    return DataLoss(model.loss, lam, lam_rows, sigma, mu)


def check_sample_weight(weight: Any, X: Any) -> np.ndarray | None:
    """Weights of the samples as numbers; None if there are none."""
    if weight is None:
        return None
    return _check_sample_weight(weight, X, dtype=np.float64, ensure_non_negative=True)
