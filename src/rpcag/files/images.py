"""A folder of images as a table; its subfolders, if any, are the classes."""

from pathlib import Path

from rpcag.datasets.folder import image_files, load_folder
from rpcag.files.table import Reading, Table


def read_images(path: Path, reading: Reading) -> Table:
    options = ("variable", "labels", "names", "drop", "delimiter", "decimal", "header")
    for option in (*options, "transpose"):
        if getattr(reading, option) not in (None, (), False):
            raise ValueError(f"--{option} is for files, not for the folder {path}")
    size = reading.shape
    if size is not None and len(size) != 2:
        raise ValueError("--shape of a folder of images must be HEIGHTxWIDTH")
    try:
        data = load_folder(path, size=size, color=reading.color)
    except ValueError as error:
        said = str(error).replace("size=(height, width)", "--shape HEIGHTxWIDTH")
        raise ValueError(said) from error
    files = image_files(path)
    labels = [name for _, name in files if name is not None]
    return Table(
        data.X,
        [str(file.relative_to(path)) for file, _ in files],
        [str(j) for j in range(data.X.shape[1])],
        labels or None,
        data.image_shape,
    )
