"""Separate a video of any length into files, with limited memory."""

import bisect
import math
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.atomic import replace_files, write_json
from rpcag.files.place import check_folder
from rpcag.solvers import Progress
from rpcag.versions import core_versions
from rpcag.video.background import (
    BackgroundModel,
    batch_length,
    check_model,
    check_weights,
    fitted_values,
)
from rpcag.video.pixels import as_gray, in_unit_of, scaled
from rpcag.video.plugin import pyav
from rpcag.video.separation import backgrounds
from rpcag.video.sources import (
    FRAME_BYTES,
    Selection,
    Size,
    Source,
    check_size,
    open_source,
)
from rpcag.video.spread import SpreadFrames, spread
from rpcag.video.truth import Truth
from rpcag.video.writers import Writer, check_format, check_sides

PARTS = ("background", "foreground", "mask", "side_by_side")
FACTS = "facts.json"
OF_THE_MODEL = ("model", "gamma", "lam", "skip_motion", "tol", "max_iter")
# Pattern of the file names that the facts may list.
NAMES = rf"({'|'.join(PARTS)})(\.mp4|\.webm|/\d{{6,}}\.png)"
# Peak memory in bytes: for each value that is fitted, and for Python with all libraries
# and the video decoders. RANK is the largest rank for which memory is set aside.
FITTED = {"rpcag": 40, "rpca": 40, "frpcag": 64}
BASE, RANK = 300e6, 32
FEWEST, MOST = 20, 1000
# Maximum pixels of a frame if no size is given; more take longer and hardly help.
PIXELS = 320 * 240
# Maximum difference of red, green and blue in gray videos: two steps of encoded colors.
TINT = 6.5 / 255

Watch = Callable[[str, int, int | None], Any]  # stage, done, of how many


@dataclass(frozen=True)
class Options:
    """Options of `separate_file`."""

    model: str = "rpcag"
    gamma: float | str = "auto"
    lam: float | str = "auto"
    skip_motion: bool = True
    tol: float = 1e-3
    max_iter: int = 1000
    size: Size | str | None = None
    start: int = 0
    stop: int | None = None
    every: int = 1
    gray: bool = False
    memory: float = 1.5e9
    format: str = "mp4"
    truth: Path | None = None

    def __post_init__(self):
        check_model(self.model)
        check_weights(self.model, self.gamma, self.lam)
        check_format(self.format)
        if not 0 < self.tol < 1:
            raise ValueError(f"tol must lie between 0 and 1, got {self.tol}")
        if self.size in (None, "full"):
            return
        if not (isinstance(self.size, tuple) and len(self.size) == 2):
            raise ValueError(
                f"size must be a tuple (height, width) or 'full', got {self.size!r}"
            )
        check_size(self.size)


def separate_file(
    video, folder, options: Options | None = None, *, watch: Watch | None = None
) -> dict[str, Any]:
    """Write background, foreground, mask and side-by-side videos, and facts.json.

    The video is read twice, so memory does not grow with its length. The model is
    fitted to evenly spaced frames that fit into the memory limit. Then all frames are
    written; those that were not fitted are projected onto the model.

    Parameters
    ----------
    video : str or Path
        See `rpcag.video.open_source`.
    folder : str or Path
        Folder to write. After an error it has no new files.
    options : Options, optional
    watch : callable, optional
        Called with the stage ("reading", "fitting", "separating"), the amount that is
        done, and the total amount if it is known.

    Returns
    -------
    dict
        Content of ``facts.json``: parameters, certified gap, rank, scores, versions.
    """
    options = options or Options()
    watch = watch or (lambda stage, done, total: None)
    pyav()
    folder = Path(folder).expanduser()
    check_target(video, folder, options, force=True)
    with replace_files(
        folder, FACTS, lambda: check_target(video, folder, options, force=True)
    ) as new:
        seconds: dict[str, float] = {}
        start = time.perf_counter()

        def lap(stage: str) -> None:
            now = time.perf_counter() - start
            seconds[stage] = round(now - sum(seconds.values()), 3)

        truth = None if options.truth is None else Truth(options.truth)
        chosen, source = _read(video, options, watch)
        if truth is not None:
            end = source.start + chosen.length * source.every
            numbers = range(source.start, end, source.every)
            first = next(iter(_unchanged(video, options)))
            truth.check(numbers, *first.shape[:2])
        lap("read")
        model = _fit(chosen.frames, options, watch)
        lap("fit")
        place = new, folder
        moving = _write(source, chosen, model, place, options, truth, watch)
        lap("separate")
        facts = _facts(source, chosen, model, options, seconds, moving, truth)
        write_json(new / FACTS, facts)
    return facts


