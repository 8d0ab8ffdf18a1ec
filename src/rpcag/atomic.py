"""Write files atomically: readers find the old content or the new, never a part."""

import errno
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

# Temporary files and folders are PREFIX and 16 random hexadecimal digits.
PREFIX = ".rpcag-"
STAGE = rf"{re.escape(PREFIX)}[0-9a-f]{{16}}"
# Temporary files keep the target's suffix, from which some libraries infer the format.
# Longer suffixes are dropped: with them a file name could exceed the system's limit.
LONGEST_ENDING = 16
# More files than this, such as the frames of a video, are synced by one call. Syncing
# takes milliseconds per file, so one by one they would take minutes.
MANY = 100
FULL = "free some space, or choose a folder on another disk"
FORBIDDEN = "choose a folder that you may write to"
REMEDIES = {
    errno.ENOSPC: FULL,
    getattr(errno, "EDQUOT", errno.ENOSPC): FULL,
    errno.EFBIG: "choose a disk that supports files of this size",
    errno.EACCES: FORBIDDEN,
    errno.EPERM: FORBIDDEN,
    errno.EROFS: FORBIDDEN,
}


@contextmanager
def write_atomically(
    path: str | os.PathLike, *, within: Path | None = None
) -> Iterator[Path]:
    """Yield a temporary file to write to, which replaces `path` at the end.

    The file is new and empty, in the folder of `path` or in `within`, a folder on the
    same disk, and has the same suffix. Its permissions are those that
    `open(path, "w")` would leave. The folder of `path` is created if needed. After any
    exception, `path` is unchanged and the temporary file is removed. Errors of the
    operating system name `path`, the reason and a remedy.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from rpcag.atomic import write_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_atomically(Path(folder) / "a.txt") as part:
    ...         _ = part.write_text("all of it")
    ...     print([file.name for file in Path(folder).iterdir()])
    ['a.txt']
    """
    path = Path(path)
    ending = path.suffix if len(path.suffix) <= LONGEST_ENDING else ""
    part = (within or path.parent) / f"{token()}{ending}"
    with _made(path.parent, path):
        with explained(path):
            part.touch(exist_ok=False)  # never an existing file, nor through a link
        try:
            with explained(path, part):
                yield part
                _finish(part, path)
                os.replace(part, path)
                _sync_folder(path.parent)
        except BaseException:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise


@contextmanager
def write_together(paths: Iterable[Path]) -> Iterator[list[Path]]:
    """Yield a temporary file for each path; at the end they replace all paths.

    Like `write_atomically` for several files. All are synced to disk before the first
    one is replaced.
    """
    with ExitStack() as stack:
        targets = list(paths)
        parts = [stack.enter_context(write_atomically(path)) for path in targets]
        yield parts
        for path, part in zip(targets, parts, strict=True):
            with explained(path, part):
                _finish(part, path)


def write_text(
    path: Path, text: str, errors: str = "strict", *, within: Path | None = None
) -> None:
    """Write UTF-8 atomically; see `write_atomically`."""
    with write_atomically(path, within=within) as part:
        part.write_text(text, encoding="utf-8", errors=errors, newline="\n")


@contextmanager
def explained(target: Path, part: Path | None = None) -> Iterator[None]:
    """Turn a failure to write `part` into an error message about `target`.

    Use it only around code that writes: other errors would be mistaken for write
    errors.
    """
    try:
        yield
    except Exception as error:
        number = getattr(error, "errno", None)
        if number is None and (said := re.search(r"errno = (\d+)", str(error))):
            number = int(said[1])  # HDF5
        if number is None and isinstance(error, OSError) and part is not None:
            free = shutil.disk_usage(part.parent).free
            number = errno.ENOSPC if free < 2**20 else None  # NumPy gives no number
        if number is None and not isinstance(error, OSError):
            raise
        reason = os.strerror(number) if number else str(error)
        remedy = REMEDIES.get(number or 0, "choose another path")
        kind = type(OSError(number, reason)) if number else OSError
        told = kind(f"{target} could not be written: {reason}; {remedy}")
        told.errno = number
        raise told from error


