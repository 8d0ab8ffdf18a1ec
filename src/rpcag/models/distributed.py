"""Robust PCA (on graphs) of a Dask array, on whatever scheduler is active."""

import math
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask import delayed
from sklearn.base import BaseEstimator
from sklearn.utils.validation import _check_n_features

from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.typical import typical_center, typical_size, typical_spread
from rpcag.models.data_loss import DataLoss, check_sample_weight, loss_of
from rpcag.models.diagnosis import warn_if_offset
from rpcag.models.graph import ModelGraph, as_builder, compares_rows
from rpcag.models.hidden_entries import Spread, measure_spread
from rpcag.models.parts import random_rows
from rpcag.models.rules import CLUSTERING_LAM, clustering_gamma, theory_lam
from rpcag.models.scaling import center_and_scale
from rpcag.solvers.dask_executor import solve_on_dask
from rpcag.solvers.problem import SAFE

# Maximum number of entries from which the typical size is estimated.
SAMPLE = 10**7


def fit(model: Any, X: Any, sample_weight: Any) -> None:
    """Decompose a Dask array on the workers that hold its chunks, for `RPCA.fit`."""
    _check_options(model)
    _refuse_frame(X)
    X = _learn_scale(model, by_features(X))
    graph = _graph(model, len(X))
    size, spread, observed = measure(X)
    weight = check_sample_weight(sample_weight, X)
    if weight is not None and not weight.all():
        raise ValueError(
            "sample_weight must be positive for a Dask array; drop the samples of "
            "weight 0"
        )
    loss = loss_of(model, X.shape, observed)
    lam, gamma = model.lam if loss is None else loss.lam, model.gamma
    lam, gamma = _weights(model, X, graph, lam, gamma, size, observed)
    loss = replace(loss or DataLoss(lam=lam), weight=weight)
    shifted = None
    if graph is not None and gamma > 0:
        shifted = ShiftedLaplacian(graph.laplacian, null=graph.null)
    result, factors = solve_on_dask(
        X,
        loss.build(),
        gamma,
        shifted,
        ratio=lam / math.sqrt(size * spread),
        tol=float(model.tol),
        max_iter=model.max_iter,
        callback=model._watch(),
    )
    S = X - result.x
    if observed < 1:
        S = da.where(da.isnan(S), X.dtype.type(0), S)
    if not loss.is_plain:
        S = S.map_blocks(loss.sparse_part, dtype=X.dtype)
    model._warn(result)
    model.n_features_in_ = X.shape[1]
    model._size, model._spread = size, spread
    if graph is not None:
        model.gamma_ = gamma
        model._build_features(X)  # there are none
    model._name_loss(loss)
    model._name_parts(result, S.persist(), factors)
    warn_if_offset(model, len(X), loss)


def _check_options(model: Any) -> None:
    """Refuse options that need X, or whole samples, in one place."""
    needs_memory = {
        "loss": model.loss != "entries",
        "noise='auto'": model.noise == "auto",
        "feature_graph": model.feature_graph is not None,
        "warm_start": model.warm_start,
        "checkpoint": model.checkpoint is not None,
    }
    for name, is_given in needs_memory.items():
        if is_given:
            raise ValueError(
                f"{name} needs X in memory, got a Dask array; leave it out, or pass "
                "X.compute()"
            )


def _refuse_frame(X: Any) -> None:
    if not isinstance(X, da.Array):
        raise TypeError(
            f"X is a Dask {type(X).__name__}; pass X.to_dask_array(lengths=True)"
        )


def _learn_scale(model: Any, X: Any) -> Any:
    """`DecompositionModel._learn_scale` of an array with all rows in every chunk."""
    model._forget()
    if model.scale is not None:
        model.center_, model.scale_ = by_feature(center_and_scale, X, model.scale)
        X = model._scaled(X).persist()
    model._spread_of_features = Spread(*by_feature(measure_spread, X))
    return X


