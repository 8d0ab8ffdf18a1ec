"""Bytes in memory that readers of text open like a file."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any


@dataclass(frozen=True)
class Content:
    """The content of a file, or of standard input; `name` is for messages."""

    name: str
    data: bytes

    def open(
        self,
        mode: str = "r",
        *,
        encoding: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        raw = io.BytesIO(self.data)
        if "b" in mode:
            return raw
        return io.TextIOWrapper(raw, encoding=encoding, newline=newline)

    def __str__(self) -> str:
        return self.name


Source = Path | Content


def size_of(source: Source) -> int:
    if isinstance(source, Content):
        return len(source.data)
    return source.stat().st_size
