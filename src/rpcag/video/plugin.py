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
    # PyAV is silent unless asked, and what is wrong is said by exceptions. Asking, even
    # for little, lets threads of FFmpeg wait for Python's lock, and decoders hang.
    return av


@contextmanager
def opened(path: Path, most: int | None) -> Iterator[Any]:
    """A file that FFmpeg reads, and nothing else.

    Playlists and scripts of FFmpeg name other files, and a name with % in it stands for
    a sequence of images. So FFmpeg gets an open file instead of a name, and no protocol
    to open others with. It decodes a frame to learn what is in a file: `most` is the
    number of pixels that it may have.
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
    """For FFmpeg, to which a:b.mp4 is the place b.mp4 of a protocol called a."""
    return f"file:{path}"
