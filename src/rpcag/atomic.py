"""Write files atomically: readers find the old content or the new, never a part."""

import errno
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

# Names of temporary files and folders begin with this.
PREFIX = ".rpcag-"
# More files than this are synced by one call; one by one, frames would take minutes.
MANY = 100
FULL = "free some space, or choose a folder on another disk"
FORBIDDEN = "choose a folder that you may write to"
REMEDIES = {
    None: FULL,  # NumPy does not say why it cannot write
    errno.ENOSPC: FULL,
    getattr(errno, "EDQUOT", errno.ENOSPC): FULL,
    errno.EFBIG: "choose a disk that supports files of this size",
    errno.EACCES: FORBIDDEN,
    errno.EPERM: FORBIDDEN,
    errno.EROFS: FORBIDDEN,
}


@contextmanager
def write_atomically(path: str | os.PathLike) -> Iterator[Path]:
    """Yield a temporary file to write to, which replaces `path` at the end.

    The file is new and empty, and has the same folder and suffix. The folder is created
    if needed. After any exception, `path` is unchanged and the temporary file is
    removed. Errors of the operating system name `path`, the reason and a remedy.

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
    with write_together([Path(path)]) as (part,), explained(path):
        yield part


@contextmanager
def write_together(paths: Iterable[Path]) -> Iterator[list[Path]]:
    """`write_atomically` for several files: all of them are replaced at the end."""
    targets = list(paths)
    parts = [path.parent / f"{token()}{path.suffix[:16]}" for path in targets]
    both = list(zip(targets, parts, strict=True))
    with ExitStack() as stack:
        for path, part in both:
            stack.enter_context(_made(path.parent, path))
            with explained(path):
                part.touch(exist_ok=False)  # never an existing file, nor a link's
            stack.callback(part.unlink, missing_ok=True)
        yield parts
        for path, part in both:
            with explained(path):
                _sync(part)
                if path.exists():
                    part.chmod(path.stat().st_mode & 0o777)
        for path, part in both:
            with explained(path):
                os.replace(part, path)


def write_text(path: Path, text: str, errors: str = "strict") -> None:
    """Write UTF-8 atomically."""
    with write_atomically(path) as part:
        part.write_text(text, encoding="utf-8", errors=errors, newline="\n")


def write_json(path: Path, content: Any) -> None:
    """Write JSON atomically; invalid Unicode characters become escapes."""
    text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    write_text(path, text, "backslashreplace")


@contextmanager
def replace_files(
    folder: Path, index: str, replaceable: Callable[[], Iterable[str]]
) -> Iterator[Path]:
    """Yield a temporary folder, whose files are moved to `folder` at the end.

    The file `index` says which files belong to a result, so it leaves first and arrives
    last: a process that is killed in between leaves no result, but never a mixture.
    After any exception, the folder is as it was.

    `replaceable` is called before anything is moved. It returns the names of the old
    files, which are removed, or raises an error. Other files are not changed.
    """
    stage = folder / token()
    new, old = stage / "new", stage / "old"
    with _made(folder, folder):
        try:
            with explained(folder):
                new.mkdir(parents=True)
            yield new
            found = (path for path in new.rglob("*") if path.is_file())
            names = {path.relative_to(new).as_posix() for path in found}
            if len(names) > MANY and hasattr(os, "sync"):
                os.sync()
            else:
                for name in names:
                    with explained(folder / name):
                        _sync(new / name)
            leave = [index, *sorted(replaceable())]
            moves = [(folder / name, old / name) for name in leave]
            moves = [move for move in moves if os.path.lexists(move[0])]
            arrive = [*sorted(names - {index}), index]
            _move([*moves, *((new / name, folder / name) for name in arrive)])
            for path in {path.parent for path, _ in moves} - {folder}:
                with suppress(OSError):  # not empty
                    path.rmdir()
        finally:
            shutil.rmtree(stage, ignore_errors=True)


def _move(moves: list[tuple[Path, Path]]) -> None:
    """Rename all files, or none."""
    try:
        for source, target in moves:
            with explained(target):
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(source, target)
    except BaseException:
        for source, target in reversed(moves):
            if os.path.lexists(target) and not os.path.lexists(source):
                os.replace(target, source)
        raise


@contextmanager
def explained(target: str | os.PathLike) -> Iterator[None]:
    """Explain failures of the operating system to write `target`.

    Use it only around code that writes.
    """
    try:
        yield
    except Exception as error:
        number = getattr(error, "errno", None)
        if number is None and not isinstance(error, OSError):
            raise
        reason = os.strerror(number) if number else str(error)
        remedy = REMEDIES.get(number, "choose another path")
        kind = type(OSError(number, reason)) if number else OSError
        told = kind(f"{target} could not be written: {reason}; {remedy}")
        told.errno = number
        raise told from error


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
        with suppress(OSError):  # another process put something there
            for path in made:
                path.rmdir()
        raise


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