def check_target(video, folder, options: Options, *, force: bool) -> set[str]:
    """Raise an error if a file other than those of an earlier run would be lost.

    Without `force`, files of an earlier run are an error too. Returns their names. The
    video and the true masks are never among them.
    """
    folder = Path(folder).expanduser()
    names = list(_names(options.format).values())
    if options.format == "png":  # existing frames, and the first new one
        frames = [
            path.relative_to(folder).as_posix()
            for part in PARTS
            for path in (folder / part).glob("*.png")
            if re.fullmatch(NAMES, f"{part}/{path.name}")
        ]
        names = [*(f"{part}/{0:06d}.png" for part in PARTS), *frames]

    def names_in(facts: dict[str, Any]) -> list[str]:
        files = {name: str(file) for name, file in facts["files"].items()}
        if set(files) != set(PARTS) or "rpcag" not in facts["versions"]:
            raise ValueError("not the facts of a separation")
        if all(Path(file).suffix for file in files.values()):
            return list(files.values())
        return [
            f"{file}/{path.name}"
            for file in files.values()
            for path in (folder / file).glob("*.png")
            if path.stem.isdecimal() and int(path.stem) < facts["frames"]
        ]

    return check_folder(
        *(folder, FACTS, names, names_in, NAMES, "separation"),
        force=force,
        sources=[video, options.truth],
    )


def _names(format: str) -> dict[str, str]:
    """Return the names of the files or folders to write."""
    return {n: n if format == "png" else f"{n}.{format}" for n in PARTS}


def _selection(video, options: Options) -> Selection:
    size = options.size
    if isinstance(size, tuple):  # before a frame of this size is made
        frames_that_fit(options, math.prod(size))
    else:
        size = None if size == "full" else _reduced_size(video, options)
    source = open_source(
        video, size=size, gray=options.gray, memory=_frame_budget(options)
    )
    return Selection(source, options.start, options.stop, options.every)


def _frame_budget(options: Options) -> float:
    """Bytes that a frame may take before it is resized.

    Frames of 1920 x 1080 are always allowed. If the budget is too small for the fit, a
    later check reports it.
    """
    return max(options.memory - BASE, FRAME_BYTES * 1920 * 1088)


def _unchanged(video, options: Options) -> Source:
    """Return the video in its own size and colors."""
    return open_source(video, memory=_frame_budget(options))


def _reduced_size(video, options: Options) -> Size | None:
    """Return a size of at most PIXELS pixels, or None if the frames are smaller."""
    first = next(iter(_unchanged(video, options)), None)
    if first is None or math.prod(first.shape[:2]) <= PIXELS:
        return None
    scale = math.sqrt(PIXELS / math.prod(first.shape[:2]))
    # Even, because 4:2:0 needs that.
    height, width = (max(2, round(side * scale / 2) * 2) for side in first.shape[:2])
    return height, width


