"""Read and write videos and images with PyAV, imported when needed.

PyAV brings FFmpeg (the extra ``rpcag[video]``).
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from rpcag.atomic import explained

# Maximum pixels of a stored frame. Decoders keep several frames: 24 bytes per pixel.
MOST_PIXELS = 50_000_000
# The codec, its options, and those of the file. Browsers play H.264 and VP9 in 4:2:0.
# With the index in front (faststart), an mp4 starts before it is loaded completely.
Options = dict[str, str]
FAST = {"crf": "24", "b": "0", "deadline": "realtime", "cpu-used": "6"}
FORMATS: dict[str, tuple[str, Options, Options]] = {
    "mp4": ("libx264", {"crf": "18", "preset": "veryfast"}, {"movflags": "+faststart"}),
    "webm": ("libvpx-vp9", FAST, {}),
    "png": ("png", {}, {"start_number": "0"}),
}
LONGEST = 16384  # maximum side of H.264


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


class Writer:
    """Write uint8 frames of one shape, gray or RGB, to a new file.

    The name has no ending yet; "png" writes a folder of images. Errors name the file in
    its final folder.
    """

    def __init__(
        self,
        path: Path,
        rate: Fraction,
        format: str = "mp4",
        folder: Path | None = None,
    ) -> None:
        self.rate = max(rate.limit_denominator(1001), Fraction(1, 1001))
        self.format, self.count = format, 0
        self._container: Any = None
        self.path = path if format == "png" else path.with_suffix(f".{format}")
        self.target = (folder or path.parent) / self.path.name
        # Without a protocol, FFmpeg would take "a:" in a:b.mp4 for one.
        self._url = f"file:{self.path}"
        if format == "png":
            self._url = f"{self._url.replace('%', '%%')}/%06d.png"
            with explained(self.target):
                path.mkdir()

    def write(self, frame: np.ndarray) -> None:
        if self.format != "png":
            # 4:2:0 needs even sides: repeat the last row or column.
            missing = [(0, frame.shape[0] % 2), (0, frame.shape[1] % 2), (0, 0)]
            frame = np.pad(frame, missing[: frame.ndim], mode="edge")
        kind = "gray" if frame.ndim == 2 else "rgb24"
        frame = np.ascontiguousarray(frame)
        picture = pyav().VideoFrame.from_ndarray(frame, format=kind)
        picture.pts = self.count
        with explained(self.target):
            if self._container is None:
                codec, options, container = FORMATS[self.format]
                self._container = pyav().open(self._url, "w", options=container)
                stream = self._container.add_stream(codec, self.rate, options=options)
                stream.width, stream.height = picture.width, picture.height
                is_png = self.format == "png"
                stream.pix_fmt = picture.format.name if is_png else "yuv420p"
                stream.thread_type = "AUTO"
                self._stream = stream
            self._container.mux(self._stream.encode(picture))
        self.count += 1

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind, *_) -> None:
        if self._container is None:
            return
        if kind is None:
            with explained(self.target):
                self._container.mux(self._stream.encode(None))  # what it still holds
                self._container.close()
        else:
            with suppress(Exception):  # the original error was already reported
                self._container.close()
