"""Videos as streams of frames: files FFmpeg reads, folders of images, arrays, .npz."""

import math
import re
import sys
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from rpcag.files.memory import available
from rpcag.files.numpy_arrays import Header, open_member, read_header
from rpcag.files.readable import readable
from rpcag.video.pixels import area_average, as_gray
from rpcag.video.plugin import opened, pyav

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".webp")
MOST = sys.maxsize
RATE = Fraction(25)  # of sources without a frame rate
Size = tuple[int, int]  # height, width
# Memory per pixel of a stored frame: decoders keep several frames, and one of them is
# copied to RGB. With a smaller value, larger frames are accepted, and the memory budget
# may be exceeded.
FRAME_BYTES = 24
BEYOND = 0.25  # of 0 and 1: filters overshoot at edges


class Source(Protocol):
    """Frames of a video that can be iterated repeatedly.

    A frame is an array of shape (height, width) or (height, width, 3), in the size that
    was requested. `length` is the number of frames, if it is known.
    """

    name: str
    length: int | None

    @property
    def rate(self) -> Fraction: ...  # frames per second

    def __iter__(self) -> Iterator[np.ndarray]: ...


def open_source(
    path,
    *,
    size: Size | None = None,
    gray: bool = False,
    memory: float | None = None,
) -> Source:
    """Open a video file, a folder of images, or an archive.

    Parameters
    ----------
    path : str or Path
        A file that FFmpeg reads, a folder of images (sorted by name, and by numbers in
        the names), or a ``.npz`` file with an array ``frames``.
    size : (height, width), optional
        Size of the frames, reached by averaging over areas.
    gray : bool, default=False
    memory : float, optional
        Maximum number of bytes of a frame. Default: the free memory. Larger frames are
        refused before they are decoded.
    """
    path = Path(path).expanduser()
    wanted = PixelFormat(size, gray, memory)
    if path.is_dir():
        return FolderSource(path, wanted)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if not path.is_file():
        raise ValueError(
            f"{path} is a pipe or a device, but the video is read twice; save it as a "
            "file first"
        )
    if path.suffix.lower() in (".npz", ".npy"):
        return ArchiveSource(path, wanted)
    return FileSource(path, wanted)


class FileSource:
    """The first video stream of a file."""

    def __init__(self, path: Path, wanted: "PixelFormat") -> None:
        self.path, self.name = path, path.name
        self._format = wanted
        with self._opened() as (_, stream):
            self._told = stream.average_rate or stream.guessed_rate
            self.length = stream.frames or None
            self._seconds = _seconds(stream)
        self._measured: float | None = None

    @property
    def rate(self) -> Fraction:
        """Frame rate of the header, unless the frames that were read show another."""
        told, measured = self._told, self._measured
        if measured is None or (told and abs(measured / told - 1) < 0.1):
            return Fraction(told or RATE)
        return Fraction(measured).limit_denominator(1001)

    def __iter__(self) -> Iterator[np.ndarray]:
        av = pyav()
        read, first, start, end = 0, None, None, 0.0
        with self._opened() as (container, stream):
            stream.thread_type = "AUTO"
            try:
                for frame in container.decode(stream):
                    first = first or (frame.height, frame.width)
                    self._format.check(frame, first, f"frame {read} of {self.name}")
                    if frame.time is not None:
                        start = frame.time if start is None else start
                        if read > 1 and frame.time > start:
                            self._measured = read / (frame.time - start)
                        shown = getattr(frame, "duration", None) or 0
                        end = frame.time - start + float(shown * frame.time_base)
                    yield self._format.pixels(frame)
                    read += 1
            except (av.error.FFmpegError, OSError) as error:
                raise ValueError(
                    f"{self.name} is broken after frame {read - 1} ({_said(error)}); "
                    f"frames=0:{read} uses the readable part"
                    if read
                    else f"{self.name} has no frame that can be read "
                    f"({_said(error)}){_or_large(self._format)}"
                ) from error
        self._check_end(read, end)

    def _check_end(self, read: int, end: float) -> None:
        """Raise an error if frames and seconds of the header both exceed those read.

        Headers count frames that are never shown; some have only a duration, or
        nothing. Those of fragmented files describe only the fragments in the file.
        """
        if ends_in_fragment(self.path):
            raise ValueError(
                f"{self.name} ends within a fragment, after {read} frames: the file is "
                f"cut off. frames=0:{read} uses this part"
            )
        missing = {}
        if self.length is not None:
            few = read < 0.95 * self.length - 2
            missing[f"{read} of {self.length} frames"] = few
        if self._seconds is not None and end > 0:
            early = end < 0.95 * self._seconds - 2 / self.rate
            missing[f"{end:.1f} of {self._seconds:.1f} seconds"] = early
        if missing and all(missing.values()):
            raise ValueError(
                f"{self.name} ends after {next(iter(missing))}: the file is cut off. "
                f"frames=0:{read} uses this part"
            )

    @contextmanager
    def _opened(self):
        with ExitStack() as stack:
            try:
                container = stack.enter_context(opened(self.path, self._format.most))
            except (pyav().error.FFmpegError, OSError, ValueError) as error:
                if isinstance(error, (PermissionError, FileNotFoundError)):
                    raise
                raise ValueError(
                    f"{self.name} is not a video FFmpeg can read, or is cut off "
                    f"({_said(error)})"
                ) from error
            if not container.streams.video:
                raise ValueError(
                    f"{self.name} contains no video: it has other content, or is "
                    "cut off"
                )
            yield container, container.streams.video[0]


