"""The executor whose calls are tasks of the active Dask scheduler."""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import replace
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import delayed
from dask.sizeof import sizeof

from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.losses import Loss, part
from rpcag.solvers.factored import FactoredIterates
from rpcag.solvers.graph_copy import GraphCopy
from rpcag.solvers.loop import solve
from rpcag.solvers.result import DualPoint, Result
from rpcag.solvers.tile import Tile


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


def solve_on_dask(
    X: Any, loss: Loss, gamma: float, laplacian: ShiftedLaplacian | None, **options: Any
) -> tuple[Result, tuple[Any, np.ndarray, np.ndarray]]:
    """Minimize ||L||_* + loss + gamma tr(L^T Phi L) over L.

    X is a Dask array with all rows in every chunk. Returns the result, whose matrices
    are Dask arrays, and the scores, singular values and directions of L. `options` are
    those of `rpcag.solvers.solve`.
    """
    ends = np.cumsum([0, *X.chunks[1]]).tolist()
    tiles = dask.persist(
        *[
            delayed(Tile)(block, part(loss, (slice(None), slice(*some))))
            for block, some in zip(X.to_delayed().ravel(), pairwise(ends), strict=True)
        ]
    )
    iterates = FactoredIterates(
        tiles,
        X.chunks[1],
        Dask(),
        X.shape,
        (X.dtype, X.dtype),
        gamma,
        laplacian,
        share=1.0,
    )
    result = solve({"factored": lambda _: iterates}, **options)
    dual = result.dual
    if dual is not None:
        W = None if dual.W is None else _array(dual.W, X)
        dual = DualPoint(_array(dual.D, X), W)
    scores, values, directions = iterates.factors()
    scores = da.from_delayed(scores, (X.shape[0], len(values)), X.dtype).persist()
    result = replace(result, x=_array(result.x, X), dual=dual)
    return result, (scores, values, directions)


def _array(tiles: Any, X: Any) -> Any:
    """A Dask array from its tiles of columns."""
    pieces = [
        da.from_delayed(tile, (X.shape[0], width), X.dtype)
        for tile, width in zip(tiles, X.chunks[1], strict=True)
    ]
    return da.concatenate(pieces, axis=1)


def _on_a_copy(method: Callable, tile: Tile, *args: Any) -> tuple[Tile, Any]:
    """Change a copy of the tile; X, which is not changed, is shared."""
    tile = copy(tile)
    tile.V, tile.E = tile.V.copy(), tile.E.copy()
    returned = method(tile, *args)
    return tile, returned


@sizeof.register(Tile)
@sizeof.register(GraphCopy)
def _bytes(thing) -> int:
    """Size in bytes, for the scheduler."""
    parts = vars(thing).values()
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))
