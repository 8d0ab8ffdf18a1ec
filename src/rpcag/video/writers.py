"""Write frames as a video that browsers can play, or as a folder of lossless images."""

from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rpcag.atomic import explained
from rpcag.video.ffmpeg import as_picture, pyav


class Codec(NamedTuple):
    name: str
    pixels: str | None  # None: as the frames
    options: dict[str, str]
    container: dict[str, str]  # options of the file


# Browsers play H.264 and VP9 in 4:2:0. With the index in front (faststart), an mp4
# starts before it is loaded completely.
CODECS = {
    "mp4": Codec(
        "libx264",
        "yuv420p",
        {"crf": "18", "preset": "veryfast"},
        {"movflags": "+faststart"},
    ),
    "webm": Codec(
        "libvpx-vp9",
        "yuv420p",
        {"crf": "24", "b": "0", "deadline": "realtime", "cpu-used": "6"},
        {},
    ),
    "png": Codec("png", None, {}, {"start_number": "0"}),
}
FORMATS = tuple(CODECS)
LONGEST = 16384  # maximum side of H.264


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
        self.codec, self.count = CODECS[format], 0
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
        if self.codec.pixels is not None:
            # 4:2:0 needs even sides: repeat the last row or column.
            missing = [(0, frame.shape[0] % 2), (0, frame.shape[1] % 2), (0, 0)]
            frame = np.pad(frame, missing[: frame.ndim], mode="edge")
        picture = as_picture(frame)
        picture.pts = self.count
        with explained(self.target):
            if self._container is None:
                self._open(picture)
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

    def _open(self, picture: Any) -> None:
        name, pixels, options, container = self.codec
        self._container = pyav().open(self._url, "w", options=container)
        stream = self._container.add_stream(name, rate=self.rate, options=options)
        stream.width, stream.height = picture.width, picture.height
        stream.pix_fmt = pixels or picture.format.name
        stream.thread_type = "AUTO"
        self._stream = stream
