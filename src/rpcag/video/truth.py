"""Masks made by hand, to score those that were found."""

from itertools import islice
from pathlib import Path

import numpy as np

from rpcag.files.numpy_arrays import read_npz
from rpcag.metrics import ForegroundScores
from rpcag.video.sources import Source, open_source

# Gray values of change detection benchmarks (CDnet); shadow counts as background.
KNOWN = {0: False, 50: False, 255: True}
UNKNOWN = (85, 170)
SKEW = 0.05  # between ratios of height and width; 4:3 and 16:9 are 0.25 apart
# Encoders make grays at the edges of masks: even in poor quality fewer than a tenth of
# all pixels, and than twice the white ones. Black and white are what is so near to it.
NEAR, GRAYS, PER_WHITE = 1 / 8, 0.1, 2


class Truth:
    """True masks of some frames, and the pixels where they are known.

    Parameters
    ----------
    path : str or Path
        A ``.npz`` with ``masks`` and ``mask_index`` (the number of each mask's frame)
        and optionally ``valid``; or a folder of images or a video with one mask per
        frame: bright is foreground, and where a frame has no other gray values than
        CDnet's 0, 50, 85, 170, 255 these are read as there: 85 and 170 are unknown.
        Where it has none but 0 and 1, 1 is foreground. Other grays may only be a few,
        as encoders make at the edges of masks.
    """

    def __init__(self, path, memory: float | None = None) -> None:
        self.path = Path(path).expanduser()
        self._memory = memory
        self._masks: dict[int, tuple[np.ndarray, np.ndarray | None]] | None = None
        if self.path.suffix.lower() == ".npz":
            self._read_archive()
        else:
            source = self._open()
            self._length = source.length
            self._source = iter(source)
            self._next = 0
        self._right = self._found = self._there = 0
        self.n_masks = 0

    def _open(self) -> Source:
        return open_source(self.path, gray=True, memory=self._memory)

    def _read_archive(self) -> None:
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path} is not there")
        name = self.path.name
        arrays = read_npz(self.path, ("masks", "mask_index", "valid"))
        missing = {"masks", "mask_index"} - set(arrays)
        if missing:
            raise ValueError(f"{name} has no array {' nor '.join(sorted(missing))}")
        masks, index = arrays["masks"], arrays["mask_index"]
        valid = arrays.get("valid")
        if masks.ndim != 3 or masks.dtype.kind not in "biuf":
            raise ValueError(
                f"masks of {name} must have the shape (masks, height, width), got "
                f"{masks.dtype} of shape {masks.shape}"
            )
        top = masks.max(initial=0)
        if not all(((mask == 0) | (mask == top)).all() for mask in masks):
            raise ValueError(
                f"masks of {name} must be true and false, or 0 and one other value; "
                f"got more values, from {masks.min():g} to {top:g}"
            )
        if index.shape != masks.shape[:1] or index.dtype.kind not in "iu":
            raise ValueError(
                f"mask_index of {name} must be the frame numbers of the {len(masks)} "
                f"masks, got {index.dtype} of shape {index.shape}"
            )
        if valid is not None and valid.shape != masks.shape:
            raise ValueError(
                f"valid of {name} must have the shape {masks.shape} of masks, got "
                f"{valid.shape}"
            )
        self._masks = {
            int(n): (
                masks[i].astype(bool),
                None if valid is None else valid[i].astype(bool),
            )
            for i, n in enumerate(index)
        }

    def check(self, numbers: range, height: int, width: int) -> None:
        """Raise an error if the masks cannot belong to these frames."""
        if self._masks is not None:
            if not any(n in self._masks for n in numbers):
                raise ValueError(
                    f"{self.path.name} has no mask for any frame that was chosen"
                )
        # Headers of videos are a few frames off.
        elif self._length is not None and self._length < 0.95 * numbers[-1] - 2:
            raise ValueError(
                f"{self.path.name} must have a mask for every frame up to "
                f"{numbers[-1]}, got {self._length}; an archive with mask_index can "
                "have them for some"
            )
        size = self._size()  # before all masks are gone through
        # Masks may be of any size, but of the same picture.
        if size is not None and abs(size[0] * width / (size[1] * height) - 1) > SKEW:
            raise ValueError(
                f"{self.path.name} has masks of {size[1]}x{size[0]}, but the frames "
                f"are {width}x{height}: of another video, or another part of it"
            )
        if self._masks is None:
            self._check_grays(numbers)

    def _check_grays(self, numbers: range) -> None:
        """Raise an error if the images have gray levels that masks do not have."""
        images = islice(self._open(), numbers.start, numbers.stop, numbers.step)
        gray = white = total = 0
        for image in images:
            total += image.size
            if _cdnet(image):
                continue
            light = _brightness(image)
            gray += int(((light > NEAR) & (light < 1 - NEAR)).sum())
            white += int((light >= 1 - NEAR).sum())
        if gray > min(GRAYS * total, PER_WHITE * white):
            raise ValueError(
                f"{self.path.name} must hold masks, white on black (or CDnet's grays "
                f"0, 50, 85, 170, 255), but {100 * gray / total:.3g} % of its pixels "
                f"are other grays and {100 * white / total:.3g} % are white"
            )

    def _size(self) -> tuple[int, ...] | None:
        if self._masks is not None:
            return next((m.shape for m, _ in self._masks.values()), None)
        first = next(iter(self._open()), None)
        return None if first is None else first.shape

    def add(self, number: int, mask: np.ndarray) -> None:
        """Compare the mask that was found for the frame with this number."""
        found = self._mask(number)
        if found is None:
            return
        truth, valid = (_in_size(part, mask.shape) for part in found)
        inside = np.ones(mask.shape, bool) if valid is None else valid
        self._right += int((mask & truth & inside).sum())
        self._found += int((mask & inside).sum())
        self._there += int((truth & inside).sum())
        self.n_masks += 1

    def scores(self) -> ForegroundScores:
        """Scores over the pixels of all frames that were compared."""
        if self.n_masks == 0:
            raise ValueError(
                f"{self.path.name} has no mask for any frame that was separated"
            )
        if self._found == self._there == 0:
            return ForegroundScores(1.0, 1.0, 1.0)
        return ForegroundScores(
            self._right / self._found if self._found else 0.0,
            self._right / self._there if self._there else 0.0,
            2 * self._right / (self._found + self._there),
        )

    def _mask(self, number: int):
        if self._masks is not None:
            return self._masks.get(number)
        image = None
        while self._next <= number:  # frames come in order
            image = next(self._source, None)
            self._next += 1
        return None if image is None else _meaning(image)


def _meaning(image: np.ndarray):
    if _cdnet(image):
        return image == 255, ~np.isin(image, UNKNOWN)
    return _brightness(image) >= 0.5, None


def _brightness(image: np.ndarray) -> np.ndarray:
    """Scale to white = 1; in integers, white is 1, 255 or 65535."""
    if image.dtype.kind != "u":
        return image
    top = image.max()
    return image / next(white for white in (1, 255, 65535) if top <= white)


def _cdnet(image: np.ndarray) -> bool:
    return bool(np.isin(np.unique(image), [*KNOWN, *UNKNOWN]).all())


def _in_size(mask, shape: tuple[int, int]):
    """Resize by taking the nearest pixel."""
    if mask is None or mask.shape == shape:
        return mask
    rows, columns = (
        ((np.arange(new) + 0.5) * old / new).astype(int)
        for new, old in zip(shape, mask.shape, strict=True)
    )
    return mask[np.ix_(rows, columns)]
