"""Results of a study: a file with one line of JSON per run, only ever appended to."""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not on Windows, where two writers are not told apart
    fcntl: Any = None  # type: ignore[no-redef]


class Store:
    """Lines keyed by what was run.

    A line is written by one call, so a killed process leaves at most one that is not
    whole; it is cut off when the store is next written to, and never read.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = Path(path)

    def read(self) -> Iterator[dict]:
        """All whole lines; of two with the same key the later."""
        lines: dict[str, dict] = {}
        if self.path.exists():
            text = self.path.read_bytes()
            for number, line in enumerate(text[: text.rfind(b"\n") + 1].splitlines()):
                try:
                    record = json.loads(line)
                    lines[key_of(record["run"])] = record
                except (ValueError, TypeError, KeyError):
                    raise ValueError(
                        f"{self.path}, line {number + 1} is not a record of a study; "
                        "name another file or delete the line"
                    ) from None
        yield from lines.values()

    def keys(self) -> set[str]:
        return {key_of(record["run"]) for record in self.read()}

    @contextmanager
    def appending(self) -> Iterator["Writer"]:
        """Write access, for one process at a time."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise RuntimeError(
                    f"{self.path} is being written by another run; wait for it, or "
                    "name another file"
                ) from None
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
            yield Writer(file.fileno())


class Writer:
    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def add(self, record: dict) -> None:
        line = (json.dumps(record, separators=(",", ":")) + "\n").encode()
        before = os.fstat(self._descriptor).st_size
        if os.write(self._descriptor, line) < len(line):
            os.ftruncate(self._descriptor, before)
            raise OSError("no space left for the results")
        os.fsync(self._descriptor)


def key_of(run: dict) -> str:
    """The same for the same run, however it was written."""
    return json.dumps(run, sort_keys=True, separators=(",", ":"))
