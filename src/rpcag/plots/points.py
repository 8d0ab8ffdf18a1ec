"""Plots of samples as points: embeddings and graphs."""

from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from scipy import sparse

from rpcag.graphs import check_graph
from rpcag.plots.canvas import BLUE, axes_or_new

LEGEND = 20  # classes in the legend; more real numbers get a color scale


def embedding(source, labels=None, *, first: int = 0, ax: Axes | None = None) -> Axes:
    """Plot two components as points, colored by class or value.

    Parameters
    ----------
    source : fitted model, or array of shape (n_samples, n_components)
        A model's `embedding_`, or points.
    labels : array of shape (n_samples,), optional
        Classes, or real numbers, which are shown on a color scale.
    first : int, default=0
        Component on the horizontal axis, from 0.
    ax : matplotlib axes, optional
    """
    Z = _points(source)
    xy = _columns(Z, first)
    ax = axes_or_new(ax)[0, 0]
    _scatter(ax, xy, labels)
    ax.set_xlabel(f"component {first + 1}")
    if first + 1 < Z.shape[1]:
        ax.set_ylabel(f"component {first + 2}")
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
        A model's `adjacency_`, or a matrix of weights.
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
    adjacency = getattr(source, "adjacency_", source)
    if adjacency is None and source is not None:
        raise ValueError(
            f"source is a fitted {type(source).__name__} without a graph: gamma=0 "
            "predicted hidden entries best. Pass a graph, such as KNNGraph()(X)"
        )
    A = sparse.triu(check_graph(adjacency, name="source"), k=1, format="coo")
    if positions is None and not hasattr(source, "embedding_"):
        raise ValueError("positions are needed for a graph without a model")
    Z = _points(source if positions is None else positions)
    if len(Z) != A.shape[0]:
        raise ValueError(f"positions are {len(Z)} points for {A.shape[0]} vertices")
    xy = _columns(Z, first)
    kept = np.argsort(A.data, kind="stable")[max(A.nnz - max_edges, 0) :]
    ends = np.stack([xy[A.row[kept]], xy[A.col[kept]]], axis=1)
    ax = axes_or_new(ax)[0, 0]
    # Thousands of dark edges would hide the points.
    darkest = np.clip(40 / np.sqrt(max(len(kept), 1)), 0.15, 0.8)
    alpha = darkest * A.data[kept] / A.data.max(initial=np.finfo(float).tiny)
    lines = LineCollection(list(ends), colors="#444444", linewidths=0.6, alpha=alpha)
    ax.add_collection(lines)
    _scatter(ax, xy, labels, size=12, zorder=2)
    ax.autoscale_view()
    ax.set(xticks=[], yticks=[])
    if len(kept) < A.nnz:
        ax.set_title(f"the heaviest {len(kept)} of {A.nnz} edges", fontsize=9)
    return ax


def _scatter(ax: Axes, xy: np.ndarray, labels, size: float = 7, **style: Any) -> None:
    """Points, colored by class or value."""
    style |= {"s": size, "linewidths": 0}
    if labels is None:
        ax.scatter(*xy.T, color=BLUE, **style)
        return
    labels = np.asarray(labels)
    if labels.shape != (len(xy),):
        raise ValueError(
            f"labels must be one per sample, {len(xy)}, got shape {labels.shape}"
        )
    classes = np.unique(labels)
    if labels.dtype.kind == "f" and len(classes) > LEGEND:
        points = ax.scatter(xy[:, 0], xy[:, 1], c=labels, cmap="viridis", **style)
        ax.figure.colorbar(points, ax=ax, shrink=0.8)
        return
    few = mpl.colormaps["tab10"](range(10))
    many = mpl.colormaps["turbo"](np.linspace(0, 1, len(classes)))
    for color, name in zip(few if len(classes) <= 10 else many, classes, strict=False):
        ax.scatter(*xy[labels == name].T, color=color, label=str(name), **style)
    if len(classes) <= LEGEND:
        ax.legend(fontsize=7, markerscale=2, frameon=False, loc="best", ncols=2)


def _points(source) -> np.ndarray:
    Z = np.asarray(getattr(source, "embedding_", source), dtype=float)
    if Z.ndim != 2:
        raise ValueError(
            "points must be a fitted model or an array of shape (n_samples, "
            f"n_components), got shape {Z.shape}"
        )
    return Z


def _columns(Z: np.ndarray, first: int) -> np.ndarray:
    """Two columns of Z, or zeros where there are too few."""
    if not 0 <= first < max(Z.shape[1], 1):
        raise ValueError(f"first={first} is not one of the {Z.shape[1]} components")
    Z = Z[:, first : first + 2]
    return np.pad(Z, ((0, 0), (0, 2 - Z.shape[1])))
