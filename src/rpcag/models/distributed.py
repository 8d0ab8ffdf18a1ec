"""Robust PCA (on graphs) of a Dask array, on whatever scheduler is active."""

import math
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import delayed
from dask.sizeof import sizeof

from rpcag.graphs.inputs import REAL, refuse_column
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.typical import typical_center, typical_size, typical_spread
from rpcag.losses import Loss, part
from rpcag.models.data_loss import DataLoss
from rpcag.models.rules import clustering_gamma, theory_lam
from rpcag.solvers import DualPoint, Progress, Result, solve
from rpcag.solvers.factored import FactoredIterates
from rpcag.solvers.graph_copy import GraphCopy
from rpcag.solvers.problem import SAFE
from rpcag.solvers.tile import Tile

# Columns of a chunk are chosen so that it has about this many bytes, unless the array
# already has all its rows in every chunk.
CHUNK = 2**28
# Entries from which the typical size is estimated at the most; all, if there are fewer.
SAMPLE = 10**7


@dataclass(frozen=True)
class Split:
    """The answer of a solve on Dask: X = low_rank + sparse."""

    low_rank: Any
    sparse: Any
    factors: tuple[Any, np.ndarray, np.ndarray]  # scores, singular values, directions
    result: Result
    lam: float
    gamma: float
    size: float  # of a typical entry of X
    spread: float  # of its distance from the median of its feature


def fit(
    X: Any,
    *,
    sizes: tuple[float, float, float],
    lam: float | str,
    gamma: float | str,
    stated: Any,
    weight: np.ndarray | None,
    factors: tuple[float, float],
    graph: Any,
    tol: float,
    max_iter: int,
    callback: Callable[[Progress], bool | None] | None,
) -> Split:
    """Decompose a Dask array that has all rows in every chunk.

    `sizes` is what `measure` returns. lam and gamma that are words are the `factors`
    times the weights of the rules. `stated` is a `DataLoss` or None for the l1 norm.
    """
    size, spread, observed = sizes
    if isinstance(lam, str):
        lam = factors[0] * theory_lam(X.shape, observed)
    if isinstance(gamma, str):
        gamma = factors[1] * clustering_gamma(X.shape, size, observed)
    lam, gamma = float(lam), float(gamma)
    shifted = None
    if graph is not None and gamma > 0:
        shifted = ShiftedLaplacian(graph.laplacian, null=graph.null)
    stated = stated or DataLoss(lam=lam)
    loss = stated.build(weight)
    iterates = iterates_of(X, loss, float(gamma), shifted)
    result = solve(
        {"factored": lambda _: iterates},
        ratio=lam / math.sqrt(size * spread),
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )
    result = replace(result, x=_array(result.x, X), dual=_dual(result.dual, X))
    S = X - result.x
    if observed < 1:
        S = da.where(da.isnan(S), X.dtype.type(0), S)
    if not stated.is_plain:
        S = S.map_blocks(stated.sparse_part, weight, dtype=X.dtype)
    scores, values, directions = iterates.factors()
    shape = X.shape[0], len(values)
    scores = da.from_delayed(scores, shape, X.dtype).persist()
    parts = scores, values, directions
    return Split(result.x, S.persist(), parts, result, lam, float(gamma), size, spread)


def _dual(dual: DualPoint | None, X: Any) -> DualPoint | None:
    if dual is None:
        return None
    return DualPoint(_array(dual.D, X), None if dual.W is None else _array(dual.W, X))


