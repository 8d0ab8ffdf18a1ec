"""Import libraries that read files, and turn their errors into one message."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

# What a library reads, and the extra that installs it.
LIBRARIES = {
    "pyarrow": ("Parquet", "files"),
    "openpyxl": ("Excel", "excel"),
    "PIL": ("image", "plots"),
}


def need(module: str) -> ModuleType:
    """The module, or an error that names the extra to install."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        kind, extra = LIBRARIES[package]
        raise ImportError(
            f"{kind} files need {package}: pip install 'rpcag[{extra}]'"
        ) from error


@contextmanager
def readable(path: Path, kind: str = "") -> Iterator[None]:
    """Turn any failure to read `path` as this kind of file into one ValueError.

    Damaged files make libraries raise `struct.error`, `zlib.error`, `KeyError` and many
    others. Errors that are already clear pass through.
    """
    try:
        yield
    except (ImportError, FileNotFoundError, PermissionError):
        raise
    except MemoryError as error:
        raise ValueError(
            f"{path} needs more memory than is available; keep fewer rows or columns"
        ) from error
    except Exception as error:
        if str(error).startswith(str(path)):  # the message already names the file
            raise
        read_as, reason = f" as {kind}" if kind else "", str(error).strip()
        if not reason or isinstance(error, (LookupError, TypeError, AttributeError)):
            reason = f"it is damaged ({error!r})"
        reason = reason.splitlines()[0]
        raise ValueError(f"{path} cannot be read{read_as}: {reason}") from error
