"""Recognize columns of timestamps and turn them into seconds."""

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

# Seconds, milliseconds, microseconds and nanoseconds since 1970, for the years 1973 to
# 2128. The ranges do not overlap.
UNIX = {1.0: (1e8, 5e9), 1e3: (1e11, 5e12), 1e6: (1e14, 5e15), 1e9: (1e17, 5e18)}
# Names of columns that may have such numbers.
NAMED = re.compile(r"time|date|stamp|epoch|unix|(^|[^a-z])(ts|t)($|[^a-z])", re.I)
TRIED = 20  # words that are tried before a whole column is
SHARE = 0.95  # of the words that must be timestamps; the others are unknown


def iso_seconds(words: Sequence[str]) -> np.ndarray | None:
    """Seconds since 1970 of ISO 8601 timestamps; None if the words are not timestamps.

    The default time zone is UTC. A word that is no timestamp is NaN.
    """
    filled = [word for word in words if word]
    head = [_iso(word) for word in filled[:TRIED]]
    if not head or sum(map(math.isnan, head)) > 0.5 * len(head):
        return None
    seconds = np.array([_iso(word) for word in words])
    known = int(np.isfinite(seconds).sum())
    return seconds if known >= SHARE * len(filled) and known > 1 else None


def unix_seconds(values: np.ndarray) -> np.ndarray | None:
    """Seconds of increasing Unix timestamps; None if the values are not timestamps."""
    known = values[np.isfinite(values)]
    if len(known) < 3 or not (np.diff(known) >= 0).all() or known[0] == known[-1]:
        return None
    for unit, (low, high) in UNIX.items():
        if low <= known[0] and known[-1] < high:
            return values / unit
    return None


def _iso(word: str) -> float:
    if not word or word.isdecimal():  # Python would read 20210501
        return math.nan
    if re.fullmatch(r"\d{4}-\d{2}", word):  # a month
        word += "-01"
    try:
        moment = datetime.fromisoformat(word)
    except ValueError:
        return math.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
