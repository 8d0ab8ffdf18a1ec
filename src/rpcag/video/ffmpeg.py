"""PyAV, which brings FFmpeg (the extra ``rpcag[video]``), imported when needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

# Maximum pixels of a stored frame. Decoders keep several frames: 24 bytes per pixel.
MOST_PIXELS = 50_000_000


def pyav() -> ModuleType:
    try:
        import av
    except ImportError as error:
        raise ImportError(
            "videos and images are read and written with PyAV, which brings FFmpeg: "
            "pip install 'rpcag[video]'"
        ) from error
    # The log of PyAV stays disabled, as by default: with it, threads of FFmpeg wait for
    # Python's lock, and decoders hang. Errors are raised as exceptions anyway.
    return av


@contextmanager
def opened(path: Path, kind: str) -> Iterator[Any]:
    """Open a file with FFmpeg, and prevent it from reading other files.

    FFmpeg follows playlists and scripts to other files, and it expands a name with % to
    a sequence of images. So it gets an open file instead of a name, and no protocol
    that opens other files.
    """
    limit = {"max_pixels": str(MOST_PIXELS)}
    av = pyav()  # not within `try`: Ctrl-C may interrupt the import
    with path.open("rb") as file:
        try:
            options = {"protocol_whitelist": "none", **limit}
            container = av.open(file, options=options)
        except (av.error.FFmpegError, OSError, ValueError) as error:
            raise refused(path, kind, error) from error
        with container:
            if not container.streams.video:
                raise ValueError(
                    f"{path.name} contains no video: it has other content, or is cut "
                    "off"
                )
            for stream in container.streams.video:
                if stream.codec_context is None:
                    raise ValueError(f"{path} needs a decoder that FFmpeg lacks")
                stream.codec_context.options = limit
            yield container


def refused(path: Path, kind: str, error: Exception) -> ValueError:
    """FFmpeg does not distinguish damaged frames from large ones."""
    said = getattr(error, "strerror", None) or str(error) or "no frame"
    return ValueError(
        f"{path.name} cannot be read as {kind} ({said}): it is damaged, cut off, of "
        f"another kind, or has frames of more than {MOST_PIXELS} pixels"
    )


def as_picture(frame: np.ndarray) -> Any:
    """Return gray or RGB bytes as a frame of PyAV."""
    kind = "gray" if frame.ndim == 2 else "rgb24"
    return pyav().VideoFrame.from_ndarray(np.ascontiguousarray(frame), format=kind)


def check_pixels(pixels: int, name: str) -> None:
    if pixels > MOST_PIXELS:
        raise ValueError(
            f"{name} has frames of more than {MOST_PIXELS} pixels: make them smaller"
        )
