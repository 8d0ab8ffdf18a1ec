"""Check that results can be written, before a long computation starts."""

import json
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from rpcag import atomic

# Files that systems and tools create in folders that seem empty; in lower case.
LITTER = {".ds_store", "desktop.ini", "thumbs.db"}
LITTER |= {".gitkeep", ".gitignore", ".ipynb_checkpoints"}


def check_place(path: Path, *, inside: bool = False) -> None:
    """Raise an error if nothing can be created at `path`; leaves no files behind.

    With `inside`, `path` is a folder, and the check is for files in it.
    """
    whole = path.absolute()
    above = (whole, *whole.parents) if inside else whole.parents
    parent = next(p for p in above if p.exists())
    probe = parent / atomic.token()
    try:
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        raise PermissionError(
            f"{path} cannot be created in {parent} ({error.strerror})"
        ) from error


def check_file(
    path: Path,
    is_ours: Callable[[Path], bool],
    what: str,
    *,
    force: bool,
    example: str,
) -> None:
    """Raise an error if `path` exists, unless `force` and it is one of our files.

    `what` describes the content, and `example` is a file name; both are for errors.
    """
    # "new/../old.csv" exists as soon as the folder "new" is made.
    found = path if os.path.lexists(path) else path.resolve()
    if found.is_dir():
        raise IsADirectoryError(f"{path} is a folder; choose a file such as {example}")
    if os.path.lexists(found):
        if not (found.is_file() and is_ours(found)):
            raise FileExistsError(
                f"{path} is a file of something else; choose another for the {what}"
            )
        if not force:
            raise FileExistsError(f"{path} already exists; force=True replaces it")
    check_place(path)


def check_folder(
    folder: Path,
    index: str,
    names: Iterable[str],
    names_in: Callable[[dict[str, Any]], Iterable[str]],
    pattern: str,
    what: str,
    *,
    force: bool,
    sources: Iterable[Any] = (),
    is_own: bool = False,
) -> set[str]:
    """Raise an error if a file other than those of an earlier run would be lost.

    Parameters
    ----------
    folder : Path
    index : str
        The file of JSON in the folder that lists the files of a run.
    names : iterable of str
        Files that will be written beside it, relative to the folder.
    names_in : callable
        Takes the content of the index and returns the names. Raises an error if it is
        not an index of this kind.
    pattern : str
        Regular expression that all names in the index must match.
    what : str
        A word for the content, for errors.
    force : bool
        Whether an earlier result may be replaced.
    sources : iterable of path or None
        Input files, which are never replaced.
    is_own : bool
        Whether files that no run wrote are an error, whatever their names.

    Returns
    -------
    set of str
        The names that may be replaced or removed, without the index.
    """
    if os.path.lexists(folder) and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; choose a folder for the {what}")
    ours = set()
    if os.path.lexists(folder / index):
        ours = _recorded(folder / index, names_in, pattern)
    elif is_own and folder.is_dir():
        for name in sorted(os.listdir(folder)):
            if name.lower() not in LITTER and not name.startswith(atomic.PREFIX):
                raise FileExistsError(
                    f"{folder} is a folder of something else: it has {name}; choose "
                    f"another folder for the {what}"
                )
    inputs = [Path(source).expanduser().resolve() for source in sources if source]
    for name in sorted({*names, *ours, index}):
        path, top = folder / name, folder / Path(name).parts[0]
        if not os.path.lexists(top):
            continue
        if any(top.resolve() in (source, *source.parents) for source in inputs):
            raise ValueError(f"{top} is or contains an input; choose another folder")
        is_barred = top != path and (top.is_symlink() or not top.is_dir())
        if is_barred or path.is_dir():
            raise FileExistsError(
                f"{top} is in the way and is not replaced; choose another folder"
            )
        if os.path.lexists(path) and name not in {*ours, index}:
            raise FileExistsError(
                f"{path} is not part of an earlier {what}; choose another folder"
            )
        if os.path.lexists(path) and not force:
            raise FileExistsError(
                f"{folder} already holds a {what}; force=True replaces it"
            )
    check_place(folder, inside=True)
    return ours


def _recorded(
    index: Path, names_in: Callable[[dict[str, Any]], Iterable[str]], pattern: str
) -> set[str]:
    """Names of the files that the index lists."""
    try:
        names = set(names_in(json.loads(index.read_text(encoding="utf-8"))))
        if not all(re.fullmatch(pattern, name) for name in names):
            raise ValueError("names of other files")
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise FileExistsError(
            f"{index} does not say which files rpcag wrote, so nothing in "
            f"{index.parent} is replaced; choose another folder"
        ) from error
    return names
