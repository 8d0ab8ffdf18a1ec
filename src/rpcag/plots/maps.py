"""Maps: where a matrix is recovered."""

import numpy as np
from matplotlib.axes import Axes

from rpcag.plots.canvas import SMALL, one_axes


def phase(
    values,
    ranks,
    errors,
    *,
    span: tuple[float, float] | None = None,
    recovered: float | None = None,
    label: str = "log10 of the relative error of L",
    ax: Axes | None = None,
) -> Axes:
    """Phase diagram: how well L is recovered, by its rank and the share of errors.

    Parameters
    ----------
    values : array of shape (n_ranks, n_errors)
        Logarithms of errors. NaN is left white.
    ranks, errors : sequences
        Ranks of the rows and shares of errors of the columns of `values`. The rank is
        on the horizontal axis.
    span : tuple of float, optional
        Values of the darkest and the lightest color. Default: the range of the values.
    recovered : float, optional
        A line is drawn around the cells at or below this value.
    label : str
        Label of the color scale.
    ax : matplotlib axes, optional
    """
    V = np.asarray(values, dtype=float)
    if V.shape != (len(ranks), len(errors)):
        raise ValueError(
            f"values must have one row for each of {len(ranks)} ranks and one column "
            f"for each of {len(errors)} errors, got shape {V.shape}"
        )
    ax = one_axes(ax)
    low, high = span if span is not None else (None, None)
    picture = ax.imshow(
        np.ma.masked_invalid(V.T),
        origin="lower",
        aspect="auto",
        cmap="viridis",
        vmin=low,
        vmax=high,
    )
    if recovered is not None:
        _outline(ax, V.T <= recovered)
    _ticks(ax.set_xticks, ranks)
    _ticks(ax.set_yticks, errors)
    ax.set(xlabel="rank", ylabel="errors")
    ax.figure.colorbar(picture, ax=ax, label=label)
    return ax


def _ticks(place, values) -> None:
    """At most about ten, on cells."""
    at = range(0, len(values), max(1, -(-len(values) // 10)))
    place(at, [f"{values[i]:g}" for i in at], fontsize=SMALL)


def _outline(ax: Axes, inside: np.ndarray) -> None:
    """A line between cells that are inside and those that are not."""
    padded = np.pad(inside, 1)
    rows, columns = np.nonzero(padded[1:, 1:-1] != padded[:-1, 1:-1])
    ax.hlines(rows - 0.5, columns - 0.5, columns + 0.5, color="white", linewidth=2)
    rows, columns = np.nonzero(padded[1:-1, 1:] != padded[1:-1, :-1])
    ax.vlines(columns - 0.5, rows - 0.5, rows + 0.5, color="white", linewidth=2)
