"""From a table and options to a fitted model and a decomposition."""

import inspect
import time
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from rpcag.files.decomposition import Decomposition
from rpcag.files.table import Table
from rpcag.graphs.inputs import percent
from rpcag.models import FRPCAG, MODELS, RPCA, RPCAG, RPCAGCV
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
# scaled) are not counted: they are what is left of the solver's gap.
NEGLIGIBLE = 0.01
LARGEST = 3  # entries of S that are told
# Parameters that do not change the answer; the scale is a fact of its own.
UNTOLD = ("verbose", "warm_start", "checkpoint_seconds", "scale")
SCALES = ("auto", *KINDS, "none")


def model_class(name: str, known: dict[str, type]) -> type:
    if name.lower() not in known:
        raise ValueError(f"--model must be one of {', '.join(known)}, got {name!r}")
    return known[name.lower()]


def build(model: type, options: dict[str, Any]) -> BaseEstimator:
    """A model with those of the options that were given, i.e. are not None.

    `gamma="cv"` makes an RPCAG choose it; a graph that is not given is the robust one.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if "graph" in inspect.signature(model).parameters:
        given.setdefault("graph", "robust")
    if given.get("gamma") == "cv":
        if model is not RPCAG:
            raise ValueError(f"--gamma cv is for rpcag, not for {model.__name__}")
        if "checkpoint" in given:
            raise ValueError("--checkpoint cannot go with --gamma cv: many fits")
        model = RPCAGCV
        del given["gamma"]
        if "lam" in given:
            lam = given.pop("lam")
            given["lams"] = lam if isinstance(lam, str) else [lam]
    takes = inspect.signature(model).parameters
    if given.get("gamma") == "auto" and takes["gamma"].default != "auto":
        del given["gamma"]
    for name in given:
        if name not in takes:
            option = "--" + name.removeprefix("n_").replace("_", "-")
            raise ValueError(f"{option}: {model.__name__} has no such parameter")
    return model(**given)


def check_missing(model: BaseEstimator, table: Table) -> None:
    """Refuse gaps for a model that cannot have them, by name."""
    if np.isnan(table.X).any() and not get_tags(model).input_tags.allow_nan:
        raise ValueError(
            f"{type(model).__name__} needs every entry, but "
            f"{percent(np.isnan(table.X).mean())} are missing; --model rpcag, rpca, "
            "frpcag, ncuts and laplacianeigenmaps work with gaps"
        )


def check_scale(option: str | None) -> None:
    if option is not None and option not in SCALES:
        raise ValueError(f"--scale must be one of {', '.join(SCALES)}, got {option!r}")


def choose_scale(option: str | None, table: Table) -> tuple[str | None, list[str]]:
    """The model's `scale` for --scale, with a note if it was chosen automatically."""
    if option not in (None, "auto"):
        return (None if option == "none" else option), []
    ratio = 1.0 if table.image_shape is not None else ratio_of_scales(table.X)
    if ratio <= DIFFERENT:
        return None, []
    return "robust", [
        f"the scales of the features differ by a factor of {in_words(ratio)}; they "
        "were centered and scaled first (--scale robust), --scale none leaves them as "
        "they are"
    ]


def scale_rows(
    model: BaseEstimator, table: Table, option: str | None
) -> tuple[np.ndarray, str, list[str]]:
    """The rows to fit a model to, the name of the scale, and notes.

    Models with the parameter `scale` scale rows themselves. For other models rows are
    scaled here, but not automatically if the model needs non-negative numbers.
    """
    automatic = option in (None, "auto")
    if automatic and get_tags(model).input_tags.positive_only:
        option = "none"
    scale, notes = choose_scale(option, table)
    if "scale" in model.get_params():
        model.set_params(scale=scale)
    elif scale is not None:
        rows = standardize(table.X, *center_and_scale(table.X, scale))
        return rows, scale, notes
    return table.X, scale or "none", notes


def fit(model: BaseEstimator, X: np.ndarray) -> tuple[float, list[str]]:
    """Fit, and return the seconds and what was warned of."""
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X)
    seconds = time.perf_counter() - start
    said = [str(w.message) for w in caught if w.category is not ConvergenceWarning]
    return seconds, said


def decompose(
    table: Table, model: BaseEstimator, *, components: int | None, scale: str | None
) -> tuple[Decomposition, list[str]]:
    """Fit one of `DECOMPOSITIONS` to a table; notes come with the decomposition."""
    fitted: Any = model
    X, name, notes = scale_rows(model, table, scale)
    seconds, said = fit(model, X)
    unit = fitted.scale_
    if unit is None:
        _, unit = center_and_scale(X.reshape(-1, 1), "robust")
    kept = fitted.rank_ if components is None else min(components, fitted.rank_)
    graph = getattr(fitted, "adjacency_", None)
    missing = np.isnan(X)
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
        facts=facts(fitted, seconds)
        | {"scale": name}
        | _scaling(fitted)
        | _of_sparse(table, fitted.sparse_, unit),
    ), notes + said


def _scaling(model: Any) -> dict[str, Any]:
    """What gives L from embedding times components, if the features were scaled."""
    if model.scale_ is None:
        return {}
    return {
        "scaling": {"center": model.center_.tolist(), "scale": model.scale_.tolist()}
    }


def facts(model: Any, seconds: float) -> dict[str, Any]:
    """What a fitted model says of itself, for JSON."""
    given = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if isinstance(value, (int, float, str, list)) and name not in UNTOLD
    }
    if "graph" in model.get_params(deep=False):
        given.setdefault("graph", "file")
    resolved = ("lam", "gamma", "gamma_features", "beta", "weight_penalty")
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
