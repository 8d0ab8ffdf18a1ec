"""Axes and colors of all plots."""

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes

GRAYS = mpl.colormaps["gray"].with_extremes(bad="#c8553d")
SIGNED = mpl.colormaps["RdBu_r"].with_extremes(bad="#dddddd")
BLUE, RED = "#1f5a99", "#c8553d"
SMALL = 8


def axes_or_new(given, shape=(1, 1), size=(5.0, 4.2), **options: Any) -> np.ndarray:
    """The axes given, as an array of this shape, or those of a new pyplot figure."""
    if given is None:
        from matplotlib import pyplot as plt  # it chooses a backend when imported

        options = {"layout": "constrained"} | options
        return plt.subplots(*shape, figsize=size, squeeze=False, **options)[1]
    axes = np.array(given, dtype=object)
    is_axes = all(isinstance(ax, Axes) for ax in axes.flat)
    if axes.size != np.prod(shape) or not is_axes:
        raise ValueError(
            f"axes must hold {shape[0]} x {shape[1]} matplotlib axes, as "
            f"plt.subplots{shape} makes them, got {axes.shape}"
        )
    return axes.reshape(shape)


def plain(ax: Axes) -> None:
    """Remove the frame except for the axes, and add a light grid."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(linewidth=0.4, alpha=0.6)
    ax.set_axisbelow(True)
