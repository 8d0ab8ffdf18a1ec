"""An even choice of frames from a stream of unknown length, in one pass."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class SpreadFrames:
    """Evenly spaced frames of a stream."""

    frames: np.ndarray
    step: int
    length: int  # of the stream

    @property
    def places(self) -> dict[int, int]:
        """Map numbers in the stream to positions among the chosen frames."""
        return {i * self.step: i for i in range(len(self.frames))}

    def thinned(self, most: int) -> "SpreadFrames":
        """Drop every other frame until at most this many remain."""
        if len(self.frames) <= most:
            return self
        half = SpreadFrames(self.frames[::2].copy(), 2 * self.step, self.length)
        return half.thinned(most)


def spread(
    stream: Iterable[np.ndarray],
    most: int,
    watch: Callable[[int], Any] | None = None,
) -> SpreadFrames:
    """Choose evenly spaced frames: at most `most`, and at least half of that.

    Whenever there are too many, every other one is dropped.
    """
    if most < 2:
        raise ValueError(f"max_frames must be at least 2, got {most}")
    kept: list[np.ndarray] = []
    step, length = 1, 0
    for frame in stream:
        if kept and frame.shape != kept[0].shape:
            mixed = frame.ndim != kept[0].ndim
            raise ValueError(
                f"frame {length} has shape {frame.shape}, the first {kept[0].shape}: "
                f"all must have one{'; gray=True leaves colors out' if mixed else ''}"
            )
        if length % step == 0:
            kept.append(frame.copy())
            if len(kept) > most:
                del kept[1::2]
                step *= 2
        length += 1
        if watch is not None:
            watch(length)
    if not kept:
        return SpreadFrames(np.empty((0, 0, 0)), 1, 0)
    return SpreadFrames(np.stack(kept), step, length)
