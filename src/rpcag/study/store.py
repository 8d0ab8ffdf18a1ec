"""Results of a study: a file with one line of JSON per run, only ever appended to."""

import contextlib
import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rpcag.atomic import explained

try:
    import fcntl
except ImportError:  # not on Windows, where two writers are not told apart
    fcntl: Any = None  # type: ignore[no-redef]


BEGINNING = b'{"run":'


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
            text = self._text()
            whole = len(text) - len(_torn(text))
            for number, line in enumerate(text[:whole].splitlines()):
                record = _record(line)
                if record is None:
                    raise ValueError(
                        f"{self.path}, line {number + 1} is not a record of a study; "
                        "name another file or delete the line"
                    )
                lines[key_of(record["run"])] = record
        yield from lines.values()

    def _text(self) -> bytes:
        if not self.path.is_file():
            raise ValueError(
                f"the store must be a file, but {self.path} is none; name another"
            )
        return self.path.read_bytes()

    def keys(self) -> set[str]:
        return {key_of(record["run"]) for record in self.read()}

    @contextmanager
    def appending(self) -> Iterator["Writer"]:
        """Write access, for one process at a time."""
        list(self.read())  # whatever else it is, it is not written to
        made = [p for p in (self.path, *self.path.parents) if not p.exists()]
        try:
            with self._locked() as file:
                text = self._text()
                file.truncate(len(text) - len(_torn(text)))
                if text and not _torn(text) and not text.endswith(b"\n"):
                    file.write(b"\n")
                    file.flush()
                try:
                    yield Writer(self.path, file.fileno())
                finally:  # who made it for nothing takes it away, while it is locked
                    if self.path in made and not os.fstat(file.fileno()).st_size:
                        with contextlib.suppress(OSError):
                            self.path.unlink()
        finally:
            with contextlib.suppress(OSError):  # folders with something in them stay
                for folder in made[1:]:
                    folder.rmdir()

    @contextmanager
    def _locked(self) -> Iterator[Any]:
        """The file, open and locked, and still the one of this name."""
        while True:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                file = self.path.open("ab+")
            except FileNotFoundError:  # its folder went: another run was for nothing
                continue
            with file:
                self._lock(file)
                if self._is(file):
                    yield file
                    return

    def _is(self, file: Any) -> bool:
        try:
            return os.path.samestat(os.fstat(file.fileno()), self.path.stat())
        except FileNotFoundError:
            return False

    def _lock(self, file: Any) -> None:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(
                f"{self.path} is being written by another run; wait for it, or "
                "name another file"
            ) from None


def _record(line: bytes) -> dict | None:
    try:
        record = json.loads(line)
        run = record["run"]
        known = "protocol" in run or "experiment" in run
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return record if isinstance(run, dict) and known else None


def _torn(text: bytes) -> bytes:
    """The beginning of a record that a killed process left at the end.

    No beginning of an object is JSON itself: what is whole is never cut.
    """
    last = text[text.rfind(b"\n") + 1 :]
    if not (last.startswith(BEGINNING) or BEGINNING.startswith(last)):
        return b""
    try:
        json.loads(last)
    except RecursionError:  # nested too deeply for a record of ours: keep it
        return b""
    except ValueError:
        return last
    return b""


class Writer:
    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor

    def add(self, record: dict) -> None:
        line = (json.dumps(record, separators=(",", ":")) + "\n").encode()
        before = os.fstat(self._descriptor).st_size
        with explained(self._path):
            if os.write(self._descriptor, line) < len(line):
                os.ftruncate(self._descriptor, before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._descriptor)


def key_of(run: dict) -> str:
    """The same for the same run, however it was written."""
    return json.dumps(run, sort_keys=True, separators=(",", ":"))
