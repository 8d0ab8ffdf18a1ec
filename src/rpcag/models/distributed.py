"""Robust PCA (on graphs) of a Dask array, on whatever scheduler is active."""

import math
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import delayed
from dask.sizeof import sizeof

from rpcag.graphs.inputs import REAL, refuse_column
from rpcag.linalg.eigen import column_signs
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.threads import gram
from rpcag.losses import Loss, part
from rpcag.models.data_loss import DataLoss
from rpcag.models.problem import (
    SAFE,
    clustering_gamma,
    theory_lam,
    typical_center,
    typical_size,
    typical_spread,
)
from rpcag.solvers import Progress, Result, lowrank
from rpcag.solvers.graph_copy import GraphCopy, compression, no_copy
from rpcag.solvers.iterates import Dual, Iterates, Objective, mean_square
from rpcag.solvers.lowrank import orthonormalizer
from rpcag.solvers.result import Distances

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
    panel = DaskIterates(X, loss, float(gamma), shifted)
    result = lowrank(
        panel,
        ratio=lam / math.sqrt(size * spread),
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )
    S = X - result.x
    if observed < 1:
        S = da.where(da.isnan(S), X.dtype.type(0), S)
    if not stated.is_plain:
        S = S.map_blocks(stated.sparse_part, weight, dtype=X.dtype)
    assert result.rank is not None
    return Split(
        result.x,
        S.persist(),
        panel.factors(result.rank),
        result,
        lam,
        float(gamma),
        size,
        spread,
    )


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


