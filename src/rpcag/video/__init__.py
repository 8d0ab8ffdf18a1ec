"""Separate the background of a fixed camera from moving objects.

`separate` takes frames as an array; `separate_file` streams a video of any length from
and to files, and needs the extra ``rpcag[video]``.
"""

from rpcag.video.background import BackgroundModel, noise_level
from rpcag.video.files import separate_file
from rpcag.video.masks import MaskRule, fit_mask_rule, refined
from rpcag.video.pixels import scaled
from rpcag.video.separation import Separation, separate
from rpcag.video.sources import Source

__all__ = [
    "BackgroundModel",
    "MaskRule",
    "Separation",
    "Source",
    "fit_mask_rule",
    "noise_level",
    "refined",
    "scaled",
    "separate",
    "separate_file",
]
