"""Frames of a fixed camera, some with the foreground marked by hand."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False, repr=False)
class Video:
    """Gray frames of a fixed camera, some with the foreground marked by hand.

    Parameters
    ----------
    name : str
    frames : uint8 array of shape (n_frames, height, width)
    frame_number : array of int of shape (n_frames,)
        In the original sequence: a step above one is a gap in time.
    masks : bool array of shape (n_masks, height, width)
        True on the foreground.
    mask_index : array of int of shape (n_masks,)
        ``masks[i]`` belongs to ``frames[mask_index[i]]``.
    valid : bool array of the shape of masks, optional
        False where the truth is unknown: leave these pixels out of a score.
    extra_frames, extra_masks : arrays, optional
        Frames outside the run, for instance far from it in time, with their masks.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag_study.datasets import Video
    >>> frames = np.zeros((5, 4, 6), dtype=np.uint8)
    >>> Video("mine", frames, np.arange(5), np.zeros((1, 4, 6), dtype=bool), [3])
    Video('mine', 5 frames of 4 x 6, 1 mask)
    """

    name: str
    frames: np.ndarray
    frame_number: np.ndarray
    masks: np.ndarray
    mask_index: np.ndarray
    valid: np.ndarray | None = None
    extra_frames: np.ndarray | None = None
    extra_masks: np.ndarray | None = None

    def __post_init__(self):
        for field in ("frames", "frame_number", "masks", "mask_index"):
            object.__setattr__(self, field, np.asarray(getattr(self, field)))
        n, *sides = self.frames.shape if self.frames.ndim == 3 else (0,)
        if n == 0:
            raise ValueError(
                f"frames must have shape (n_frames, height, width), "
                f"got {self.frames.shape}"
            )
        m = len(self.masks)
        shapes = {
            "frame_number": (n,),
            "masks": (m, *sides),
            "mask_index": (m,),
            "valid": (m, *sides),
        }
        for field, shape in shapes.items():
            array = getattr(self, field)
            if array is not None and np.shape(array) != shape:
                raise ValueError(
                    f"{field} must have shape {shape} to fit the frames and masks, "
                    f"got {np.shape(array)}"
                )
        if not np.isin(self.mask_index, np.arange(n)).all():
            raise ValueError(f"mask_index must lie between 0 and {n - 1}")

    def __repr__(self):
        n, height, width = self.frames.shape
        masks = f"{len(self.masks)} mask{'' if len(self.masks) == 1 else 's'}"
        return f"Video({self.name!r}, {n} frames of {height} x {width}, {masks})"
