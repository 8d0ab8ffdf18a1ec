"""From a table and options to a fitted model and a decomposition."""

import inspect
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from rpcag.commands.options import ModelOptions
from rpcag.commands.progress import GapBar
from rpcag.files.decomposition import Decomposition
from rpcag.files.graph import read_graph
from rpcag.files.table import Table
from rpcag.graphs.inputs import percent
from rpcag.linalg.typical import TooFarApart
from rpcag.models import FRPCAG, MODELS, RPCA, RPCAG, RPCAGCV
from rpcag.models.graph import BUILDERS
from rpcag.models.scaling import (
    DIFFERENT,
    KINDS,
    center_and_scale,
    in_words,
    ratio_of_scales,
    standardize,
)
from rpcag.versions import core_versions

DECOMPOSITIONS: dict[str, type] = {
    model.__name__.lower(): model for model in (RPCA, RPCAG, FRPCAG)
}
BY_NAME: dict[str, type] = {model.__name__.lower(): model for model in MODELS}
# Entries of S below this share of the deviation of X (of the feature, if features are
# scaled) are not counted, because they are within the solver's accuracy.
NEGLIGIBLE = 0.01
LARGEST = 3  # entries of S that are listed
# Parameters that do not change the result; the scale is a fact of its own.
UNTOLD = ("verbose", "warm_start", "checkpoint_seconds", "scale")
SCALES = ("auto", *KINDS, "none")


def model_class(name: str, known: dict[str, type]) -> type:
    if name.lower() not in known:
        raise ValueError(f"--model must be one of {', '.join(known)}, got {name!r}")
    return known[name.lower()]


def build(model: type, options: ModelOptions, **others: Any) -> Any:
    """A model with the options that were given, and others that are not None.

    `others` are weights to use if none are given, and further parameters.
    `gamma="cv"` makes an RPCAG choose it; a graph that is not given is the robust one.
    """
    if options.scale is not None and options.scale not in SCALES:
        raise ValueError(
            f"--scale must be one of {', '.join(SCALES)}, got {options.scale!r}"
        )
    others |= {name: getattr(options, name) for name in ("graph", "tol", "max_iter")}
    given = {k: v for k, v in (others | options.weights()).items() if v is not None}
    if "graph" in inspect.signature(model).parameters:
        given.setdefault("graph", "robust")
    if given.get("gamma") == "cv":
        if model is not RPCAG:
            raise ValueError(f"--gamma cv is for rpcag, not for {model.__name__}")
        if "checkpoint" in given:
            raise ValueError("--checkpoint does not work with --gamma cv")
        model = RPCAGCV
        del given["gamma"]
        if "lam" in given:
            lam = given.pop("lam")
            given["lams"] = lam if isinstance(lam, str) else [lam]
    if "gamma_features" in given and model is RPCAG:
        raise ValueError("--gamma-features is for frpcag, not for RPCAG")
    takes = inspect.signature(model).parameters
    has_auto = "gamma" not in takes or takes["gamma"].default == "auto"
    if given.get("gamma") == "auto" and not has_auto:
        del given["gamma"]
    for name in given:
        if name not in takes:
            option = "--" + name.removeprefix("n_").replace("_", "-")
            raise ValueError(f"{option}: {model.__name__} has no such parameter")
    return model(**given)


def load_graph(graph: str, samples: list[str]) -> Any:
    """The value of --graph: a kind of graph, or a file."""
    return graph if graph in BUILDERS else read_graph(graph, samples)


