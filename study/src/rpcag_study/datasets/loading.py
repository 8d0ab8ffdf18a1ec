"""Load a data set of the paper by its name."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rpcag_study.datasets import files
from rpcag_study.datasets.catalog import Entry, entry_named
from rpcag_study.datasets.download import DOWNLOADS, download
from rpcag_study.datasets.records import Data, Video
from rpcag_study.datasets.subsets import PAPER, choose_rows


def load(
    name: str,
    *,
    subset: str = "paper",
    seed: int = 0,
    without: Sequence[int] = (),
    per_class: int | None = None,
    verify: bool = True,
) -> Data:
    """A data set of the paper's comparison.

    Files are looked for in the folder the environment variable RPCAG_DATA names, then
    in the user's cache (~/.cache/rpcag). Sets scikit-learn can fetch are downloaded if
    they are in neither, with a warning where the copy is not the one of the study.

    Parameters
    ----------
    name : str
        PIE, ORL, YALE, COIL20, MNIST, USPS, MFeat or BCI, in any case of letters; or
        another size: ORL-28x23, ORL-32x32, ORL-112x92, YALE-32x32.
    subset : {"paper", "all"}, default="paper"
        The paper's number of samples (PIE and ORL 30 subjects x 10, COIL20 20 x 10,
        MNIST and USPS 10 x 30, MFeat 10 x 40, all of YALE and BCI), or everything.
    seed : int, default=0
        Which samples, where the paper does not tell. Zero is the choice of the study:
        the authors' subjects for ORL, lights and poses spread evenly for PIE and
        COIL20. Other seeds draw subjects and images at random.
    without : sequence of int, optional
        Seeds whose samples are left out: for a draw that shares nothing with theirs.
    per_class : int, optional
        Another number of samples per class, such as 20 or 40 for PIE.
    verify : bool, default=True
        Whether to compare the file's checksum with the one of the study.

    Returns
    -------
    Data
        Rows sorted by class, classes numbered from 0. Images lie in [0, 1]; tables
        are as they were published, so features may need to be standardized.
    """
    entry = entry_named(name, video=False)
    if subset not in ("paper", "all"):
        raise ValueError(f"subset must be 'paper' or 'all', got {subset!r}")
    plan = PAPER[entry.name.split("-")[0]]
    if subset == "all":
        plan = replace(plan, classes=None, per_class=None)
    if per_class is not None:
        plan = replace(plan, per_class=per_class)
    arrays = _arrays(entry, ("X", "y"), verify)
    X, y = arrays["X"], arrays["y"]
    rows = choose_rows(y, plan, seed=seed, without=without)
    X = X[rows] / 255 if X.dtype == np.uint8 else X[rows]
    y = np.unique(y[rows], return_inverse=True)[1]
    shape = tuple(arrays["image_shape"]) if "image_shape" in arrays else None
    return Data(entry.name, X, y, image_shape=shape)


def load_video(name: str, *, verify: bool = True) -> Video:
    """A video of a fixed camera, with the foreground of some frames marked by hand.

    Parameters
    ----------
    name : str
        hall, bootstrap (the restaurant) or shoppingmall, the three of the paper; or
        lobby, highway, pedestrians.
    verify : bool, default=True
        Whether to compare the file's checksum with the one of the study.

    Returns
    -------
    Video
    """
    entry = entry_named(name, video=True)
    required = ("frames", "frame_number", "masks", "mask_index")
    arrays = _arrays(entry, required, verify)
    known = {*required, "valid", "extra_frames", "extra_masks"}
    return Video(entry.name, **{key: arrays[key] for key in known & arrays.keys()})


def _arrays(entry: Entry, required, verify: bool) -> dict[str, np.ndarray]:
    path = files.find(entry.file)
    if path is not None:
        if verify:
            files.check_intact(path, entry.sha256)
        return files.read_arrays(path, required)
    if entry.name in DOWNLOADS:
        return download(entry)
    raise FileNotFoundError(
        f"{entry.name} is not on this machine and is not downloaded automatically. Ask "
        f"its owners: {entry.terms}. Then put {entry.file} into {files.places()}; "
        f"docs/data.md describes the file."
    )
