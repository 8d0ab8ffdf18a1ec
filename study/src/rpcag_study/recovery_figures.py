"""Figures of low-rank recovery, with matplotlib (the extra ``rpcag[plots]``)."""

from collections.abc import Callable, Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rpcag_study.experiments import faces as faces_
from rpcag_study.experiments import phase as phase_
from rpcag_study.experiments.common import faces as load_faces
from rpcag_study.experiments.common import needed
from rpcag_study.experiments.phase import FOUND, SIGNS, Cells, Setup

# Errors are drawn up to twice the truth; differences of a factor of ten and more alike.
WORST, APART = 0.3, 1.0


def phase(records: Iterable[dict]) -> Figure:
    """log10 of the relative error of L: a row per kind of signs, a column per model.

    Only the largest size of the store is drawn. A dot marks a matrix that is found.
    """
    found, n, signs = _largest(records)
    found = {setup: phase_.clipped(cells) for setup, cells in found.items()}

    def mark(axis: Axes, E: np.ndarray) -> None:
        rows, columns = np.nonzero(E <= FOUND)
        axis.plot(columns, rows, "o", color="white", markersize=3)

    label = f"log10 of the relative error of L\n(dot: below {FOUND:g})"
    return _maps(found, n, signs, "viridis", (FOUND, WORST), label, mark)


def phase_difference(records: Iterable[dict]) -> Figure:
    """The same of RPCAG minus that of RPCA: blue where the graph helps."""
    found, n, signs = _largest(records)
    rpca = found.pop(phase_.RPCA, {})
    apart = {setup: phase_.minus(cells, rpca) for setup, cells in found.items()}
    apart = {setup: cells for setup, cells in apart.items() if cells}
    if not apart:
        raise ValueError("the difference needs records of RPCA and of RPCAG")

    def mark(axis: Axes, D: np.ndarray) -> None:
        for (y, x), value in np.ndenumerate(D):
            if np.isfinite(value):
                dark = "white" if abs(value) > 0.6 * APART else "black"
                text = "0" if abs(value) < 0.005 else f"{value:+.2f}"
                axis.text(x, y, text, ha="center", va="center", size=6, color=dark)

    label = "log10 error of RPCAG\nminus that of RPCA (red: worse)"
    return _maps(apart, n, signs, "RdBu_r", (-APART, APART), label, mark)


def _maps(
    found: dict[Setup, Cells],
    n: int,
    signs: list[str],
    colors: str,
    span: tuple[float, float],
    label: str,
    mark: Callable[[Axes, np.ndarray], None],
) -> Figure:
    """Means by rank and share of errors: a row per kind of signs."""
    size = 2.3 * len(found) + 1.1, 2.2 * len(signs) + 0.3
    figure = Figure(figsize=size, dpi=150, layout="constrained")
    axes = figure.subplots(len(signs), len(found), squeeze=False)
    for i, sign in enumerate(signs):
        for j, (setup, cells) in enumerate(found.items()):
            ranks, errors = phase_.sides(found, n, sign)
            E = phase_.grid(cells, n, sign, ranks, errors)
            axis = axes[i, j]
            picture = axis.imshow(
                E,
                origin="lower",
                aspect="auto",
                cmap=colors,
                vmin=span[0],
                vmax=span[1],
            )
            mark(axis, E)
            _sides(axis, ranks, errors, n, sign if j == 0 else None, sign == signs[-1])
            if i == 0:
                model, _, rest = phase_.SETUPS[setup].partition(", ")
                axis.set_title(f"{model}\n{rest}", fontsize=9)
    bar = figure.colorbar(picture, ax=axes, shrink=0.8, pad=0.02)
    bar.set_label(label, size=9)
    bar.ax.tick_params(labelsize=8)
    return figure


def _largest(records: Iterable[dict]) -> tuple[dict[Setup, Cells], int, list[str]]:
    """What was found on the largest matrices, and with which signs."""
    found = phase_.cells(needed("phase", records))
    n = phase_.sizes(found)[-1]
    of_size = {
        setup: {key: seeds for key, seeds in cells.items() if key[0] == n}
        for setup, cells in found.items()
    }
    of_size = {setup: cells for setup, cells in of_size.items() if cells}
    kinds = {key[1] for cells in of_size.values() for key in cells}
    return of_size, n, [sign for sign in SIGNS if sign in kinds]


def _sides(axis: Axes, ranks, errors, n: int, sign: str | None, last: bool) -> None:
    """Numbers at the left of a row (where it has a sign) and below the last."""
    labels = [f"{rank / n:.2g}".replace("0.", ".") for rank in ranks]
    axis.set_xticks(range(len(ranks)), labels if last else [], fontsize=7)
    axis.set_yticks(range(len(errors)), errors if sign else [], fontsize=7)
    if last:
        axis.set_xlabel(f"rank / {n}", fontsize=9)
    if sign:
        axis.set_ylabel(f"{sign} signs\nerrors, %", fontsize=9)


# -- faces -----------------------------------------------------------------------------


def faces(
    records: Iterable[dict], load: Callable = load_faces, shown: int = 2
) -> Figure:
    """Some occluded images of one person and the low-rank image of every model.

    The upper rows are of models that do not know the mask, the lower of those that do.
    Faces are not in the store: they are computed again, from the data.
    """
    data, found = faces_.pictures(needed("faces", records), load)
    masks = [mask for mask in faces_.WHAT if any(key[0] == mask for key in found)]
    models = list(dict.fromkeys(model for _, model in found))
    rows = _spread(data.X, shown)
    figure = Figure(
        figsize=(0.92 * (len(models) + 2), (1.03 * len(rows) + 0.4) * len(masks)),
        dpi=120,
    )
    parts = figure.subfigures(len(masks), 1, squeeze=False)[:, 0]
    for part, mask in zip(parts, masks, strict=True):
        title = f"{faces_.WHAT[mask]}; below images their relative error in %"
        part.suptitle(title, fontsize=9, y=0.995)
        axes = part.subplots(len(rows), len(models) + 2, squeeze=False)
        inputs = next(inputs for (m, _), (inputs, _) in found.items() if m == mask)
        columns = {"clean": data.X, "occluded": inputs.sample.seen}
        columns |= {m: found[mask, m][1] for m in models if (mask, m) in found}
        for axis in axes.flat:
            axis.set_axis_off()
        for j, (name, images) in enumerate(columns.items()):
            errors = faces_.image_errors(images, data.X)
            axes[0, j].set_title(name, fontsize=7.5, pad=2)
            for i, row in enumerate(rows):
                axes[i, j].imshow(
                    images[row].reshape(data.image_shape),
                    cmap="gray",
                    interpolation="nearest",  # also a smaller file
                    vmin=0,
                    vmax=data.X[row].max(),
                )
                if j:
                    axes[i, j].text(
                        0.5,
                        -0.03,
                        f"{100 * errors[row]:.1f}",
                        transform=axes[i, j].transAxes,
                        ha="center",
                        va="top",
                        fontsize=6.5,
                    )
        part.subplots_adjust(0.005, 0.05, 0.995, 0.88, wspace=0.06, hspace=0.2)
    return figure


def _spread(X: np.ndarray, count: int) -> list[int]:
    """Images from dark to bright."""
    order = np.argsort(X.mean(axis=1), kind="stable")
    count = min(count, len(order))
    return [int(order[(2 * k + 1) * len(order) // (2 * count)]) for k in range(count)]
