"""Warn at the line of the user's code that called a model."""

import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

# That line may call the model through a pipeline or a grid search of scikit-learn.
NOT_THE_USER = ("rpcag", "sklearn", "joblib")


def warn_not_converged(message: str) -> None:
    """Warn that a solver has not converged."""
    warnings.warn(message, ConvergenceWarning, stacklevel=user_stacklevel())


def user_stacklevel() -> int:
    """The `stacklevel` with which `warnings.warn` points at the user's line.

    A model is fitted by `fit`, `fit_transform`, and others, so the number varies.
    """
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _package(frame) in NOT_THE_USER:
        level, frame = level + 1, frame.f_back
    return level


def _package(frame) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
