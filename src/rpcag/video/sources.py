"""Videos as streams of frames: files that FFmpeg reads, folders of images, arrays."""

import math
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from rpcag.files.numpy_arrays import Header, read_header
from rpcag.files.readable import readable
from rpcag.video.ffmpeg import as_picture, check_pixels, opened, pyav, refused
from rpcag.video.pixels import (
    Size,
    as_gray,
    check_array,
    check_size,
    check_values,
    in_unit_of,
    scaled,
)

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".webp")
RATE = Fraction(25)  # of sources without a frame rate


class Source:
    """Frames of a video, which can be iterated several times.

    A frame is an array of shape (height, width) or (height, width, 3) and type uint8.

    Parameters
    ----------
    path : str or Path
        A file that FFmpeg reads, a folder of images (sorted by name, and by numbers in
        the names), or a ``.npz`` file with an array ``frames``.
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
        # islice takes no larger numbers, and no video has so many frames.
        last = sys.maxsize if stop is None else stop
        self.range = tuple(min(i, sys.maxsize) for i in (start, last, every))
        self.stored = _stored(Path(path).expanduser())
        self.name = self.stored.name

    @property
    def rate(self) -> Fraction:
        """Frames per second. More accurate after an iteration."""
        return self.stored.rate / self.range[2]

    @property
    def length(self) -> int | None:
        """Number of frames, if it is known."""
        stored = self.stored.length
        return None if stored is None else len(range(stored)[slice(*self.range)])

    def first(self) -> np.ndarray:
        """Return the first stored frame, whatever the selection."""
        for stored in self.stored:
            return self._pixels(stored)
        raise ValueError(f"{self.name} has no frames")

    def __iter__(self) -> Iterator[np.ndarray]:
        shape = None
        for i, stored in enumerate(islice(self.stored, *self.range)):
            frame = self._pixels(stored)
            shape = shape or frame.shape
            if frame.shape != shape:
                raise ValueError(
                    f"frame {i} of {self.name} has shape {frame.shape}, the first "
                    f"{shape}: all must be equal; size=WIDTHxHEIGHT resizes them, "
                    "gray=True converts them to gray"
                )
            yield frame

    def _pixels(self, frame) -> np.ndarray:
        """Pixels of a frame of PyAV, rotated as its metadata says."""
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


def _stored(path: Path) -> "VideoFile | ImageFolder | ArrayFile":
    """What reads a path: it has a name, a rate, a length, and frames of PyAV."""
    if path.is_dir():
        return ImageFolder(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if not path.is_file():
        raise ValueError(
            f"{path} is a pipe or a device, but the video is read twice; save it as a "
            "file first"
        )
    is_array = path.suffix.lower() in (".npz", ".npy")
    return ArrayFile(path) if is_array else VideoFile(path)


class VideoFile:
    """The first video stream of a file."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name
        with opened(path, "a video") as container:
            stream = container.streams.video[0]
            self.rate = Fraction(stream.average_rate or RATE)
            self.length = stream.frames or None
            self.seconds = (container.duration or 0) / 1e6

    def __iter__(self) -> Iterator[Any]:
        read, start, end, is_cut = 0, None, 0.0, False
        with opened(self.path, "a video") as container:
            stream = container.streams.video[0]
            stream.thread_type = "AUTO"
            try:
                for packet in container.demux(stream):
                    is_cut = packet.is_corrupt if packet.size else is_cut
                    for frame in packet.decode():
                        if frame.time is not None:
                            start = frame.time if start is None else start
                            end = frame.time - start
                            if read > 1 and end > 0:  # headers may be wrong
                                self.rate = Fraction(read / end)
                        read += 1
                        yield frame
            except (pyav().error.FFmpegError, OSError) as error:
                if read == 0:
                    raise refused(self.path, "a video", error) from error
                raise ValueError(
                    f"{self.name} is broken after frame {read - 1} "
                    f"({error.strerror}); frames=0:{read} uses the readable part"
                ) from error
        # Headers count frames that are never shown, or have only a duration.
        measures = [(read + 2, self.length), (end + 3 / self.rate, self.seconds)]
        reached = [done >= 0.95 * whole for done, whole in measures if whole]
        if is_cut or (reached and not any(reached)):
            raise ValueError(
                f"{self.name} is cut off after {read} frames ({end:.1f} seconds); "
                f"frames=0:{read} uses this part"
            )


class ImageFolder:
    """A folder of images."""

    rate = RATE

    def __init__(self, path: Path) -> None:
        self.name = path.resolve().name
        found = [file for file in path.iterdir() if file.suffix.lower() in IMAGES]
        shown = [file for file in found if not file.name.startswith(".")]
        self.files = sorted(shown, key=_natural)
        self.length = len(self.files)
        if not self.files:
            raise ValueError(
                f"{path} has no images; supported suffixes: {' '.join(IMAGES)}"
            )

    def __iter__(self) -> Iterator[Any]:
        for file in self.files:
            with opened(file, "an image") as container:
                try:
                    yield next(container.decode(video=0))
                except (pyav().error.FFmpegError, StopIteration) as error:
                    raise refused(file, "an image", error) from error


def _natural(path: Path) -> tuple[list, str]:
    """Sort key by which frame9 comes before frame10."""
    parts = re.split(r"(\d+)", path.name.lower())
    return [(int(p), "") if p.isdecimal() else (-1, p) for p in parts], path.name


class ArrayFile:
    """An array ``frames`` (or the only array) of a ``.npz``, read frame by frame."""

    rate = RATE

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.name
        with self._opened() as (_, header):
            check_array(header.shape, header.dtype, self.name)
            check_pixels(math.prod(header.shape[1:3]), self.name)
            self.length = header.shape[0]

    def __iter__(self) -> Iterator[Any]:
        with self._opened() as (file, header):
            shape, dtype = header.shape[1:], header.dtype
            for i in range(header.shape[0]):
                data = file.read(math.prod(shape) * dtype.itemsize)
                values = np.frombuffer(data, dtype).reshape(shape)
                check_values(values, f"{self.name}: frame {i}")
                yield as_picture(in_unit_of(scaled(values), np.uint8))

    @contextmanager
    def _opened(self) -> Iterator[tuple[IO[bytes], Header]]:
        with readable(Path(self.name), "NumPy"), self.path.open("rb") as file:
            values: IO[bytes] = file
            size = self.path.stat().st_size
            if self.path.suffix.lower() == ".npz":
                archive = zipfile.ZipFile(file)
                info = self._frames_of(archive)
                values, size = archive.open(info), info.file_size
            header = read_header(values, size)
            if header.fortran:
                raise ValueError(
                    f"{self.name} stores its frames in Fortran order, which "
                    "cannot be read one by one; save np.ascontiguousarray(frames)"
                )
            yield values, header

    def _frames_of(self, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
        found = {info.filename.removesuffix(".npy"): info for info in archive.filelist}
        if "frames" not in found and len(found) != 1:
            raise ValueError(
                f"{self.name} has no array called frames, but "
                f"{', '.join(found) or 'nothing'}"
            )
        return found.get("frames") or next(iter(found.values()))
