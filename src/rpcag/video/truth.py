"""Masks made by hand, to score those that were found."""

from pathlib import Path
from typing import Any

import numpy as np

from rpcag.metrics import ForegroundScores
from rpcag.video.sources import open_source

# Grey values of change detection benchmarks (CDnet); shadow counts as background.
KNOWN = {0: False, 50: False, 255: True}
UNKNOWN = (85, 170)


class Truth:
    """True masks of some frames, and where they are known.

    Parameters
    ----------
    path : str or Path
        A ``.npz`` with ``masks`` and ``mask_index`` (the number of each mask's frame)
        and optionally ``valid``; or a folder of images or a video with one mask per
        frame: bright is foreground, and where a frame has no other grey values than
        CDnet's 0, 50, 85, 170, 255 these are read as there: 85 and 170 are unknown.
    """

    def __init__(self, path) -> None:
        self.path = Path(path).expanduser()
        self._masks: dict[int, Any] | None = None
        if self.path.suffix.lower() == ".npz":
            self._read_archive()
        else:
            self._source = iter(open_source(self.path, grey=True))
            self._next = 0
        self._right = self._found = self._there = 0
        self.n_masks = 0

    def _read_archive(self) -> None:
        if not self.path.exists():
            raise FileNotFoundError(f"{self.path} is not there")
        try:
            with np.load(self.path) as file:
                missing = {"masks", "mask_index"} - set(file.files)
                if missing:
                    raise ValueError(
                        f"{self.path.name} has no array {' nor '.join(sorted(missing))}"
                    )
                masks, index = file["masks"], file["mask_index"]
                valid = file["valid"] if "valid" in file.files else None
        except (OSError, EOFError) as error:
            raise ValueError(f"{self.path.name} is not a NumPy archive") from error
        self._masks = {
            int(n): (masks[i].astype(bool), None if valid is None else valid[i])
            for i, n in enumerate(index)
        }

    def add(self, number: int, mask: np.ndarray) -> None:
        """Compare what was found in the frame of that number of the video."""
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
        """Over the pixels of all frames that were compared, pooled."""
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
    values = np.unique(image)
    if np.isin(values, [*KNOWN, *UNKNOWN]).all():
        return image == 255, ~np.isin(image, UNKNOWN)
    return image >= 128, None


def _in_size(mask, shape: tuple[int, int]):
    """The nearest pixel of every pixel."""
    if mask is None or mask.shape == shape:
        return mask
    rows, columns = (
        ((np.arange(new) + 0.5) * old / new).astype(int)
        for new, old in zip(shape, mask.shape, strict=True)
    )
    return mask[np.ix_(rows, columns)]
