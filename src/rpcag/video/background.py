"""A model of the background of a fixed camera."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from rpcag.linalg.threads import in_shares, one_blas_thread_each
from rpcag.models import FRPCAG, RPCA, RPCAG
from rpcag.models.feature_graph import pixel_graph
from rpcag.models.rules import theory_lam
from rpcag.solvers import Progress
from rpcag.video.graph import FrameGraph, pixel_noise, sample_columns
from rpcag.video.masks import MaskEstimate, MaskRule
from rpcag.video.motion import least_still, moving
from rpcag.video.pixels import scaled
from rpcag.video.regression import time_course

MODELS = ("rpcag", "rpca", "frpcag")
BATCH = 2**22  # values of frames that are processed together, to limit memory
# Values of a frame in the fit: SAMPLE times the number of frames, but at least LEAST.
# The others are regressed on the fitted time course. More values take longer; with
# fewer, the weight of noise grows: in units of all p values, lam is
# 1 / (1 + sqrt(1 / SAMPLE)) / sqrt(p). If a lamp lights a hundredth of the picture,
# LEAST includes forty of its values.
SAMPLE, LEAST = 8, 4000
# Maximum distance of the background of a frame from the mean of its neighbors'
# backgrounds, in deviations of the noise. Without a nuclear norm it must be within the
# noise; otherwise the background would follow the noise.
REACH = {"rpcag": 4.0, "frpcag": 0.25}


def check_model(name: str) -> str:
    if name not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, got {name!r}")
    return name


def weight_of_noise(shape: tuple[int, int]) -> float:
    """Return the lam at which noise alone gives no background.

    Noise is in every entry, so the multiplier is lam times a matrix of signs. As long
    as its spectral norm, about lam (sqrt(n) + sqrt(p)), is below one, L = 0 is optimal.
    With the paper's lam noise enters L, in hundreds of small singular values.
    """
    n, p = shape
    return 1 / (math.sqrt(n) + math.sqrt(p))


def resolve_lam(lam: float | str, shape: tuple[int, int]) -> float:
    if not isinstance(lam, str):
        return lam
    rules = {"auto": weight_of_noise, "paper": theory_lam}
    if lam not in rules:
        raise ValueError(f"lam must be a number, 'auto' or 'paper', got {lam!r}")
    return rules[lam](shape)


def check_weights(model: str, gamma: float | str, lam: float | str) -> None:
    """Raise an error for weights that the model does not use."""
    if model == "frpcag" and lam != "auto":
        raise ValueError(f"lam of frpcag is always 1, got {lam}; change gamma")
    if isinstance(gamma, str) and gamma != "auto":
        raise ValueError(f"gamma must be a number or 'auto', got {gamma!r}")
    if model == "rpca" and gamma != "auto":
        raise ValueError(
            f"gamma is the weight of a graph, which rpca does not have, got {gamma}; "
            "take the model rpcag"
        )


def automatic_gamma(weight: float, reach: float) -> float:
    """Return the gamma that bounds the distance of a background from its neighbors.

    Where S is not zero, optimality reads weight sign(S) = 2 gamma Phi L + N with N a
    subgradient of the nuclear norm, small in any one entry. With degrees of about one
    (Phi L) is a frame's background minus the mean of its neighbors', so that is at
    most weight / (2 gamma).
    """
    return weight / (2 * reach)


class BackgroundModel:
    """Robust PCA of the frames of a video, on a graph between them.

    Parameters
    ----------
    model : {"rpcag", "rpca", "frpcag"}, default="rpcag"
        `rpcag.RPCAG`, `rpcag.RPCA` (no graph), or `rpcag.FRPCAG` with a second graph
        between neighboring pixels.
    gamma : float or "auto", default="auto"
        Weight of the smoothness between frames, for values between 0 and 1. "auto"
        depends on the noise of the video.
    lam : float, "auto" or "paper", default="auto"
        Weight of the sparse part. "auto" is 1 / (sqrt(n) + sqrt(p)), at which noise
        alone gives no background. "paper" is 1 / sqrt(max(n, p)).
    graph : "frames", or what `rpcag.RPCAG` takes, default="frames"
        "frames" joins frames with the same light.
    skip_motion : bool, default=True
        Whether to mask moving entries out of the fit.
    tol, max_iter, callback
        As in `rpcag.RPCAG`.

    Attributes
    ----------
    estimator_ : RPCAG, RPCA or FRPCAG
        The model of values between 0 and 1, fitted to the columns `columns_`. Its
        certified gap is that of these columns.
    columns_ : ndarray of int
        Indices of the fitted values of a frame: a sample of 8 per frame, but at least
        4000. FRPCAG and lam="paper" fit all values.
    components_ : ndarray of shape (rank, height * width) or (..., * 3)
        Backgrounds are ``estimator_.embedding_ @ components_``. Those of pixels outside
        the sample are found by robust regression (`rpcag.video.regression`).
    rank_ : int
        Rank of the background. Components of a sample below the rounding to gray levels
        are left out.
    regression_gap_ : float
        Relative duality gap of that regression, which is at most `tol`.
    rule_ : MaskRule
    noise_ : float
    moving_ : float
        Share of the entries that were masked out.
    """

    def __init__(
        self,
        model: str = "rpcag",
        *,
        gamma: float | str = "auto",
        lam: float | str = "auto",
        graph: Any = "frames",
        skip_motion: bool = True,
        tol: float = 1e-3,
        max_iter: int = 1000,
        callback: Callable[[Progress], bool | None] | None = None,
    ) -> None:
        self.model = check_model(model)
        check_weights(model, gamma, lam)
        self.gamma, self.lam, self.graph = gamma, lam, graph
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
        self.columns_ = self._sample(n)
        size = self.columns_.size
        self.moving_, seen = 0.0, None
        if self.skip_motion:
            found = moving(frames, self.noise_, least_still(n, size))
            self.moving_ = float(found.mean())
            seen = ~found.reshape(n, -1) if self.moving_ else None
        some = scaled(X[:, self.columns_])
        if seen is not None:
            some[~seen[:, self.columns_ // self._channels]] = np.nan
        self.estimator_ = self._estimator((n, size))
        self.estimator_._part_of = self._part_of
        self.estimator_._warns_of_ties = False
        self.estimator_.fit(some)
        # X = L + S, so S can be recomputed.
        self.estimator_.sparse_ = None
        self.components_, self.regression_gap_ = self.estimator_.components_, 0.0
        self.rank_ = self.estimator_.rank_
        if size < X.shape[1]:
            self._extend(X, seen)
        self.rule_ = self._rule(frames)
        return self

    def background(self, frames: np.ndarray) -> np.ndarray:
        """Return the background of any frames, with values between 0 and 1."""
        if not hasattr(self, "estimator_"):
            raise NotFittedError("this BackgroundModel is not fitted: call fit first")
        X = self._rows(frames)
        ties = {}
        if self.model != "rpca" and self._on_frames:
            ties = {"adjacency": self._graph.connect(X)}
        Z = self.estimator_.transform(scaled(X[:, self.columns_]), **ties)
        return self._images(Z @ self.components_)

    def fitted_background(self, frames: Any) -> np.ndarray:
        """Return the background of the frames of `fit` with these numbers."""
        fit = self.estimator_
        if self.columns_.size == math.prod(self.shape_):
            return self._images(fit.low_rank_[frames])
        return self._images(fit.embedding_[frames] @ self.components_)

    def mask(self, frames: np.ndarray, background: np.ndarray) -> np.ndarray:
        """Return a mask that is True where something moves."""
        mask = np.empty(frames.shape[:3], bool)

        def share(numbers: Sequence[int]) -> None:
            for i in numbers:
                one = slice(i, i + 1)
                mask[one] = self.rule_(scaled(frames[one]), background[one])

        with one_blas_thread_each():
            # Work: about as many multiplications as blurring takes.
            in_shares(share, range(len(frames)), 1000.0 * mask.size)
        return mask

    def _sample(self, n: int) -> np.ndarray:
        """Choose columns to fit, one from each of equally long stretches."""
        p = math.prod(self.shape_)
        size = fitted_values(self.model, self.lam, n, p)
        if size == p:
            return np.arange(p)
        edges = np.arange(size + 1) * p // size
        return np.random.default_rng(0).integers(edges[:-1], edges[1:])

    def _estimator(self, shape: tuple[int, int]):
        options: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "callback": self.callback,
        }
        # With q of the p columns, sums over entries are q / p of all, and the nuclear
        # norm is about the root of that.
        share = math.sqrt(math.prod(self.shape_) / shape[1])
        lam = resolve_lam(self.lam, shape)
        lam = lam if isinstance(self.lam, str) else lam * share
        if self.model == "rpca":
            return RPCA(lam=lam, **options)
        if self._on_frames:
            options |= {
                "graph": self._graph.adjacency_,
                "laplacian": "combinatorial",
            }
        else:
            options["graph"] = self.graph
        gamma = self.gamma
        if isinstance(gamma, str):
            weight = lam if self.model == "rpcag" else 1.0
            gamma = automatic_gamma(weight, REACH[self.model] * self.noise_)
        else:
            gamma *= share
        if self.model == "rpcag":
            return RPCAG(lam=lam, gamma=gamma, **options)
        pixels = pixel_graph(*self.shape_)
        options |= {"gamma": gamma, "gamma_features": "unit"}
        return FRPCAG(feature_graph=pixels, **options)

    def _extend(self, X: np.ndarray, seen: np.ndarray | None) -> None:
        """Compute the components of all pixels from the time course of the sample."""
        # Components below the rounding of values to gray levels are invisible.
        course = time_course(self.estimator_, self._graph.step_ / math.sqrt(12))
        self.rank_ = course.basis.shape[1]

        def values(columns: slice) -> tuple[np.ndarray, np.ndarray | None]:
            pixels = np.arange(columns.start, columns.stop) // self._channels
            first = pixels[0]
            mask = None if seen is None else seen[:, first : pixels[-1] + 1]
            if mask is None or mask.all():
                return scaled(X[:, columns]), None
            return scaled(X[:, columns]), mask[:, pixels - first].astype(np.float32)

        options = {"noise": self.noise_, "tol": self.tol}
        found = course.regress(values, X.shape[1], **options)
        self.components_, self.regression_gap_ = found

    def _rule(self, frames: np.ndarray) -> MaskRule:
        """Estimate the mask rule from at most a few hundred frames."""
        estimate = MaskEstimate(self.noise_, self._graph.step_)
        some = np.arange(0, len(frames), max(1, len(frames) // 256))
        for rows in batches(len(some), self.shape_):
            L = self.fitted_background(some[rows])
            estimate.add(scaled(frames[some[rows]]) - L)
        return estimate.rule()

    @property
    def _on_frames(self) -> bool:
        return isinstance(self.graph, str) and self.graph == "frames"

    def _rows(self, frames: np.ndarray) -> np.ndarray:
        if frames.shape[1:] != self.shape_:
            raise ValueError(
                f"frames must be of shape {self.shape_}, as in fit, got "
                f"{frames.shape[1:]}"
            )
        return frames.reshape(len(frames), math.prod(self.shape_))

    @property
    def _channels(self) -> int:
        return math.prod(self.shape_[2:])

    def _images(self, X: np.ndarray) -> np.ndarray:
        return X.reshape(len(X), *self.shape_)


def fitted_values(model: str, lam: float | str, n: int, p: int) -> int:
    """Return how many of the p values of a frame are in the fit."""
    if model == "frpcag" or lam == "paper":
        return p
    return min(p, max(SAMPLE * n, LEAST))


def batch_length(shape: tuple[int, ...]) -> int:
    """Return how many frames of this shape to work on together."""
    return max(1, min(32, BATCH // math.prod(shape)))


def batches(n: int, shape: tuple[int, ...]) -> Iterator[slice]:
    size = batch_length(shape)
    return (slice(first, first + size) for first in range(0, n, size))


def noise_level(frames: np.ndarray) -> float:
    """Median standard deviation of the noise of a pixel, for values from 0 to 1."""
    some = sample_columns(frames.shape[1:]).ravel()
    rows = scaled(frames.reshape(len(frames), -1)[:, some])
    return float(np.median(pixel_noise(rows)))


def fit_mask_rule(frames: np.ndarray, background: np.ndarray) -> MaskRule:
    """Fit the rule of `BackgroundModel.mask` to any other background of a video.

    Parameters
    ----------
    frames : array of shape (n_frames, height, width) or (n_frames, height, width, 3)
        Integers, or floats from 0 to 1.
    background : array that broadcasts to the shape of frames
        Values from 0 to 1.

    Returns
    -------
    MaskRule
        ``rule(scaled(frames), background)`` is True where something moves.
    """
    estimate = MaskEstimate(noise_level(frames))
    background = np.broadcast_to(background, frames.shape)
    for rows in batches(len(frames), frames.shape[1:]):
        estimate.add(scaled(frames[rows]) - background[rows])
    return estimate.rule()
