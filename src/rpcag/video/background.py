"""A model of the background of a fixed camera."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from rpcag.linalg.threads import in_shares, one_blas_thread_each
from rpcag.models import RPCA, RPCAG
from rpcag.solvers import Progress
from rpcag.video.graph import FrameGraph, pixel_noise, sample_columns
from rpcag.video.masks import MaskRule, fit_mask_rule
from rpcag.video.motion import least_still, moving
from rpcag.video.pixels import scaled
from rpcag.video.regression import regress

MODELS = ("rpcag", "rpca")
BATCH = 2**22  # values of frames that are processed together, to limit memory
# Values of a frame in the fit: SAMPLE times the number of frames, but at least LEAST.
# The others are regressed on the fitted time course. More values take longer; with
# fewer, the weight of noise grows: in units of all p values, lam is
# 1 / (1 + sqrt(1 / SAMPLE)) / sqrt(p). If a lamp lights a hundredth of the picture,
# LEAST includes forty of its values.
SAMPLE, LEAST = 8, 4000
# Maximum distance of the background of a frame from the mean of its neighbors'
# backgrounds, in deviations of the noise.
REACH = 4.0


class BackgroundModel:
    """Robust PCA of the frames of a video, on a graph between them.

    Parameters
    ----------
    model : {"rpcag", "rpca"}, default="rpcag"
        `rpcag.RPCAG`, or `rpcag.RPCA`, which has no graph.
    gamma : float or "auto", default="auto"
        Weight of the smoothness between frames, for values between 0 and 1. "auto"
        depends on the noise of the video.
    lam : float or "auto", default="auto"
        Weight of the sparse part. "auto" is 1 / (sqrt(n) + sqrt(p)), at which noise
        alone gives no background.
    skip_motion : bool, default=True
        Whether to mask moving entries out of the fit.
    tol : float, default=1e-3
        Certified relative duality gap at which to stop.
    max_iter : int, default=1000
        Maximum number of iterations.
    callback : callable, optional
        Called after every iteration with a `rpcag.solvers.Progress`; a true value
        stops the fit.

    Attributes
    ----------
    estimator_ : RPCAG or RPCA
        The model, fitted to the values `columns_` of every frame; `gap_` is of these.
    columns_ : ndarray of int
        Indices of the values that were fitted, the same in every frame: 8 times as many
        as frames, but at least 4000.
    components_ : ndarray of shape (rank, height * width) or (..., * 3)
        Backgrounds are ``estimator_.embedding_ @ components_``. Those of pixels outside
        the sample are found by robust regression (`rpcag.video.regression`).
    rank_ : int
        Rank of the background, without components below the rounding to gray levels.
    regression_gap_ : float
        Relative duality gap of that regression, about `tol`.
    rule_ : MaskRule
        Computes masks from frames and backgrounds.
    noise_ : float
        Median standard deviation of the noise of a pixel, for values from 0 to 1.
    moving_ : float
        Share of the entries that were masked out.
    """

    def __init__(
        self,
        model: str = "rpcag",
        *,
        gamma: float | str = "auto",
        lam: float | str = "auto",
        skip_motion: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
        callback: Callable[[Progress], bool | None] | None = None,
    ) -> None:
        if model not in MODELS:
            raise ValueError(f"model must be rpcag or rpca, got {model!r}")
        for name, weight in (("gamma", gamma), ("lam", lam)):
            if isinstance(weight, str) and weight != "auto":
                raise ValueError(f"{name} must be a number or 'auto', got {weight!r}")
        if model == "rpca" and gamma != "auto":
            raise ValueError(
                "gamma is the weight of a graph, which rpca does not have, got "
                f"{gamma}; use the model rpcag"
            )
        if not 0 < tol < 1:
            raise ValueError(f"tol must lie between 0 and 1, got {tol}")
        self.model, self.gamma, self.lam = model, gamma, lam
        self.skip_motion = skip_motion
        self.tol, self.max_iter, self.callback = tol, max_iter, callback

    _part_of: str | None = None  # as of `rpcag.models.decomposition.DecompositionModel`

    def fit(self, frames: np.ndarray) -> "BackgroundModel":
        """Find the background of frames of shape (n, height, width) or (..., 3)."""
        n = len(frames)
        if n < 2:
            raise ValueError(
                "a background is estimated from several frames: at least 2 are needed, "
                f"got {n}"
            )
        self.shape_ = frames.shape[1:]
        X = self._rows(frames)
        self._graph = FrameGraph(self.shape_).fit(X)
        self.noise_ = self._graph.noise_
        size = fitted_values(n, X.shape[1])
        # One of the columns of each of `size` equally long stretches.
        edges = np.arange(size + 1) * X.shape[1] // size
        self.columns_ = np.random.default_rng(0).integers(edges[:-1], edges[1:])
        self.moving_, still = 0.0, None
        if self.skip_motion:
            found = moving(frames, self.noise_, least_still(n, size))
            self.moving_, still = float(found.mean()), ~found.reshape(n, -1)
        values, seen = self._block(X, still, self.columns_)
        if seen is not None:
            values[seen == 0] = np.nan
        self.estimator_ = self._estimator(n, size).fit(values)
        self.estimator_.sparse_ = None  # X = L + S, so it can be recomputed
        self.components_, self.regression_gap_ = self.estimator_.components_, 0.0
        self.rank_ = self.estimator_.rank_
        if size < X.shape[1]:
            # Components below the rounding of values to gray levels are invisible.
            self.components_, self.rank_, self.regression_gap_ = regress(
                self.estimator_,
                lambda columns: self._block(X, still, columns),
                X.shape[1],
                noise=self.noise_,
                tol=self.tol,
                least=self._graph.step_ / math.sqrt(12),
            )
        self.rule_ = self._rule(frames)
        return self

    def background(self, frames: np.ndarray) -> np.ndarray:
        """Return the background of any frames, with values between 0 and 1."""
        if not hasattr(self, "estimator_"):
            raise NotFittedError("this BackgroundModel is not fitted: call fit first")
        X = self._rows(frames)
        ties = {"adjacency": self._graph.connect(X)} if self.model == "rpcag" else {}
        Z = self.estimator_.transform(scaled(X[:, self.columns_]), **ties)
        return (Z @ self.components_).reshape(frames.shape)

    def fitted_background(self, frames: Any) -> np.ndarray:
        """Return the background of the frames of `fit` with these numbers."""
        L = self.estimator_.embedding_[frames] @ self.components_
        return L.reshape(-1, *self.shape_)

    def mask(self, frames: np.ndarray, background: np.ndarray) -> np.ndarray:
        """Return a mask that is True where something moves."""
        mask = np.empty(frames.shape[:3], bool)

        def share(numbers: Sequence[int]) -> None:
            for one in (slice(i, i + 1) for i in numbers):
                mask[one] = self.rule_(scaled(frames[one]), background[one])

        with one_blas_thread_each():
            # Work: about as many multiplications as blurring takes.
            in_shares(share, range(len(frames)), 1000.0 * mask.size)
        return mask

    def _block(
        self, X: np.ndarray, still: np.ndarray | None, columns: Any
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return columns of X, and ones where they count, or None if all do."""
        values = scaled(X[:, columns])
        if still is None:
            return values, None
        channels = math.prod(self.shape_[2:])
        seen = still[:, np.arange(X.shape[1])[columns] // channels]
        return values, None if seen.all() else seen.astype(np.float32)

    def _estimator(self, n: int, size: int) -> RPCA | RPCAG:
        # With q of the p columns, sums over entries are q / p of all, and the nuclear
        # norm is about the root of that.
        share = math.sqrt(math.prod(self.shape_) / size)
        lam, gamma = self.lam, self.gamma
        lam = weight_of_noise(n, size) if isinstance(lam, str) else lam * share
        if isinstance(gamma, str):
            gamma = automatic_gamma(lam, REACH * self.noise_)
        else:
            gamma *= share
        model: Any = RPCA()
        if self.model == "rpcag":
            W = self._graph.adjacency_
            model = RPCAG(gamma=gamma, graph=W, laplacian="combinatorial")
        model.set_params(
            lam=lam, tol=self.tol, max_iter=self.max_iter, callback=self.callback
        )
        model._part_of = self._part_of
        return model

    def _rule(self, frames: np.ndarray) -> MaskRule:
        """Estimate the mask rule from at most a few hundred frames."""
        some = np.arange(0, len(frames), max(1, len(frames) // 256))
        size = batch_length(self.shape_)
        parts = (some[i : i + size] for i in range(0, len(some), size))
        residuals = (scaled(frames[t]) - self.fitted_background(t) for t in parts)
        return fit_mask_rule(residuals, self._graph.step_)

    def _rows(self, frames: np.ndarray) -> np.ndarray:
        if frames.shape[1:] != self.shape_:
            raise ValueError(
                f"frames must be of shape {self.shape_}, as in fit, got "
                f"{frames.shape[1:]}"
            )
        return frames.reshape(len(frames), math.prod(self.shape_))


def weight_of_noise(n: int, p: int) -> float:
    """Return the lam at which noise alone gives no background.

    Noise is in every entry, so the multiplier is lam times a matrix of signs. As long
    as its spectral norm, about lam (sqrt(n) + sqrt(p)), is below one, L = 0 is optimal.
    With the paper's lam, 1 / sqrt(max(n, p)), noise enters L, in hundreds of small
    singular values.
    """
    return 1 / (math.sqrt(n) + math.sqrt(p))


def automatic_gamma(weight: float, reach: float) -> float:
    """Return the gamma that bounds the distance of a background from its neighbors.

    Where S is not zero, the optimality condition is weight sign(S) = 2 gamma Phi L + N,
    with N a subgradient of the nuclear norm, whose entries are small. With degrees of
    about one, a row of Phi L is a frame's background minus the mean of its neighbors.
    So this difference is at most weight / (2 gamma).
    """
    return weight / (2 * reach)


def fitted_values(n: int, p: int) -> int:
    """Return how many of the p values of n frames are in the fit."""
    return min(p, max(SAMPLE * n, LEAST))


def batch_length(shape: tuple[int, ...]) -> int:
    """Return how many frames of this shape to work on together."""
    return max(1, min(32, BATCH // math.prod(shape)))


def noise_level(frames: np.ndarray) -> float:
    """Median standard deviation of the noise of a pixel, for values from 0 to 1."""
    some = sample_columns(frames.shape[1:])
    rows = scaled(frames.reshape(len(frames), -1)[:, some])
    return float(np.median(pixel_noise(rows)))
