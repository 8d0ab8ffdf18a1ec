"""Options and weight of the feature graph of `RPCAG`."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.image import grid_to_graph

from rpcag.graphs.inputs import check_image_shape
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.typical import observed_share, typical_size
from rpcag.models.data_loss import DataLoss
from rpcag.models.graph import ModelGraph
from rpcag.models.hidden_entries import hide, spread_of
from rpcag.models.parts import ENTRIES, random_rows
from rpcag.models.rules import clustering_gamma

# Candidates for the weight, relative to the rule for clustering and to the mean degree.
FACTORS = (1 / 64, 1 / 16, 1 / 4, 1.0, 4.0)
# Gap and iterations of a candidate's fit; predictions settle long before that.
GAP, MOST = 1e-2, 100
# lam is tried up to this multiple of what was chosen without the graph.
LARGEST = 8.0
# Share of the error that a graph must save to be used.
GAIN = 0.01


def build_feature_graph(model, X: np.ndarray, **options) -> ModelGraph:
    """Build the graph between the columns of X from the options."""
    graph = model.feature_graph
    if isinstance(graph, str) and graph == "grid" and hasattr(model, "image_shape"):
        if model.image_shape is None:
            raise ValueError(
                "feature_graph='grid' needs image_shape, such as (32, 32) or "
                "(32, 32, 3), got None"
            )
        height, width, *channels = check_image_shape(
            model.image_shape, X.shape, channels=True
        )
        # Adjacent pixels are joined, separately in every channel.
        grid = grid_to_graph(height, width, dtype=np.float64)
        graph = sparse.kron(grid, sparse.eye_array(math.prod(channels)))
    options |= {"name": "feature_graph", "vertices": "features"}
    return ModelGraph.of(graph, np.ascontiguousarray(X.T), model.laplacian, **options)


def choose_gamma_features(
    X: np.ndarray, loss: DataLoss, samples: tuple, features: ShiftedLaplacian, free
) -> tuple[float, float]:
    """The weight that predicts hidden entries best, 0 if the graph does not help.

    `samples` are the weight and the graph between samples, which a part of the rows
    does not have. The second number is the best factor c of lam: a larger lam may be
    better once features are smooth. It is 1 unless lam is `free`.
    """
    is_part = X.size > ENTRIES
    Y = np.ascontiguousarray(X[random_rows(X.shape)]) if is_part else X.copy()
    hidden = hide(Y)
    if not hidden.any():
        return 0.0, 1.0
    truth, limit = Y[hidden], spread_of(Y).limit[np.nonzero(hidden)[1]]
    Y[hidden] = np.nan
    degree = float(features.laplacian.diagonal().mean()) or 1.0
    unit = clustering_gamma(X.shape, typical_size(Y), observed_share(Y)) / degree
    start = None

    @cache
    def error(factor: float, c: float) -> float:
        nonlocal start
        scaled = replace(loss, lam=c * loss.lam)
        gamma, graph = (0.0, None) if is_part else samples
        problem = scaled.problem(Y, gamma, graph, factor * unit, features)
        result = problem.solve(tol=GAP, max_iter=MOST, start=start)
        start = result.state if factor > 0 else None
        distances = np.minimum(np.abs(truth - result.x[hidden]), limit)
        return float(np.sum(distances.astype(np.float64) ** 2))

    best, c = (0.0, 1.0), 1.0
    while True:
        before, worse = best, 0
        for factor in FACTORS:
            if factor < best[0] / 4 or worse == 2:  # far below the best, or too large
                continue
            is_better = error(factor, c) < (1 - GAIN) * error(*best)
            best, worse = ((factor, c), 0) if is_better else (best, worse + 1)
        c *= 2
        if not free or best == before or best[0] == 0 or c > LARGEST:
            return best[0] * unit, best[1]
