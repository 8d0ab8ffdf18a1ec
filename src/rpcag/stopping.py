"""Handle Ctrl-C and SIGTERM reliably, even if the exception they raise is lost.

Python drops an exception that is raised during cleanup, such as while an unused reader
is closed. Long computations therefore call `go_on` from time to time.
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
    """Raise KeyboardInterrupt if a signal was received."""
    if _told:
        raise KeyboardInterrupt


def _stop(number: int, frame: object) -> None:
    global _told
    _told = True
    raise KeyboardInterrupt


def _ignore() -> None:
    """Ignore signals while Python exits, so that they do not change the exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