def fit(
    model: Any, table: Table, options: ModelOptions, source: object, *, quiet: bool
) -> tuple[dict[str, Any], list[str]]:
    """Fit a model to a table, with a progress bar. Returns its facts, and notes."""
    if np.isnan(table.X).any() and not get_tags(model).input_tags.allow_nan:
        raise ValueError(
            f"{type(model).__name__} needs every entry, but "
            f"{percent(np.isnan(table.X).mean())} are missing; --model rpcag, rpca, "
            "frpcag, ncuts and laplacianeigenmaps work with gaps"
        )
    if options.graph is not None:
        model.set_params(graph=load_graph(options.graph, table.samples))
    X, scale, notes = _scale_rows(model, table, options.scale)
    tol, most = getattr(model, "tol", 1.0), getattr(model, "max_iter", 1)
    keeps_state = getattr(model, "checkpoint", None) is not None
    with (
        GapBar(type(model).__name__, tol, most, quiet=quiet) as bar,
        bar.stopped_by_signals() if keeps_state else nullcontext(),
        far_value_named(source, table.X, table.samples, table.features),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        if "callback" in model.get_params():
            model.set_params(callback=bar)
        start = time.perf_counter()
        model.fit(X)
        seconds = time.perf_counter() - start
    said = [str(w.message) for w in caught if w.category is not ConvergenceWarning]
    facts = _facts(model, seconds) | {"scale": scale}
    return facts, [*table.notes, *notes, *said]


def _scale_rows(
    model: Any, table: Table, option: str | None
) -> tuple[np.ndarray, str, list[str]]:
    """The rows to fit a model to, the name of the scale, and notes.

    Models with the parameter `scale` scale rows themselves. For other models rows are
    scaled here, but not automatically if the model needs non-negative numbers.
    """
    notes = []
    if option in (None, "auto"):
        option = "none"
        may_scale = not get_tags(model).input_tags.positive_only
        ratio = 1.0
        if may_scale and table.image_shape is None:
            ratio = ratio_of_scales(table.X)
        if ratio > DIFFERENT:
            option = "robust"
            notes = [
                f"the scales of the features differ by a factor of {in_words(ratio)}; "
                "they were centered and scaled first (--scale robust), --scale none "
                "leaves them as they are"
            ]
    if "scale" in model.get_params():
        model.set_params(scale=None if option == "none" else option)
    elif option != "none":
        return standardize(table.X, *center_and_scale(table.X, option)), option, notes
    return table.X, option, notes


@contextmanager
def far_value_named(
    source: object, X: np.ndarray, samples: Sequence[str], features: Sequence[str]
) -> Iterator[None]:
    """Make the error name the cell that is the farthest from others of its feature."""
    try:
        yield
    except TooFarApart:
        relative = np.zeros(X.shape)
        with np.errstate(over="ignore"):
            for j in np.flatnonzero(~np.isnan(X).all(axis=0)):
                distances = np.nan_to_num(np.abs(X[:, j] - np.nanmedian(X[:, j])))
                if distances.any():
                    relative[:, j] = distances / np.median(distances[distances > 0])
        i, j = divmod(int(np.argmax(relative)), X.shape[1])
        value = repr(float(X[i, j]))
        raise ValueError(
            f"{source}, row {samples[i]!r}, column {features[j]!r}: {value} is too far "
            f"from the other values; --missing {value} reads it as missing"
        ) from None


def decomposition(
    fitted: Any, table: Table, facts: dict[str, Any], components: int | None
) -> Decomposition:
    """The parts of a table, from one of `DECOMPOSITIONS` that is fitted to it."""
    unit = fitted.scale_
    if unit is None:
        _, unit = center_and_scale(table.X.reshape(-1, 1), "robust")
    else:  # L is embedding times components, times the scale, plus the center
        facts["scaling"] = {"center": fitted.center_.tolist(), "scale": unit.tolist()}
    kept = fitted.rank_ if components is None else min(components, fitted.rank_)
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


def _facts(model: Any, seconds: float) -> dict[str, Any]:
    """Facts about a fitted model, for JSON."""
    given = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if isinstance(value, (int, float, str, list)) and name not in UNTOLD
    }
    if "graph" in model.get_params(deep=False):
        given.setdefault("graph", "file")
    resolved = ["lam", "gamma", "beta", "weight_penalty"]
    if model.get_params(deep=False).get("feature_graph") is not None:
        resolved.insert(2, "gamma_features")
    history = getattr(model, "history_", {})
    told = ("n_iter", "objective", "lower_bound", "gap")
    found: dict[str, Any] = {
        "versions": core_versions(),
        "model": type(model).__name__,
        "parameters": given,
        "resolved": {
            name: getattr(model, f"{name}_")
            for name in resolved
            if hasattr(model, f"{name}_")
        },
    }
    for name in (*told[1:], "rank", "n_iter", "status"):
        if hasattr(model, f"{name}_"):
            found[name] = getattr(model, f"{name}_")
    if getattr(model, "explained_", None) is not None:
        found["explained"] = model.explained_
        found["explained_error"] = model.weights_.explained_error
    found["seconds"] = round(seconds, 3)
    if set(told) <= set(history):
        columns = zip(*(history[name].tolist() for name in told), strict=True)
        found["history"] = [list(entry) for entry in columns]
    return found


def _of_sparse(table: Table, S: np.ndarray, unit: np.ndarray) -> dict[str, Any]:
    """How much of X is in S, and its largest entries, all in units of the features."""
    X = table.X
    sizes = np.abs(S) / unit
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
    observed = X.size - int(np.isnan(X).sum())
    return {
        "missing": int(np.isnan(X).sum()),
        "sparse_share": float((sizes > NEGLIGIBLE).sum() / observed),
        "gross_share": float((sizes > 1).sum() / observed),
        "largest": largest,
    }