def _graph(model: Any, n_samples: int) -> ModelGraph | None:
    """The graph of an `RPCAG`, which must not depend on the values of X."""
    if not hasattr(model, "laplacian"):
        return None
    builder = as_builder(model.graph)
    is_object = isinstance(model.graph, BaseEstimator) or callable(model.graph)
    if compares_rows(builder) or (builder is None and is_object):
        raise ValueError(
            f"graph={model.graph!r} would need all features of X in one place; for "
            "a Dask array give 'chain' if its rows are in time order, or an "
            "adjacency of shape (n_samples, n_samples), such as "
            "rpcag.graphs.KNNGraph()(some features of X)"
        )
    return model._build_graph(np.zeros((n_samples, 1)))


def _weights(
    model: Any, X: Any, graph: ModelGraph | None, lam, gamma, size, observed
) -> Any:
    """lam and gamma as numbers; those that are "auto" are chosen on some rows of X."""
    rules = theory_lam(X.shape, observed), clustering_gamma(X.shape, size, observed)
    if lam == "auto" and gamma == "clustering":
        lam = CLUSTERING_LAM * rules[0]
    known = {"auto": None, "theory": rules[0], "clustering": rules[1]}
    given = [known[w] if isinstance(w, str) else float(w) for w in (lam, gamma)]
    if None not in given:
        return given
    rows = random_rows(X.shape) if graph is None else graph.some(X.shape)
    build = None if graph is None else model.trial_graph(rows)
    some = np.ascontiguousarray(X[rows].compute())
    choice, _ = model._choose(some, *given, shape=X.shape, build=build)
    found = (factor * rule for factor, rule in zip(choice.factors, rules, strict=True))
    return [b if a is None else a for a, b in zip(given, found, strict=True)]


def by_features(X: Any) -> Any:
    """X with all its rows in every chunk, in floating point."""
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
        X = X.rechunk({0: -1, 1: "auto"})  # of dask.config's array.chunk-size
    return X.persist()


def by_feature(measure: Callable, X: Any, *options) -> np.ndarray:
    """Some numbers per feature, one in each row, measured where all its rows are."""

    def measured(block: np.ndarray) -> np.ndarray:
        if np.isinf(block).any():
            raise ValueError("X contains infinity; mark missing entries by NaN")
        return np.stack(list(measure(block, *options)))

    parts = [delayed(measured)(block) for block in X.to_delayed().reshape(-1)]
    return np.hstack(dask.compute(*parts))


def transform(model: Any, X: Any, adjacency: Any) -> Any:
    """Embed new rows chunk by chunk: they do not depend on each other."""
    if adjacency is not None or any(graph.by_order for graph in model._graphs):
        name = "graph='chain'" if adjacency is None else "adjacency"
        raise ValueError(
            f"{name} needs rows in memory, got a Dask array; pass X.compute(), or some "
            "rows at a time"
        )
    _refuse_frame(X)
    model = copy(model)  # without arrays as large as the data, and without names
    for name in ("low_rank_", "sparse_", "dual_", "_state", "callback"):
        model.__dict__[name] = None
    model.__dict__.pop("feature_names_in_", None)
    _check_n_features(model, X, reset=False)
    model._scores = np.asarray(model._scores)
    X = X.rechunk({1: -1})
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    return X.map_blocks(
        lambda rows, model: model.transform(rows) if len(rows) else rows[:, :0],
        model=delayed(model),
        chunks=(X.chunks[0], (model.n_components_,)),
        dtype=dtype,
        meta=np.empty((0, 0), dtype),
    )


def measure(X: Any) -> tuple[float, float, float]:
    """Typical size and spread of the entries, and the share that is observed."""
    step = max(1, math.ceil(X.size / SAMPLE))
    columns = X[:, :: min(step, max(1, X.shape[1] // 8))]
    few = X[:: max(1, len(X) // 64)]
    missing, sample, few = dask.compute(da.isnan(X).sum(), columns, few)
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
