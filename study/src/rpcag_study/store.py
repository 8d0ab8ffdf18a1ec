"""Results of a study: a file with one line of JSON per run, only ever appended to."""

import contextlib
import errno
import json
import lzma
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rpcag.plugins import explained, write_atomically

try:
    import fcntl
except ImportError:  # not on Windows, where two writers are not told apart
    fcntl: Any = None  # type: ignore[no-redef]


BEGINNING = b'{"run":'


class Store:
    """Lines keyed by what was run.

    A line is written by one call, so a killed process leaves at most one that is not
    whole; it is cut off when the store is next written to, and never read.

    A name that ends in ``.xz`` is a compressed store. New lines go to the file without
    this ending, which is read too, and are moved into the compressed file at the end.
    """

    def __init__(self, path: str | os.PathLike) -> None:
        self.path = Path(path)
        self.archive: Path | None = None
        if self.path.suffix == ".xz":
            self.archive, self.path = self.path, self.path.with_suffix("")

    def exists(self) -> bool:
        return any(path.exists() for path in (self.path, self.archive) if path)

    def read(self) -> Iterator[dict]:
        """All whole lines; of two with the same key the later."""
        lines: dict[str, dict] = {}
        if self.archive is not None and self.archive.exists():
            lines |= _lines(self._unpacked(self.archive), self.archive)
        if self.path.exists():
            lines |= _lines(_whole(self._text()), self.path)
        yield from lines.values()

    def _unpacked(self, archive: Path) -> bytes:
        try:
            return lzma.decompress(archive.read_bytes())
        except (lzma.LZMAError, EOFError) as error:
            raise ValueError(
                f"{archive} is damaged or not compressed by xz ({error}); name another "
                "file"
            ) from error

    def _pack(self, archive: Path) -> None:
        """Move all lines into the compressed file."""
        text = b"".join(_line(record) for record in self.read())
        with write_atomically(archive) as part:
            part.write_bytes(lzma.compress(text, preset=9 | lzma.PRESET_EXTREME))
        self.path.unlink()

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
                whole = _whole(self._text())
                file.truncate(len(whole))
                if whole and not whole.endswith(b"\n"):
                    file.write(b"\n")
                    file.flush()
                try:
                    yield Writer(self.path, file.fileno())
                    if self.archive is not None and os.fstat(file.fileno()).st_size:
                        self._pack(self.archive)
                finally:  # who made it for nothing takes it away, while it is locked
                    if self.path in made and not os.fstat(file.fileno()).st_size:
                        self.path.unlink(missing_ok=True)
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
                same = False
                with contextlib.suppress(FileNotFoundError):
                    same = os.path.samestat(os.fstat(file.fileno()), self.path.stat())
                if same:
                    yield file
                    return

    def _lock(self, file: Any) -> None:
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise RuntimeError(
                f"{self.path} is being written by another run; wait for it, or "
                "name another file"
            ) from None


def _lines(text: bytes, path: Path) -> dict[str, dict]:
    """Records by key."""
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            record = json.loads(line)
            run = record["run"]
            known = isinstance(run, dict) and {"protocol", "experiment"} & run.keys()
        except (ValueError, TypeError, KeyError, RecursionError):
            known = False
        if not known:
            raise ValueError(
                f"{path}, line {number} is not a record of a study; name another "
                "file or delete the line"
            )
        found[key_of(run)] = record
    return found


def _line(record: dict) -> bytes:
    return (json.dumps(record, separators=(",", ":")) + "\n").encode()


def _whole(text: bytes) -> bytes:
    """Without the beginning of a record that a killed process left at the end.

    No beginning of an object is JSON itself: what is whole is never cut.
    """
    last = text[text.rfind(b"\n") + 1 :]
    if last.startswith(BEGINNING) or BEGINNING.startswith(last):
        try:
            json.loads(last)
        except RecursionError:  # nested too deeply for a record of ours: keep it
            return text
        except ValueError:
            return text[: len(text) - len(last)]
    return text


class Writer:
    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._descriptor = path, descriptor

    def add(self, record: dict) -> None:
        line = _line(record)
        before = os.fstat(self._descriptor).st_size
        with explained(self._path):
            if os.write(self._descriptor, line) < len(line):
                os.ftruncate(self._descriptor, before)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(self._descriptor)


def key_of(run: dict) -> str:
    """The same for the same run, however it was written."""
    return json.dumps(run, sort_keys=True, separators=(",", ":"))
