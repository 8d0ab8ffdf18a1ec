"""Write frames as a video that browsers can play, or as a folder of lossless images."""

from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.atomic import explained
from rpcag.video.ffmpeg import as_picture, pyav

# Encoder and its options. Browsers play H.264 and VP9 in 4:2:0. With the index in front
# (faststart), an mp4 starts before it is loaded completely.
CODECS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "mp4": ("libx264", {"crf": "18", "preset": "veryfast"}, {"movflags": "+faststart"}),
    "webm": (
        "libvpx-vp9",
        {"crf": "24", "b": "0", "deadline": "realtime", "cpu-used": "6"},
        {},
    ),
}
FORMATS = (*CODECS, "png")
LONGEST = 16384  # maximum side of H.264


class Writer:
    """Write uint8 frames of one shape, gray or RGB, to a new file.

    Parameters
    ----------
    path : Path
        Without ending.
    rate : Fraction
        Frames per second.
    format : {"mp4", "webm", "png"}
        "png" writes a folder of images.
    folder : Path, optional
        Final folder of the file, for errors. Default: the folder of `path`.
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
        if format == "png":
            with explained(self.target):
                path.mkdir()

    def write(self, frame: np.ndarray) -> None:
        if self.format == "png":
            name = f"{self.count:06d}.png"
            with explained(self.target / name):
                (self.path / name).write_bytes(_png(as_picture(frame)))
        else:
            picture = as_picture(_even(frame))
            picture.pts = self.count
            with explained(self.target):
                if self._container is None:
                    self._open(picture.width, picture.height)
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

    def _open(self, width: int, height: int) -> None:
        codec, options, container_options = CODECS[self.format]
        # Without a protocol, FFmpeg would take "a:" in a:b.mp4 for one.
        url = f"file:{self.path}"
        self._container = pyav().open(url, "w", options=container_options)
        self._stream = self._container.add_stream(
            codec, rate=self.rate, options=options
        )
        self._stream.width, self._stream.height = width, height
        self._stream.pix_fmt, self._stream.thread_type = "yuv420p", "AUTO"


def _even(frame: np.ndarray) -> np.ndarray:
    """Repeat the last row or column, because 4:2:0 needs even sides."""
    missing = [(0, frame.shape[0] % 2), (0, frame.shape[1] % 2), (0, 0)]
    return np.pad(frame, missing[: frame.ndim], mode="edge")


def _png(picture) -> bytes:
    codec = pyav().CodecContext.create("png", "w")
    codec.width, codec.height = picture.width, picture.height
    codec.pix_fmt = picture.format.name
    codec.time_base = Fraction(1, 25)
    packets = [*codec.encode(picture), *codec.encode(None)]
    return b"".join(bytes(packet) for packet in packets)
