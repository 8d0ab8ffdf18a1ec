"""Split frames into background and foreground: in memory, or from a stream."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.graphs.inputs import refuse_masked
from rpcag.video.background import BackgroundModel, batch_length
from rpcag.video.pixels import check_array, check_values, in_unit_of


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
    frames, model: str = "rpcag", *, max_frames: int = 1000, **options: Any
) -> Separation:
    """Separate frames of a fixed camera into background, foreground and mask.

    Parameters
    ----------
    frames : array of shape (n, height, width) or (n, height, width, 3)
        uint8 (white is 255), uint16 (white is 65535), or floats between 0 and 1. A list
        or generator of such frames works as well.
    model : {"rpcag", "rpca"}, default="rpcag"
        "rpcag" has a graph between frames, "rpca" has none.
    max_frames : int, default=1000
        If there are more frames, the model is fitted to evenly spaced ones, and the
        others are projected onto it.
    **options
        gamma, lam, skip_motion, tol, max_iter and callback, as in `BackgroundModel`.

    Returns
    -------
    Separation

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
    step = 1
    while len(range(0, len(frames), step)) > max_frames:
        step *= 2
    fitted = BackgroundModel(model, **options).fit(frames[::step])
    background = np.empty_like(frames)
    mask = np.empty(frames.shape[:3], bool)
    for done, some, L, found in separated(fitted, frames, step):
        rows = slice(done - len(some), done)
        background[rows], mask[rows] = in_unit_of(L, frames.dtype), found
    seen = mask if frames.ndim == 3 else mask[..., None]
    return Separation(background, np.where(seen, frames, 0), mask, fitted)


def separated(
    model: BackgroundModel, frames: Iterable[np.ndarray], step: int
) -> Iterator[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """Yield batches: frames done, frames, backgrounds between 0 and 1, and masks.

    Every `step`-th frame was fitted; the others are projected onto the model.
    """
    stream, done = iter(frames), 0
    while batch := list(islice(stream, batch_length(model.shape_))):
        some = np.stack(batch)
        numbers = np.arange(done, done + len(some))
        is_fitted = numbers % step == 0
        L = np.empty_like(some, dtype=np.float32)
        L[is_fitted] = model.fitted_background(numbers[is_fitted] // step)
        if not is_fitted.all():
            L[~is_fitted] = model.background(some[~is_fitted])
        done += len(some)
        yield done, some, L, model.mask(some, L)


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
