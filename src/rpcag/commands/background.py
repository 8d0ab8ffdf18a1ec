"""``rpcag background``."""

import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from rpcag.commands import options as o
from rpcag.commands.output import incomplete, mistakes, report, summary
from rpcag.commands.progress import GapBar


def _range(text: str) -> tuple[int, int | None]:
    found = re.fullmatch(r"(\d*):(\d*)", text)
    if found is None:
        raise typer.BadParameter(f"write it as A:B in whole numbers, got {text!r}")
    start, stop = found.groups()
    return int(start or 0), int(stop) if stop else None


def _size(text: str) -> tuple[int, ...] | str:
    return "full" if text.lower() == "full" else o.sides(text, 2, 2)[::-1]


def _gigabytes(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        told = f"write it as a number of GB, such as 0.8, got {text!r}"
        raise typer.BadParameter(told) from None


@dataclass(frozen=True)
class VideoOptions:
    """How to separate a video; see `rpcag.video.separate_file`."""

    model: str = o.option(
        "rpca: Robust PCA. rpcag: with a graph between frames.",
        "rpca|rpcag",
        default="rpcag",
        parser=str.lower,
    )
    gamma: Any = o.option(
        "Weight of the graph between frames, for pixel values from 0 to 1. auto: "
        "chosen from the noise of the video.",
        "NUMBER|auto",
        default="auto",
        parser=o.weight(),
    )
    lam: Any = o.option(
        "Weight of the sparse part, for pixel values from 0 to 1.",
        "NUMBER|auto",
        default="auto",
        parser=o.weight(positive=True),
    )
    all_entries: bool = o.option(
        "Treat moving pixels as data. By default they are masked out.", default=False
    )
    size: Any = o.option(
        "Size of the frames. By default, large frames are reduced to the area of "
        "320x240.",
        "WIDTHxHEIGHT|full",
        parser=_size,
    )
    every: int = o.option("Use every n-th frame.", min=1, default=1)
    frames: Any = o.option(
        "Use frames A to B - 1, counted from 0.", "A:B", parser=_range
    )
    format: str = o.option(
        "H.264 video, VP9 video, or lossless images.",
        "mp4|webm|png",
        default="mp4",
        parser=str.lower,
    )
    memory: Any = o.option(
        "Memory limit in GB. If a video needs more, the model is fitted to evenly "
        "spaced frames.",
        "GB",
        default="1.5",
        parser=_gigabytes,
    )
    gray: bool = o.option("Ignore colors.", default=False)
    tol: float = o.option("Certified duality gap at which to stop.", default=1e-3)
    max_iter: int = o.option("Maximum number of iterations.", min=1, default=1000)


@o.takes_groups
def background(
    video: Annotated[
        Path,
        o.argument("VIDEO", "A video file, or a folder of images."),
    ],
    output: o.OutputFolder,
    *,
    options: VideoOptions,
    force: o.Force = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
) -> None:
    """Separate the background of a video from moving objects.

    The camera must not move. Writes background, foreground, mask and a side-by-side
    view as videos, and facts.json with parameters, certified gap and rank.
    Memory does not grow with the length of the video.

    Examples:
    rpcag background street.mp4 -o street
    rpcag background frames/ -o small --size 320x180 --every 2 --format webm
    rpcag background street.mp4 -o start --frames 0:50
    """
    with mistakes():
        from rpcag.video import separate_file

        given = {k: v for k, v in asdict(options).items() if v is not None}
        given["skip_motion"] = not given.pop("all_entries")
        given["memory"] *= 1e9
        with GapBar("background", options.tol, options.max_iter, quiet=quiet) as bar:
            given |= {"force": force, "watch": bar.count, "callback": bar}
            facts = separate_file(video, output, **given)
    files = (*facts["files"].values(), "facts.json")
    written = [f"wrote {output / name}" for name in files]
    shown = summary(f"{facts['video']}: {facts['frames']} frames", _rows(facts))
    report(facts, shown, *written, quiet=quiet, json=json)
    if facts["status"] != "converged":
        raise incomplete(facts["status"], facts["certified_gap"], options.tol)


def _rows(facts: dict[str, Any]) -> dict[str, str]:
    channels, kind = (3, "color") if facts["color"] else (1, "gray")
    values = facts["width"] * facts["height"] * channels
    sampled = " of the sample" if facts["fitted_values"] < values else ""
    return {
        "size": f"{facts['width']} x {facts['height']}, {kind}",
        "model": facts["model"],
        "frames fitted": str(facts["fitted_frames"]),
        "rank of the background": str(facts["rank"]),
        "values fitted per frame": f"{facts['fitted_values']} of {values}",
        f"certified gap{sampled}": f"{facts['certified_gap']:.1e}",
        "moving pixels": f"{100 * facts['foreground_share']:.1f} %",
        "frames per second": f"{facts['frames_per_second']:.1f}",
    }
