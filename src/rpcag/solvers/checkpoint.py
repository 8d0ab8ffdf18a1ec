"""Save the state of a solve at intervals, so that a killed solve can continue."""

import json
import math
import os
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.atomic import write_atomically

Saved = tuple[dict, dict[str, np.ndarray]]
# Version of the content; other versions are refused. Version 1 was not recorded.
FORMAT = 4
ELSE = "delete it to start over, or choose another file"


class Checkpoint:
    """A file with all arrays and numbers of a solve, written atomically.

    `identity` identifies the problem; a file of another problem is refused.
    """

    def __init__(self, path: str | os.PathLike, identity: str, seconds: float) -> None:
        self.path = Path(path)
        self.identity = identity
        self.seconds = seconds
        self._last = time.monotonic()

    def load(self) -> Saved | None:
        """The saved state, or None if there is no file."""
        if not self.path.exists():
            return None
        with self.reading():
            with np.load(self.path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files if name != "numbers"}
                numbers = json.loads(str(file["numbers"]))
            identity, format = numbers.pop("identity"), numbers.pop("format", 1)
        if format != FORMAT:
            age = "an older" if format == 1 else "another"
            raise ValueError(
                f"checkpoint={str(self.path)!r} belongs to {age} format of rpcag "
                f"({format!r}, not {FORMAT}); {ELSE}"
            )
        if identity != self.identity:
            raise ValueError(
                f"checkpoint={str(self.path)!r} belongs to other data or other "
                f"parameters; {ELSE}"
            )
        return numbers, arrays

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn any error about the content into one that names the file."""
        try:
            yield
        except (PermissionError, MemoryError):
            raise
        except Exception as error:
            what = f"no {error}" if isinstance(error, KeyError) else str(error)
            raise ValueError(
                f"checkpoint={str(self.path)!r} is not a checkpoint of rpcag "
                f"({what or type(error).__name__}); {ELSE}"
            ) from error

    def offer(self, state: Callable[[], Saved], now: bool = False) -> None:
        """Save the state if the last time was long enough ago."""
        if not now and time.monotonic() - self._last < self.seconds:
            return
        numbers, arrays = state()
        numbers = {**numbers, "identity": self.identity, "format": FORMAT}
        content = {**arrays, "numbers": np.array(json.dumps(numbers))}
        with write_atomically(self.path) as part, part.open("wb") as file:
            np.savez(file, **content)  # type: ignore[arg-type]
        self._last = time.monotonic()

    def forget(self) -> None:
        """Remove the file after the solve has finished."""
        self.path.unlink(missing_ok=True)


def is_checkpoint(path: str | os.PathLike) -> bool:
    """Whether the file looks like a checkpoint, of any problem."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return "numbers.npy" in file.namelist()


# Checks of the values in a checkpoint: they return the value or raise ValueError.


def number(value: Any, *, above: float = -math.inf) -> float:
    """A finite number, larger than `above`."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{value!r} is not a number")
    if not math.isfinite(value) or value <= above:
        raise ValueError(f"{value!r} is out of range")
    return float(value)


def whole(value: Any, *, at_most: float = math.inf) -> int:
    """A whole number of at least 0."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{value!r} is not a whole number")
    if not 0 <= value <= at_most:
        raise ValueError(f"{value} is out of range")
    return value


def entries(value: Any) -> list:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is not a list")
    return value


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def array(
    arrays: dict[str, np.ndarray],
    name: str,
    shape: Sequence[int | None],
    dtype: Any = None,
) -> np.ndarray:
    """A finite array of this shape (None: any length); floating point by default."""
    A = arrays[name]
    kinds = (np.float32, np.float64) if dtype is None else (dtype,)
    if A.dtype not in kinds:
        raise ValueError(f"{name} has the dtype {A.dtype}")
    same = len(A.shape) == len(shape) and all(
        wanted in (None, side) for wanted, side in zip(shape, A.shape, strict=True)
    )
    if not same:
        raise ValueError(f"{name} has the shape {A.shape}")
    if not np.isfinite(A).all():
        raise ValueError(f"{name} is not finite")
    return A
