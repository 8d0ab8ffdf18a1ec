"""Where data files are, and whether they are intact."""

import hashlib
import os
from functools import cache
from pathlib import Path

import numpy as np

from rpcag.plugins import (
    load_arrays,
    write_atomically,
)

FOLDER_VARIABLE = "RPCAG_DATA"


def cache_folder() -> Path:
    """The user's cache, where data files may be put and downloads are kept."""
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "rpcag"


def places() -> str:
    """Where to put a file, in words."""
    named = os.environ.get(FOLDER_VARIABLE)
    now = f"now {named}" if named else "not set"
    return (
        f"the folder that the environment variable {FOLDER_VARIABLE} names ({now}) "
        f"or into {cache_folder()}"
    )


def find(file: str) -> Path | None:
    """The first of the folder RPCAG_DATA names and the cache that has the file."""
    named = os.environ.get(FOLDER_VARIABLE)
    folders = [Path(named).expanduser()] if named else []
    for folder in [*folders, cache_folder()]:
        if (folder / file).is_file():
            return folder / file
    return None


def check_intact(path: Path, sha256: str) -> None:
    """Refuse a file that is not the one results were obtained with."""
    status = path.stat()
    found = _sha256(path, status.st_mtime_ns, status.st_size)
    if found != sha256:
        raise ValueError(
            f"{path} is not the file it should be: its sha256 is {found}, expected "
            f"{sha256}. Replace it if it is damaged; pass verify=False if it is your "
            f"own version of the set."
        )


@cache
def _sha256(path: Path, changed: int, size: int) -> str:
    """Read once per process, and again only if the file changes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_arrays(path: Path, required: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The arrays of an .npz file."""
    arrays = load_arrays(path)
    missing = [key for key in required if key not in arrays]
    if missing:
        raise ValueError(f"{path} has no array {missing[0]!r}; see docs/data.md")
    return arrays


def write_arrays(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write an .npz file; one that exists is always whole."""
    with write_atomically(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]
