"""Check options and data; errors name the option, its value and a remedy."""

import os
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from rpcag.graphs.builder import COUNT
from rpcag.graphs.laplacian import KINDS as LAPLACIANS
from rpcag.models.scaling import KINDS as SCALES
from rpcag.solvers.checkpoint import is_checkpoint

NUMBER = Interval(Real, 0, None, closed="left")
# Values that scikit-learn allows for an option of any model. A model whose option takes
# other values overrides them.
OPTIONS: dict[str, list[Any]] = {
    "n_components": [COUNT],
    "gamma": [NUMBER],
    "laplacian": [StrOptions(set(LAPLACIANS))],
    "scale": [StrOptions(set(SCALES)), None],
    "tol": [NUMBER],
    "max_iter": [COUNT],
    "verbose": ["verbose"],
    "callback": [callable, None],
    "random_state": ["random_state"],
}


def auto_or(*words: str) -> list[Any]:
    """The values of a weight: a number, "auto", or one of these words."""
    return [StrOptions({"auto", *words}), NUMBER]


def check_checkpoint(path: str | os.PathLike) -> None:
    """Refuse a path to which nothing could be saved, before the work starts."""
    path = Path(path)
    problem = None
    if path.is_dir():
        problem = "is a directory; name a file in it"
    elif path.exists() and not is_checkpoint(path):
        problem = "is not a checkpoint of rpcag; choose another file"
    elif not path.parent.is_dir():
        problem = f"cannot be written: there is no directory {str(path.parent)!r}"
    elif not os.access(path.parent, os.W_OK):
        problem = "cannot be written: its directory is read-only"
    if problem is not None:
        raise ValueError(f"checkpoint={str(path)!r} {problem}")


def check_components(model, X: np.ndarray, most: int | None = None) -> int:
    """The number of components, if X has as many: by default, its shorter side."""
    most = min(X.shape) if most is None else most
    if model.n_components > most:
        raise ValueError(
            f"n_components={model.n_components} must be at most {most} for "
            f"n_samples={X.shape[0]} and n_features={X.shape[1]}"
        )
    return int(model.n_components)


def check_observed(X: np.ndarray) -> None:
    if np.isnan(X).all():
        raise ValueError("X has no observed entry: every value is NaN")


def check_stiffness(gamma: float, laplacians: list) -> None:
    """Refuse a gamma beside which the data would be lost to rounding."""
    largest = max(float(abs(Phi).sum(axis=1).max()) for Phi in laplacians)
    if gamma * largest > 1e12:
        raise ValueError(
            f"gamma={gamma:.3g} is out of range: times the size of the Laplacian, "
            f"{largest:.3g}, it must be at most 1e12"
        )
