"""Write frames as a video that browsers can play, or as a folder of lossless images."""

import math
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.atomic import explained
from rpcag.video.plugin import pyav, url

# Ending -> encoder and its options. H.264 and VP9 in 4:2:0 is what browsers play; with
# the index in front (faststart) an mp4 starts before all of it is there.
CODECS: dict[str, tuple[str, dict[str, str], dict[str, str]]] = {
    "mp4": ("libx264", {"crf": "18", "preset": "veryfast"}, {"movflags": "+faststart"}),
    "webm": (
        "libvpx-vp9",
        {"crf": "24", "b": "0", "deadline": "realtime", "cpu-used": "6"},
        {},
    ),
}
FORMATS = (*CODECS, "png")
LONGEST = {"mp4": 16384, "webm": 65535}  # side that the encoder takes


def check_format(name: str) -> str:
    if name not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {name!r}")
    return name


def check_sides(width: int, height: int, format: str) -> None:
    if max(width, height) > LONGEST.get(format, math.inf):
        raise ValueError(
            f"{format} takes sides up to {LONGEST[format]} pixels, but side by side "
            f"there are {width}x{height}; give a smaller size, or format png"
        )


class Writer:
    """Write uint8 frames of one shape, gray or RGB, to a new file.

    Parameters
    ----------
    path : Path
        Without ending.
    rate : Fraction
        Frames per second.
    format : {"mp4", "webm", "png"}
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
        self.format = check_format(format)
        self.count = 0
        self._container: Any = None
        self.path = path if format == "png" else path.with_suffix(f".{format}")
        self.target = (folder or path.parent) / self.path.name
        if format == "png":
            with explained(self.target):
                path.mkdir()

    def write(self, frame: np.ndarray) -> None:
        picture = self._picture(frame)
        if self.format == "png":
            name = f"{self.count:06d}.png"
            with explained(self.target / name):
                _save_png(picture, self.path / name)
        else:
            with explained(self.target):
                if self._container is None:
                    self._open(picture.width, picture.height)
                picture.pts = self.count
                self._mux(picture)
        self.count += 1

    def close(self) -> None:
        if self._container is not None:
            with explained(self.target):
                self._mux(None)  # what the encoder still holds
                self._container.close()
            self._container = None

    def __enter__(self) -> "Writer":
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is None:
            self.close()
        elif self._container is not None:
            with suppress(Exception):  # the original error was already reported
                self._container.close()

    def _open(self, width: int, height: int) -> None:
        codec, options, container_options = CODECS[self.format]
        self._container = pyav().open(url(self.path), "w", options=container_options)
        stream = self._container.add_stream(codec, rate=self.rate, options=options)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.thread_type = "AUTO"
        self._stream = stream

    def _mux(self, picture) -> None:
        for packet in self._stream.encode(picture):
            self._container.mux(packet)

    def _picture(self, frame: np.ndarray):
        frame = np.ascontiguousarray(frame)
        if self.format != "png":
            frame = _even(frame)
        kind = "gray" if frame.ndim == 2 else "rgb24"
        return pyav().VideoFrame.from_ndarray(frame, format=kind)


def _even(frame: np.ndarray) -> np.ndarray:
    """Repeat the last row or column, because 4:2:0 needs even sides."""
    missing = [(0, frame.shape[0] % 2), (0, frame.shape[1] % 2), (0, 0)]
    return np.pad(frame, missing[: frame.ndim], mode="edge")


def _save_png(picture, path: Path) -> None:
    codec = pyav().CodecContext.create("png", "w")
    codec.width, codec.height = picture.width, picture.height
    codec.pix_fmt = picture.format.name
    codec.time_base = Fraction(1, 25)
    packets = [*codec.encode(picture), *codec.encode(None)]
    path.write_bytes(b"".join(bytes(packet) for packet in packets))
