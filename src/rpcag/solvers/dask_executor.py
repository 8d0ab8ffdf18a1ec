"""The executor whose calls are tasks of the active Dask scheduler."""

from collections.abc import Callable
from copy import copy
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import delayed
from dask.sizeof import sizeof

from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.losses import Loss
from rpcag.solvers.executor import Executor
from rpcag.solvers.factored import FactoredIterates
from rpcag.solvers.graph_copy import GraphCopy
from rpcag.solvers.loop import solve
from rpcag.solvers.result import Result
from rpcag.solvers.tile import Tile


class Dask(Executor):
    """An executor whose calls are tasks of the active Dask scheduler.

    Tasks are pure, and every step is persisted: if a worker dies, what it held is
    computed again, up to rounding.
    """

    is_local = False

    def __init__(self, X: Any) -> None:
        self.X = X

    def call(self, function: Callable, *args: Any, n: int = 1) -> Any:
        return delayed(function, nout=n if n > 1 else None)(*args)

    def update(self, method: Callable, tiles: list, *args: Any) -> tuple[list, list]:
        tiles, values = self.each(_on_a_copy, method, tiles, *args, n=2)
        return tiles, values

    def keep(self, *values: Any) -> list:
        return list(dask.persist(*values))

    def get(self, *values: Any) -> list:
        return list(dask.compute(*values))

    def split(self, X: Any) -> list[tuple[Any, slice]]:
        ends = np.cumsum([0, *X.chunks[1]]).tolist()
        columns = [slice(*some) for some in pairwise(ends)]
        return list(zip(X.to_delayed().ravel(), columns, strict=True))

    def whole(self, tiles: list) -> Any:
        """A Dask array."""
        height, dtype = len(self.X), self.X.dtype
        pairs = zip(self.keep(*tiles), self.X.chunks[1], strict=True)
        pieces = [da.from_delayed(tile, (height, p), dtype) for tile, p in pairs]
        return da.concatenate(pieces, axis=1)


def solve_on_dask(
    X: Any, loss: Loss, gamma: float, laplacian: ShiftedLaplacian | None, **options: Any
) -> tuple[Result, tuple[Any, np.ndarray, np.ndarray]]:
    """Minimize ||L||_* + loss + gamma tr(L^T Phi L) over L.

    X is a Dask array with all rows in every chunk, and so are the matrices of the
    result. Also returns the scores, singular values and directions of L. `options` are
    those of `rpcag.solvers.solve`.
    """
    iterates = FactoredIterates(X, loss, gamma, laplacian, share=1.0, run=Dask(X))
    result = solve({"factored": lambda _: iterates}, **options)
    scores, values, directions = iterates.factors()
    scores = da.from_delayed(scores, (X.shape[0], len(values)), X.dtype).persist()
    return result, (scores, values, directions)


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