def by_features(X: Any) -> Any:
    """X with all its rows in every chunk, in floating point."""
    if hasattr(X, "to_dask_array"):  # a data frame, such as from parquet
        X = _of_frame(X, lengths=True)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got {X.ndim}")
    if any(math.isnan(side) for side in X.shape):
        X = X.compute_chunk_sizes()
    if 0 in X.shape:
        raise ValueError(f"X is empty: shape {X.shape}")
    if isinstance(X._meta, np.ma.MaskedArray):
        X = da.ma.filled(X.astype(np.result_type(X.dtype, np.float32)), np.nan)
    if X.dtype not in (np.float32, np.float64):
        if not np.issubdtype(X.dtype, np.number) or np.iscomplexobj(X._meta):
            raise ValueError(f"X must hold real numbers, got dtype {X.dtype}")
        X = X.astype(np.float64)
    if len(X.chunks[0]) > 1:
        n, p = X.shape
        width = max(1, min(CHUNK // (n * X.dtype.itemsize), math.ceil(p / _workers())))
        X = X.rechunk((n, width))
    return X.persist()


def by_feature(measure: Callable, X: Any, *options, rows: int) -> np.ndarray:
    """Some numbers per feature, measured where all its rows are."""
    return X.map_blocks(
        _measured,
        measure,
        options,
        chunks=((rows,), X.chunks[1]),
        dtype=np.float64,
        meta=np.empty((0, 0)),
    ).compute()


def _measured(X: np.ndarray, measure: Callable, options: tuple) -> np.ndarray:
    if np.isinf(X).any():
        raise ValueError("X contains infinity; mark missing entries by NaN")
    return np.stack(list(measure(X, *options)))


def transform(model: Any, X: Any, adjacency: Any) -> Any:
    """Embed new rows chunk by chunk: they do not depend on each other."""
    if adjacency is not None:
        raise ValueError(
            "adjacency needs rows in memory, got a Dask array; transform some rows at "
            "a time: X[:1000].compute() with the adjacency of these rows"
        )
    graph = getattr(model, "_graph", None)
    if getattr(getattr(graph, "builder", None), "by_order", False):
        raise ValueError(
            f"graph={model.graph!r} needs all new rows in memory, got a Dask array; "
            "pass X.compute()"
        )
    model = copy(model)  # without arrays as large as the data, and without names
    for name in ("low_rank_", "sparse_", "dual_", "_state", "callback"):
        model.__dict__[name] = None
    names = model.__dict__.pop("feature_names_in_", None)
    if hasattr(X, "to_dask_array"):
        if names is not None and list(names) != list(X.columns):
            raise ValueError(
                f"X must have the columns of fit, {list(names)[:5]} ..., in their "
                f"order, got {list(X.columns)[:5]} ..."
            )
        X = _of_frame(X)
    if X.ndim != 2 or X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"X has shape {X.shape}, but {type(model).__name__} is expecting "
            f"{model.n_features_in_} features as input"
        )
    model._scores = np.asarray(model._scores)
    X = X.rechunk({1: -1})
    single = X.dtype == np.float32
    return X.map_blocks(
        _transformed,
        model=delayed(model),
        chunks=(X.chunks[0], (model.n_components_,)),
        dtype=np.float32 if single else np.float64,
        meta=np.empty((0, 0), np.float32 if single else np.float64),
    )


def _transformed(rows: np.ndarray, model: Any) -> np.ndarray:
    if not len(rows):
        return np.empty((0, model.n_components_), rows.dtype)
    return model.transform(rows)


def _of_frame(X: Any, **options) -> Any:
    for column, dtype in X.dtypes.items():
        if dtype.kind not in REAL:
            refuse_column("X", column, dtype)
    return X.to_dask_array(**options)


def _workers() -> int:
    """How many processes there are to share the columns."""
    try:
        from distributed import get_client

        return max(1, len(get_client().scheduler_info()["workers"]))
    except (ImportError, ValueError):
        return 1


def measure(X: Any) -> tuple[float, float, float]:
    """Typical size and spread of the entries, and the share that is observed.

    Refuses data that cannot be decomposed.
    """
    step = max(1, math.ceil(X.size / SAMPLE))
    columns = X[:, :: min(step, max(1, X.shape[1] // 8))]
    rows = X[:: max(1, X.shape[0] // 64)]
    wrong, missing, sample, few = dask.compute(
        da.isinf(X).any(), da.isnan(X).sum(), columns, rows
    )
    if wrong:
        raise ValueError("X contains infinity; mark missing entries by NaN")
    if missing == X.size:
        raise ValueError("X has no observed entry: every value is NaN")
    size = typical_size(sample)
    if not 1 / SAFE < size < SAFE:
        raise ValueError(
            f"X has entries of size {size:.3g}, which are not rescaled on Dask; divide "
            "X by a number that makes them about one"
        )
    spread = typical_spread(few, size, typical_center(few))
    return size, spread, 1 - int(missing) / X.size


class Dask:
    """An executor whose calls are tasks of the active Dask scheduler.

    Tasks are pure, and every step is persisted: if a worker dies, what it held is
    computed again, up to rounding.
    """

    def call(self, function: Callable, *args: Any, n: int = 1) -> Any:
        return delayed(function, nout=n if n > 1 else None)(*args)

    def update(self, method: Callable, tile: Any, *args: Any) -> Any:
        return delayed(_on_a_copy, nout=2)(method, tile, *args)

    def keep(self, *values: Any) -> Sequence[Any]:
        return dask.persist(*values)

    def get(self, *values: Any) -> Sequence[Any]:
        return dask.compute(*values)


def _on_a_copy(method: Callable, tile: Tile, *args: Any) -> tuple[Tile, Any]:
    """Change a copy of the tile; X, which is not changed, is shared."""
    tile = copy(tile)
    tile.V, tile.E = tile.V.copy(), tile.E.copy()
    returned = method(tile, *args)
    return tile, returned


@sizeof.register(Tile)
@sizeof.register(GraphCopy)
def _bytes(thing) -> int:
    """So that the scheduler knows what it would move."""
    parts = vars(thing).values()
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


def iterates_of(
    X: Any, loss: Loss, gamma: float, laplacian: ShiftedLaplacian | None
) -> FactoredIterates:
    """Iterates with a tile for every chunk of columns."""
    ends = np.cumsum([0, *X.chunks[1]]).tolist()
    columns = [slice(*some) for some in pairwise(ends)]
    tiles = dask.persist(
        *[
            delayed(Tile)(block, part(loss, (slice(None), some)))
            for block, some in zip(X.to_delayed().ravel(), columns, strict=True)
        ]
    )
    return FactoredIterates(
        tiles,
        X.chunks[1],
        Dask(),
        X.shape,
        (X.dtype, X.dtype),
        gamma,
        laplacian,
        share=1.0,
    )


def _array(tiles: Any, X: Any) -> Any:
    """A Dask array from its tiles of columns."""
    pieces = [
        da.from_delayed(tile, (X.shape[0], width), X.dtype)
        for tile, width in zip(tiles, X.chunks[1], strict=True)
    ]
    return da.concatenate(pieces, axis=1)
