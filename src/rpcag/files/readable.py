"""Errors of the libraries that read files, as one kind with one message."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def readable(path: Path, kind: str = "") -> Iterator[None]:
    """Turn any failure to read `path` into a ValueError that names it.

    Damaged files make libraries raise whatever they meet first: `struct.error`,
    `zlib.error`, `KeyError`, ... Errors that say what to do themselves are kept: a
    library that is not installed, a file that is not there or not to be read.

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
            f"{path} needs more memory than there is; keep fewer rows or columns"
        ) from error
    except Exception as error:
        if str(error).startswith(str(path)):  # said already
            raise
        read_as = f" as {kind}" if kind else ""
        raise ValueError(f"{path} cannot be read{read_as}: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Its first line, or its kind where the text alone says nothing."""
    text = str(error).strip()
    if not text or isinstance(error, (KeyError, IndexError, TypeError, AttributeError)):
        return f"it is damaged ({type(error).__name__}{': ' if text else ''}{text})"
    return text.splitlines()[0]
