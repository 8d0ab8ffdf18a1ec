"""Read a folder of images as rows of numbers; subfolders, if any, are classes."""

from pathlib import Path

import numpy as np

from rpcag.files.readable import readable
from rpcag.files.table import Table


def read_images(
    folder: Path, *, size: tuple[int, ...] | None = None, color: bool = False
) -> Table:
    """All images of a folder or its subfolders, with values in [0, 1]."""
    try:
        from PIL import Image, ImageOps
    except ImportError as error:
        raise ImportError(
            "images are read with Pillow, which comes with matplotlib: pip install "
            "'rpcag[plots]'"
        ) from error
    if size is not None and not _is_size(size):
        raise ValueError(f"size must be two positive ints, (height, width), got {size}")
    members = _image_files(folder, set(Image.registered_extensions()))
    # Not EPS: Pillow would run Ghostscript, which executes the code in the file.
    formats = [name for name in Image.OPEN if name != "EPS"]
    rows: list[np.ndarray] = []
    shape: tuple[int, ...] = ()
    for file, _ in members:
        with readable(file, "an image"), Image.open(file, formats=formats) as image:
            pixels = _pixels(ImageOps.exif_transpose(image), size, color)
        shape = shape or pixels.shape
        if pixels.shape != shape:
            raise ValueError(
                f"{file} is {pixels.shape[0]} x {pixels.shape[1]} pixels but "
                f"{members[0][0].name} is {shape[0]} x {shape[1]}: give "
                f"size=(height, width) to resize all images"
            )
        rows.append(pixels.ravel())
    X = np.stack(rows) / 255
    names = [str(file.relative_to(folder)) for file, _ in members]
    labels = [label for _, label in members if label is not None] or None
    return Table(X, names, [str(j) for j in range(X.shape[1])], labels, shape)


def _is_size(size) -> bool:
    try:
        height, width = (int(side) for side in size)
    except (TypeError, ValueError):
        return False
    return (height, width) == tuple(size) and min(height, width) > 0


def _image_files(folder: Path, suffixes: set[str]) -> list[tuple[Path, str | None]]:
    """All images in their order, each with its class or None."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder")
    files = [
        file
        for file in sorted([*folder.glob("*"), *folder.glob("*/*")])
        if file.suffix.lower() in suffixes
        and not file.name.startswith(".")
        and file.is_file()
    ]
    loose = [file for file in files if file.parent == folder]
    grouped = [file for file in files if file.parent != folder]
    if loose and grouped:
        raise ValueError(
            f"{folder} has images next to subfolders of images: {loose[0].name} and "
            f"{grouped[0].parent.name}. Either all images have a class or none has"
        )
    if not files:
        raise ValueError(f"{folder} and its subfolders have no images")
    return [(file, file.parent.name if grouped else None) for file in files]


def _pixels(image, size: tuple[int, ...] | None, color: bool) -> np.ndarray:
    # Pillow cuts deeper pixels off at 255 instead of scaling them.
    if image.mode.startswith("I") or image.mode == "F":
        raise ValueError(
            f"pixels of more than 8 bits (mode {image.mode}) are not read here; "
            "convert them to 8 bits"
        )
    image = image.convert("RGB" if color else "L")
    if size is not None and image.size != size[::-1]:
        image = image.resize(size[::-1], 4)  # BOX: averages over areas
    return np.asarray(image)
