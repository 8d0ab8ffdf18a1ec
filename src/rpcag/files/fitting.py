"""From a table and options to a fitted model and a decomposition."""

import inspect
import platform
import time
import warnings
from typing import Any

import numpy as np
import scipy
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags

from rpcag.files.decomposition import Decomposition
from rpcag.files.scaling import centre_and_scale, standardised
from rpcag.files.table import Table
from rpcag.graphs.inputs import percent
from rpcag.models import FRPCAG, MODELS, RPCA, RPCAG, RPCAGCV

DECOMPOSITIONS: dict[str, type] = {
    model.__name__.lower(): model for model in (RPCA, RPCAG, FRPCAG)
}
BY_NAME: dict[str, type] = {model.__name__.lower(): model for model in MODELS}
# Entries of S below this share of the deviation of X (of the feature, where these are
# standardised) are not counted: they are what is left of the solver's gap.
NEGLIGIBLE = 0.01
LARGEST = 3  # entries of S that are told
# Parameters that do not change the answer.
UNTOLD = ("verbose", "warm_start", "checkpoint_seconds")


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
    if model is FRPCAG and "gamma" in given:
        given["gamma_samples"] = given.pop("gamma")
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
    table: Table, model: BaseEstimator, *, components: int | None, standardise: bool
) -> tuple[Decomposition, list[str]]:
    """Fit one of `DECOMPOSITIONS` to a table; notes come with the decomposition.

    With `standardise` the model sees (X - centre) / scale; L and S are in the units of
    X again: X = centre + scale L' + scale S'.
    """
    X = table.X
    fitted: Any = model
    if standardise:
        Z, centre, unit = standardised(X)
        seconds, notes = fit(model, Z)
        L, S = fitted.low_rank_ * unit + centre, fitted.sparse_ * unit
    else:
        seconds, notes = fit(model, X)
        notes += _scales(X) if table.image_shape is None else []
        L, S = fitted.low_rank_, fitted.sparse_
        centre, unit = centre_and_scale(X.reshape(-1, 1))
    kept = fitted.rank_ if components is None else min(components, fitted.rank_)
    graph = getattr(fitted, "adjacency_", None)
    missing = np.isnan(X)
    return Decomposition(
        low_rank=L,
        sparse=S,
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
        | {"standardised": standardise}
        | _of_sparse(table, S, unit),
    ), notes


def facts(model: Any, seconds: float) -> dict[str, Any]:
    """What a fitted model says of itself, for JSON."""
    given = {
        name: value
        for name, value in model.get_params(deep=False).items()
        if isinstance(value, (int, float, str, list)) and name not in UNTOLD
    }
    if "graph" in model.get_params(deep=False):
        given.setdefault("graph", "file")
    resolved = ("lam", "gamma", "gamma_samples", "gamma_features", "beta")
    history = getattr(model, "history_", {})
    told = ("n_iter", "objective", "lower_bound", "gap")
    found: dict[str, Any] = {
        "versions": versions(),
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
    if getattr(model, "weights_", None) is not None:
        found["explained"] = model.explained_
    found["seconds"] = round(seconds, 3)
    if set(told) <= set(history):
        columns = zip(*(history[name].tolist() for name in told), strict=True)
        found["history"] = [list(entry) for entry in columns]
    return found


def versions() -> dict[str, str]:
    import rpcag

    return {
        "rpcag": rpcag.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


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


def _scales(X: np.ndarray) -> list[str]:
    """A note where features have such different units that some count for nothing."""
    _, scale = centre_and_scale(X)
    varies = np.nanmax(X, axis=0, initial=-np.inf) > np.nanmin(
        X, axis=0, initial=np.inf
    )
    if varies.sum() > 1:
        ratio = scale[varies].max() / scale[varies].min()
        if ratio > 100:
            return [
                f"features differ in size by a factor of {ratio:.0f}, so that the "
                "small ones count for little; --standardise brings them to one scale"
            ]
    return []