class FolderSource:
    """A folder of images of one size."""

    rate = RATE

    def __init__(self, path: Path, wanted: "PixelFormat") -> None:
        self.path, self.name = path, path.resolve().name
        self._format = wanted
        self.files = sorted(
            (
                file
                for file in path.iterdir()
                if file.suffix.lower() in IMAGES and not file.name.startswith(".")
            ),
            key=_natural,
        )
        self.length: int | None = len(self.files)
        if not self.files:
            raise ValueError(
                f"{path} has no images; supported suffixes: {' '.join(IMAGES)}"
            )

    def __iter__(self) -> Iterator[np.ndarray]:
        first = None
        for file in self.files:
            frame = read_image(file, self._format)
            first = first or (frame.height, frame.width)
            self._format.check(frame, first, file.name)
            yield self._format.pixels(frame)


class ArchiveSource:
    """An array ``frames`` (or the only array) of a ``.npz``, read frame by frame."""

    rate = RATE

    def __init__(self, path: Path, wanted: "PixelFormat") -> None:
        self.path, self.name = path, path.name
        self._format = wanted
        with self._opened() as (_, shape, dtype):
            check_array(shape, dtype, self.name)
            self._format.check_pixels(math.prod(shape[1:3]), self.name)
            self.length: int | None = shape[0]

    def __iter__(self) -> Iterator[np.ndarray]:
        with self._opened() as (file, shape, dtype):
            size = math.prod(shape[1:]) * dtype.itemsize
            for i in range(shape[0]):
                with self._readable():
                    data = file.read(size)
                if len(data) < size:
                    raise ValueError(f"{self.name} is cut off after frame {i - 1}")
                frame = np.frombuffer(data, dtype).reshape(shape[1:])
                check_values(frame, f"frame {i} of {self.name}")
                yield self._format.convert(frame)

    @property
    def _is_packed(self) -> bool:
        return self.path.suffix.lower() == ".npz"

    def _readable(self):
        return readable(Path(self.name), "NumPy")

    @contextmanager
    def _opened(self):
        with ExitStack() as stack:
            with self._readable():
                file, header = self._enter(stack)
            if header.dtype.hasobject:
                raise ValueError(f"{self.name} must hold numbers, not Python objects")
            if header.fortran:
                raise ValueError(
                    f"{self.name} stores its frames in Fortran order, which "
                    "cannot be read one by one; save np.ascontiguousarray(frames)"
                )
            yield file, header.shape, header.dtype

    def _enter(self, stack: ExitStack) -> tuple[IO[bytes], Header]:
        if not self._is_packed:
            file = stack.enter_context(self.path.open("rb"))
            return file, read_header(file, self.path.stat().st_size)
        archive = stack.enter_context(zipfile.ZipFile(self.path))
        found = {info.filename: info for info in archive.infolist()}
        if not found:
            raise ValueError("it has no arrays")
        if len(found) > 1 and "frames.npy" not in found:
            raise ValueError(
                f"{self.name} has no array called frames, but "
                f"{', '.join(name.removesuffix('.npy') for name in found)}"
            )
        info = found.get("frames.npy") or next(iter(found.values()))
        return stack.enter_context(open_member(archive, info))