def _read(video, options: Options, watch: Watch) -> tuple[SpreadFrames, Selection]:
    """Return the frames to fit, and the source, in gray if it has no colors."""
    source = _selection(video, options)
    first = next(iter(source), None)
    if first is None:
        raise ValueError(_too_few(source, 0))
    check_sides(3 * first.shape[1], first.shape[0], options.format)
    most = frames_that_fit(options, first.size, first.itemsize)
    # Assume gray until it is known whether there are colors.
    pixels = math.prod(first.shape[:2])
    in_gray = frames_that_fit(options, pixels, first.nbytes // pixels)
    chosen = spread(
        source, max(most, in_gray), lambda n: watch("reading", n, source.length)
    )
    if chosen.length < 2:
        raise ValueError(_too_few(source, chosen.length))
    if chosen.frames.ndim == 4 and without_color(chosen.frames):
        # Most gray videos are stored as if they had colors: three times the work.
        gray = np.stack([as_gray(frame) for frame in chosen.frames])
        return replace(chosen, frames=gray), replace(source, gray=True)
    return chosen.thinned(most), source


def without_color(frames: np.ndarray) -> bool:
    """Whether red, green and blue are equal, up to changes by encoders."""
    return all(np.ptp(scaled(f[::4, ::4]), axis=2).max() <= TINT for f in frames)


def _too_few(source: Selection, n: int) -> str:
    what = f"{source.name} has {'no frames' if n == 0 else 'only one frame'}"
    chosen = source.start or source.stop is not None or source.every > 1
    return f"{what}{' in the selected range' if chosen else ''}; at least 2 are needed"


def frames_that_fit(options: Options, values: int, stored: int = 1) -> int:
    """Return the number of frames that can be fitted with this much memory.

    `values` are those of a frame, each with so many bytes stored.
    """

    def need(n: int) -> float:
        fitted = fitted_values(options.model, options.lam, n, values)
        # Frames in a list and stacked, and two masks of motion.
        of_frames = n * ((2 * stored + 2) * values + FITTED[options.model] * fitted)
        return BASE + of_frames + 4 * min(n, RANK) * values

    if options.memory < need(FEWEST):
        raise ValueError(
            f"memory must be at least {math.ceil(need(FEWEST) / 1e7) / 100} GB for "
            f"{FEWEST} frames of {values} values, got {options.memory / 1e9:.4g} GB; "
            "allow more, or choose a smaller size"
        )
    return bisect.bisect_right(range(MOST + 1), options.memory, key=need) - 1


def _fit(frames: np.ndarray, options: Options, watch: Watch) -> BackgroundModel:
    total = 1000

    def fitting(progress: Progress) -> None:
        # The gap falls about geometrically, from one.
        gap = min(max(progress.gap, options.tol), 1.0)
        watch("fitting", int(total * np.log(gap) / np.log(options.tol)), total)

    watch("fitting", 0, total)
    model = BackgroundModel(
        **{name: getattr(options, name) for name in OF_THE_MODEL}, callback=fitting
    )
    model._part_of = "background"  # no warning: the status is among the facts
    model.fit(frames)
    watch("fitting", total, total)
    return model


def _write(
    source: Selection,
    chosen: SpreadFrames,
    model: BackgroundModel,
    place: tuple[Path, Path],
    options: Options,
    truth: Truth | None,
    watch: Watch,
) -> float:
    """Write all files and return the share of moving pixels.

    `place` is the folder to write to and the one that errors name.
    """
    new, folder = place
    moving = done = 0
    with ExitStack() as stack:
        writers = {
            name: stack.enter_context(
                Writer(new / name, source.rate, options.format, folder)
            )
            for name in PARTS
        }
        watch("separating", 0, chosen.length)
        for frames in _batches(source, batch_length(model.shape_)):
            L = backgrounds(model, chosen.step, frames, done)
            masks = model.mask(frames, L)
            behind = in_unit_of(L, np.dtype(np.uint8))
            for frame, back, mask in zip(_bytes(frames), behind, masks, strict=True):
                _write_frame(writers, frame, back, mask)
                if truth is not None:
                    truth.add(source.start + done * source.every, mask)
                done += 1
            moving += int(masks.sum())
            watch("separating", done, chosen.length)
    return moving / (done * np.prod(model.shape_[:2]))


def _write_frame(writers: dict[str, Writer], frame, back, mask) -> None:
    white = np.where(mask, np.uint8(255), np.uint8(0))
    color = frame.ndim == 3
    writers["background"].write(back)
    writers["foreground"].write(np.where(mask[..., None] if color else mask, frame, 0))
    writers["mask"].write(white)
    if color:
        white = np.repeat(white[..., None], 3, axis=2)
    writers["side_by_side"].write(np.concatenate([frame, back, white], axis=1))


def _batches(source: Selection, size: int) -> Iterator[np.ndarray]:
    """Yield stacks of this many frames."""
    frames = iter(source)
    while batch := list(islice(frames, size)):
        yield np.stack(batch)


def _bytes(frames: np.ndarray) -> np.ndarray:
    if frames.dtype == np.uint8:
        return frames
    return in_unit_of(scaled(frames), np.dtype(np.uint8))


def _facts(
    source: Selection,
    chosen: SpreadFrames,
    model: BackgroundModel,
    options: Options,
    seconds: dict[str, float],
    moving: float,
    truth: Truth | None,
) -> dict[str, Any]:
    fit = model.estimator_
    height, width, *colors = model.shape_
    facts: dict[str, Any] = {
        "video": source.name,
        "frames": chosen.length,
        "fitted_frames": len(chosen.frames),
        "width": width,
        "height": height,
        "color": bool(colors),
        "frames_per_second_of_video": float(source.rate),
        "model": type(fit).__name__,
        "lam": _number(getattr(fit, "lam_", None)),
        "gamma": _number(getattr(fit, "gamma_", None)),
        "tol": options.tol,
        "status": fit.status_,
        "certified_gap": _number(fit.gap_),
        "fitted_values": model.columns_.size,
        "regression_gap": _number(model.regression_gap_),
        "iterations": int(fit.n_iter_),
        "rank": int(model.rank_),
        "noise": _number(model.noise_),
        "in_motion": _number(model.moving_),
        "threshold": _number(model.rule_.threshold**2),
        "foreground_share": _number(moving),
        "seconds": seconds,
        "frames_per_second": _number(chosen.length / sum(seconds.values())),
        "files": _names(options.format),
    }
    if truth is not None:
        n_masks, found = truth.scores()
        facts["scores"] = {"masks": n_masks} | {
            name: _number(value) for name, value in found._asdict().items()
        }
    facts["versions"] = core_versions() | {"av": pyav().__version__}
    return facts


def _number(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")
