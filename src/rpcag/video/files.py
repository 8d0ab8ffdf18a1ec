"""Separate a video of any length into files, with limited memory."""

import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from rpcag.atomic import replace_files, write_json
from rpcag.files.place import check_folder
from rpcag.versions import core_versions
from rpcag.video.background import BackgroundModel, fitted_values
from rpcag.video.ffmpeg import FORMATS, LONGEST, Writer, pyav
from rpcag.video.pixels import Size, as_gray, check_size, in_unit_of
from rpcag.video.separation import separated
from rpcag.video.sources import Source

PARTS = ("background", "foreground", "mask", "side_by_side")
FACTS = "facts.json"
# Pattern of the file names that the facts may list.
NAMES = rf"({'|'.join(PARTS)})(\.mp4|\.webm|/\d{{6,}}\.png)"
# Maximum pixels of a frame if no size is given; more take longer and hardly help.
PIXELS = 320 * 240
# Peak memory in bytes: for Python with all libraries and the video decoders, and for
# each value that is fitted. RANK is the largest rank for which memory is set aside.
BASE, FITTED, RANK = 300e6, 40, 32
FEWEST, MOST = 20, 1000  # frames to fit
# Maximum difference of red, green and blue in gray videos: two steps of encoded colors.
TINT = 6

Watch = Callable[[str, int, int | None], Any]  # stage, done, of how many


def separate_file(
    video,
    folder,
    *,
    size: Size | str | None = None,
    frames: tuple[int, int | None] = (0, None),
    every: int = 1,
    gray: bool = False,
    memory: float = 1.5e9,
    format: str = "mp4",
    force: bool = False,
    watch: Watch = lambda stage, done, total: None,
    **options: Any,
) -> dict[str, Any]:
    """Write background, foreground, mask and side-by-side videos, and facts.json.

    The video is read twice, so memory does not grow with its length. The model is
    fitted to evenly spaced frames that fit into the memory limit. Then all frames are
    written; those that were not fitted are projected onto the model.

    Parameters
    ----------
    video : str or Path
        A video file, or a folder of images.
    folder : str or Path
        Folder to write. After an error it has no new files.
    size : (height, width), "full" or None, default=None
        Size of the frames. By default, large frames are reduced to the area of 320 x
        240; "full" keeps them.
    frames : (start, stop), default=(0, None)
        Use frames `start` to `stop` - 1.
    every : int, default=1
        Use every n-th frame.
    gray : bool, default=False
        Ignore colors.
    memory : float, default=1.5e9
        Memory limit in bytes. If a video needs more, fewer frames are fitted.
    format : {"mp4", "webm", "png"}, default="mp4"
        "png" writes folders of lossless images.
    force : bool, default=False
        Replace the files of an earlier run.
    watch : callable, optional
        Called with the stage ("reading" or "separating"), the number of frames that are
        done, and their total number if it is known.
    **options
        model, gamma, lam, skip_motion, tol, max_iter and callback, as in
        `BackgroundModel`.

    Returns
    -------
    dict
        Content of ``facts.json``: parameters, certified gap, rank, versions.
    """
    folder = Path(folder).expanduser()
    model = BackgroundModel(**options)
    model._part_of = "background"  # no warning: the status is among the facts
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    replaceable = partial(_replaceable, folder, video)
    replaceable(force=force)
    start, stop = frames
    source = Source(video, gray=gray, start=start, stop=stop, every=every)
    shape = _fit_size(source, size)
    if format != "png" and max(shape[0], 3 * shape[1]) > LONGEST:
        raise ValueError(
            f"the sides of videos are at most {LONGEST} pixels, but side by side there "
            f"are {3 * shape[1]}x{shape[0]}; give a smaller size, or format png"
        )
    most = frames_that_fit(memory, math.prod(shape))
    times = [time.perf_counter()]
    with replace_files(folder, FACTS, partial(replaceable, force=True)) as new:
        chosen, step, length = spread(source, most, watch)
        if chosen.ndim == 4 and without_color(chosen):
            # Most gray videos are stored as if they had colors: three times the work.
            chosen, source.gray = np.stack([as_gray(frame) for frame in chosen]), True
        times.append(time.perf_counter())
        model.fit(chosen)
        times.append(time.perf_counter())
        moving = 0
        with ExitStack() as stack:
            writers = {
                name: stack.enter_context(
                    Writer(new / name, source.rate, format, folder)
                )
                for name in PARTS
            }
            for done, some, L, masks in separated(model, source, step):
                _write(writers, some, L, masks)
                moving += int(masks.sum())
                watch("separating", done, length)
        times.append(time.perf_counter())
        facts = _facts(source, model, times) | {
            "frames": length,
            "fitted_frames": len(chosen),
            "foreground_share": _number(moving / (length * masks[0].size)),
            "frames_per_second": _number(length / (times[-1] - times[0])),
            "files": {name: writer.path.name for name, writer in writers.items()},
            "versions": core_versions() | {"av": pyav().__version__},
        }
        write_json(new / FACTS, facts)
    return facts


