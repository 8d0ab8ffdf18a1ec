"""Data sets in memory: samples in rows, and videos."""

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """A data set: samples in rows, with their classes if known.

    Parameters
    ----------
    name : str
    X : array of shape (n_samples, n_features)
        Kept as float64. NaN marks a missing entry.
    y : array of int of shape (n_samples,), optional
        The class of every sample.
    image_shape : tuple of int, optional
        (height, width) or (height, width, channels) if the rows of X are images:
        ``X.reshape(-1, *image_shape)`` shows them.

    Examples
    --------
    >>> import numpy as np
    >>> from rpcag_study.datasets import Data
    >>> data = Data("mine", np.eye(4), [0, 0, 1, 1], image_shape=(2, 2))
    >>> data
    Data('mine', 4 samples x 4 features, 2 classes, images of 2 x 2)
    >>> data.is_nonnegative
    True
    """

    name: str
    X: np.ndarray
    y: np.ndarray | None = None
    image_shape: tuple[int, ...] | None = None

    def __post_init__(self):
        X = _samples(self.X)
        object.__setattr__(self, "X", X)
        if self.y is not None:
            object.__setattr__(self, "y", _classes(self.y, len(X)))
        if self.image_shape is not None:
            sides = tuple(map(int, self.image_shape))
            if math.prod(sides) != X.shape[1] or len(sides) not in (2, 3):
                raise ValueError(
                    f"image_shape {sides} does not fit the {X.shape[1]} features of X"
                )
            object.__setattr__(self, "image_shape", sides)

    @property
    def n_classes(self) -> int:
        if self.y is None:
            raise ValueError(f"{self.name} has no classes: it was created without y")
        return len(np.unique(self.y))

    @property
    def is_nonnegative(self) -> bool:
        """Whether NMF and GNMF apply."""
        return not (self.X < 0).any()

    def __repr__(self):
        parts = [repr(self.name), "{} samples x {} features".format(*self.X.shape)]
        if self.y is not None:
            parts.append(f"{self.n_classes} classes")
        if self.image_shape is not None:
            parts.append("images of " + " x ".join(map(str, self.image_shape)))
        return f"Data({', '.join(parts)})"


def _samples(X) -> np.ndarray:
    try:
        X = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"X must be a dense array of numbers: {error}") from error
    if X.ndim != 2 or X.size == 0:
        raise ValueError(
            f"X must have one row per sample and one column per feature, "
            f"got shape {X.shape}"
        )
    return X


def _classes(y, n: int) -> np.ndarray:
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(
            f"y must have one class per row of X, shape ({n},), got {y.shape}"
        )
    is_whole = y.dtype.kind in "biuf" and (np.abs(y) < 2.0**63) & (y == np.floor(y))
    if not np.all(is_whole):
        raise ValueError(
            f"y must hold whole numbers, got {y[:3].tolist()!r}; "
            f"np.unique(y, return_inverse=True)[1] numbers the classes"
        )
    return y.astype(np.int64)


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
