"""Plots of the data with its low-rank and sparse parts."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from rpcag.graphs.inputs import check_image_shape, with_nan
from rpcag.plots.canvas import GRAYS, SIGNED, SMALL, axes_or_new


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
    n, p = next(iter(parts.values())).shape
    rows = _rows(samples, n, n if image_shape is None else 10)
    parts = {name: part[rows] for name, part in parts.items()}
    if image_shape is None:
        size = 3.0 * len(parts), 3.4
        axes = axes_or_new(axes, (1, len(parts)), size, sharey=True)
        for ax, (name, part) in zip(axes[0], parts.items(), strict=True):
            _draw(ax, part, name, parts, aspect="auto")
            ax.set(title=name, xlabel="features")
        axes[0, 0].set_ylabel("samples")
        return axes
    shape = check_image_shape(image_shape, (n, p), channels=True)
    size = 0.6 * len(rows) + 0.9, 0.62 * shape[0] / shape[1] * len(parts)
    axes = axes_or_new(axes, (len(parts), len(rows)), size, layout="compressed")
    for line, (name, part) in zip(axes, parts.items(), strict=True):
        for ax, image in zip(line, part, strict=True):
            _draw(ax, image.reshape(shape), name, parts)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set_visible(False)
        line[0].set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9)
    return axes


def _parts(source, X) -> dict[str, np.ndarray]:
    if isinstance(source, dict):
        parts = source
    elif not hasattr(source, "low_rank_"):
        raise TypeError(
            "source must be a fitted model with a low-rank part, or a dict of arrays, "
            f"got {type(source).__name__}"
        )
    elif X is None and not hasattr(source, "sparse_"):
        raise ValueError(
            f"{type(source).__name__} has no sparse part; pass its data as X="
        )
    else:
        L = np.asarray(source.low_rank_)
        data = None if X is None else np.asarray(with_nan(X), dtype=float)
        S = getattr(source, "sparse_", None)
        S = data - L if S is None else np.asarray(S)
        parts = {"data": L + S if data is None else data, "low-rank": L, "sparse": S}
    parts = {name: np.asarray(part, dtype=float) for name, part in parts.items()}
    shapes = {part.shape for part in parts.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2:
        found = ", ".join(f"{name} {part.shape}" for name, part in parts.items())
        raise ValueError(
            "parts must be matrices of one shape, got " + (found or "an empty dict")
        )
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
    first = next(iter(parts.values()))
    shown = parts[name] if name == "sparse" else parts.get("low-rank", first)
    known = shown[np.isfinite(shown)]
    low, high, colors = known.min(initial=np.inf), known.max(initial=-np.inf), GRAYS
    if name == "sparse":
        high = max(-low, high) or 1.0
        low, colors = -high, SIGNED
    if picture.ndim == 3:  # colors are between 0 and 1; no error is gray
        picture = np.clip((picture - low) / ((high - low) or 1.0), 0, 1)
    masked = np.ma.masked_invalid(picture)
    ax.imshow(masked, cmap=colors, vmin=low, vmax=high, **options)
    ax.tick_params(labelsize=SMALL)