class Staging:
    """New files for a folder: written to `stage`, then put in place by `commit`."""

    def __init__(self, folder: Path, index: str) -> None:
        self.folder, self.index = folder, index
        self.stage = folder / token()

    def commit(
        self, content: dict[str, Any], replaceable: Callable[[], Iterable[str]]
    ) -> list[Path]:
        """Put all files in place and return their paths, the index last.

        The index is `content` as JSON. Its entry "files", a list or the values of a
        dict, names all files, or their folders. A crash at any moment leaves either the
        old index with the old files or a new index with the new files:

        1. All new files are synced to disk in `stage`. The old files are unchanged.
        2. A new index, which names the files in `stage`, replaces the old index. It
           also lists the old and the final names, so that a later run may replace them.
        3. Every new file gets its final name, in addition to the one in `stage`.
        4. Old files that no new file replaced are removed.
        5. An index with the final names replaces that of step 2. `stage` is removed,
           and so are the stages of writers that were killed.

        All temporary files are in `stage`, so they are removed with it. `replaceable`
        is called before step 2, while other writers are locked out. It returns the
        names of the old files, or raises an error.
        """
        found = (path for path in self.stage.rglob("*") if path.is_file())
        names = sorted(path.relative_to(self.stage).as_posix() for path in found)
        if len(names) > MANY and hasattr(os, "sync"):
            os.sync()
        else:
            for name in names:
                with explained(self.folder / name, self.stage / name):
                    _sync(self.stage / name)
        with _locked(self.folder):
            old = set(replaceable())
            self._write_index(content, f"{self.stage.name}/", sorted({*old, *names}))
            for name in names:
                _name(self.stage / name, self.folder / name, self.stage)
            for name in sorted(old - set(names)):
                _remove(self.folder / name, self.folder)
            self._write_index(content, "", [])
            _remove_abandoned(self.folder, self.stage)
        return [self.folder / name for name in (*names, self.index)]

    def _write_index(self, content: dict, place: str, leftovers: list[str]) -> None:
        """`leftovers` are files that the next writer may replace."""
        files = content["files"]
        if isinstance(files, dict):
            files = {name: place + file for name, file in files.items()}
        else:
            files = [place + file for file in files]
        content = content | {"files": files}
        if leftovers:
            content |= {"leftovers": leftovers}
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        path = self.folder / self.index
        write_text(path, text, "backslashreplace", within=self.stage)

    def clear(self) -> None:
        """Remove `stage`, unless the index names the files in it."""
        index = self.folder / self.index
        with suppress(OSError):
            if index.is_file() and self.stage.name.encode() in index.read_bytes():
                return
        shutil.rmtree(self.stage, ignore_errors=True)


@contextmanager
def replace_files(folder: Path, index: str) -> Iterator[Staging]:
    """Write some files of a folder and the index that names them: all or none.

    Other files in the folder are not changed.
    """
    staging = Staging(folder, index)
    with _made(folder, folder), ExitStack() as lock:
        try:
            with explained(folder), _locked(folder):
                staging.stage.mkdir()
                lock.enter_context(_locked(staging.stage))
            yield staging
        finally:
            staging.clear()


def token() -> str:
    """A new name for something temporary."""
    return f"{PREFIX}{os.urandom(8).hex()}"


@contextmanager
def _made(folder: Path, target: Path) -> Iterator[None]:
    """Create the folder and its parents; after an error, remove those created here."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        with explained(target):
            folder.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for path in made:
            try:
                path.rmdir()
            except OSError:  # another process put something there
                break
        raise


def _finish(part: Path, path: Path) -> None:
    """Sync the new file; it gets the permissions of the one that it replaces."""
    with suppress(FileNotFoundError):
        mode = path.stat().st_mode & 0o777
        if part.stat().st_mode & 0o777 != mode:
            part.chmod(mode)
    _sync(part)


def _sync(path: Path, flags: int = os.O_RDWR) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync_folder(folder: Path) -> None:
    """Sync a folder, so that a rename survives a crash, where the system allows it."""
    with suppress(OSError):
        _sync(folder, os.O_RDONLY)


@contextmanager
def _locked(folder: Path, *, wait: bool = True) -> Iterator[bool]:
    """Allow one writer at a time, where the system can lock a folder.

    Yields whether the folder is locked. The lock ends with the process.
    """
    try:
        import fcntl
    except ImportError:
        yield False
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        is_locked = False
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            is_locked = True
        yield is_locked
    finally:
        os.close(descriptor)


def _remove_abandoned(folder: Path, own: Path) -> None:
    """Remove the stages of writers that were killed; the folder is locked.

    A writer creates its stage while it holds the lock of the folder, and locks the
    stage before it releases that lock. So a stage that can be locked here has no
    writer. An index of another kind may still name its files.
    """
    found = [
        path
        for path in folder.glob(f"{PREFIX}*")
        if path != own
        and re.fullmatch(STAGE, path.name)
        and path.is_dir()
        and not path.is_symlink()
    ]
    indexes = [p.read_bytes() for p in folder.glob("*.json") if found and p.is_file()]
    for stage in found:
        if any(stage.name.encode() in index for index in indexes):
            continue
        with suppress(OSError), _locked(stage, wait=False) as is_abandoned:
            if is_abandoned:
                shutil.rmtree(stage, ignore_errors=True)


def _name(source: Path, target: Path, within: Path) -> None:
    """Give a file a second name, or copy it where hard links do not work.

    The temporary file is made in `within`.
    """
    new = within / token()
    with explained(target, new):
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, new)
        except (OSError, NotImplementedError, AttributeError):
            shutil.copyfile(source, new)
            _sync(new)
        os.replace(new, target)


def _remove(path: Path, folder: Path) -> None:
    """Remove a file, and the folder that it was in if that is empty."""
    path.unlink(missing_ok=True)
    if path.parent != folder:
        with suppress(OSError):
            path.parent.rmdir()
