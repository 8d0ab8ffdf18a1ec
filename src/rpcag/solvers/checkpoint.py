"""Save the state of a solve at intervals, so that a killed solve can continue."""

import hashlib
import json
import os
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from rpcag.atomic import write_atomically

Saved = tuple[dict, dict[str, np.ndarray]]
# Version of the content; other versions are refused. Version 1 was not recorded.
FORMAT = 5
ELSE = "delete it to start over, or choose another file"


class Checkpoint:
    """A file with all arrays and numbers of a solve, written atomically.

    `identity` identifies the problem; a file of another problem is refused.
    """

    def __init__(self, path: str | os.PathLike, identity: str, seconds: float) -> None:
        self.path, self.identity, self.seconds = Path(path), identity, seconds
        self._last = time.monotonic()

    def load(self) -> Saved | None:
        """The saved state, or None if there is no file."""
        if not self.path.exists():
            return None
        with self.reading():
            with np.load(self.path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            text, found = str(arrays.pop("numbers")), arrays.pop("digest", "none")
            numbers = json.loads(text)
            identity, format = numbers.pop("identity"), numbers.pop("format", 1)
            if format == FORMAT and str(found) != _fingerprint(text, arrays):
                raise ValueError("its content was changed")
        if format != FORMAT:
            age = "an older" if format == 1 else "another"
            other = f"{age} format of rpcag ({format!r}, not {FORMAT})"
        elif identity != self.identity:
            other = "other data or other parameters"
        else:
            return numbers, arrays
        raise ValueError(f"checkpoint={str(self.path)!r} belongs to {other}; {ELSE}")

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
        text = json.dumps(numbers | {"identity": self.identity, "format": FORMAT})
        extra = {"numbers": text, "digest": _fingerprint(text, arrays)}
        with write_atomically(self.path) as part, part.open("wb") as file:
            np.savez(file, **arrays, **extra)  # type: ignore[arg-type]
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


def _fingerprint(text: str, arrays: dict[str, np.ndarray]) -> str:
    return digest(text, *(part for item in sorted(arrays.items()) for part in item))


def digest(*parts: Any) -> str:
    """A fingerprint of numbers, arrays and sparse arrays."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        if sparse.issparse(part):
            part = sparse.csr_array(part)
            found.update(digest(part.data, part.indices, part.indptr).encode())
        elif isinstance(part, np.ndarray):
            found.update(f"{part.dtype.str} {part.shape}".encode())
            for row in np.atleast_2d(part):
                found.update(np.ascontiguousarray(row).data)
        else:
            found.update(repr(part).encode())
    return found.hexdigest()
