"""Data sets that scikit-learn can fetch, brought into the form of our files."""

import contextlib
import warnings
from collections.abc import Callable
from http.client import HTTPException
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from sklearn.datasets import fetch_olivetti_faces, fetch_openml

from rpcag_study.datasets import files
from rpcag_study.datasets.catalog import Entry

Arrays = dict[str, np.ndarray]

# In the order of the columns of mfeat.npz: Fourier, factors, Karhunen-Loeve, pixels,
# Zernike, morphological.
MFEAT_IDS = (14, 12, 16, 20, 22, 18)


def _openml(data_id: int) -> tuple[np.ndarray, np.ndarray]:
    """Features as numbers, and classes counted from 0."""
    # pandas is the faster reader by far, but not needed for anything else here.
    parser = "pandas" if find_spec("pandas") else "liac-arff"
    bunch = fetch_openml(data_id=data_id, as_frame=False, parser=parser)
    X = bunch.data.astype(np.float64)
    if parser == "liac-arff":
        # It gives the place of a value in the list of a column's values. The pixels
        # of Multiple Features are declared in this way.
        for column, feature in enumerate(bunch.feature_names):
            values = (bunch.get("categories") or {}).get(feature)
            if values:
                X[:, column] = np.asarray(values, float)[X[:, column].astype(int)]
    # As numbers: as text, "10" would come before "2".
    labels = np.asarray(bunch.target).astype(float)
    return X, np.unique(labels, return_inverse=True)[1]


def _mnist() -> Arrays:
    X, y = _openml(554)
    return {"X": X.astype(np.uint8), "y": y, "image_shape": np.array([28, 28])}


def _usps() -> Arrays:
    X, y = _openml(41082)
    # There in [-1, 1].
    return {"X": (X + 1) / 2, "y": y, "image_shape": np.array([16, 16])}


def _mfeat() -> Arrays:
    views = [_openml(data_id) for data_id in MFEAT_IDS]
    y = views[0][1]
    if not all(np.array_equal(y, labels) for _, labels in views):
        raise ValueError("the six parts of MFeat on OpenML list other samples")
    return {"X": np.hstack([X for X, _ in views]), "y": y}


def _olivetti() -> Arrays:
    bunch = fetch_olivetti_faces()
    return {"X": bunch.data, "y": bunch.target, "image_shape": np.array([64, 64])}


class Download(NamedTuple):
    """How to fetch a set, and how it differs from the file of the study."""

    fetch: Callable[[], Arrays]
    difference: str


DOWNLOADS = {
    "MNIST": Download(_mnist, "all 70000 images, so subsets are other draws"),
    "USPS": Download(_usps, "maybe in another order, so subsets may be other draws"),
    "MFeat": Download(_mfeat, "maybe in another order, so subsets may be other draws"),
    "ORL": Download(_olivetti, "64 x 64 pixels of a closer crop, not 56 x 46"),
}


def download(entry: Entry) -> Arrays:
    """The set as scikit-learn fetches it, kept in the cache for the next time.

    scikit-learn compares checksums with those of OpenML and of Olivetti's mirror. The
    Olivetti faces are the images of ORL in another crop; they are given as they are,
    64 x 64, because no resizing makes them the paper's 56 x 46.
    """
    source = DOWNLOADS[entry.name]
    kept = files.find(entry.downloaded_file)
    arrays = files.read_arrays(kept, ("X", "y")) if kept else _fetch(entry)
    warnings.warn(
        f"{entry.name} comes from scikit-learn's fetchers ({source.difference}): "
        f"results will differ a little from those with {entry.file}",
        stacklevel=4,
    )
    return arrays


def _fetch(entry: Entry) -> Arrays:
    try:
        arrays = DOWNLOADS[entry.name].fetch()
    except (OSError, HTTPException) as error:
        raise FileNotFoundError(
            f"{entry.name} is not on this machine and could not be downloaded "
            f"({type(error).__name__}: {error}). Try again, or put {entry.file} into "
            f"{files.places()}."
        ) from error
    # A cache that cannot be written only costs time.
    with contextlib.suppress(OSError):
        files.write_arrays(files.cache_folder() / entry.downloaded_file, arrays)
    return arrays
