"""Make the pictures of the README: ``python docs/make_readme_pictures.py``.

The table and the video are those of ``rpcag demo --files``; the digits come with
scikit-learn; the benchmark is read from benchmarks/weights.json. Needs
``pip install "rpcag[all]"`` and pandas.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import av
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits

from rpcag import RPCAG
from rpcag.clustering import cluster_embedding

HERE = Path(__file__).parent
IMAGES = HERE / "images"
BENCHMARKS = HERE.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))

from spoiled_tables import cases  # noqa: E402

BLUE, RED, AMBER = "#1f5fa8", "#c8553d", "#c98b00"
WIDTH = 8.4


def rpcag(folder: Path, *words: str) -> None:
    command = [sys.executable, "-m", "rpcag", *words, "--quiet"]
    subprocess.run(command, cwd=folder, check=True)


def draw_table(folder: Path) -> None:
    """Three days of two sensors, with the gaps and errors that were repaired."""
    rpcag(folder, "repair", "sensors.csv", "-o", "repaired.csv")
    before = pd.read_csv(folder / "sensors.csv")
    after = pd.read_csv(folder / "repaired.csv")
    cells = pd.read_csv(folder / "repaired.cells.csv")
    rows = slice(200, 500)
    figure, axes = plt.subplots(2, 1, figsize=(WIDTH, 3.4), sharex=True)
    for ax, column in zip(axes, ("temperature_1", "power_3"), strict=True):
        changed = cells[cells["column"] == column]
        changed = changed[(changed.row > rows.start) & (changed.row <= rows.stop)]
        gaps = changed[changed.why == "gap"].row - 1
        errors = changed[changed.why == "error"].row - 1
        shown = after[column][rows]
        ax.plot(shown.index, shown, color=BLUE, lw=0.9, label="repaired", zorder=1)
        ax.plot(gaps, after[column][gaps], "o", ms=3.5, color=AMBER, label="gap filled")
        ax.plot(errors, before[column][errors], "x", color=RED, label="wrong value")
        for row in errors:
            ends = before[column][row], after[column][row]
            ax.plot([row, row], ends, ":", color=RED, lw=0.8)
        ax.set_ylabel(column)
        ax.margins(x=0.01)
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(ncols=3, frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    axes[1].set_xlabel("row of the table")
    save(figure, "readme_table.png")


def frames(path: Path) -> list[np.ndarray]:
    with av.open(str(path)) as video:
        return [frame.to_ndarray(format="rgb24") for frame in video.decode(video=0)]


def draw_video(folder: Path) -> None:
    """One frame, its background, and the mask."""
    rpcag(folder, "background", "street.mp4", "-o", "street")
    paths = {
        "frame of street.mp4": folder / "street.mp4",
        "background.mp4": folder / "street" / "background.mp4",
        "mask.mp4": folder / "street" / "mask.mp4",
    }
    figure, axes = plt.subplots(1, 3, figsize=(WIDTH, 2.4))
    for ax, (name, path) in zip(axes, paths.items(), strict=True):
        ax.imshow(frames(path)[45])
        ax.set_title(name, fontsize=10)
        ax.set_axis_off()
    save(figure, "readme_video.png")


def draw_clusters() -> None:
    """Some digits of every cluster, as they came and as they were restored."""
    X = load_digits().data[:600]
    tops, lefts = np.random.RandomState(0).randint(5, size=(2, 600))
    for image, i, j in zip(X.reshape(-1, 8, 8), tops, lefts, strict=True):
        image[i : i + 4, j : j + 4] = np.nan
    model = RPCAG(10, gamma="clustering", graph="knn").fit(X)
    clusters = cluster_embedding(model.embedding_, 10, adjacency=model.adjacency_)
    restored = np.clip(model.low_rank_, 0, 16)
    gray = mpl.colormaps["gray"].with_extremes(bad=RED)
    figure, axes = plt.subplots(2, 5, figsize=(WIDTH, 3.1))
    for number, ax in enumerate(axes.flat):
        members = np.flatnonzero(clusters == number)[:12]
        sheet = np.full((42, 57), 16.0)
        for place, sample in enumerate(members):
            row, column = divmod(place, 6)
            top, left = 1 + 20 * row, 1 + 9 * column
            sheet[top : top + 8, left : left + 8] = X[sample].reshape(8, 8)
            low = restored[sample].reshape(8, 8)
            sheet[top + 9 : top + 17, left : left + 8] = low
        ax.imshow(sheet[:, :55], cmap=gray, vmin=0, vmax=16)
        ax.set_title(f"cluster {number}", fontsize=9)
        ax.set_axis_off()
    save(figure, "readme_clusters.png")


def draw_benchmark() -> None:
    """Mean errors of imputers on 24 tables, by the share of wrong cells."""
    store = json.loads((BENCHMARKS / "weights.json").read_text())
    methods = {
        "KNN": ("KNNImputer", "0.65", "s-"),
        "Iterative": ("IterativeImputer", "0.45", "^-"),
        "SoftImpute": ("SoftImpute", "0.25", "d-"),
        "missForest": ("missForest", "0.25", "v:"),
        "missForest leaf 5": ("missForest, larger leaves", AMBER, "v-"),
        "RPCAG": ("RPCAG()", BLUE, "o-"),
    }
    kinds = ("none", "5 % large", "10 % large")
    figure, ax = plt.subplots(figsize=(6, 3))
    for method, (label, color, style) in methods.items():
        means = []
        for kind in kinds:
            rows = [
                store[case.key]["error"]
                for case in cases()
                if case.errors == kind
                and not case.is_set
                and case.block.name == "standardized, 20 % gaps"
            ]
            values = [row[method] for row in rows if method in row]
            means.append(np.mean(values))
        print(label, np.round(means, 3))
        ax.plot([0, 5, 10], means, style, color=color, ms=5, label=label)
    ax.axhline(1, color="0.8", lw=0.8)
    ax.annotate("column mean", (0, 1), (0, 3), textcoords="offset points", fontsize=8)
    ax.set_xticks([0, 5, 10], ["none", "5 %", "10 %"])
    ax.set(xlabel="cells that are grossly wrong", ylabel="relative error, hidden cells")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    save(figure, "readme_benchmark.png")


def save(figure, name: str) -> None:
    figure.tight_layout()
    figure.savefig(IMAGES / name, dpi=150)
    print(IMAGES / name, (IMAGES / name).stat().st_size)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rpcag(folder, "demo", "--files", ".")
        draw_table(folder)
        draw_video(folder)
    draw_clusters()
    draw_benchmark()


if __name__ == "__main__":
    main()
