"""Read a folder of images as rows of numbers; subfolders, if any, are classes."""

from pathlib import Path

import numpy as np

from rpcag.files.readable import need, readable
from rpcag.files.table import Table


def read_images(
    folder: Path, *, shape: tuple[int, ...] | None = None, color: bool = False
) -> Table:
    """All images of a folder or its subfolders, resized if needed, as 0 to 1."""
    Image, turned = need("PIL.Image"), need("PIL.ImageOps").exif_transpose
    if shape is not None and (len(shape) != 2 or min(shape) < 1):
        raise ValueError(
            f"shape must be two positive ints, (height, width), got {shape}"
        )
    files = _image_files(folder, set(Image.registered_extensions()))
    # Not EPS: Pillow would run Ghostscript, which executes the code in the file.
    formats = [name for name in Image.OPEN if name != "EPS"]
    images: list[np.ndarray] = []
    for file in files:
        with readable(file, "an image"), Image.open(file, formats=formats) as stored:
            # Pillow cuts deeper pixels off at 255 instead of scaling them.
            if stored.mode.startswith("I") or stored.mode == "F":
                raise ValueError("pixels of more than 8 bits; convert them to 8 bits")
            image = turned(stored).convert("RGB" if color else "L")
            if shape is not None and image.size != shape[::-1]:
                image = image.resize(shape[::-1], 4)  # BOX: averages over areas
            images.append(np.asarray(image))
        (height, width), wanted = images[-1].shape[:2], images[0].shape
        if images[-1].shape != wanted:
            raise ValueError(
                f"{file} is {height} x {width} pixels but {files[0].name} is "
                f"{wanted[0]} x {wanted[1]}: shape=(height, width) resizes all images"
            )
    X = np.stack(images).reshape(len(images), -1) / 255
    names = [str(file.relative_to(folder)) for file in files]
    has_classes = files[0].parent != folder
    labels = [file.parent.name for file in files] if has_classes else None
    features = [str(j) for j in range(X.shape[1])]
    return Table(X, names, features, labels, images[0].shape)


def _image_files(folder: Path, suffixes: set[str]) -> list[Path]:
    """All images of the folder, or else of its subfolders."""
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder")
    files = [
        file
        for file in sorted([*folder.glob("*"), *folder.glob("*/*")])
        if file.suffix.lower() in suffixes
        and not file.name.startswith(".")
        and file.is_file()
    ]
    if not files:
        raise ValueError(f"{folder} and its subfolders have no images")
    loose = [file for file in files if file.parent == folder]
    grouped = [file for file in files if file.parent != folder]
    if loose and grouped:
        raise ValueError(
            f"{folder} has images next to subfolders of images: {loose[0].name} and "
            f"{grouped[0].parent.name}. Either all images have a class or none has"
        )
    return files
