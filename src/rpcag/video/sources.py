"""Videos as streams of frames: files that FFmpeg reads, and folders of images."""

import re
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.video.ffmpeg import opened, pyav, refused
from rpcag.video.pixels import Size, as_gray, check_size

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".webp")
RATE = Fraction(25)  # of sources without a frame rate


class Source:
    """Frames of a video, which can be iterated several times.

    A frame is an array of shape (height, width) or (height, width, 3) and type uint8.

    Parameters
    ----------
    path : str or Path
        A file that FFmpeg reads, or a folder of images (sorted by name, and by numbers
        in the names).
    size : (height, width), optional
        Size of the frames, reached by averaging over areas.
    gray : bool, default=False
    start, stop, every : int
        Use every n-th of the frames `start` to `stop` - 1.
    """

    def __init__(
        self,
        path,
        *,
        size: Size | None = None,
        gray: bool = False,
        start: int = 0,
        stop: int | None = None,
        every: int = 1,
    ) -> None:
        if every < 1:
            raise ValueError(f"every must be at least 1, got {every}")
        if start < 0 or (stop is not None and stop <= start):
            end = "" if stop is None else stop
            raise ValueError(f"frames must be A:B with 0 <= A < B, got {start}:{end}")
        self.size, self.gray = size and check_size(size), gray
        # The largest number that islice accepts; no video has so many frames.
        last = sys.maxsize if stop is None else stop
        self.range = tuple(min(i, sys.maxsize) for i in (start, last, every))
        self.is_part = self.range != (0, sys.maxsize, 1)
        self.path = Path(path).expanduser()
        self.name = self.path.resolve().name
        # Of the frames as they are stored; known when the first one was read.
        self._rate = RATE
        self._length: int | None = None

    @property
    def rate(self) -> Fraction:
        """Frames per second, as measured in the frames that were read."""
        return self._rate / self.range[2]

    @property
    def length(self) -> int | None:
        """Number of frames, if it is known."""
        stored = self._length
        return None if stored is None else len(range(stored)[slice(*self.range)])

    def first(self) -> np.ndarray:
        """Return the first stored frame, whatever the selection."""
        for picture in self._pictures():
            return self._pixels(picture)
        raise ValueError(f"{self.name} has no frames")

    def __iter__(self) -> Iterator[np.ndarray]:
        shape = None
        for i, picture in enumerate(islice(self._pictures(), *self.range)):
            frame = self._pixels(picture)
            shape = shape or frame.shape
            if frame.shape != shape:
                remedy = "gray=True converts them to gray"
                if frame.shape[:2] != shape[:2]:
                    remedy = "size= resizes them"
                raise ValueError(
                    f"frame {i} of {self.name} has shape {frame.shape}, the first "
                    f"{shape}: all must be equal; {remedy}"
                )
            yield frame

    def _pixels(self, frame) -> np.ndarray:
        """Return the pixels of a frame of PyAV, rotated as its metadata says."""
        turns = round(getattr(frame, "rotation", 0) / 90) % 4  # counterclockwise
        height, width = self.size or (frame.height, frame.width)
        if self.size is not None and turns % 2:
            height, width = width, height
        is_gray = frame.format.name.startswith(("gray", "mono"))
        options = {"format": "gray" if is_gray else "rgb24", "interpolation": "AREA"}
        pixels = self._reformatter.reformat(frame, width, height, **options)
        pixels = np.ascontiguousarray(np.rot90(pixels.to_ndarray(), turns))
        return as_gray(pixels) if self.gray else pixels

    @cached_property
    def _reformatter(self) -> Any:
        """One for all frames: making it takes longer than a use."""
        return pyav().video.reformatter.VideoReformatter()

    def _pictures(self) -> Iterator[Any]:
        """Return the stored frames, as those of PyAV."""
        if self.path.is_dir():
            return self._of_folder()
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path} does not exist")
        if not self.path.is_file():
            raise ValueError(
                f"{self.path} is a pipe or a device, but the video is read twice; save "
                "it as a file first"
            )
        if self.path.suffix.lower() in (".npy", ".npz"):
            raise ValueError(
                f"{self.path} is an array; load it in Python and pass it to "
                "rpcag.video.separate"
            )
        return self._of_video()

    def _of_video(self) -> Iterator[Any]:
        """The first video stream of a file."""
        read, start, end, is_cut = 0, None, 0.0, False

        def broken(how: str, detail: str | None) -> ValueError:
            whole = self._length or 0  # according to the header
            frames = f"{read} of {whole}" if whole > read else f"{read}"
            return ValueError(
                f"{self.name} is {how} after {frames} frames ({detail}); "
                f"frames=0:{read} uses this part"
            )

        with opened(self.path, "a video") as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            self._rate = Fraction(stream.average_rate or RATE)
            self._length = stream.frames or None
            try:
                for packet in container.demux(stream):
                    is_cut = packet.is_corrupt if packet.size else is_cut
                    for frame in packet.decode():
                        if frame.time is not None:
                            start = frame.time if start is None else start
                            end = frame.time - start
                            if read > 1 and end > 0:  # headers may be wrong
                                self._rate = Fraction(read / end)
                        read += 1
                        yield frame
            except (pyav().error.FFmpegError, OSError) as error:
                if read == 0:
                    raise refused(self.path, "a video", error) from error
                raise broken("broken", error.strerror) from error
            # Headers count frames that are never shown, or have only a duration, which
            # is that of the longest stream: sound may outlast the video.
            alone = len(container.streams) == 1
            seconds = (container.duration or 0) / 1e6 if alone else 0
        measures = [(read + 2, self._length), (end + 3 / self._rate, seconds)]
        reached = [done >= 0.95 * whole for done, whole in measures if whole]
        if is_cut or (reached and not any(reached)):
            raise broken("cut off", f"{end:.1f} seconds")

    def _of_folder(self) -> Iterator[Any]:
        """A folder of images."""
        files = [
            file
            for file in self.path.iterdir()
            if file.suffix.lower() in IMAGES and not file.name.startswith(".")
        ]
        if not files:
            raise ValueError(
                f"{self.path} has no images; supported suffixes: {' '.join(IMAGES)}"
            )
        self._length = len(files)
        for file in sorted(files, key=_natural):
            with opened(file, "an image") as container:
                try:
                    yield next(container.decode(video=0))
                except (pyav().error.FFmpegError, StopIteration) as error:
                    raise refused(file, "an image", error) from error


def _natural(path: Path) -> tuple[list, str]:
    """Sort key by which frame9 comes before frame10."""
    parts = re.split(r"(\d+)", path.name.lower())
    return [(int(p), "") if p.isdecimal() else (-1, p) for p in parts], path.name
