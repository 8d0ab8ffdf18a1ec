"""A table that is repaired: it can be written again with some cells changed."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from rpcag.files.columns import Columns, Edits, File, Role
from rpcag.files.names import listed
from rpcag.files.reading import (
    are_identifiers,
    check_values,
    note_on_empty,
    read_columns,
    without_marks,
)
from rpcag.files.table import Reading

# Minimum number of values of an index with gaps and of an identifier. With fewer
# values, a short column of data may count the rows, or increase, by chance.
COUNTED = 10
# Seconds, milliseconds, microseconds and nanoseconds since 1970, for the years 1973 to
# 2128. The ranges do not overlap.
UNIX = {1.0: (1e8, 5e9), 1e3: (1e11, 5e12), 1e6: (1e14, 5e15), 1e9: (1e17, 5e18)}
# Names of columns that may have such numbers.
NAMED = re.compile(r"time|date|stamp|epoch|unix|(^|[^a-z])(ts|t)($|[^a-z])", re.I)
TRIED = 20  # words that are tried before a whole column is
SHARE = 0.95  # of the words that must be timestamps; the others are unknown


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table as it is in its file."""

    name: str  # the file, for messages
    file: File
    X: np.ndarray  # the columns of numbers, NaN where a value is missing
    features: list[str]  # names of the columns of X
    roles: dict[str, Role]  # of all columns in order; only a "number" changes
    labels: list[str] | None  # names of the rows: the index, or unique text
    times: np.ndarray | None  # seconds, NaN where unknown
    integers: np.ndarray  # which features have whole numbers only
    notes: list[str]  # about how the file was read

    @property
    def samples(self) -> list[str]:
        """Names of the rows, or else 1, 2, ..."""
        return self.labels or [str(i + 1) for i in range(len(self.X))]

    @property
    def time(self) -> str | None:
        """The column of timestamps."""
        found = (name for name, role in self.roles.items() if role == "time")
        return next(found, None)

    def edits(self, values: np.ndarray, changed: np.ndarray) -> Edits:
        """New cells where `changed` is true, formatted like the column."""
        rows, features = np.nonzero(changed)
        are_features = [role == "number" for role in self.roles.values()]
        columns = np.flatnonzero(are_features)[features]
        styles = {j: self.file.style(j) for j in set(columns.tolist())}
        new = zip(columns.tolist(), values[rows, features].tolist(), strict=True)
        before = self.file.words(rows, columns)
        return Edits(rows, features, columns, before, [styles[j](x) for j, x in new])


def read_sheet(path: Path, reading: Reading | None = None) -> Sheet:
    """Read a table that can be written back."""
    reading = reading or Reading()
    return make_sheet(read_columns(path, reading), reading)


def make_sheet(found: Columns, reading: Reading) -> Sheet:
    """Distinguish features from timestamps, indexes and the like."""
    source, roles = found.file.source, dict(found.roles)
    if found.doubles:
        raise ValueError(
            f"{source} has several columns called {found.doubles[0]!r}; rename them"
        )
    if found.file.n < 2:
        raise ValueError(f"{source} has one row; values are predicted from other rows")
    name, times = _times(found, reading)
    if name is not None:
        roles[name] = "time"
    numbers = {k: without_marks(x, reading.missing) for k, x in found.numbers.items()}
    for column, x in numbers.items():
        roles.setdefault(column, _role(x))
    for column in found.names:
        roles.setdefault(column, "index" if column == found.index else "text")
    features = [c for c in found.names if roles[c] == "number"]
    others = [c for c in numbers if c not in features]
    taken = ""
    if others:
        role = roles[others[0]]
        article = "an" if role[0] == "i" else "a"
        taken = f" ({others[0]!r} was taken for {article} {role})"
    if not features:
        cause = taken or found.file.guess
        kept = [c for c, role in found.roles.items() if role == "kept"]
        if kept:
            cause = f" besides {listed(kept)}, which drop= leaves alone"
        raise ValueError(f"{source} has no column of numbers to repair{cause}")
    X = np.stack([numbers[column] for column in features], axis=1)
    rows = range(1, found.file.n + 1)
    check_values(source, X, rows, features)
    known = [x[np.isfinite(x)] for x in X.T]
    varying = [c for c, x in zip(features, known, strict=True) if (x != x[:1]).any()]
    if len(varying) < 2:
        which = f"only one column, {varying[0]!r}," if varying else "no column"
        raise ValueError(
            f"{source}: {which} has different numbers{taken}; values are predicted "
            "from other columns, so at least two are needed"
        )
    notes = [*found.notes, *note_on_empty(X, 1, "row", rows), *found.losses]
    return Sheet(
        name=source,
        file=found.file,
        X=X,
        features=features,
        roles={c: roles[c] for c in found.names},
        labels=_labels(found, roles),
        times=times,
        integers=np.array([(x == np.round(x)).all() for x in known]),
        notes=notes,
    )


def _times(found: Columns, reading: Reading) -> tuple[str | None, np.ndarray | None]:
    """The column of timestamps, and its seconds."""
    time = reading.time
    if isinstance(time, str):
        words = found.texts.get(time, [])
        seconds = found.numbers.get(time, iso_seconds(words))
        if seconds is None:
            word = next(filter(None, words), "")
            raise ValueError(
                f"time={time!r}: {word!r} in {found.file.source} is neither an ISO "
                "8601 timestamp such as 2024-05-31 13:45:00 nor a number of seconds"
            )
        return time, seconds
    for name in found.names if time is None else ():
        # A counter may increase like a clock, so the name must indicate a time.
        is_likely = name == found.names[0] or NAMED.search(name)
        seconds = None
        if name in found.texts:
            seconds = iso_seconds(found.texts[name])
        elif name in found.numbers and name not in found.roles and is_likely:
            seconds = unix_seconds(found.numbers[name])
        if seconds is not None and len(np.unique(seconds[np.isfinite(seconds)])) > 1:
            return name, seconds
    return None, None


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


def _role(x: np.ndarray) -> Role:
    """What a column of numbers is."""
    known = np.isfinite(x)
    count, is_whole = int(known.sum()), known.all()
    if are_identifiers(x):
        return "identifier"
    if count >= (3 if is_whole else COUNTED) and 2 * count > len(x):
        offset = (x - np.arange(len(x)))[known]
        if offset[0] % 1 == 0 and (offset == offset[0]).all():  # it counts the rows
            return "index"
    if is_whole and count >= COUNTED and (x % 1 == 0).all() and (np.diff(x) > 0).all():
        return "identifier"
    return "boolean" if np.array_equal(np.unique(x[known]), [0, 1]) else "number"


def _labels(found: Columns, roles: dict[str, Role]) -> list[str] | None:
    """Names of the rows: the index, or else the first text without doubles."""
    if found.index in found.texts:
        return found.texts[found.index]
    for name, values in found.numbers.items():
        if roles[name] == "index":
            return ["" if x != x else str(int(x)) for x in values.tolist()]
    for name, words in found.texts.items():
        if roles[name] in ("text", "time") and len(set(words)) == len(words):
            return words
    return None
