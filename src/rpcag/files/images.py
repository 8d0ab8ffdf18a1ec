"""Read a folder of images as rows of numbers; subfolders, if any, are classes."""

import math
import warnings
from pathlib import Path

import numpy as np

from rpcag.files.memory import check_fits
from rpcag.files.readable import readable
from rpcag.files.table import Reading, Table


def read_images(path: Path, reading: Reading) -> Table:
    unused = ("variable", "labels", "names", "drop", "delimiter", "decimal", "header")
    reading.refuse((*unused, "transpose"), f"files, not for the folder {path}")
    if reading.shape is not None and len(reading.shape) != 2:
        raise ValueError("shape= of a folder of images must be (height, width)")
    try:
        return load_images(path, size=reading.shape, color=reading.color)
    except ValueError as error:
        raise ValueError(str(error).replace("size=", "shape=")) from error


def load_images(
    folder: Path, *, size: tuple[int, ...] | None = None, color: bool = False
) -> Table:
    """All images of a folder or its subfolders; see `rpcag.datasets.load_folder`."""
    Image, ImageOps = _pillow()
    members = _image_files(folder)
    images = [file for file, _ in members]

    # Not EPS: Pillow would run Ghostscript, which executes the code in the file.
    formats = [name for name in Image.OPEN if name != "EPS"]
    X, shape = np.empty((0, 0)), (0, 0)
    for i, file in enumerate(images):
        with readable(file, "an image"), warnings.catch_warnings():
            # Pillow warns of large images; their size is checked here.
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(file, formats=formats) as image:
                width, height = image.size
                # Three copies: decoded, rotated upright, and in gray or color.
                what = f"an image of {height} x {width} pixels"
                check_fits(12 * height * width, what)
                if i == 0:
                    p = math.prod(size or image.size) * (3 if color else 1)
                    check_fits(8 * len(images) * p, f"{folder}, {len(images)} images,")
                    X = np.empty((len(images), p))
                array = _pixels(ImageOps.exif_transpose(image), size, color, Image)
        shape = array.shape if i == 0 else shape
        if array.shape != shape:
            raise ValueError(
                f"{file} is {array.shape[0]} x {array.shape[1]} pixels but "
                f"{images[0].name} is {shape[0]} x {shape[1]}: give "
                f"size=(height, width) to resize all images"
            )
        X[i] = array.ravel() / 255
    return Table(
        X,
        [str(file.relative_to(folder)) for file in images],
        [str(j) for j in range(X.shape[1])],
        [name for _, name in members if name is not None] or None,
        shape,
    )


def _image_files(folder: Path) -> list[tuple[Path, str | None]]:
    """All images in their order, each with its class or None."""
    Image, _ = _pillow()
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
            f"{folder} has images next to subfolders of images: {loose[0].name} and "
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
            "images are read with Pillow, which comes with matplotlib: pip install "
            "'rpcag[plots]'"
        ) from error
    return Image, ImageOps


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