def _replaceable(folder: Path, video, *, force: bool) -> set[str]:
    """Return the names of the files of an earlier run, which may be replaced.

    Raises an error if the folder has anything else, or if the video is among them.
    Without `force`, files of an earlier run are an error too.
    """

    def names_in(facts: dict[str, Any]) -> list[str]:
        files = [facts["files"][part] for part in PARTS]
        if "rpcag" not in facts["versions"]:
            raise ValueError("not the facts of a separation")
        if all(Path(file).suffix for file in files):
            return files
        return [f"{file}/{i:06d}.png" for file in files for i in range(facts["frames"])]

    options: dict[str, Any] = {"force": force, "sources": [video], "is_own": True}
    return check_folder(folder, FACTS, [], names_in, NAMES, "separation", **options)


def _fit_size(source: Source, size: Size | str | None) -> tuple[int, ...]:
    """Set the size of the frames, and return their shape."""
    first = source.first()
    stored = first.shape[:2]
    if size is None and math.prod(stored) > PIXELS:
        scale = math.sqrt(PIXELS / math.prod(stored))
        # Even, because 4:2:0 needs that.
        height, width = (max(2, round(side * scale / 2) * 2) for side in stored)
        size = height, width
    source.size = None if size in (None, "full") else check_size(size)
    return (*(source.size or stored), *first.shape[2:])


def frames_that_fit(memory: float, values: int) -> int:
    """Return how many frames of so many values can be fitted with this much memory."""
    fixed = BASE + 4 * RANK * values
    # A frame in a list and stacked, its two masks of motion, and its fitted values.
    each = 4 * values + FITTED * fitted_values(MOST, values)
    least = fixed + FEWEST * each
    if not memory >= least:
        raise ValueError(
            f"memory must be at least {math.ceil(least / 1e7) / 100} GB for "
            f"{FEWEST} frames of {values} values, got {memory / 1e9:.4g} GB; "
            "allow more, or choose a smaller size"
        )
    return int(min(MOST, (memory - fixed) // each))


def spread(source: Source, most: int, watch: Watch) -> tuple[np.ndarray, int, int]:
    """Choose evenly spaced frames in one pass, though the length is unknown.

    Whenever there are more than `most`, every other one is dropped. Returns the frames,
    the step between them, and the number of frames that were read.
    """
    kept: list[np.ndarray] = []
    step, length = 1, 0
    for frame in source:
        if length % step == 0:
            kept.append(frame)
            if len(kept) > most:
                del kept[1::2]
                step *= 2
        length += 1
        watch("reading", length, source.length)
    if length < 2:
        few = "only one frame" if length else "no frames"
        where = " in the selected range" if source.is_part else ""
        raise ValueError(f"{source.name} has {few}{where}; at least 2 are needed")
    return np.stack(kept), step, length


def without_color(frames: np.ndarray) -> bool:
    """Whether red, green and blue are equal, up to changes by encoders."""
    return all(np.ptp(frame[::4, ::4], axis=2).max() <= TINT for frame in frames)


def _write(
    writers: dict[str, Writer], frames: np.ndarray, L: np.ndarray, masks: np.ndarray
) -> None:
    """Write a batch of frames to all files."""
    behind = in_unit_of(L, np.uint8)
    seen = masks if frames.ndim == 3 else np.repeat(masks[..., None], 3, axis=3)
    white = seen * np.uint8(255)
    parts = {
        "background": behind,
        "foreground": np.where(seen, frames, 0),
        "mask": masks * np.uint8(255),
        "side_by_side": np.concatenate([frames, behind, white], axis=2),
    }
    for name, images in parts.items():
        for image in images:
            writers[name].write(image)


def _facts(
    source: Source, model: BackgroundModel, times: list[float]
) -> dict[str, Any]:
    fit = model.estimator_
    height, width, *colors = model.shape_
    seconds = np.diff(times).round(3).tolist()
    return {
        "video": source.name,
        "width": width,
        "height": height,
        "color": bool(colors),
        "frames_per_second_of_video": float(source.rate),
        "model": type(fit).__name__,
        "lam": _number(fit.lam_),
        "gamma": _number(getattr(fit, "gamma_", None)),
        "tol": model.tol,
        "status": fit.status_,
        "certified_gap": _number(fit.gap_),
        "fitted_values": model.columns_.size,
        "regression_gap": _number(model.regression_gap_),
        "iterations": int(fit.n_iter_),
        "rank": int(model.rank_),
        "noise": _number(model.noise_),
        "in_motion": _number(model.moving_),
        "threshold": _number(model.rule_.threshold**2),
        "seconds": dict(zip(("read", "fit", "separate"), seconds, strict=True)),
    }


def _number(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.5g}")
