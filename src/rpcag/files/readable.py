"""Import libraries that read files, and turn their errors into one message."""

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

READS = {"pyarrow": "Parquet", "openpyxl": "Excel"}
EXTRAS = {"openpyxl": "excel"}  # else "files"


def need(module: str) -> ModuleType:
    """The module, or an error that names the extra to install."""
    package = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{READS[package]} files need {package}: pip install "
            f"'rpcag[{EXTRAS.get(package, 'files')}]'"
        ) from error


@contextmanager
def readable(path: Path, kind: str = "") -> Iterator[None]:
    """Turn any failure to read `path` into a ValueError that names it.

    Damaged files make libraries raise many types of errors: `struct.error`,
    `zlib.error`, `KeyError` and others. Errors that are already clear pass through: a
    library that is not installed, a file that does not exist or must not be read.

    Parameters
    ----------
    path : path
    kind : str, optional
        The format, such as "NumPy".
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
        read_as = f" as {kind}" if kind else ""
        raise ValueError(f"{path} cannot be read{read_as}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """The first line of the message, with the type of error if that is needed."""
    text = str(error).strip()
    if not text or isinstance(error, (KeyError, IndexError, TypeError, AttributeError)):
        return f"it is damaged ({type(error).__name__}{': ' if text else ''}{text})"
    return text.splitlines()[0]
