"""The data sets of the paper: what they are, and whose."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rpcag_study.datasets import files


@dataclass(frozen=True)
class Entry:
    """One data set.

    Attributes
    ----------
    name : str
        As `load` and `load_video` take it.
    kind : {"images", "table", "video"}
    file : str
        Name of its file.
    n, p : int
        Samples (or frames) and features (or pixels).
    classes : int or None
    terms : str
        Whose it is, and for what use, as far as known.
    sha256 : str
        Of the file.
    is_present : bool
        Whether it is on this machine; if not, `load` downloads it where it can.
    """

    name: str
    kind: str
    file: str
    n: int
    p: int
    classes: int | None
    terms: str
    sha256: str

    @property
    def downloaded_file(self) -> str:
        """What a download is kept as: never taken for the file of the study."""
        return f"{self.name.lower()}_downloaded.npz"

    @property
    def is_present(self) -> bool:
        return self.where() is not None

    def where(self) -> Path | None:
        """The file, or the copy `load` downloaded; None if there is neither."""
        return files.find(self.file) or files.find(self.downloaded_file)


def _entries() -> Iterator[Entry]:
    text = resources.files(__package__).joinpath("catalog.csv").read_text("utf-8")
    for row in csv.reader(text.splitlines()[1:]):
        name, kind, file, n, p, classes, terms, sha256 = row
        count = int(classes) if classes else None
        yield Entry(name, kind, file, int(n), int(p), count, terms, sha256)


ENTRIES = list(_entries())


def list_datasets() -> list[Entry]:
    """Every data set `load` or `load_video` knows.

    Examples
    --------
    >>> from rpcag_study.datasets import list_datasets
    >>> [entry.name for entry in list_datasets() if entry.kind == "table"]
    ['MFeat', 'BCI']
    """
    return list(ENTRIES)


def entry_named(name: str, *, video: bool) -> Entry:
    """The entry of that name, in any case of letters."""
    known = [entry for entry in ENTRIES if (entry.kind == "video") == video]
    for entry in known:
        if isinstance(name, str) and entry.name.lower() == name.lower():
            return entry
    names = ", ".join(entry.name for entry in known)
    kind, other = ("video", "load") if video else ("data set", "load_video")
    elsewhere = {entry.name.lower() for entry in ENTRIES} - {
        entry.name.lower() for entry in known
    }
    hint = f"; use {other}" if str(name).lower() in elsewhere else ""
    raise ValueError(f"no {kind} is named {name!r}{hint}: choose from {names}")
