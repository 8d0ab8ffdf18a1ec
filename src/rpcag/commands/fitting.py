"""From a file and options to a fitted model and a decomposition."""

import inspect
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from rpcag.commands.options import ModelOptions, flag
from rpcag.commands.progress import GapBar
from rpcag.files.decomposition import Decomposition
from rpcag.files.graph import read_graph
from rpcag.files.table import Table
from rpcag.linalg.typical import TooFarApart
from rpcag.models import FRPCAG, RPCA, RPCAG
from rpcag.models.graph import BUILDERS
from rpcag.models.scaling import (
    DIFFERENT,
    KINDS,
    center_and_scale,
    in_words,
    ratio_of_scales,
)
from rpcag.versions import core_versions

MODELS: dict[str, type] = {"rpca": RPCA, "rpcag": RPCAG, "frpcag": FRPCAG}
# Entries of S below this share of the deviation of X (of the feature, if features are
# scaled) are not counted, because they are within the solver's accuracy.
NEGLIGIBLE = 0.01
LARGEST = 3  # entries of S that are listed
# Parameters that do not change the result; the scale is a fact of its own.
UNTOLD = ("verbose", "warm_start", "checkpoint_seconds", "scale")
SCALES = ("auto", *KINDS, "none")


def build(name: str, options: ModelOptions, **others: Any) -> Any:
    """A model with the options that were given, and others for those that were not.

    A graph that is not given is the robust one.
    """
    scale = options.scale or "auto"
    for option, word, known in (("model", name, MODELS), ("scale", scale, SCALES)):
        if word.lower() not in known:
            words = ", ".join(known)
            raise ValueError(f"--{option} must be one of {words}, got {word!r}")
    model = MODELS[name.lower()]
    given = dict(others)
    for option, value in asdict(options).items():
        if value is not None and option not in ("components", "scale"):
            given[option] = value
    takes = inspect.signature(model).parameters
    if "graph" in takes:
        given.setdefault("graph", "robust")
    if "gamma_features" in given and model is RPCAG:  # it would need a graph for it
        raise ValueError("--gamma-features is for frpcag, not for RPCAG")
    for name in given:
        if name not in takes:
            raise ValueError(f"{flag(name)}: {model.__name__} has no such parameter")
    return model(**given)


def load_graph(graph: str, samples: list[str]) -> Any:
    """The value of --graph: a kind of graph, or a file."""
    return graph if graph in BUILDERS else read_graph(graph, samples)


def decomposed(
    model: Any, table: Table, options: ModelOptions, source: Path, *, quiet: bool
) -> tuple[Decomposition, list[str]]:
    """Fit a model to a table, with a progress bar; also returns notes."""
    if options.graph is not None:
        model.set_params(graph=load_graph(options.graph, table.samples))
    scale, notes = (options.scale or "auto").lower(), list(table.notes)
    if scale == "auto":
        ratio = 1.0 if table.image_shape is not None else ratio_of_scales(table.X)
        scale = "robust" if ratio > DIFFERENT else "none"
        if scale == "robust":
            notes.append(
                f"the scales of the features differ by a factor of {in_words(ratio)}; "
                "they were centered and scaled first (--scale robust), --scale none "
                "leaves them as they are"
            )
    model.set_params(scale=None if scale == "none" else scale)
    with (
        GapBar(type(model).__name__, model.tol, model.max_iter, quiet=quiet) as bar,
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        start = time.perf_counter()
        try:
            model.set_params(callback=bar).fit(table.X)
        except TooFarApart as error:
            i, j = error.place
            value = repr(float(table.X[i, j]))
            raise ValueError(
                f"{source}, row {table.samples[i]!r}, column {table.features[j]!r}: "
                f"{value} is too far from the other values; --missing {value} reads it "
                "as missing"
            ) from None
        seconds = time.perf_counter() - start
    notes += [str(w.message) for w in caught if w.category is not ConvergenceWarning]
    facts = _facts(model) | {"seconds": round(seconds, 3), "scale": scale}
    return _decomposition(model, table, facts, options.components), notes


def _decomposition(
    fitted: Any, table: Table, facts: dict[str, Any], components: int | None
) -> Decomposition:
    unit = fitted.scale_
    if unit is None:
        _, unit = center_and_scale(table.X.reshape(-1, 1), "robust")
    else:  # L is embedding times components, times the scale, plus the center
        facts["scaling"] = {"center": fitted.center_.tolist(), "scale": unit.tolist()}
    kept = min(components or fitted.rank_, fitted.rank_)
    graph = getattr(fitted, "adjacency_", None)
    missing = np.isnan(table.X)
    return Decomposition(
        low_rank=fitted.low_rank_,
        sparse=fitted.sparse_,
        missing=missing if missing.any() else None,
        embedding=fitted.embedding_[:, :kept],
        components=fitted.components_[:kept],
        singular_values=fitted.singular_values_,
        graph=None if graph is None else sparse.csr_array(graph),
        samples=table.samples,
        features=table.features,
        labels=table.labels,
        image_shape=table.image_shape,
        facts=facts | _of_sparse(table, fitted.sparse_, unit),
    )


def _facts(model: Any) -> dict[str, Any]:
    """Facts about a fitted model, for JSON."""
    parameters = model.get_params(deep=False)
    given = {
        name: value
        for name, value in parameters.items()
        if isinstance(value, (int, float, str)) and name not in UNTOLD
    }
    if "graph" in parameters:
        given.setdefault("graph", "file")
    weights = ["lam", "gamma"]
    if parameters.get("feature_graph") is not None:
        weights.append("gamma_features")

    def fitted(*names: str) -> dict[str, Any]:
        found = {name: getattr(model, f"{name}_", None) for name in names}
        return {name: value for name, value in found.items() if value is not None}

    facts: dict[str, Any] = {
        "versions": core_versions(),
        "model": type(model).__name__,
        "parameters": given,
        "resolved": fitted(*weights),
        **fitted("objective", "lower_bound", "gap", "rank", "n_iter", "status"),
        **fitted("explained"),
    }
    if "explained" in facts:
        facts["explained_error"] = model.weights_.explained_error
    columns = [model.history_[k] for k in ("n_iter", "objective", "lower_bound", "gap")]
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return facts | {"history": list(map(list, rows))}


def _of_sparse(table: Table, S: np.ndarray, unit: np.ndarray) -> dict[str, Any]:
    """How much of X is in S, and its largest entries, all in units of the features."""
    X, sizes = table.X, np.abs(S) / unit
    most = min(LARGEST, S.size)
    some = np.argpartition(sizes, -most, axis=None)[-most:]
    places = some[np.argsort(-sizes.flat[some], kind="stable")]
    largest = [
        {
            "sample": table.samples[i],
            "feature": table.features[j],
            "value": float(X[i, j]),
            "expected": float(X[i, j] - S[i, j]),
        }
        for i, j in zip(*np.unravel_index(places, S.shape), strict=True)
        if S[i, j] != 0
    ]
    observed = sizes[~np.isnan(X)]
    return {
        "missing": X.size - len(observed),
        "sparse_share": float((observed > NEGLIGIBLE).mean()),
        "gross_share": float((observed > 1).mean()),
        "largest": largest,
    }
