"""Callbacks, log lines and warnings of a fit."""

import logging
import sys
import warnings
from collections.abc import Callable

from sklearn.exceptions import ConvergenceWarning

from rpcag.solvers import Progress

LOGGER = logging.getLogger("rpcag")
# Packages that a warning skips to find the line of the user, which may call a model
# through a pipeline or a grid search.
NOT_THE_USER = ("rpcag", "sklearn", "joblib")

Callback = Callable[[Progress], bool | None]


class Stage:
    """One stage of a model's fit, with the log and the callback of the model."""

    def __init__(self, model, name: str) -> None:
        self.name, self.verbose, self.callback = name, model.verbose, model.callback
        self.title = f"{type(model).__name__} {name.replace('_', ' ')}"
        self.is_stopped = False

    def watch(self, progress: Progress) -> bool:
        """Call the model's callback until it stops the stage."""
        if self.callback is not None and not self.is_stopped:
            step = progress._replace(stage=self.name)
            self.is_stopped = bool(self.callback(step))
        return self.is_stopped


def tell(verbose: int, message: str) -> None:
    """Log a line, at level INFO if ``verbose`` is set, else at DEBUG.

    With ``verbose``, the line goes to standard error if `logging` is not configured to
    show it. A level that is set on the logger itself always takes precedence.
    """
    level = logging.INFO if verbose else logging.DEBUG
    shown = LOGGER.hasHandlers() and LOGGER.isEnabledFor(level)
    if verbose and not shown and LOGGER.level == logging.NOTSET:
        sys.stderr.write(f"{message}\n")
    else:
        LOGGER.log(level, message)


def warn(message: str, category: type[Warning] = ConvergenceWarning) -> None:
    """Warn at the line of the user's code that called a model."""
    level, frame = 1, sys._getframe(0)
    while frame.f_back is not None:
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in NOT_THE_USER:
            break
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
