"""Whether something can be written, before hours are spent on it."""

import tempfile
from pathlib import Path


def check_place(path: Path) -> None:
    """Refuse a path under which nothing can be made; nothing is left behind."""
    parent = next(p for p in path.absolute().parents if p.exists())
    try:
        tempfile.TemporaryDirectory(prefix=".rpcag-", dir=parent).cleanup()
    except OSError as error:
        raise PermissionError(
            f"{path} cannot be made: {parent} is no place for it ({error.strerror})"
        ) from error
