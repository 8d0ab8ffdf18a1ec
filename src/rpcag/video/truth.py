"""True masks, to score the masks that were found."""

from pathlib import Path

import numpy as np

from rpcag.files.numpy_arrays import read_npz
from rpcag.metrics import ForegroundScores, foreground_scores

SKEW = 0.05  # between ratios of height and width; 4:3 and 16:9 are 0.25 apart


class Truth:
    """True masks of some frames, and the pixels where they are known.

    Parameters
    ----------
    path : str or Path
        A ``.npz`` with ``masks`` and ``mask_index``, the number of each mask's frame.
        An array ``valid`` is optional; it is False where the truth is unknown.
    """

    def __init__(self, path) -> None:
        path = Path(path).expanduser()
        if not path.exists():
            raise FileNotFoundError(f"{path} does not exist")
        if path.suffix.lower() != ".npz":
            raise ValueError(
                f"truth must be a .npz with masks and mask_index, got {path.name}"
            )
        self.name = path.name
        arrays = read_npz(path, ("masks", "mask_index", "valid"))
        missing = {"masks", "mask_index"} - set(arrays)
        if missing:
            raise ValueError(
                f"{self.name} has no array {' nor '.join(sorted(missing))}"
            )
        self._masks, self._index = arrays["masks"], arrays["mask_index"]
        self._valid = arrays.get("valid", np.ones(self._masks.shape, bool))
        self._check_arrays()
        self._found: dict[int, np.ndarray] = {}

    def _check_arrays(self) -> None:
        masks, index, valid = self._masks, self._index, self._valid
        if masks.ndim != 3 or masks.dtype.kind not in "biuf":
            raise ValueError(
                f"masks of {self.name} must have the shape (masks, height, width), got "
                f"{masks.dtype} of shape {masks.shape}"
            )
        top = masks.max(initial=0)
        if not ((masks == 0) | (masks == top)).all():
            raise ValueError(
                f"masks of {self.name} must be true and false, or 0 and one other "
                f"value; got more values, from {masks.min():g} to {top:g}"
            )
        if index.shape != masks.shape[:1] or index.dtype.kind not in "iu":
            raise ValueError(
                f"mask_index of {self.name} must be the frame numbers of the "
                f"{len(masks)} masks, got {index.dtype} of shape {index.shape}"
            )
        if valid.shape != masks.shape:
            raise ValueError(
                f"valid of {self.name} must have the shape {masks.shape} of masks, got "
                f"{valid.shape}"
            )

    def check(self, numbers: range, height: int, width: int) -> None:
        """Raise an error if the masks cannot belong to these frames."""
        if not any(n in numbers for n in self._index.tolist()):
            raise ValueError(f"{self.name} has no mask for any selected frame")
        tall, wide = self._masks.shape[1:]
        # Masks may have any size, but they show the same picture.
        if abs(tall * width / (wide * height) - 1) > SKEW:
            raise ValueError(
                f"{self.name} has masks of {wide}x{tall}, but the frames are "
                f"{width}x{height}: they belong to another video or another part of it"
            )

    def add(self, number: int, mask: np.ndarray) -> None:
        """Keep the mask that was found for the frame with this number."""
        if number in self._index:
            self._found[number] = mask

    def scores(self) -> tuple[int, ForegroundScores]:
        """Return the number of masks and the scores over all of their pixels."""
        rows = [i for i, n in enumerate(self._index.tolist()) if n in self._found]
        found = np.stack([self._found[self._index[i]] for i in rows])
        pixels = np.ix_(
            rows,
            *(  # the nearest ones, if the masks have another size
                ((np.arange(new) + 0.5) * old / new).astype(int)
                for new, old in zip(found.shape[1:], self._masks.shape[1:], strict=True)
            ),
        )
        truth, valid = (A[pixels].astype(bool) for A in (self._masks, self._valid))
        return len(rows), foreground_scores(found, truth, valid)
