"""Check options and data; errors name the option, its value and a remedy."""

import math
import os
from decimal import Decimal
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.graphs.inputs import as_float, shown
from rpcag.models.scaling import KINDS
from rpcag.solvers.checkpoint import is_checkpoint


def check_number(
    model, name: str, kind: Any, *, at_least: float, below: float = math.inf
) -> None:
    """Refuse an option that is not a number of this kind in [at_least, below)."""
    value = getattr(model, name)
    what = "an int" if kind is Integral else "a number"
    if not isinstance(value, kind) or isinstance(value, bool):
        # np.load returns a saved number as an array without axes.
        is_array = isinstance(value, np.ndarray) and value.ndim == 0
        is_like = isinstance(value, Decimal) or is_array
        convert = "int" if kind is Integral else "float"
        remedy = f"; convert it with {convert}()" if is_like else ""
        raise TypeError(f"{name} must be {what}, got {value!r}{remedy}")
    number = value if kind is Integral else as_float(value)
    if not at_least <= number < below:  # NaN is refused too
        limits = f"of at least {at_least}"
        if below < math.inf:
            limits += f" and below {below}"
        raise ValueError(f"{name} must be {what} {limits}, got {shown(value)}")


def check_auto_or_number(model, name: str, *words: str) -> None:
    """Refuse an option that is neither a known word nor a number of at least 0."""
    value = getattr(model, name)
    if not isinstance(value, str):
        check_number(model, name, Real, at_least=0)
    elif value not in ("auto", *words):
        known = ", ".join(map(repr, ("auto", *words)))
        raise ValueError(f"{name} must be {known} or a number, got {value!r}")


def check_iterations(model) -> None:
    """Options of every iterative model."""
    check_number(model, "tol", Real, at_least=0)
    check_number(model, "max_iter", Integral, at_least=1)


def check_scale(model) -> None:
    if model.scale is not None and (
        not isinstance(model.scale, str) or model.scale not in KINDS
    ):
        known = ", ".join(map(repr, KINDS))
        raise ValueError(f"scale must be None, {known}, got {model.scale!r}")


def check_callback(model) -> None:
    if model.callback is not None and not callable(model.callback):
        raise TypeError(f"callback must be callable, got {model.callback!r}")


def check_checkpoint(model) -> None:
    """Refuse a path to which nothing could be saved, before the work starts."""
    path = getattr(model, "checkpoint", None)
    if path is None:
        return
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(f"checkpoint must be a path or None, got {path!r}")
    check_number(model, "checkpoint_seconds", Real, at_least=0)
    path = Path(path)
    if path.is_dir():
        raise ValueError(
            f"checkpoint={str(path)!r} is a directory; name a file, such as "
            f"{str(path / 'fit.npz')!r}"
        )
    if path.exists() and not is_checkpoint(path):
        raise ValueError(
            f"checkpoint={str(path)!r} is not a checkpoint of rpcag; choose another "
            "file"
        )
    if not path.parent.is_dir():
        raise ValueError(
            f"checkpoint={str(path)!r}: there is no directory {str(path.parent)!r}"
        )
    if not os.access(path.parent, os.W_OK):
        raise ValueError(
            f"checkpoint={str(path)!r}: the directory cannot be written to"
        )


def check_components(model, X: np.ndarray, most: int | None = None) -> int:
    """The number of components, if X has as many."""
    check_number(model, "n_components", Integral, at_least=1)
    n_samples, n_features = X.shape
    if most is None and model.n_components > min(X.shape):
        raise ValueError(
            f"n_components={model.n_components} must be at most "
            f"min(n_samples={n_samples}, n_features={n_features})"
        )
    if most is not None and model.n_components > most:
        raise ValueError(
            f"n_components={model.n_components} must be at most {most} for "
            f"n_samples={n_samples}: there are no more eigenvectors"
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


def check_flag(model, name: str) -> None:
    value = getattr(model, name)
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
