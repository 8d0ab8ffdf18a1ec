"""A table from a file, with samples in rows and names, and options for reading it."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np


@dataclass(frozen=True, eq=False)
class Table:
    """A matrix, with NaN for missing values, and its row and column names."""

    X: np.ndarray
    samples: list[str]  # names, or numbers from 0
    features: list[str]
    labels: list[str] | None = None  # the class of every sample; "" if unknown
    image_shape: tuple[int, ...] | None = None  # (height, width) or (height, width, 3)
    notes: list[str] = field(default_factory=list)  # on guesses and suspicious values


@dataclass(frozen=True)
class Reading:
    """How to read a file; the names are those of the command's options."""

    variable: str | None = None  # name of the array, if the file has several
    labels: str | None = None  # column or array with the class of every sample
    names: str | None = None  # column or array with the name of every sample
    time: str | Literal[False] | None = None  # column of times; False: not even guessed
    drop: tuple[str, ...] = ()  # columns to leave out, or unchanged
    missing: tuple[str, ...] = ()  # words for missing; "inf" is also -inf
    transpose: bool = False  # samples are columns
    shape: tuple[int, ...] | None = None  # of images; those of a folder are resized
    color: bool = False  # images of a folder keep their colors
    sheet: str | None = None  # of a workbook, instead of the first
    delimiter: str | None = None  # of text; these three are guessed if not given
    decimal: str | None = None
    header: bool | None = None  # the first line of text has the names of columns
