"""PyAV, which brings FFmpeg (the extra ``rpcag[video]``), imported when needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any


def pyav() -> ModuleType:
    try:
        import av
    except ImportError as error:
        raise ImportError(
            "videos and images are read and written with PyAV, which brings FFmpeg: "
            "pip install 'rpcag[video]'"
        ) from error
    # PyAV logs nothing by default, and errors are exceptions. Enabling the log, even
    # for little, lets threads of FFmpeg wait for Python's lock, and decoders hang.
    return av


@contextmanager
def opened(path: Path, most: int | None) -> Iterator[Any]:
    """Open a file with FFmpeg, which can then read no other file.

    FFmpeg follows playlists and scripts to other files, and it expands a name with % to
    a sequence of images. So it gets an open file instead of a name, and no protocol to
    open others. It decodes a frame to identify the content: `most` limits the pixels of
    that frame.
    """
    options = {"protocol_whitelist": "none"}
    if most is not None:
        options["max_pixels"] = str(most)
    with path.open("rb") as file, pyav().open(file, options=options) as container:
        for stream in container.streams.video:
            if stream.codec_context is None:
                raise ValueError("there is no decoder for it")
            if most is not None:
                stream.codec_context.options = {"max_pixels": str(most)}
        yield container


def url(path: Path) -> str:
    """URL for FFmpeg, which would take "a:" in a:b.mp4 for a protocol."""
    return f"file:{path}"
