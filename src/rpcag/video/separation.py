"""Split frames in memory into background and foreground."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.graphs.inputs import refuse_masked
from rpcag.solvers import Progress
from rpcag.video.background import BackgroundModel, batches
from rpcag.video.pixels import in_unit_of
from rpcag.video.sources import check_array, check_values
from rpcag.video.spread import halving_step


@dataclass(frozen=True, eq=False, repr=False)
class Separation:
    """Background and moving objects of every frame.

    Attributes
    ----------
    background : array of the shape and type of the frames
    mask : bool array of shape (n_frames, height, width)
        True where something moves.
    foreground : array of the shape and type of the frames
        The frames on the mask, zero elsewhere.
    model : BackgroundModel
        The fitted model; ``model.estimator_.gap_`` is the certified gap for the sample
        of pixels that was fitted.
    """

    background: np.ndarray
    foreground: np.ndarray
    mask: np.ndarray
    model: BackgroundModel

    def __repr__(self):
        n, height, width = self.mask.shape
        share = 100 * self.mask.mean()
        return (
            f"Separation({n} frames of {height} x {width}, {share:.1f} % foreground, "
            f"rank {self.model.rank_})"
        )


def separate(
    frames,
    *,
    model: str = "rpcag",
    gamma: float | str = "auto",
    lam: float | str = "auto",
    graph: Any = "frames",
    skip_motion: bool = True,
    max_frames: int = 1000,
    tol: float = 1e-3,
    max_iter: int = 1000,
    callback: Callable[[Progress], bool | None] | None = None,
) -> Separation:
    """Separate frames of a fixed camera into background, foreground and mask.

    Parameters
    ----------
    frames : array of shape (n, height, width) or (n, height, width, 3)
        uint8 (white is 255), uint16 (white is 65535), or floats between 0 and 1. A list
        or generator of such frames works as well.
    model : {"rpcag", "rpca", "frpcag"}, default="rpcag"
    gamma, lam : float or "auto", default="auto"
        Weights of the smoothness between frames and of the sparse part, for values
        between 0 and 1; see `BackgroundModel`. lam may also be "paper".
    graph : "frames", or what `rpcag.RPCAG` takes, default="frames"
        An adjacency matrix is for the frames that are fitted.
    skip_motion : bool, default=True
        Whether to mask moving entries out of the fit.
    max_frames : int, default=1000
        If there are more frames, the model is fitted to evenly spaced ones, and the
        others are projected onto it.
    tol : float, default=1e-3
        Certified relative duality gap at which to stop.
    max_iter : int, default=1000
        Maximum number of iterations.
    callback : callable, optional
        Called after every iteration with a `rpcag.solvers.Progress`; a true value
        stops the fit.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag.video import separate
    >>> frames = np.random.default_rng(0).normal(120, 3, (40, 24, 32)).astype(np.uint8)
    >>> for t in range(40):
    ...     frames[t, 8:16, (t % 30) : (t % 30) + 6] = 250
    >>> found = separate(frames)
    >>> bool(found.mask[10, 12, 13]), bool(found.mask[10, 12, 25])
    (True, False)
    """
    frames = check_frames(frames)
    if max_frames < 2:
        raise ValueError(f"max_frames must be at least 2, got {max_frames}")
    step = halving_step(len(frames), max_frames)
    fitted = BackgroundModel(
        model,
        gamma=gamma,
        lam=lam,
        graph=graph,
        skip_motion=skip_motion,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    ).fit(frames[::step])
    background = np.empty_like(frames)
    mask = np.empty(frames.shape[:3], bool)
    for rows in batches(len(frames), frames.shape[1:]):
        some = frames[rows]
        L = backgrounds(fitted, step, some, rows.start)
        mask[rows] = fitted.mask(some, L)
        background[rows] = in_unit_of(L, frames.dtype)
    seen = mask if frames.ndim == 3 else mask[..., None]
    return Separation(background, np.where(seen, frames, 0), mask, fitted)


def backgrounds(
    model: BackgroundModel, step: int, frames: np.ndarray, first: int
) -> np.ndarray:
    """Backgrounds of frames `first`, `first` + 1, ...; every `step`-th was fitted."""
    numbers = np.arange(first, first + len(frames))
    known = numbers % step == 0
    L = np.empty_like(frames, dtype=np.float32)
    if known.any():
        L[known] = model.fitted_background(numbers[known] // step)
    if not known.all():
        L[~known] = model.background(frames[~known])
    return L


def check_frames(frames) -> np.ndarray:
    """Return frames as an array, if they are numbers of a known range."""
    if isinstance(frames, str | Path):
        raise ValueError(
            f"frames must be an array, got the name {str(frames)!r}; "
            "rpcag.video.separate_file takes files"
        )
    if isinstance(frames, Iterator):
        frames = list(frames)
    refuse_masked("a frame has no missing pixels: fill them", frames=frames)
    try:
        frames = np.asarray(frames)
    except ValueError as error:  # NumPy's message is about axes, not about frames
        raise ValueError("frames must all have one shape") from error
    check_array(frames.shape, frames.dtype, "frames")
    for i, frame in enumerate(frames):
        check_values(frame, f"frame {i}")
    return frames
