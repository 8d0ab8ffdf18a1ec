"""A table from a file, with samples in rows and names, and options for reading it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix, with NaN for missing values, and its row and column names.

    Attributes
    ----------
    X : float ndarray of shape (n, p)
    samples, features : list of str
        Counted from 0 where the file has no names.
    labels : list of str, or None
        The class of every sample; "" where it is not known.
    image_shape : tuple of int, or None
        (height, width) or (height, width, 3) where rows are images.
    notes : list of str
        Notes for the user about guesses and suspicious values.
    """

    X: np.ndarray
    samples: list[str]
    features: list[str]
    labels: list[str] | None = None
    image_shape: tuple[int, ...] | None = None
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Reading:
    """How to read a file; the names are those of the command's options.

    Attributes
    ----------
    variable : str, optional
        Name of the array, if the file has several.
    labels, names : str, optional
        Columns (or arrays) with the class and the name of every sample.
    drop, keep : tuple of str
        Columns to leave out, and columns of a table to repair that must not change.
    missing : tuple of str
        Further values that stand for a missing one; "inf" for both infinities.
    transpose : bool
        Whether samples are columns.
    shape : tuple of int, optional
        (height, width) of images in the rows. Images of a folder are resized to it.
    color : bool
        Whether images of a folder keep their colors.
    delimiter, decimal : str, optional
        Delimiter and decimal mark of text; guessed if not given.
    header : bool, optional
        Whether the first line of text has the names of columns; guessed if not given.
    """

    variable: str | None = None
    labels: str | None = None
    names: str | None = None
    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    transpose: bool = False
    shape: tuple[int, ...] | None = None
    color: bool = False
    delimiter: str | None = None
    decimal: str | None = None
    header: bool | None = None

    def refuse(self, options: Iterable[str], reason: str) -> None:
        """Raise an error if one of these options was given."""
        for option in options:
            if getattr(self, option) != getattr(Reading, option):  # the default
                raise ValueError(f"{option}= is for {reason}")
