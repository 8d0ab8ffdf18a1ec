"""Logging of a fit, and monitoring of the solves inside it."""

import logging
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rpcag.solvers import Progress

LOGGER = logging.getLogger("rpcag")

Callback = Callable[[Progress], bool | None]


@dataclass(frozen=True)
class Monitor:
    """Log, callback and checkpoint of a solve that is one stage of a model's fit."""

    title: str  # in the log
    verbose: int = 0
    callback: Callback | None = None
    checkpoint: Path | None = None
    checkpoint_seconds: float = 60.0

    @classmethod
    def of(cls, model, stage: str) -> "Monitor":
        """Create it from a model's options, with a checkpoint next to the model's."""
        callback, path = model.callback, getattr(model, "checkpoint", None)
        return cls(
            f"{type(model).__name__} {stage.replace('_', ' ')}",
            model.verbose,
            callback and (lambda progress: callback(progress._replace(stage=stage))),
            None if path is None else _beside(path, stage),
            getattr(model, "checkpoint_seconds", 60.0),
        )

    def forget(self) -> None:
        """Remove the checkpoint after the fit has finished."""
        if self.checkpoint is not None:
            self.checkpoint.unlink(missing_ok=True)


class Stage:
    """The callback of a stage, which remembers whether it stopped the stage."""

    def __init__(self, monitor: Monitor) -> None:
        self.callback = monitor.callback
        self.is_stopped = False

    def watch(self, progress: Progress) -> bool:
        if self.callback is not None and not self.is_stopped:
            self.is_stopped = bool(self.callback(progress))
        return self.is_stopped


def _beside(path: str | os.PathLike, stage: str) -> Path:
    """fit.graph.npz for fit.npz."""
    path = Path(path)
    return path.with_name(f"{path.stem}.{stage}{path.suffix}")


def tells(verbose: int) -> bool:
    """Whether the output of `tell` is visible."""
    return bool(verbose) or LOGGER.isEnabledFor(logging.DEBUG)


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
