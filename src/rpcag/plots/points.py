"""Plots of samples as points: embeddings and graphs."""

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from scipy import sparse

from rpcag.graphs import check_graph
from rpcag.graphs.laplacian import degree
from rpcag.plots.canvas import BLUE, one_axes, plain


def embedding(
    source,
    labels=None,
    *,
    first: int = 0,
    dimensions: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Plot two or three components as points, colored by class or value.

    Parameters
    ----------
    source : fitted model, or array of shape (n_samples, n_components)
        A model's `embedding_`, or points.
    labels : array of shape (n_samples,), optional
        Classes, or real numbers, which are shown on a color scale.
    first : int, default=0
        Component on the horizontal axis, from 0.
    dimensions : {2, 3}, optional
        By default those of `ax`, or 2.
    ax : matplotlib axes, optional
        For three dimensions, create it with ``projection="3d"``.
    """
    Z = _points(source)
    solid = getattr(ax, "name", None) == "3d"
    dimensions = (3 if solid else 2) if dimensions is None else dimensions
    if dimensions not in (2, 3):
        raise ValueError(f"dimensions must be 2 or 3, got {dimensions!r}")
    if dimensions == 3 and ax is not None and not solid:
        raise ValueError('ax must be made with projection="3d" for dimensions=3')
    if not 0 <= first < max(Z.shape[1], 1):
        raise ValueError(f"first={first} is not one of the {Z.shape[1]} components")
    ax = one_axes(ax, projection="3d" if dimensions == 3 else None)
    scatter(ax, _columns(Z, first, dimensions), labels)
    for k, side in enumerate("xyz"[:dimensions]):
        if first + k < Z.shape[1]:
            ax.set(**{f"{side}label": f"component {first + k + 1}"})
    return ax


def graph(
    source,
    positions=None,
    labels=None,
    *,
    first: int = 0,
    max_edges: int = 20_000,
    ax: Axes | None = None,
) -> Axes:
    """Plot a graph between samples; edges with larger weights are darker.

    Parameters
    ----------
    source : fitted model, or graph
        A model's `adjacency_`, or a graph that models accept as ``graph=``: a matrix of
        weights, or a graph of NetworkX, igraph or PyGSP.
    positions : array of shape (n_samples, at least 2), optional
        Positions of the vertices; by default the model's `embedding_`.
    labels : array of shape (n_samples,), optional
        As in `embedding`.
    first : int, default=0
        The column of the positions on the horizontal axis.
    max_edges : int, default=20000
        Maximum number of edges to draw, those with the largest weights. The title says
        if edges are left out.
    ax : matplotlib axes, optional
    """
    A = sparse.triu(sparse.coo_array(_adjacency(source)), k=1).tocoo()
    if positions is None and not hasattr(source, "embedding_"):
        raise ValueError("positions are needed for a graph without a model")
    Z = _points(source if positions is None else positions)
    if len(Z) != A.shape[0]:
        raise ValueError(f"positions are {len(Z)} points for {A.shape[0]} vertices")
    xy = _columns(Z, first, 2)
    kept = np.argsort(A.data, kind="stable")[max(A.nnz - max_edges, 0) :]
    weights = A.data[kept]
    ends = np.stack([xy[A.row[kept]], xy[A.col[kept]]], axis=1)
    ax = one_axes(ax)
    # Thousands of dark edges would hide the points.
    darkest = min(0.8, max(0.15, 40 / np.sqrt(max(len(kept), 1))))
    largest = weights.max(initial=0.0) or 1.0
    lines = LineCollection(
        list(ends), colors="#444444", linewidths=0.6, alpha=darkest * weights / largest
    )
    ax.add_collection(lines)
    scatter(ax, xy, labels, size=12, zorder=2)
    ax.autoscale_view()
    ax.set(xticks=[], yticks=[])
    if len(kept) < A.nnz:
        ax.set_title(f"the heaviest {len(kept)} of {A.nnz} edges", fontsize=9)
    return ax


def degrees(source, *, bins: int = 30, ax: Axes | None = None) -> Axes:
    """Plot a histogram of the degrees of a graph: the sums of weights at its vertices.

    Parameters
    ----------
    source : fitted model, or graph
        As in `graph`.
    bins : int, default=30
    ax : matplotlib axes, optional
    """
    d = degree(_adjacency(source))
    ax = one_axes(ax, (5.0, 3.2))
    ax.hist(d, bins=bins, range=(0, d.max(initial=0.0) or 1.0), color=BLUE)
    plain(ax)
    lonely = int(np.sum(d == 0))
    alone = f" ({lonely} without neighbors)" if lonely else ""
    ax.set(xlabel="degree", ylabel=f"samples{alone}", xlim=(0, None))
    return ax


def scatter(ax: Axes, Z: np.ndarray, labels, size: float = 7, **style) -> None:
    """Points in two or three dimensions, colored by class or value."""
    options: dict[str, Any] = {**style, "s": size, "linewidths": 0}
    if labels is None:
        ax.scatter(*Z.T, color=BLUE, **options)
        return
    labels = np.asarray(labels)
    if labels.shape != (len(Z),):
        raise ValueError(
            f"labels must be one per sample, {len(Z)}, got shape {labels.shape}"
        )
    classes = np.unique(labels)
    if labels.dtype.kind == "f" and len(classes) > 20:
        options |= {"c": labels, "cmap": "viridis"}
        points = ax.scatter(*Z.T, **options)
        ax.figure.colorbar(points, ax=ax, shrink=0.8)
        return
    few = len(classes) <= 10
    colors = mpl.colormaps["tab10" if few else "turbo"]
    for k, name in enumerate(classes):
        color = colors(k if few else k / (len(classes) - 1))
        ax.scatter(*Z[labels == name].T, color=color, label=str(name), **options)
    if len(classes) <= 20:
        ax.legend(fontsize=7, markerscale=2, frameon=False, loc="best", ncols=2)


def _points(source) -> np.ndarray:
    Z = np.asarray(getattr(source, "embedding_", source), dtype=float)
    if Z.ndim != 2:
        raise ValueError(
            "points must be a fitted model or an array of shape (n_samples, "
            f"n_components), got shape {Z.shape}"
        )
    return Z


def _columns(Z: np.ndarray, first: int, count: int) -> np.ndarray:
    """Some columns of Z, and zeros where there are too few."""
    Z = Z[:, first : first + count]
    return np.pad(Z, ((0, 0), (0, count - Z.shape[1])))


def _adjacency(source):
    adjacency = getattr(source, "adjacency_", source)
    if adjacency is None and source is not None:
        raise ValueError(
            f"source is a fitted {type(source).__name__} without a graph: gamma=0 "
            "predicted hidden entries best. Pass a graph, such as KNNGraph()(X)"
        )
    return check_graph(adjacency, name="source")
