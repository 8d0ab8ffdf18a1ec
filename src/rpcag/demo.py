"""The demo: restore and cluster scikit-learn's digits behind random blocks."""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from rpcag.clustering import cluster_embedding
from rpcag.corruption import occlude_blocks
from rpcag.files.place import check_file
from rpcag.graphs import KNNGraph
from rpcag.metrics import clustering_error
from rpcag.models import RPCA, RPCAG

SHAPE = (8, 8)
N_CLASSES = 10
PICTURES = ("digits.png", "components.png")
MARK = "rpcag demo"  # in the metadata of the pictures


@dataclass(frozen=True)
class Row:
    """One row of the table."""

    model: str
    error: float
    seconds: float
    gap: float | None


@dataclass(frozen=True)
class Demo:
    """Results of the demo."""

    rows: tuple[Row, ...]
    images: np.ndarray
    mask: np.ndarray
    labels: np.ndarray
    low_rank: np.ndarray  # digits as restored by RPCAG
    embedding: np.ndarray  # of the RPCAG that is clustered


def run() -> Demo:
    """Restore occluded digits, and cluster them four ways.

    The blocks are marked as missing (NaN), which RPCA and RPCAG support. For k-means
    and PCA they are filled with the mean of the pixel. RPCAG restores the digits with
    its default weights, which predict missing entries, and clusters them with
    gamma="clustering". Clusters are computed as in `rpcag cluster`; errors are means
    over three random states.
    """
    images, labels = load_digits(return_X_y=True)
    occluded, mask = occlude_blocks(images, SHAPE, value=np.nan, random_state=0)
    scaler = StandardScaler().fit(occluded)
    X = scaler.transform(occluded)
    filled = np.nan_to_num(X)  # the mean of a standardized pixel

    graph = KNNGraph()(occluded)  # of the pixels as they are, all on one scale
    rpcag = RPCAG(N_CLASSES, gamma="clustering", graph=graph)
    rows = []
    for name, model, data in (
        ("k-means", None, filled),
        ("PCA", PCA(N_CLASSES), filled),
        ("RPCA", RPCA(N_CLASSES, lam="theory"), X),
        ("RPCAG", rpcag, X),
    ):
        start = time.perf_counter()
        Z = data if model is None else model.fit_transform(data)
        error = _error(Z, model, labels)
        seconds = time.perf_counter() - start
        rows.append(Row(name, error, seconds, getattr(model, "gap_", None)))
    restored = RPCAG(graph=graph).fit(X)
    low_rank = scaler.inverse_transform(restored.low_rank_)
    return Demo(tuple(rows), images, mask, labels, low_rank, rpcag.embedding_)


def _error(Z, model, labels) -> float:
    """Mean clustering error over three random states."""
    errors = []
    for state in range(3):
        if model is None:
            found = KMeans(N_CLASSES, n_init=10, random_state=state).fit_predict(Z)
        else:
            graph = getattr(model, "adjacency_", None)
            found = cluster_embedding(Z, N_CLASSES, adjacency=graph, random_state=state)
        errors.append(clustering_error(labels, found))
    return float(np.mean(errors))


def check_target(folder: Path) -> None:
    """Raise an error if a file other than a picture of an earlier run would be lost."""

    def is_ours(path: Path) -> bool:
        with path.open("rb") as file:
            return MARK.encode() in file.read(500)

    for name in PICTURES:
        check_file(folder / name, is_ours, "picture", force=True, example=name)


def save_pictures(demo: Demo, folder: Path) -> list[Path]:
    """Draw the decomposition and the embedding; needs the extra ``rpcag[plots]``."""
    from matplotlib import pyplot as plt

    from rpcag import plots
    from rpcag.plots.canvas import figure_of

    # Two of every digit, in order.
    shown = [i for d in range(10) for i in np.flatnonzero(demo.labels == d)[5:7]]
    low_rank = demo.low_rank[shown]
    original = demo.images[shown]
    occluded = np.where(demo.mask[shown], original, np.nan)
    sparse = np.where(demo.mask[shown], original - low_rank, np.nan)
    images = plots.decomposition(
        {
            "original": original,
            "occluded": occluded,
            "low-rank": np.clip(low_rank, 0, 16),
            "sparse": sparse,
        },
        SHAPE,
        samples=range(len(shown)),
    )
    # The first component is nearly the same for all digits.
    scatter = plots.embedding(demo.embedding, demo.labels, first=1)
    mark, drawn = {"Software": MARK}, (images[0, 0], scatter)
    written = [
        plots.save(picture, folder / name, metadata=mark)
        for picture, name in zip(drawn, PICTURES, strict=True)
    ]
    for ax in drawn:
        plt.close(figure_of(ax))
    return written
