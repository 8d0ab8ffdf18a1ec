"""Ctrl-C and SIGTERM, heard also where the exception they raise is lost.

Python drops an exception that comes while it clears up, such as when a reader that
nobody needs any more is closed. Long work therefore asks now and then, by `go_on`.
"""

import atexit
import signal

_told = False


def listen() -> None:
    """Handle SIGTERM like Ctrl-C."""
    global _told
    _told = False
    signal.signal(signal.SIGTERM, _stop)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop)
    atexit.register(_ignore)


def go_on() -> None:
    """Raise KeyboardInterrupt if there was one."""
    if _told:
        raise KeyboardInterrupt


def _stop(number: int, frame: object) -> None:
    global _told
    _told = True
    raise KeyboardInterrupt


def _ignore() -> None:
    """The work is done: a signal while Python ends must not change the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
