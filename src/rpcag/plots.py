"""Pictures, with matplotlib (the extra ``rpcag[plots]``). Nothing here calls show."""

import os
import tempfile
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

GREYS = mpl.colormaps["gray"].with_extremes(bad="#c8553d")
SIGNED = mpl.colormaps["RdBu_r"].with_extremes(bad="#dddddd")


def decomposition(rows, image_shape) -> Figure:
    """Rows of small images, one row per name; missing pixels stand out.

    Parameters
    ----------
    rows : dict of str to array of shape (n_images, height * width)
        The row called "sparse" is drawn with signs, the others in one grey scale.
    image_shape : tuple of int
    """
    first = np.asarray(next(iter(rows.values())))
    low, high = np.nanmin(first), np.nanmax(first)
    n = len(first)
    figure = Figure(figsize=(0.55 * n + 1.1, 0.62 * len(rows)), dpi=150)
    axes = figure.subplots(len(rows), n, squeeze=False)
    for line, (name, images) in zip(axes, rows.items(), strict=True):
        span = np.nanmax(np.abs(images)) or 1.0
        signed = name == "sparse"
        for axis, image in zip(line, np.asarray(images), strict=True):
            axis.imshow(
                np.ma.masked_invalid(image.reshape(image_shape)),
                cmap=SIGNED if signed else GREYS,
                vmin=-span if signed else low,
                vmax=span if signed else high,
            )
            axis.set(xticks=[], yticks=[])
            for spine in axis.spines.values():
                spine.set_visible(False)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    figure.subplots_adjust(0.08, 0.01, 0.995, 0.99, wspace=0.06, hspace=0.06)
    return figure


def embedding(Z, labels=None, *, first: int = 0, ax: Axes | None = None) -> Axes:
    """Scatter of two successive components, coloured by class.

    Parameters
    ----------
    Z : array of shape (n_samples, n_components)
    labels : array of shape (n_samples,), optional
    first : int, default=0
        The component on the horizontal axis.
    ax : matplotlib axes, optional
    """
    Z = np.asarray(Z)[:, first : first + 2]
    if Z.shape[1] < 2:
        Z = np.column_stack([Z, np.zeros((len(Z), 2 - Z.shape[1]))])
    if ax is None:
        ax = Figure(figsize=(5, 4.2), dpi=150, layout="constrained").subplots()
    if labels is None:
        ax.scatter(Z[:, 0], Z[:, 1], s=6, linewidths=0)
    else:
        classes = np.unique(labels)
        colours = mpl.colormaps["tab10" if len(classes) <= 10 else "turbo"]
        for k, name in enumerate(classes):
            colour = colours(k if len(classes) <= 10 else k / (len(classes) - 1))
            chosen = np.asarray(labels) == name
            x, y = Z[chosen].T
            ax.scatter(x, y, s=7, linewidths=0, color=colour, label=name)
        if len(classes) <= 20:
            ax.legend(fontsize=7, markerscale=2, frameon=False, loc="best", ncols=2)
    ax.set(xlabel=f"component {first + 1}", ylabel=f"component {first + 2}")
    return ax


def save(picture: Figure | Axes, path: Path) -> Path:
    """Write a figure, or the figure of some axes: all of the file or nothing."""
    figure = picture if isinstance(picture, Figure) else picture.get_figure(root=True)
    assert isinstance(figure, Figure)
    handle, part = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
    os.close(handle)
    try:
        figure.savefig(part)
        os.chmod(part, 0o644)
        os.replace(part, path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise
    return path
