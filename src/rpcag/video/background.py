"""A model of the background of a fixed camera."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from rpcag.models import FRPCAG, RPCA, RPCAG
from rpcag.models.feature_graph import pixel_graph
from rpcag.models.problem import theory_lam
from rpcag.solvers import Progress
from rpcag.video.graph import FrameGraph, pixel_noise, sample_columns
from rpcag.video.masks import MaskEstimate, MaskRule
from rpcag.video.motion import moving

MODELS = ("rpcag", "rpca", "frpcag")
BLOCK = 32  # frames at a time, where all at once is not needed
# How far the background of a frame may be from the mean of those of its neighbors, in
# deviations of the noise. Without a nuclear norm, within the noise, or it is followed.
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
        raise ValueError(f"lam of frpcag is one, got {lam}; gamma weighs against it")
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
        The fitted model of values between 0 and 1.
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
        if len(frames) < 2:
            raise ValueError(
                "a background is what frames have in common: at least 2 are needed, "
                f"got {len(frames)}"
            )
        self.shape_ = frames.shape[1:]
        X = self._rows(frames)
        self._graph = FrameGraph(self.shape_).fit(X)
        self.noise_ = self._graph.noise_
        self.estimator_ = self._estimator(X.shape)
        self.estimator_._part_of = self._part_of
        self.estimator_._warns_of_ties = False
        self.estimator_.fit(self._still(X))
        self.rule_ = self._rule(X)
        # X is L + S: one of the three is enough.
        self.estimator_.sparse_ = None
        return self

    def background(self, frames: np.ndarray) -> np.ndarray:
        """Return the background of any frames, with values between 0 and 1."""
        if not hasattr(self, "estimator_"):
            raise NotFittedError("this BackgroundModel has seen no frames: call fit")
        X = self._rows(frames)
        ties = {}
        if self.model != "rpca" and self._on_frames:
            ties = {"adjacency": self._graph.connect(X)}
        Z = self.estimator_.transform(X, **ties)
        return self._images(Z @ self.estimator_.components_)

    def fitted_background(self, frames: Any) -> np.ndarray:
        """Return the background of the frames of `fit` with these numbers."""
        return self._images(self.estimator_.low_rank_[frames])

    def mask(self, frames: np.ndarray, background: np.ndarray) -> np.ndarray:
        """Return a mask that is True where something moves."""
        return self.rule_(scaled(frames), background)

    def _estimator(self, shape: tuple[int, int]):
        options: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "callback": self.callback,
        }
        lam = resolve_lam(self.lam, shape)
        if self.model == "rpca":
            return RPCA(lam=lam, **options)
        if self._on_frames:
            options |= {
                "graph": self._graph.adjacency_,
                "laplacian": "combinatorial",
            }
        else:
            options["graph"] = self.graph
        weight = lam if self.model == "rpcag" else 1.0
        gamma = self.gamma
        if isinstance(gamma, str):
            gamma = automatic_gamma(weight, REACH[self.model] * self.noise_)
        if self.model == "rpcag":
            return RPCAG(lam=lam, gamma=gamma, **options)
        pixels = pixel_graph(*self.shape_)
        weights = {"gamma": gamma, "gamma_features": "unit"}
        return FRPCAG(**weights, feature_graph=pixels, **options)

    def _still(self, X: np.ndarray) -> np.ndarray:
        """X with NaN at moving entries."""
        self.moving_ = 0.0
        if not self.skip_motion:
            return X
        found = moving(self._images(X), self.noise_)
        self.moving_ = float(found.mean())
        if not self.moving_:
            return X
        still = self._images(X).copy()
        still[found] = np.nan
        return still.reshape(X.shape)

    def _rule(self, X: np.ndarray) -> MaskRule:
        """Estimate the mask rule from at most a few hundred frames."""
        estimate = MaskEstimate(self.noise_, self._graph.step_)
        some = np.arange(0, len(X), max(1, len(X) // 256))
        for rows in blocks(len(some)):
            S = X[some[rows]] - self.estimator_.low_rank_[some[rows]]
            estimate.add(self._images(S))
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
        return scaled(frames).reshape(len(frames), math.prod(self.shape_))

    def _images(self, X: np.ndarray) -> np.ndarray:
        return X.reshape(len(X), *self.shape_)


def scaled(frames: np.ndarray) -> np.ndarray:
    """Scale to values between 0 and 1 in single precision; floats are kept."""
    if frames.dtype.kind in "ui":
        return np.multiply(frames, 1 / np.iinfo(frames.dtype).max, dtype=np.float32)
    return frames.astype(np.float32)


def blocks(n: int, size: int = BLOCK) -> Iterator[slice]:
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
    for rows in blocks(len(frames)):
        estimate.add(scaled(frames[rows]) - background[rows])
    return estimate.rule()
