"""Load a folder of images."""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.datasets.records import Data
from rpcag.files.memory import check_fits
from rpcag.files.readable import readable


def load_folder(path, *, size=None, color: bool = False) -> Data:
    """A folder of images as a data set; its subfolders, if any, are the classes.

    Parameters
    ----------
    path : str or Path
        Images in it, or in its direct subfolders. Files Pillow has no reader for are
        passed over; a file it should read but cannot is an error.
    size : tuple of int, optional
        (height, width) to bring all images to, by averaging over areas. Without it they
        must have one size.
    color : bool, default=False
        Whether to keep red, green and blue instead of turning images gray.

    Returns
    -------
    Data
        Values in [0, 1]. Classes are numbered in the order of the subfolders' names,
        images are in the order of theirs. Without subfolders y is None.
    """
    Image, ImageOps = _pillow()
    folder = Path(path).expanduser()
    if size is not None:
        size = _check_size(size)
    members = image_files(folder)
    images = [file for file, _ in members]

    # Not EPS: Pillow would run Ghostscript, which executes the code in the file.
    formats = [name for name in Image.OPEN if name != "EPS"]
    X, first = np.empty((0, 0)), None
    for i, file in enumerate(images):
        with readable(file, "an image"), _opened(Image, file, formats) as image:
            if first is None:
                sides = size or image.size
                p = math.prod(sides) * (3 if color else 1)
                check_fits(8 * len(images) * p, f"{folder}, {len(images)} images,")
                X = np.empty((len(images), p))
            # Three copies: decoded, rotated upright, and in gray or color.
            check_fits(12 * math.prod(image.size), _size_of(image))
            array = _pixels(ImageOps.exif_transpose(image), size, color, Image)
        first = array.shape if first is None else first
        if array.shape != first:
            raise ValueError(
                f"{file} is {array.shape[0]} x {array.shape[1]} pixels but "
                f"{images[0].name} is {first[0]} x {first[1]}: give "
                f"size=(height, width) to bring all to one size"
            )
        X[i] = array.ravel() / 255
    classes = [name for _, name in members if name is not None]
    return Data(
        folder.resolve().name,
        X,
        np.unique(classes, return_inverse=True)[1] if classes else None,
        image_shape=first,
    )


def image_files(path) -> list[tuple[Path, str | None]]:
    """The images `load_folder` reads, in its order, each with its class or None."""
    Image, _ = _pillow()
    folder = Path(path).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder")
    suffixes = set(Image.registered_extensions())
    loose = _images(folder, suffixes)
    grouped: list[tuple[Path, str | None]] = [
        (image, child.name)
        for child in sorted(folder.iterdir())
        if child.is_dir()
        for image in _images(child, suffixes)
    ]
    if loose and grouped:
        raise ValueError(
            f"{folder} has images beside subfolders of images: {loose[0].name} and "
            f"{grouped[0][1]}. Either all images have a class or none has"
        )
    if not loose and not grouped:
        raise ValueError(f"{folder} and its subfolders have no images")
    return [(image, None) for image in loose] or grouped


def _pillow():
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ImportError(
            "load_folder reads images with Pillow, which comes with matplotlib: "
            "pip install 'rpcag[plots]'"
        ) from error
    return Image, ImageOps


@contextmanager
def _opened(Image, file: Path, formats: list[str]) -> Iterator[Any]:
    """Open an image and read only its header.

    Pillow's warning about images above 89 million pixels is silenced, because
    `check_fits` compares the size with the free memory. Pillow still raises an error
    from 179 million pixels on.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        opened = Image.open(file, formats=formats)
    with opened as image:
        yield image


def _size_of(image) -> str:
    return f"an image of {image.size[1]} x {image.size[0]} pixels"


def _check_size(size) -> tuple[int, int]:
    try:
        height, width = (int(side) for side in size)
        fits = (height, width) == tuple(size) and min(height, width) > 0
    except (TypeError, ValueError):
        fits = False
    if not fits:
        raise ValueError(f"size must be two positive ints, (height, width), got {size}")
    return height, width


def _images(folder: Path, suffixes: set[str]) -> list[Path]:
    return sorted(
        file
        for file in folder.iterdir()
        if file.is_file()
        and file.suffix.lower() in suffixes
        and not file.name.startswith(".")
    )


def _pixels(image, size, color, Image) -> np.ndarray:
    # Pillow cuts deeper pixels off at 255 instead of scaling them.
    if image.mode.startswith("I") or image.mode == "F":
        raise ValueError(
            f"pixels of more than 8 bits (mode {image.mode}) are not read here; "
            f"read them yourself and build a Data"
        )
    image = image.convert("RGB" if color else "L")
    if size is not None and image.size != size[::-1]:
        image = image.resize(size[::-1], Image.Resampling.BOX)
    return np.asarray(image)