@dataclass
class Selection:
    """Every n-th of the frames A to B - 1 of a source."""

    source: Source
    start: int = 0
    stop: int | None = None
    every: int = 1
    gray: bool = False
    length: int | None = field(init=False)

    def __post_init__(self):
        if self.every < 1:
            raise ValueError(f"every must be at least 1, got {self.every}")
        if self.start < 0 or (self.stop is not None and self.stop <= self.start):
            raise ValueError(
                "frames must be A:B with 0 <= A < B, got "
                f"{self.start}:{'' if self.stop is None else self.stop}"
            )
        # islice takes no larger numbers, and no video has so many frames.
        self.start, self.every = min(self.start, MOST), min(self.every, MOST)
        self.stop = None if self.stop is None else min(self.stop, MOST)
        self.length = None
        if self.source.length is not None:
            every = range(self.source.length)[self.start : self.stop : self.every]
            self.length = len(every)

    @property
    def name(self) -> str:
        return self.source.name

    @property
    def rate(self) -> Fraction:
        return self.source.rate / self.every

    def __iter__(self) -> Iterator[np.ndarray]:
        frames = islice(self.source, self.start, self.stop, self.every)
        return map(as_gray, frames) if self.gray else frames


class PixelFormat:
    """Converts frames to a size, and to gray."""

    def __init__(
        self, size: Size | None, gray: bool, memory: float | None = None
    ) -> None:
        if size is not None:
            check_size(size)
        self.size, self.gray = size, gray
        room = available() if memory is None else memory
        # Pixels that a frame may have as it is stored.
        self.most = None if room is None else max(int(room / FRAME_BYTES), 1)
        self._reformatter: Any = None

    def check_pixels(self, pixels: int, name: str) -> None:
        if self.most is not None and pixels > self.most:
            raise ValueError(
                f"{name} has frames of {pixels} pixels, but memory is enough only for "
                f"{self.most}; allow more memory, or make the video smaller"
            )

    def check(self, frame, first: Size, name: str) -> None:
        if self.size is None and (frame.height, frame.width) != first:
            raise ValueError(
                f"{name} is {frame.width}x{frame.height} but the first is "
                f"{first[1]}x{first[0]}: size=WIDTHxHEIGHT resizes all frames"
            )

    def pixels(self, frame) -> np.ndarray:
        """Pixels of a PyAV frame, rotated as its metadata says."""
        turns = round(getattr(frame, "rotation", 0) / 90) % 4  # counterclockwise
        height, width = self.size or (frame.height, frame.width)
        if self.size is not None and turns % 2:
            height, width = width, height
        kind = "gray" if frame.format.name.startswith(("gray", "mono")) else "rgb24"
        if self._reformatter is None:  # one for all: making it takes longer than a use
            self._reformatter = pyav().video.reformatter.VideoReformatter()
        wanted = self._reformatter.reformat(
            frame, width, height, format=kind, interpolation="AREA"
        )
        pixels = np.ascontiguousarray(np.rot90(wanted.to_ndarray(), turns))
        return as_gray(pixels) if self.gray else pixels

    def convert(self, frame: np.ndarray) -> np.ndarray:
        """Convert an array; floats become single precision."""
        if frame.dtype.kind == "f":
            frame = frame.astype(np.float32, copy=False)
        if self.gray:
            frame = as_gray(frame)
        if self.size is None or frame.shape[:2] == self.size:
            return frame
        resized = area_average(area_average(frame, self.size[0], 0), self.size[1], 1)
        if frame.dtype.kind in "ui":
            return np.rint(resized).astype(frame.dtype)
        return resized.astype(np.float32)


