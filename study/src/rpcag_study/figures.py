"""Figures of the experiments, with matplotlib (the extra ``rpcag[plots]``).

Every function takes the records of a store and returns a figure; nothing is shown or
written, and matplotlib's own state is left alone.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rpcag.plugins import load_arrays
from rpcag_study.experiments import components as components_
from rpcag_study.experiments import directions as directions_
from rpcag_study.experiments import parameters as parameters_
from rpcag_study.experiments import video as video_
from rpcag_study.experiments.common import needed
from rpcag_study.grids import METHODS
from rpcag_study.recovery_figures import faces, phase, phase_difference
from rpcag_study.report import SETUP_NAMES, Report
from rpcag_study.summary import AS_PRINTED
from rpcag_study.table_cells import over_seeds

__all__ = [
    "components",
    "directions",
    "faces",
    "parameters",
    "phase",
    "phase_difference",
    "printed_against_ours",
]

# One color per model, the same in every figure; RPCAG stands out.
COLORS = {
    "k-means": "#7f7f7f",
    "NCuts": "#aec7e8",
    "LE": "#6baed6",
    "PCA": "#8c564b",
    "GLPCA": "#98df8a",
    "RGLPCA": "#2ca02c",
    "MMF": "#bcbd22",
    "NMF": "#e7969c",
    "GNMF": "#9467bd",
    "RPCA": "#1f3b73",
    "RPCAG": "#d62728",
    "MMMF": "#dbdb8d",
    "MHMF": "#c49c94",
    "FRPCAG": "#ff9f40",
}
SMALL = 8


# -- clustering ------------------------------------------------------------------------


def printed_against_ours(report: Report) -> Figure:
    """The printed errors against ours: a point per cell, colored by model."""
    panels = {
        "with labels, the paper's graph": report.oracle(*AS_PRINTED),
        "without labels": over_seeds(report.defaults()),
    }
    figure = Figure(figsize=(9, 5.6), dpi=120, layout="constrained")
    models = [m for m in METHODS if m in {key[2] for key in report.printed}]
    axes = figure.subplots(1, 2, sharex=True, sharey=True)
    for axis, (title, cells) in zip(axes, panels.items(), strict=True):
        for model in models:
            keys = [k for k in cells if k[2] == model and k in report.printed]
            stands_out = model == "RPCAG"
            axis.scatter(
                [100 * report.printed[key] for key in keys],
                [100 * cells[key] for key in keys],
                s=26 if stands_out else 13,
                color=COLORS[model],
                edgecolors="black" if stands_out else "none",
                linewidths=0.5,
                zorder=3 if stands_out else 2,
            )
        axis.plot([0, 100], [0, 100], color="black", linewidth=0.8)
        axis.set(xlim=(0, 100), ylim=(0, 100), box_aspect=1)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("printed error, %", fontsize=9)
        axis.grid(linewidth=0.4, alpha=0.5)
        _plain(axis)
    axes[0].set_ylabel("our error, %", fontsize=9)
    axes[0].text(4, 93, "ours is higher", fontsize=8, style="italic")
    axes[0].text(66, 4, "ours is lower", fontsize=8, style="italic")
    _legend(figure, models)
    return figure


# -- components ------------------------------------------------------------------------


def components(records: Iterable[dict]) -> Figure:
    """Scatters in three dimensions: a block of rows per setup, a panel per model."""
    setups = components_.by_setup(needed("components", records))
    wide = min(6, max(len(found) for found in setups.values()))
    heights = [-(-len(found) // wide) for found in setups.values()]
    figure = Figure(
        figsize=(2.1 * wide, 2.25 * sum(heights) + 0.35 * len(setups)), dpi=150
    )
    parts = figure.subfigures(len(setups), 1, squeeze=False, height_ratios=heights)
    for part, rows, (setup, found) in zip(
        parts[:, 0], heights, setups.items(), strict=True
    ):
        part.suptitle(SETUP_NAMES[setup], fontsize=10)
        for place, (model, record) in enumerate(found.items()):
            axis = part.add_subplot(rows, wide, place + 1, projection="3d")
            _cloud(axis, record)
            error = 100 * record["errors"][0]
            axis.set_title(f"{model}, {error:.0f} %", fontsize=9, pad=-2)
        top = 1 - 0.42 / (2.25 * rows + 0.35)
        part.subplots_adjust(0.01, 0.02, 0.99, top, wspace=0.02, hspace=0.12)
    return figure


def _cloud(axis, record: dict) -> None:
    Q, y = np.array(record["components"]), np.array(record["classes"])
    colors = mpl.colormaps["Dark2"]
    markers = "osD^v<>P"
    for k in np.unique(y):
        axis.scatter(
            *Q[y == k].T,
            color=colors(int(k) % 8),
            marker=markers[int(k) % 8],
            s=16,
            linewidths=0,
            depthshade=False,
        )
    for side in (axis.xaxis, axis.yaxis, axis.zaxis):
        side.set_ticklabels([])
        side.set_tick_params(length=0)
    axis.set_box_aspect((1, 1, 1), zoom=1.15)


# -- parameters ------------------------------------------------------------------------


def parameters(records: Iterable[dict]) -> Figure:
    """Heat maps over gamma and lam: faces above, random matrices below.

    Rows are sizes (or ranks), columns occlusions (or errors). The column at gamma = 0
    is Robust PCA; a ring marks the least error, where one is.
    """
    faces, random = {}, {}
    for record in needed("parameters", records):
        run = record["run"]
        if "matching" in record:
            occluded = int(run["corruption"].removeprefix("occlusion"))
            errors = 100 * np.array(record["matching"]["all"])
            faces[run["subjects"] * run["images"], occluded] = run, errors
        else:
            random[run["rank"], run["errors"]] = run, np.array(record["log10"])
    title = "clustering error of faces, % (all components)"
    every = [value for _, errors in faces.values() for value in errors.flat]
    span = min(every, default=0), max(every, default=1)
    kinds = [_Maps(title, ("n = {}", "{} % occluded"), faces, span)]
    title = "log10 of the relative error of L, random matrices"
    span = parameters_.EXACT, 0.0
    kinds.append(_Maps(title, ("rank {}", "{} % errors"), random, span))
    kinds = [kind for kind in kinds if kind.maps]
    heights = [len(kind.rows) for kind in kinds]
    wide = max(len(kind.columns) for kind in kinds)
    figure = Figure(
        figsize=(2.6 * wide + 1.4, 2.1 * sum(heights) + 0.6 * len(kinds)),
        dpi=150,
        layout="constrained",
    )
    parts = figure.subfigures(len(kinds), 1, squeeze=False, height_ratios=heights)
    for part, kind in zip(parts[:, 0], kinds, strict=True):
        kind.draw(part)
    return figure


@dataclass(frozen=True)
class _Maps:
    """The heat maps of one kind of data: a run and its errors by row and column."""

    title: str
    names: tuple[str, str]
    maps: dict[tuple[int, int], tuple[dict, np.ndarray]]
    span: tuple[float, float]

    @property
    def rows(self) -> list[int]:
        return sorted({row for row, _ in self.maps})

    @property
    def columns(self) -> list[int]:
        return sorted({column for _, column in self.maps})

    def draw(self, part) -> None:
        axes = part.subplots(len(self.rows), len(self.columns), squeeze=False)
        for axis in axes.flat:
            axis.set_visible(False)
        for (row, column), (run, errors) in self.maps.items():
            i, j = self.rows.index(row), self.columns.index(column)
            axis = axes[i, j]
            axis.set_visible(True)
            picture = self._map(axis, run, errors)
            names = self.names[0].format(row), self.names[1].format(column)
            axis.set_title(", ".join(names), fontsize=9)
            if j == 0:
                axis.set_ylabel("lam sqrt(max(n, p))", fontsize=9)
            if i == len(self.rows) - 1:
                axis.set_xlabel("gamma (0: RPCA)", fontsize=9)
        part.suptitle(self.title, fontsize=10)
        bar = part.colorbar(picture, ax=axes, shrink=0.8, pad=0.02)
        bar.ax.tick_params(labelsize=SMALL)

    def _map(self, axis: Axes, run: dict, E: np.ndarray):
        order = np.argsort(run["gamma"])
        E = np.clip(E[:, order], *self.span)
        low, high = self.span
        picture = axis.imshow(E, origin="lower", aspect="auto", vmin=low, vmax=high)
        least = np.argwhere(E.min() == E)
        if len(least) == 1:
            i, j = least[0]
            axis.plot(j, i, "o", markersize=8, markerfacecolor="none", color="#ff5533")
        gammas = np.array(run["gamma"])[order]
        shown = [_short(gamma) for gamma in gammas]
        axis.set_xticks(range(len(gammas)), shown, fontsize=7, rotation=60)
        shown = [_short(lam) for lam in run["lam"]]
        axis.set_yticks(range(len(shown)), shown, fontsize=7)
        if gammas[0] == 0 and len(gammas) > 1:
            axis.axvline(0.5, color="white", linewidth=1.5)
        return picture


def _short(number: float) -> str:
    return f"{number:g}".replace("0.", ".") if 0 < number < 1 else f"{number:g}"


# -- directions ------------------------------------------------------------------------


def directions(records: Iterable[dict]) -> Figure:
    """Two directions as images and the singular values, a column per model."""
    by_model = {r["run"]["model"]: r for r in needed("directions", records)}
    models = [model for model in directions_.MODELS if model in by_model]
    figure = Figure(
        figsize=(1.45 * len(models) + 0.5, 4.6), dpi=150, layout="constrained"
    )
    axes = figure.subplots(3, len(models), squeeze=False)
    for j, model in enumerate(models):
        record = by_model[model]
        axes[0, j].set_title(model, fontsize=10)
        for i in range(directions_.SHOWN):
            _direction(axes[i, j], record, i)
        axis = axes[2, j]
        values = record["singular_values"]
        axis.bar(range(1, len(values) + 1), values, color=COLORS[model], width=0.85)
        axis.set(ylim=(0, 1.05), xlim=(0.3, directions_.VALUES + 0.7))
        axis.set_xticks([1, 10, 20])
        axis.set_yticks([0, 0.5, 1] if j == 0 else [])
        axis.tick_params(labelsize=SMALL)
        _plain(axis)
    axes[0, 0].set_ylabel("direction 1", fontsize=9)
    axes[1, 0].set_ylabel("direction 2", fontsize=9)
    axes[2, 0].set_ylabel("singular values\nover the first", fontsize=9)
    return figure


def _direction(axis: Axes, record: dict, i: int) -> None:
    axis.set(xticks=[], yticks=[])
    if i >= len(record["directions"]):
        axis.set_frame_on(False)
        return
    image = np.array(record["directions"][i]).reshape(record["image_shape"])
    # A few pixels that hardly vary may be far out.
    span = float(np.quantile(np.abs(image), 0.99)) or 1.0
    axis.imshow(image, cmap="RdBu_r", vmin=-span, vmax=span)


# -- shared ----------------------------------------------------------------------------


def _legend(figure: Figure, models: Sequence[str]) -> None:
    handles = [
        Line2D([], [], color=COLORS[model], marker="s", linestyle="", markersize=8)
        for model in models
    ]
    # As many beside each other as fit, in inches: the sign, and letters.
    room = 0.55 + 0.075 * max(map(len, models))
    beside = max(1, int(figure.get_figwidth() / room))
    lines = -(-len(models) // beside)
    figure.legend(
        handles,
        models,
        loc="outside lower center",
        ncols=-(-len(models) // lines),
        fontsize=9,
        frameon=False,
    )


def _plain(axis: Axes) -> None:
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


# -- video -----------------------------------------------------------------------------


def video(records: Iterable[dict]) -> Figure:
    """Of every clip the frame on which RPCA and RPCAG differ most, by every method.

    The pictures are in the user's cache, where the runs put them.
    """
    found = video_.scores(needed("video", records))
    clips = [c for c in video_.CLIPS if all((c, m) in found for m in ("RPCA", "RPCAG"))]
    if not clips:
        raise FileNotFoundError("no clip has records of both RPCA and RPCAG yet")
    kept = {}
    for (clip, model), record in found.items():
        path = video_.picture_file(record["run"])
        if clip in clips and path.exists():
            kept[clip, model] = load_arrays(path)
        elif clip in clips and model in ("RPCA", "RPCAG"):
            raise FileNotFoundError(
                f"{path} is not there: the pictures were made on another machine; "
                "rpcag reproduce video --store new.jsonl makes them here"
            )
    masked = ("RPCAG", "RPCA", "MOG2", "KNN", "median")
    titles = ["frame", "RPCAG", "RPCA", "by hand", *masked]
    figure = Figure(figsize=(1.45 * len(titles), 1.2 * len(clips) + 0.5), dpi=130)
    figure.suptitle(
        "backgrounds (2nd, 3rd column), masks (from the 4th on)", fontsize=9
    )
    axes = figure.subplots(len(clips), len(titles), squeeze=False)
    for line, clip in zip(axes, clips, strict=True):
        ours = kept[clip, "RPCAG"]
        apart = (ours["mask"] != kept[clip, "RPCA"]["mask"]).sum(axis=(1, 2))
        i = int(np.argmax(apart))
        theirs = kept[clip, "RPCA"]["background"]
        images = [ours["frames"], ours["background"], theirs, 255 * ours["truth"]]
        shown = [image[i] for image in images]
        for model in masked:
            arrays = kept.get((clip, model))
            shown.append(None if arrays is None else 255 * arrays["mask"][i])
        for axis, image in zip(line, shown, strict=True):
            axis.set(xticks=[], yticks=[])
            if image is not None:
                axis.imshow(image, cmap="gray", vmin=0, vmax=255)
        line[0].set_ylabel(clip, fontsize=SMALL)
    for axis, title in zip(axes[0], titles, strict=True):
        axis.set_title(title, fontsize=SMALL)
    figure.subplots_adjust(
        0.03, 0.01, 0.995, 1 - 0.5 / (1.2 * len(clips) + 0.5), 0.04, 0.04
    )
    return figure
