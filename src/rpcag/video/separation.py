"""Split frames in memory into background and foreground."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rpcag.solvers import Progress
from rpcag.video.background import BackgroundModel, batches
from rpcag.video.pixels import in_unit_of
from rpcag.video.sources import ArraySource
from rpcag.video.spread import spread


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
    source = ArraySource(frames)
    frames = source.frames
    chosen = spread(source, max_frames)
    fitted = BackgroundModel(
        model,
        gamma=gamma,
        lam=lam,
        graph=graph,
        skip_motion=skip_motion,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    ).fit(chosen.frames)
    background = np.empty_like(frames)
    mask = np.empty(frames.shape[:3], bool)
    for rows in batches(len(frames), frames.shape[1:]):
        some = frames[rows]
        L = backgrounds(fitted, chosen.places, some, rows.start)
        mask[rows] = fitted.mask(some, L)
        background[rows] = in_unit_of(L, frames.dtype)
    seen = mask if frames.ndim == 3 else mask[..., None]
    return Separation(background, np.where(seen, frames, 0), mask, fitted)


def backgrounds(
    model: BackgroundModel, places: dict[int, int], frames: np.ndarray, first: int
) -> np.ndarray:
    """Backgrounds of frames from number `first` on; `places` are those fitted."""
    numbers = range(first, first + len(frames))
    known = [i for i, n in enumerate(numbers) if n in places]
    new = [i for i, n in enumerate(numbers) if n not in places]
    L = np.empty_like(frames, dtype=np.float32)
    if known:
        L[known] = model.fitted_background([places[numbers[i]] for i in known])
    if new:
        L[new] = model.background(frames[new])
    return L