def check_size(size: Size) -> None:
    if min(size) < 2 or any(side != int(side) for side in size):
        raise ValueError(
            f"size must be at least 2 x 2 pixels, got {size[1]}x{size[0]} (width x "
            "height)"
        )


def check_array(shape, dtype: np.dtype, name: str) -> None:
    """Check that an array with this shape and type can hold frames."""
    color = len(shape) == 4 and shape[3] == 3
    pixels = (len(shape) == 3 or color) and 0 not in shape[1:]
    if not pixels or dtype.kind not in "uifb":
        raise ValueError(
            f"{name} must hold numbers of shape (frames, height, width) or "
            f"(frames, height, width, 3), got {dtype} of shape {tuple(shape)}"
        )
    if dtype.kind == "i" or (dtype.kind == "u" and dtype.itemsize > 2):
        raise ValueError(
            f"{name} must hold uint8 (white is 255), uint16 (65535) or numbers "
            f"with a point between 0 and 1, got {dtype}, which does not define what "
            "is white; with values up to 255 take .astype(np.uint8)"
        )


def check_values(frame: np.ndarray, name: str) -> None:
    """Check the range: integers by their type, floats between 0 and 1."""
    if frame.dtype.kind != "f":
        return
    low, high = float(frame.min()), float(frame.max())
    if not math.isfinite(low + high):
        raise ValueError(f"{name} has values that are not finite numbers")
    if low < -BEYOND or high > 1 + BEYOND:
        raise ValueError(
            f"{name} must have values between 0 and 1, got {low:g} to {high:g}; divide "
            "by the value of white"
        )


def read_image(path: Path, wanted: PixelFormat):
    """Read an image file as a PyAV frame."""
    av = pyav()
    try:
        with opened(path, wanted.most) as container:
            frame = next(container.decode(video=0), None)
            if frame is None:
                raise ValueError("it has no frame")
            return frame
    except (av.error.FFmpegError, OSError, ValueError, LookupError) as error:
        if isinstance(error, (PermissionError, FileNotFoundError)):
            raise
        said = f" ({_said(error)})" if str(error) else ""
        raise ValueError(
            f"{path} cannot be read as an image{said}{_or_large(wanted)}"
        ) from error


def _or_large(wanted: PixelFormat) -> str:
    """A remedy, because FFmpeg does not distinguish damaged frames from large ones."""
    if wanted.most is None:
        return ""
    return (
        f": it is damaged, or has more than {wanted.most} pixels; in the latter case, "
        "allow more memory"
    )


def _natural(path: Path) -> tuple[list, str]:
    """Sort key by which frame9 comes before frame10."""
    parts = re.split(r"(\d+)", path.name.lower())
    return [(int(p), "") if p.isdecimal() else (-1, p) for p in parts], path.name


def _seconds(stream) -> float | None:
    """Length of the header in seconds; Matroska and WebM store it as a tag."""
    if stream.duration:
        return float(stream.duration * stream.time_base)
    found = re.match(r"(\d+):(\d+):([\d.]+)$", stream.metadata.get("DURATION", ""))
    if found is None:
        return None
    hours, minutes, seconds = map(float, found.groups())
    return 3600 * hours + 60 * minutes + seconds


def ends_in_fragment(path: Path) -> bool:
    """Whether a fragmented MP4 stops before the end of its last box.

    A file is a sequence of boxes, each of which starts with its length and kind.
    Fragments are pairs of "moof" and "mdat". A file that is cut between two boxes
    cannot be distinguished from a complete one.
    """
    at, fragments = 0, False
    with path.open("rb") as file:
        end = file.seek(0, 2)
        while at < end:
            file.seek(at)
            head = file.read(16)
            size, kind = int.from_bytes(head[:4], "big"), head[4:8]
            if size == 1:  # too long for four bytes
                size = int.from_bytes(head[8:16], "big")
            if size < 8:  # up to the end, or no boxes at all
                return False
            fragments |= kind == b"moof"
            at += size
    # Of other kinds, it may be something else that was put behind the video.
    return at > end and fragments and kind in (b"moof", b"mdat")


def _said(error: BaseException) -> str:
    """Message of FFmpeg, without numbers and names."""
    return str(getattr(error, "strerror", None) or error)
