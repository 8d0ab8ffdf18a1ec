"""Load a folder of images."""

from pathlib import Path

import numpy as np

from rpcag.datasets.records import Data
from rpcag.files.images import read_images


def load_folder(path, *, size=None, color: bool = False) -> Data:
    """A folder of images as a data set; its subfolders, if any, are the classes.

    Parameters
    ----------
    path : str or Path
        Folder with images, or with subfolders of images. Files of formats that Pillow
        does not support are skipped; a damaged image is an error.
    size : tuple of int, optional
        (height, width) to which all images are resized, by averaging over areas.
        Without it, all images must have the same size.
    color : bool, default=False
        Whether to keep the colors. By default images are converted to gray.

    Returns
    -------
    Data
        Values in [0, 1]. Classes are numbered in the order of the subfolders' names,
        images are in the order of theirs. Without subfolders y is None.
    """
    folder = Path(path).expanduser()
    found = read_images(folder, size=size, color=color)
    y = None
    if found.labels is not None:
        y = np.unique(found.labels, return_inverse=True)[1]
    return Data(folder.resolve().name, found.X, y, image_shape=found.image_shape)
