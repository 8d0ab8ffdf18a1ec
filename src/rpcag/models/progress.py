"""Progress of a fit, through the logger ``rpcag`` of `logging`."""

import logging
import sys

LOGGER = logging.getLogger("rpcag")


def tells(verbose: int) -> bool:
    """Whether anybody would read what `tell` says."""
    return bool(verbose) or LOGGER.isEnabledFor(logging.DEBUG)


def tell(verbose: int, message: str) -> None:
    """Log a line, at level INFO if it was asked for, else at DEBUG.

    Who asks with ``verbose`` and has not set up `logging` to show it reads the line on
    standard error; a level that was given to the logger itself is always obeyed.
    """
    level = logging.INFO if verbose else logging.DEBUG
    shown = LOGGER.hasHandlers() and LOGGER.isEnabledFor(level)
    if verbose and not shown and LOGGER.level == logging.NOTSET:
        sys.stderr.write(f"{message}\n")
    else:
        LOGGER.log(level, message)
