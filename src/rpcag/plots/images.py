"""Plots of the data with its low-rank and sparse parts."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from rpcag.graphs.inpainting import check_image_shape
from rpcag.graphs.inputs import with_nan
from rpcag.plots.canvas import GRAYS, SIGNED, SMALL, many_axes


def decomposition(
    source,
    image_shape: tuple[int, ...] | None = None,
    *,
    X=None,
    samples: int | Sequence[int] | None = None,
    axes=None,
) -> np.ndarray:
    """Plot the data, its low-rank part and its sparse part.

    Parameters
    ----------
    source : fitted model, or dict of str to array of shape (n_samples, n_features)
        A model shows its data, `low_rank_` and `sparse_`. A dict shows every array
        under its name. The array "sparse" is drawn with signs, in red and blue. The
        others share the gray scale of "low-rank", or of the first array.
    image_shape : tuple of int, optional
        Shape of the images in the rows. Without it, every part is drawn as one matrix.
    X : array of shape (n_samples, n_features), optional
        The data of the model, to show missing entries. Default: L + S.
    samples : int or sequence of int, optional
        Rows to draw, or the number of evenly spaced rows. Default: up to ten images, or
        all rows of a matrix.
    axes : array of axes, optional
        Array of shape (parts, images), or (1, parts) without an `image_shape`.

    Returns
    -------
    ndarray of axes
    """
    parts = _parts(source, X)
    first = next(iter(parts.values()))
    rows = _rows(samples, len(first), len(first) if image_shape is None else 10)
    parts = {name: part[rows] for name, part in parts.items()}
    if image_shape is None:
        axes = many_axes(
            axes,
            (1, len(parts)),
            (3.0 * len(parts), 3.4),
            layout="constrained",
            sharey=True,
        )
        for ax, (name, part) in zip(axes[0], parts.items(), strict=True):
            _draw(ax, part, name, parts, aspect="auto")
            ax.set(title=name, xlabel="features")
        axes[0, 0].set_ylabel("samples")
        return axes
    image_shape = check_image_shape(image_shape, first.shape, channels=True)
    given = axes is not None
    height = image_shape[0] / image_shape[1]
    size = 0.6 * len(rows) + 0.9, 0.62 * height * len(parts)
    axes = many_axes(axes, (len(parts), len(rows)), size)
    for line, (name, part) in zip(axes, parts.items(), strict=True):
        for ax, image in zip(line, part, strict=True):
            _draw(ax, image.reshape(image_shape), name, parts)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    if not given:
        left = 0.85 / size[0]  # the names
        axes[0, 0].figure.subplots_adjust(
            left, 0.01, 0.995, 0.99, wspace=0.06, hspace=0.06
        )
    return axes


def _parts(source, X) -> dict[str, np.ndarray]:
    if isinstance(source, dict):
        parts = {name: np.asarray(part, dtype=float) for name, part in source.items()}
        if not parts:
            raise ValueError("source must name at least one array, got an empty dict")
    elif hasattr(source, "low_rank_"):
        L = np.asarray(source.low_rank_)
        if X is not None:
            data = np.asarray(with_nan(X), dtype=float)
            S = getattr(source, "sparse_", data - L)
        elif hasattr(source, "sparse_"):
            S = source.sparse_
            data = L + np.asarray(S)
        else:
            raise ValueError(
                f"{type(source).__name__} has no sparse part; pass its data as X="
            )
        parts = {"data": data, "low-rank": L, "sparse": np.asarray(S)}
    else:
        raise TypeError(
            "source must be a fitted model with a low-rank part, or a dict of arrays, "
            f"got {type(source).__name__}"
        )
    shapes = {part.shape for part in parts.values()}
    if len(shapes) > 1 or len(shapes.copy().pop()) != 2:
        found = ", ".join(f"{name} {part.shape}" for name, part in parts.items())
        raise ValueError(f"parts must be matrices of one shape, got {found}")
    return parts


def _rows(samples, n: int, default: int) -> np.ndarray:
    if samples is None or isinstance(samples, (int, np.integer)):
        count = min(default if samples is None else samples, n)
        if count < 1:
            raise ValueError(f"samples must be at least 1, got {samples}")
        return np.linspace(0, n - 1, count).round().astype(int)
    rows = np.asarray(samples)
    if rows.ndim != 1 or rows.size == 0 or rows.min() < -n or rows.max() >= n:
        raise ValueError(f"samples must be rows of {n}, got {samples!r}")
    return rows


def _draw(ax: Axes, picture, name: str, parts, **options) -> None:
    """In the common gray scale, or with signs if it is called sparse."""
    if name == "sparse":
        high = _largest(np.abs(parts[name])) or 1.0
        low, colors = -high, SIGNED
    else:
        scale = parts.get("low-rank", next(iter(parts.values())))
        low, high, colors = -_largest(-scale), _largest(scale), GRAYS
    ax.imshow(
        np.ma.masked_invalid(picture), cmap=colors, vmin=low, vmax=high, **options
    )
    ax.tick_params(labelsize=SMALL)


def _largest(values: np.ndarray) -> float:
    return float(np.max(values, initial=-np.inf, where=np.isfinite(values)))
