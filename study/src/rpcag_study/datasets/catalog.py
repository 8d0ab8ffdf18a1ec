"""The data sets of the paper: what they are, and whose."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from rpcag_study.datasets import files


@dataclass(frozen=True)
class Entry:
    """One data set."""

    name: str  # as `load` and `load_video` take it
    kind: str  # images, table or video
    file: str
    n: int  # samples or frames
    p: int  # features or pixels
    classes: int | None
    terms: str  # whose it is, and for what use, as far as known
    sha256: str  # of the file

    @property
    def downloaded_file(self) -> str:
        """What a download is kept as: never taken for the file of the study."""
        return f"{self.name.lower()}_downloaded.npz"

    @property
    def is_present(self) -> bool:
        """Whether it is on this machine; if not, `load` downloads it where it can."""
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
    """Every data set `load` or `load_video` knows; docs/data.md says where to ask.

    Examples
    --------
    >>> from rpcag_study.datasets import list_datasets
    >>> [entry.name for entry in list_datasets() if entry.kind == "table"]
    ['MFeat', 'BCI']
    """
    return list(ENTRIES)


def entry_named(name: str, *, video: bool) -> Entry:
    """The entry of that name, in any case of letters."""
    entries = {entry.name.lower(): entry for entry in ENTRIES}
    entry = entries.get(str(name).lower())
    if entry is not None and (entry.kind == "video") == video:
        return entry
    kind, other = ("video", "load") if video else ("data set", "load_video")
    hint = "" if entry is None else f"; use {other}"
    names = ", ".join(e.name for e in ENTRIES if (e.kind == "video") == video)
    raise ValueError(f"no {kind} is named {name!r}{hint}: choose from {names}")
