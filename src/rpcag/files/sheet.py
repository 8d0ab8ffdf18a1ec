"""A table that can be written back to a file with some cells changed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import IO, Literal

import numpy as np

from rpcag.files.columns import (
    Columns,
    Edits,
    Format,
    Role,
    are_identifiers,
    are_measures,
    first_measure,
    listed,
)
from rpcag.files.numbers import Numbers
from rpcag.files.reading import check_values, note_on_empty, without_marks
from rpcag.files.timestamps import is_time_name, iso_seconds, unix_seconds

# Minimum number of values of an index and of an identifier. A column with gaps is an
# index if its values count the rows. One without gaps is an identifier if its values
# are whole and increase from row to row. With fewer values, a short column of data may
# do so by chance.
COUNTED = 10


@dataclass(frozen=True, eq=False)
class Sheet:
    """A table as it is in its file.

    Attributes
    ----------
    name : str
        The file, for messages.
    X : ndarray of shape (n, p)
        The columns of numbers, NaN where a value is missing.
    features : list of str
        Names of the columns of `X`.
    columns : list of str
        Names of all columns of the file.
    roles : dict
        Role of each column of the file: "number" for the features. Columns with other
        roles, such as "time", "index" and "text", are never changed.
    samples : list of str
        Names of the rows: the index, or else the first column of text without doubles,
        or else 1, 2, ...
    times : ndarray of shape (n,), or None
        Seconds, NaN where unknown.
    integers : bool ndarray of shape (p,)
        Features with whole numbers only.
    notes : list of str
        Notes for the user about how the file was read.
    """

    name: str
    X: np.ndarray
    features: list[str]
    columns: list[str]
    roles: dict[str, Role]
    labels: list[str] | None
    times: np.ndarray | None
    integers: np.ndarray
    format: Format
    notes: list[str] = field(default_factory=list)

    @property
    def samples(self) -> list[str]:
        return self.labels or [str(i + 1) for i in range(len(self.X))]

    @property
    def time(self) -> str | None:
        """The column of timestamps."""
        found = (name for name, role in self.roles.items() if role == "time")
        return next(found, None)

    def edits(self, values: np.ndarray, changed: np.ndarray) -> Edits:
        """New cells where `changed` is true, formatted like the column."""
        rows, features = np.nonzero(changed)
        place = {name: j for j, name in enumerate(self.columns)}
        positions = np.array([place[name] for name in self.features], dtype=np.intp)
        columns = positions[features]
        new = self.format.formatted(rows, columns, values[rows, features])
        return Edits(rows, features, columns, *new)

    def write(self, file: IO[bytes], edits: Edits) -> None:
        """Write the file again; only the cells of `edits` change."""
        self.format.write(file, edits)


def make_sheet(
    found: Columns,
    missing: Sequence[str] = (),
    time: str | Literal[False] | None = None,
) -> Sheet:
    """Distinguish features from timestamps, indexes and the like.

    `time` is the name of the column of timestamps, None to look for one, or False.
    """
    if found.doubles:
        raise ValueError(
            f"{found.source} has several columns called {found.doubles[0]!r}; give "
            "every column its own name"
        )
    if found.n < 2:
        raise ValueError(
            f"{found.source} has one row; values are predicted from other rows, so at "
            "least two are needed"
        )
    roles: dict[str, Role] = dict(found.roles)
    name, times = _times(found, time)
    if name is not None:
        roles[name] = "time"
    numbers = {k: without_marks(x, missing) for k, x in found.numbers.items()}
    for column, x in numbers.items():
        if column not in roles:
            roles[column] = _role(x, column == found.index)
    for column in found.texts:
        is_index = column == found.index
        roles.setdefault(column, "index" if is_index else "text")
    features = [c for c in found.names if c in numbers and roles[c] == "number"]
    X = np.empty((found.n, len(features)))
    for j, column in enumerate(features):
        X[:, j] = numbers[column]
    measures = _measures(found, Numbers(found.decimal, missing))
    _check(found, X, features, roles, measures)
    whole = [not (x != np.round(x))[np.isfinite(x)].any() for x in X.T]
    roles = {c: roles.get(c, "text") for c in found.names}
    rows = range(1, found.n + 1)
    return Sheet(
        name=found.source,
        X=X,
        features=features,
        columns=found.names,
        roles=roles,
        labels=_labels(found, roles),
        times=times,
        integers=np.array(whole, dtype=bool),
        format=found.format,
        notes=[
            *found.notes,
            *note_on_empty(X, 1, "row", rows),
            *measures,
        ],
    )


def _times(
    found: Columns, time: str | Literal[False] | None
) -> tuple[str | None, np.ndarray | None]:
    if time is False:
        return None, None
    if time is not None:
        return time, _named_times(found, time)
    for name in found.names:
        if name in found.roles:
            continue
        seconds = found.moments.get(name)
        if seconds is None and name in found.texts:
            seconds = iso_seconds(found.texts[name])
        if seconds is None and name in found.numbers:
            # A counter may increase like a clock, so the name must indicate a time.
            is_likely = name == found.names[0] or is_time_name(name)
            seconds = unix_seconds(found.numbers[name]) if is_likely else None
        if seconds is not None and len(np.unique(seconds[np.isfinite(seconds)])) > 1:
            return name, seconds
    return None, None


def _named_times(found: Columns, name: str) -> np.ndarray:
    if name not in found.names:
        raise ValueError(
            f"time={name!r}: {found.source} has no such column; it has "
            f"{listed(found.names)}"
        )
    if name in found.roles:
        raise ValueError(f"time and keep both name {name!r}")
    if name in found.moments:
        return found.moments[name]
    if name in found.numbers:
        return found.numbers[name]
    seconds = iso_seconds(found.texts.get(name, []))
    if seconds is None:
        word = next((w for w in found.texts.get(name, []) if w), "")
        raise ValueError(
            f"time={name!r}: {word!r} in {found.source} is neither an ISO 8601 "
            "timestamp such as 2024-05-31 13:45:00 nor a number of seconds"
        )
    return seconds


def _role(x: np.ndarray, is_index: bool) -> Role:
    known = np.isfinite(x)
    count = int(known.sum())
    if is_index:
        return "index"
    if are_identifiers(x):
        return "identifier"
    if count >= (3 if count == len(x) else COUNTED) and 2 * count > len(x):
        offset = (x - np.arange(len(x)))[known]
        if offset[0] == np.round(offset[0]) and (offset == offset[0]).all():
            return "index"
    if count == len(x) >= COUNTED and (x % 1 == 0).all() and (np.diff(x) > 0).all():
        return "identifier"
    if count and np.isin(x[known], (0, 1)).all() and np.ptp(x[known]) == 1:
        return "boolean"
    return "number"


def _check(
    found: Columns,
    X: np.ndarray,
    features: list[str],
    roles: dict[str, Role],
    measures: list[str],
) -> None:
    left = [c for c in found.numbers if c not in features]
    told = f" ({left[0]!r} was taken for {_a(roles[left[0]])})" if left else ""
    if not features:
        kept = [c for c, role in found.roles.items() if role == "kept"]
        cause = told or found.guess
        if measures:
            cause = f": {measures[0]}"
        elif kept:
            cause = f" besides {listed(kept)}, which keep= or drop= leaves alone"
        raise ValueError(f"{found.source} has no column of numbers to repair{cause}")
    check_values(found.source, X, range(1, found.n + 1), features)
    varying = [c for c, x in zip(features, X.T, strict=True) if _varies(x)]
    if len(varying) < 2:
        which = f"only one column, {varying[0]!r}," if varying else "no column"
        raise ValueError(
            f"{found.source}: {which} has different numbers{told}; values are "
            "predicted from other columns, so at least two are needed"
        )


def _a(role: Role) -> str:
    return f"{'an' if role[0] in 'aeiou' else 'a'} {role}"


def _varies(x: np.ndarray) -> bool:
    known = x[np.isfinite(x)]
    return len(known) > 1 and bool((known != known[0]).any())


def _labels(found: Columns, roles: dict[str, Role]) -> list[str] | None:
    if found.index in found.texts:
        return found.texts[found.index]
    for name, role in roles.items():
        if role == "index" and name in found.numbers:
            values = found.numbers[name].tolist()
            return ["" if x != x else str(int(x)) for x in values]
    for name, words in found.texts.items():
        if roles[name] in ("text", "time") and len(set(words)) == len(words):
            return words
    return None


def _measures(found: Columns, numbers: Numbers) -> list[str]:
    """Notes on text that a person would read as numbers."""
    notes = []
    for name, words in found.texts.items():
        if name in found.roles or not are_measures(words, numbers):
            continue
        notes.append(
            f"column {name!r} has numbers that are written as text, such as "
            f"{first_measure(words, numbers)!r}, and is left alone; write plain "
            "numbers to repair it, without units or thousands separators"
        )
    return notes
