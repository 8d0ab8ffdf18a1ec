"""A data set in memory: samples in rows."""

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

    Attributes
    ----------
    n_classes : int
        Number of classes; raises an error without y.
    is_nonnegative : bool
        Whether NMF and GNMF apply.

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
            sides = tuple(int(side) for side in self.image_shape)
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
