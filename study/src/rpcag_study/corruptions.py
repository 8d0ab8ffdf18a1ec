"""The ten corruptions of the paper's tables, by the names of their columns."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from rpcag.corruption import drop_entries, occlude_blocks
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
