"""Save the state of a solve every so often, so that a killed one can go on."""

import json
import os
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

Saved = tuple[dict, dict[str, np.ndarray]]


class Checkpoint:
    """A file with all arrays and numbers of a solve, always whole.

    It is written under another name and renamed, so that a crash leaves the last one.
    `identity` tells the problem; a file of another problem is refused.
    """

    def __init__(self, path: str | os.PathLike, identity: str, seconds: float) -> None:
        self.path = Path(path)
        self.identity = identity
        self.seconds = seconds
        self._last = time.monotonic()

    def load(self) -> Saved | None:
        """What was saved, or None where there is no file."""
        if not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files if name != "numbers"}
                numbers = json.loads(str(file["numbers"]))
            identity = numbers.pop("identity")
        except (
            OSError,
            EOFError,
            ValueError,
            KeyError,
            TypeError,
            zipfile.BadZipFile,
        ) as error:
            raise ValueError(
                f"checkpoint={str(self.path)!r} is not a checkpoint of rpcag; "
                "name another file"
            ) from error
        if identity != self.identity:
            raise ValueError(
                f"checkpoint={str(self.path)!r} belongs to other data or other "
                "parameters; delete it to start anew, or name another file"
            )
        return numbers, arrays

    def offer(self, state: Callable[[], Saved], now: bool = False) -> None:
        """Save the state if the last time was long enough ago."""
        if not now and time.monotonic() - self._last < self.seconds:
            return
        numbers, arrays = state()
        numbers = {**numbers, "identity": self.identity}
        partial = self.path.with_name(self.path.name + ".part")
        content = {**arrays, "numbers": np.array(json.dumps(numbers))}
        try:
            with partial.open("wb") as file:
                np.savez(file, **content)  # type: ignore[arg-type]
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, self.path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise OSError(
                f"checkpoint={str(self.path)!r} could not be written: {error}"
            ) from error
        self._last = time.monotonic()

    def forget(self) -> None:
        """The solve is done: nothing is left to go on with."""
        self.path.unlink(missing_ok=True)


def is_checkpoint(path: str | os.PathLike) -> bool:
    """Whether the file looks like one, of whatever problem."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as file:
        return "numbers.npy" in file.namelist()
