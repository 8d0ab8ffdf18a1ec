"""Choose evenly spaced frames from a stream of unknown length, in one pass."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class SpreadFrames:
    """Every `step`-th frame of a stream."""

    frames: np.ndarray
    step: int
    length: int  # of the stream

    def thinned(self, most: int) -> "SpreadFrames":
        """Drop every other frame until at most this many remain."""
        step = halving_step(len(self.frames), most)
        return SpreadFrames(self.frames[::step].copy(), self.step * step, self.length)


def halving_step(n: int, most: int) -> int:
    """Return the least power of two such that every step-th of n are at most `most`."""
    step = 1
    while len(range(0, n, step)) > most:
        step *= 2
    return step


def spread(
    stream: Iterable[np.ndarray], most: int, watch: Callable[[int], Any]
) -> SpreadFrames:
    """Choose evenly spaced frames: at most `most`, and at least half of that.

    Whenever there are too many, every other one is dropped. `watch` is called with the
    number of frames that were read.
    """
    kept: list[np.ndarray] = []
    step, length = 1, 0
    for frame in stream:
        if kept and frame.shape != kept[0].shape:
            mixed = frame.ndim != kept[0].ndim
            raise ValueError(
                f"frame {length} has shape {frame.shape}, the first {kept[0].shape}: "
                f"all must be equal{'; gray=True converts to gray' if mixed else ''}"
            )
        if length % step == 0:
            kept.append(frame.copy())
            if len(kept) > most:
                del kept[1::2]
                step *= 2
        length += 1
        watch(length)
    return SpreadFrames(np.stack(kept), step, length)