class DaskIterates:
    """What `rpcag.solvers.iterates.Iterates` does, with X cut into chunks of columns.

    Every chunk is a panel of its own, with its columns of X and V and its rows of Q and
    R. Matrices with n rows and few columns (F, the coefficients of the graph copy, what
    is summed over chunks) live on workers too; only matrices with few rows and columns
    come to this process. Tasks are pure, and every step is persisted: if a worker dies,
    what it held is computed again, up to rounding. Rounding turns eigenvectors at will,
    so bases are chosen here, once, and never by a task that may run twice.
    """

    can_hand_over = False
    can_polish = False
    can_average = False
    relief = None
    is_rounded = False

    def __init__(
        self, X: Any, loss: Loss, gamma: float, laplacian: ShiftedLaplacian | None
    ) -> None:
        self.shape, self.dtype = X.shape, X.dtype
        self.chunks = X.chunks[1]
        blocks = X.to_delayed().ravel()
        ends = np.cumsum([0, *self.chunks]).tolist()
        self.tiles = dask.persist(
            *[
                delayed(Iterates)(block, part(loss, (slice(None), slice(*columns))))
                for block, columns in zip(blocks, pairwise(ends), strict=True)
            ]
        )
        self.graph: Any = None
        if laplacian is not None:
            # Once on every worker; the copy itself moves without it.
            (self.laplacian,) = dask.persist(delayed(laplacian))
            self.graph = delayed(no_copy)(None, gamma, X.shape[0], X.dtype)
            self.R = [np.empty((width, 0), X.dtype) for width in self.chunks]
        self.A2: Any = None

    def begin(self, penalties: tuple[float, ...], width: int) -> None:
        self.tiles = [delayed(_zero)(tile, penalties[0]) for tile in self.tiles]
        E = [delayed(getattr)(tile, "E") for tile in self.tiles]
        Q = [
            delayed(_random)(p, width, [0, i], self.dtype)
            for i, p in enumerate(self.chunks)
        ]
        for _ in range(2):
            Y = _sum([delayed(_times)(e, q) for e, q in zip(E, Q, strict=True)])
            Q = _orthonormal([delayed(_times)(delayed(_transpose)(e), Y) for e in E])
        self.F = np.empty((self.shape[0], 0), self.dtype)
        self._keep(
            [delayed(_with_basis)(t, q) for t, q in zip(self.tiles, Q, strict=True)]
        )

    def _keep(self, tiles: list) -> None:
        """Hold new tiles, and their contribution to Y = E Q, and nothing of before."""
        self.tiles = dask.persist(*tiles)
        self.Y = _sum([delayed(getattr)(tile, "Y") for tile in self.tiles])
        self.Y, self.graph, self.F = dask.persist(self.Y, self.graph, self.F)

    def _basis(self) -> list:
        return [delayed(getattr)(tile, "Q") for tile in self.tiles]

    # -- the singular value step -------------------------------------------------------

    def sketch(self, weights: tuple[float, ...]) -> np.ndarray:
        self.A2, common = None, None
        if self.graph is not None:
            self.A2 = delayed(GraphCopy.reflected)(self.graph, weights[1])
            pairs = zip(self.R, self._basis(), strict=True)
            common = _sum([delayed(_inner)(R, Q) for R, Q in pairs])
        Y = delayed(_sketch)(self.Y, weights[0], self.A2, common)
        self.Y, self.A2 = dask.persist(Y, self.A2)
        return delayed(gram)(self.Y).compute()

    def compress(self, to_orthonormal: np.ndarray, weights) -> np.ndarray:
        U = delayed(_times)(self.Y, to_orthonormal.astype(self.dtype))
        pull = None if self.A2 is None else delayed(_inner)(U, self.A2)
        R = [None] * len(self.tiles) if self.A2 is None else self.R
        B = [
            delayed(_project)(tile, U, weights[0], pull, r)
            for tile, r in zip(self.tiles, R, strict=True)
        ]
        self.U, *self.B = dask.persist(U, *B)
        return _sum([delayed(_outer)(b) for b in self.B]).compute()

    def turn(self, rotation, sigma, shrunk, width: int, seed: int) -> None:
        right = (rotation / sigma).astype(self.dtype)
        shared = delayed(right)  # once, not with the task of every chunk
        Q = [delayed(_turned)(b, shared) for b in self.B]
        left = (rotation[:, : len(shrunk)] * shrunk).astype(self.dtype)
        self.F = delayed(_times)(self.U, left)
        if width > right.shape[1]:
            new = [
                delayed(_random)(p, width - right.shape[1], [seed, i], self.dtype)
                for i, p in enumerate(self.chunks)
            ]
            for _ in range(2):
                new = _orthonormal(_without(new, Q))
            Q = [delayed(_beside)(q, z) for q, z in zip(Q, new, strict=True)]
        self.F, *self.Q = dask.persist(self.F, *Q)

    # -- the copies --------------------------------------------------------------------

    def advance(
        self,
        penalties: tuple[float, ...],
        relaxation: float,
        growth: float = 1.0,
        measure: bool = False,
    ) -> list[Distances]:
        parts = [
            delayed(_advance, nout=2)(
                tile, Q, self.F, penalties[0], relaxation, growth, measure
            )
            for tile, Q in zip(self.tiles, self.Q, strict=True)
        ]
        moved: list = [_add([part[1] for part in parts])]
        if self.graph is not None:
            # L in the basis R of the graph copy and what of Q is orthogonal to it.
            pairs = list(zip(self.R, self.Q, strict=True))
            inside = _sum([delayed(_inside)(R, Q, self.F) for R, Q in pairs])
            outside = [delayed(_outside)(R, Q, self.F, inside) for R, Q in pairs]
            again = _sum(
                [delayed(_inner)(R, o) for R, o in zip(self.R, outside, strict=True)]
            )
            inside = delayed(_total)([inside, again])
            parts_outside = [
                delayed(_outside_again, nout=2)(R, o, again)
                for R, o in zip(self.R, outside, strict=True)
            ]
            outside = [part[0] for part in parts_outside]
            square = _sum([part[1] for part in parts_outside])
            outside, square = dask.persist(outside, square)
            turn, coefficients = _thin(square.compute(), self.dtype)
            V, apart = delayed(GraphCopy.step, nout=2)(
                self.graph, self.F, inside, coefficients, relaxation
            )
            V, apart = dask.persist(V, apart)
            square, distance = dask.compute(delayed(gram)(V), apart)
            T = compression(square, distance, relaxation)
            T = T.astype(self.dtype)
            step = delayed(GraphCopy.turned)(self.graph, V, T)
            self.graph = self._solved(step, penalties[1])
            distances = delayed(GraphCopy.distances)(self.graph, step, apart)
            turn, T = delayed(turn), delayed(T)  # once, not with every chunk's task
            self.R = dask.persist(
                *[
                    delayed(_extended)(R, o, turn, T)
                    for R, o in zip(self.R, outside, strict=True)
                ]
            )
            moved.append(distances)
        self._keep([part[0] for part in parts])
        self.B = self.Q = []
        self.U = self.A2 = None
        return list(dask.compute(*moved)) if measure else []

    def _solved(self, copy: Any, penalty: float) -> Any:
        """The columns of V are solved for in as many tasks as there are chunks."""
        count = len(self.tiles)
        pieces = [
            delayed(_solved)(self.laplacian, delayed(_share)(copy, i, count), penalty)
            for i in range(count)
        ]
        return delayed(_joined)(copy, pieces)

    def rescale(self, factors: list[float], penalties: tuple[float, ...]) -> None:
        if self.graph is not None:
            self.graph = delayed(GraphCopy.rescaled)(self.graph, factors[1])
        self._keep(
            [delayed(_rescaled)(tile, penalties[0], factors[0]) for tile in self.tiles]
        )

    # -- the certificate ---------------------------------------------------------------

    def objective(self) -> Objective:
        rank = delayed(_columns)(self.F)
        loss = _sum([delayed(Iterates.distance)(tile, self.F) for tile in self.tiles])
        right = _sum([delayed(gram)(delayed(_first)(q, rank)) for q in self._basis()])
        rough = None
        if self.graph is not None:
            rough = delayed(_roughness)(self.laplacian, self.graph, self.F)
        return Objective(*dask.compute(loss, delayed(gram)(self.F), right, rough))

    def dual(self, penalties: tuple[float, ...], accuracy: float) -> Dual:
        left = rough = common = None
        if self.graph is not None:
            left, rough = delayed(_graph_dual, nout=2)(self.laplacian, self.graph)
            common = _sum([delayed(gram)(R) for R in self.R])
        R = [None] * len(self.tiles) if self.graph is None else self.R
        parts = [
            delayed(_dual, nout=2)(tile, penalties[0], left, r)
            for tile, r in zip(self.tiles, R, strict=True)
        ]
        D = [part[0] for part in parts]
        linear = _sum([part[1] for part in parts])
        n, p = self.shape
        if n <= p:
            square_of_D = _sum([delayed(_outer)(d) for d in D])
        else:  # by rows: every entry moves once
            D = list(dask.persist(*D))
            edges = np.linspace(0, n, len(D) + 1).astype(int).tolist()
            square_of_D = _sum(
                [
                    delayed(_gram_of)([delayed(_rows)(d, *ends) for d in D])
                    for ends in pairwise(edges)
                ]
            )
        linear, rough, common, K = dask.compute(linear, rough, common, square_of_D)
        quadratic = error = 0.0
        if rough is not None:
            quadratic, error = rough.dual(common, p)
        return Dual.rounded_up(linear, len(parts), quadratic, K, error, accuracy, n + p)

    def mean_square(self) -> float:
        return delayed(mean_square)(self.F).compute()

    # -- the end -----------------------------------------------------------------------

    def arrays(self) -> dict:
        return {}

    def answer(self) -> tuple[Any, None]:
        """L as a Dask array."""
        parts = [delayed(_low_rank)(tile, self.F) for tile in self.tiles]
        n = self.shape[0]
        pieces = [
            da.from_delayed(part, (n, width), self.dtype)
            for part, width in zip(parts, self.chunks, strict=True)
        ]
        return da.concatenate(pieces, axis=1).persist(), None

    def factors(self, rank: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """Scores (a Dask array), singular values and directions of L."""
        Q, square = dask.compute(self._basis(), delayed(gram)(self.F))
        Vt = np.vstack(Q)[:, :rank].T
        s = np.sqrt(np.diag(square))
        signs = column_signs(Vt.T)
        scores = da.from_delayed(
            delayed(np.multiply)(self.F, signs), (self.shape[0], rank), self.dtype
        )
        return scores.persist(), s.astype(self.dtype), Vt * signs[:, None]


# -- tasks: pure functions of their arguments ------------------------------------------


@sizeof.register(Iterates)
@sizeof.register(GraphCopy)
def _bytes(thing) -> int:
    """So that the scheduler knows what it would move."""
    parts = vars(thing).values()
    return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


def _fork(tile: Iterates) -> Iterates:
    """A panel that can be changed without changing the other; X is shared."""
    other = Iterates.__new__(Iterates)
    other.__dict__.update(tile.__dict__)
    return other


def _zero(tile: Iterates, penalty: float) -> Iterates:
    tile = _fork(tile)
    tile.zero(penalty)
    return tile


def _with_basis(tile: Iterates, Q: np.ndarray) -> Iterates:
    tile = _fork(tile)
    tile.Q, tile.Y = Q, tile.E @ Q
    return tile


def _advance(tile: Iterates, Q, F, penalty, relaxation, growth, measure):
    tile = _fork(tile)
    tile.V, tile.E, tile.Q, tile.F = tile.V.copy(), tile.E.copy(), Q, F
    distances = tile.advance_loss(penalty, relaxation, growth, measure)
    tile.F = F[:, :0]
    return tile, distances


def _rescaled(tile: Iterates, penalty: float, factor: float) -> Iterates:
    tile = _fork(tile)
    tile.V, tile.E = tile.V.copy(), tile.E.copy()
    tile.reflect(penalty, factor)
    tile.Y = tile.E @ tile.Q
    return tile


def _project(tile: Iterates, U, weight, pull, R) -> np.ndarray:
    B = tile.project(U, weight)
    return B if pull is None else B + pull @ R.T


def _dual(tile: Iterates, penalty: float, left, R):
    D, product = tile.dual_piece(np.s_[:, :], penalty)
    if left is not None:
        D += left @ R.T.astype(np.float64)
    return D, product


def _share(copy: GraphCopy, i: int, count: int) -> GraphCopy:
    return replace(copy, G=copy.G[:, i::count], H=copy.H[:, i::count])


def _solved(laplacian, copy: GraphCopy, penalty: float) -> np.ndarray:
    return replace(copy, laplacian=laplacian).solved(penalty).H


def _joined(copy: GraphCopy, pieces: list[np.ndarray]) -> GraphCopy:
    H = np.empty_like(copy.H)
    for i, piece in enumerate(pieces):
        H[:, i :: len(pieces)] = piece
    return replace(copy, H=H)


def _roughness(laplacian, copy: GraphCopy, F: np.ndarray) -> np.ndarray:
    return replace(copy, laplacian=laplacian).roughness(F)


def _graph_dual(laplacian, copy: GraphCopy):
    return replace(copy, laplacian=laplacian).dual()


def _low_rank(tile: Iterates, F: np.ndarray) -> np.ndarray:
    return F @ tile.Q[:, : F.shape[1]].T


def _sketch(Y, weight, A2, common) -> np.ndarray:
    Y = Y * Y.dtype.type(-2 * weight)
    return Y if A2 is None else Y + A2 @ common


def _random(p: int, k: int, seed: list[int], dtype) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((p, k)).astype(dtype)


def _times(A, B):
    return A @ B


def _transpose(A):
    return A.T


def _inner(A, B):
    return A.T @ B


def _outer(A):
    A = A.astype(np.float64, copy=False)
    return A @ A.T


def _turned(B, right):
    return B.T @ right


def _beside(A, B):
    return np.hstack([A, B])


def _minus(A, R, coefficients):
    return A - R @ coefficients


def _inside(R, Q, F):
    return R.T @ Q[:, : F.shape[1]]


def _outside(R, Q, F, inside):
    return Q[:, : F.shape[1]] - R @ inside


def _outside_again(R, outside, again):
    outside = outside - R @ again  # twice is enough
    return outside, gram(outside)


def _columns(F) -> int:
    return F.shape[1]


def _first(Q, rank):
    return Q[:, :rank]


def _extended(R, outside, turn, T):
    return np.hstack([R, outside @ turn]) @ T


def _total(terms):
    return reduce(np.add, terms)


def _total_distances(parts: list[Distances]) -> Distances:
    return Distances(*(sum(column) for column in zip(*parts, strict=True)))


def _thin(square: np.ndarray, dtype):
    """T with orthonormal A T, and the coefficients of A in it, from A^T A.

    Directions whose length is a rounding error of vectors of length one are dropped.
    """
    values, vectors = np.linalg.eigh(square)
    kept = values > float(np.finfo(dtype).eps)
    roots = np.sqrt(values[kept])
    T = vectors[:, kept] / roots
    return T.astype(dtype), (vectors[:, kept] * roots).T.astype(dtype)


def _sum(terms: list) -> Any:
    """The sum, as a tree: no task holds more than a few terms."""
    while len(terms) > 1:
        terms = [delayed(_total)(terms[i : i + 4]) for i in range(0, len(terms), 4)]
    return terms[0]


def _add(parts: list) -> Any:
    return delayed(_total_distances)(parts)


def _orthonormal(blocks: list) -> list:
    """The same row-blocks of a tall matrix, with orthonormal columns."""
    blocks = list(dask.persist(*blocks))
    square = _sum([delayed(gram)(b) for b in blocks]).compute()
    T = delayed(orthonormalizer(square, np.dtype(np.float64)))
    return [delayed(_times_small)(b, T) for b in blocks]


def _times_small(A, T):
    return A @ T.astype(A.dtype)


def _without(new: list, Q: list) -> list:
    common = _sum([delayed(_inner)(q, z) for q, z in zip(Q, new, strict=True)])
    return [delayed(_minus)(z, q, common) for q, z in zip(Q, new, strict=True)]


def _rows(D, start: int, stop: int):
    return D[start:stop]


def _gram_of(pieces: list[np.ndarray]) -> np.ndarray:
    return gram(np.hstack(pieces))
