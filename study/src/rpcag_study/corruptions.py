"""The corruptions of the paper: blocks over images, lost entries, errors of one size.

The functions return a corrupted copy and a boolean mask, which is True where an entry
is unchanged. `corrupt` takes the name of a column of the paper's tables.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from rpcag_study.datasets import Data

CORRUPTIONS = (
    "none",
    "samples25_occlusion25",
    "samples25_missing25",
    "occlusion15",
    "occlusion25",
    "occlusion40",
    "missing15",
    "missing25",
    "missing35",
    "missing50",
)
# Kinds that errors are averaged over.
GROUPS = {
    "none": ["none"],
    "occluded": ["occlusion15", "occlusion25", "occlusion40"],
    "missing": ["missing15", "missing25", "missing35", "missing50"],
}
PATTERN = re.compile(r"(?:samples(\d+)_)?(occlusion|missing)(\d+)")


def suits(corruption: str, data: Data) -> bool:
    """Blocks need images."""
    return "occlusion" not in corruption or data.image_shape is not None


def check_corruption(name: str) -> str:
    if name != "none" and not PATTERN.fullmatch(name):
        raise ValueError(
            f"unknown corruption {name!r}: none, occlusion25, missing25 (any per cent) "
            "or samples25_occlusion25, to hit a quarter of the samples"
        )
    for share in re.findall(r"\d+", name):
        if not 0 < int(share) < 100:
            raise ValueError(
                f"corruption {name!r}: per cents must lie between 1 and 99, got {share}"
            )
    return name


def corrupt(data: Data, name: str, seed: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Zeros in place of the lost entries, and a mask of the others (None: all)."""
    if check_corruption(name) == "none":
        return data.X, None
    match = PATTERN.fullmatch(name)
    assert match is not None
    samples, kind, share = match.groups()
    options: dict[str, Any] = {
        "share": int(share) / 100,
        "samples": int(samples or 100) / 100,
        "random_state": seed + 1,
    }
    function: Callable = drop_entries
    if kind == "occlusion":
        if data.image_shape is None:
            raise ValueError(f"{name} needs images, and {data.name} has none")
        function, options["image_shape"] = occlude_blocks, data.image_shape
    return function(data.X, **options)


def occlude_blocks(
    X: np.ndarray,
    image_shape: tuple[int, ...],
    share: float = 0.25,
    *,
    samples: float = 1.0,
    random_state: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Cover a block of every image with zeros, at a random place.

    The block has this share of the area and covers all channels. `samples` is the share
    of the images that are covered, drawn at random.

    >>> occlude_blocks(np.ones((1, 16)), (4, 4))[0].reshape(4, 4)
    array([[1., 0., 0., 1.],
           [1., 0., 0., 1.],
           [1., 1., 1., 1.],
           [1., 1., 1., 1.]])
    """
    height, width, *channels = image_shape
    rng = np.random.RandomState(random_state)
    rows = min(height, round(np.sqrt(share * height * width)))
    columns = min(width, round(share * height * width / rows)) if rows else 0
    mask = np.ones((len(X), height, width, *channels), dtype=bool)
    tops = rng.randint(height - rows + 1, size=len(X))
    lefts = rng.randint(width - columns + 1, size=len(X))
    # Drawn last: an image that is hit has the same block whatever `samples` is.
    for i in _draw_samples(len(X), samples, rng):
        mask[i, tops[i] : tops[i] + rows, lefts[i] : lefts[i] + columns] = False
    mask = mask.reshape(X.shape)
    return np.where(mask, X, 0), mask


def drop_entries(
    X: np.ndarray, share: float = 0.25, *, samples: float = 1.0, random_state: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Put zeros at random entries, exactly ``round(share * n_features)`` per sample.

    `samples` is as in `occlude_blocks`.
    """
    rng = np.random.RandomState(random_state)
    lost = rng.rand(*X.shape).argsort(axis=1)[:, : round(share * X.shape[1])]
    hit = _draw_samples(len(X), samples, rng)
    mask = np.ones(X.shape, dtype=bool)
    mask[hit[:, None], lost[hit]] = False
    return np.where(mask, X, 0), mask


def add_sign_errors(
    X: np.ndarray,
    share: float = 0.1,
    *,
    size: float = 1.0,
    signs: str = "random",
    random_state: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Add errors of one size to entries, each with the probability `share`.

    Signs are "random", or "coherent": the sign of the entry of X (+ for zero), which is
    the harder case. With the same seed, the errors of a smaller share are a subset of
    those of a larger one.

    In the paper, a corrupted entry "takes a value ±1", as in Candès et al. (2011):
    an entry of S in X = L + S. So errors are added to entries.
    """
    rng = np.random.RandomState(random_state)
    mask = rng.random_sample(X.shape) >= share
    positive = rng.random_sample(X.shape) < 0.5 if signs == "random" else X >= 0
    return X + np.where(mask, 0, np.where(positive, size, -size)), mask


def _draw_samples(n: int, share: float, rng: np.random.RandomState) -> np.ndarray:
    """Which samples are hit. If all are, nothing is drawn."""
    count = round(share * n)
    return np.arange(n) if count == n else rng.permutation(n)[:count]
