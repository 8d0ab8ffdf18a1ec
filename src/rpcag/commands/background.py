"""``rpcag background``."""

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from rpcag.commands.options import Force, Json, Quiet
from rpcag.commands.output import (
    INCOMPLETE,
    console,
    errors,
    fail,
    mistakes,
    print_json,
    say,
)
from rpcag.stopping import go_on

UNITS = {"": 1e9, "b": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}


def background(
    video: Annotated[
        Path,
        typer.Argument(
            metavar="VIDEO", help="A video file, a folder of images, or a .npz file."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write.")],
    model: Annotated[
        str,
        typer.Option(
            metavar="rpca|rpcag|frpcag",
            help="rpca: Robust PCA. rpcag: with a graph between frames. frpcag: two "
            "graphs, no SVD.",
        ),
    ] = "rpcag",
    gamma: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|auto",
            help="Weight of the smoothness between frames, for values from 0 to 1; "
            "auto follows the noise of the video.",
        ),
    ] = "auto",
    lam: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|auto|paper",
            help="Weight of the sparse part; paper is 1 / sqrt(max(frames, values)).",
        ),
    ] = "auto",
    all_entries: Annotated[
        bool,
        typer.Option(
            "--all-entries",
            help="Treat moving pixels as data. By default they are masked out.",
        ),
    ] = False,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTHxHEIGHT|full",
            help="Size of the frames. By default, large frames are reduced to the "
            "area of 320x240.",
        ),
    ] = None,
    every: Annotated[int, typer.Option(min=1, help="Use every n-th frame.")] = 1,
    frames: Annotated[
        str | None, typer.Option(metavar="A:B", help="Use frames A to B - 1.")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(help="True masks for scores: .npz with masks and mask_index."),
    ] = None,
    format: Annotated[
        str,
        typer.Option(
            metavar="mp4|webm|png", help="H.264 video, VP9 video, or lossless images."
        ),
    ] = "mp4",
    memory: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="Memory limit, such as 800MB. Longer videos are fitted to evenly "
            "spaced frames.",
        ),
    ] = "1.5GB",
    gray: Annotated[bool, typer.Option("--gray", help="Ignore colors.")] = False,
    tol: Annotated[
        float, typer.Option(help="Stop at this certified duality gap.")
    ] = 1e-3,
    max_iter: Annotated[
        int, typer.Option(min=1, help="Maximum number of iterations.")
    ] = 1000,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Separate the background of a video from moving objects.

    The camera must not move. Writes background, foreground, mask and a side-by-side
    view as videos, and facts.json with parameters, certified gap, rank and scores.
    Memory does not grow with the length of the video.

    Examples:
    rpcag background street.mp4 -o street
    rpcag background frames/ -o small --size 320x180 --every 2 --format webm
    rpcag background hall.npz -o hall --truth hall.npz --frames 0:500
    """
    with mistakes():
        from rpcag.video.files import Options, check_target, separate_file

        start, stop = _range(frames)
        options = Options(
            model=model.lower(),
            gamma=_weight("gamma", gamma, "auto"),
            lam=_weight("lam", lam, "auto", "paper"),
            skip_motion=not all_entries,
            max_iter=max_iter,
            tol=_positive("tol", tol),
            size=_size(size),
            start=start,
            stop=stop,
            every=every,
            gray=gray,
            memory=_bytes(memory),
            format=format.lower(),
            truth=truth,
        )
        check_target(video, output, options, force=force)
        bar = None if quiet or json or not errors().is_terminal else _bar()
        with bar or nullcontext():
            facts = separate_file(video, output, options, watch=_Watch(bar))
    if json:
        print_json(facts)
    elif not quiet:
        _tell(facts, output)
    if facts["status"] != "converged":
        remedy = "Use a larger --tol"  # the fit stalled at its precision
        if facts["status"] == "max_iter":
            remedy = f"Use more than --max-iter {max_iter}, or a larger --tol"
        elif facts["status"] == "numerical_error":
            remedy = "Use weights nearer to the defaults"
        raise fail(
            f"the fit stopped at a certified gap of {facts['certified_gap']:.1e} "
            f"({facts['status']}), not {tol:.1e}; the files were written anyway. "
            f"{remedy}",
            INCOMPLETE,
        )


def _bar() -> Progress:
    return Progress(
        TextColumn("{task.description:<10}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=errors(),
    )


class _Watch:
    """A line for every stage, if there is a bar."""

    def __init__(self, bar: Progress | None) -> None:
        self._bar = bar
        self._stages: dict[str, Any] = {}

    def __call__(self, stage: str, done: int, total: int | None) -> None:
        go_on()
        if self._bar is None:
            return
        if stage not in self._stages:
            self._stages[stage] = self._bar.add_task(stage, total=total)
        self._bar.update(self._stages[stage], completed=done, total=total)


def _tell(facts: dict[str, Any], output: Path) -> None:
    table = Table(
        title=escape(f"{facts['video']}: {facts['frames']} frames"), show_header=False
    )
    table.add_column()
    table.add_column(justify="right")
    size = f"{facts['width']} x {facts['height']}"
    values = facts["width"] * facts["height"] * (3 if facts["color"] else 1)
    sampled = " of the sample" if facts["fitted_values"] < values else ""
    rows = {
        "size": f"{size}, {'color' if facts['color'] else 'gray'}",
        "model": facts["model"],
        "frames fitted": str(facts["fitted_frames"]),
        "rank of the background": str(facts["rank"]),
        "values fitted per frame": f"{facts['fitted_values']} of {values}",
        f"certified gap{sampled}": f"{facts['certified_gap']:.1e}",
        "moving pixels": f"{100 * facts['foreground_share']:.1f} %",
        "frames per second": f"{facts['frames_per_second']:.1f}",
    }
    if "scores" in facts:
        scores = facts["scores"]
        rows[f"precision, recall, F ({scores['masks']} masks)"] = ", ".join(
            f"{scores[name]:.3f}" for name in ("precision", "recall", "f")
        )
    for name, value in rows.items():
        table.add_row(name, value)
    console().print(table)
    for name in (*facts["files"].values(), "facts.json"):
        say(f"wrote {output / name}")


def _range(text: str | None) -> tuple[int, int | None]:
    found = re.fullmatch(r"(\d*):(\d*)", text or ":")
    if found is None:
        raise ValueError(f"--frames must be A:B in whole numbers, got {text!r}")
    start, stop = found.groups()
    return int(start or 0), int(stop) if stop else None


def _size(text: str | None) -> tuple[int, int] | str | None:
    if text is None or text.lower() == "full":
        return text and text.lower()
    found = re.fullmatch(r"(\d+)[x×](\d+)", text.lower())
    if found is None:
        raise ValueError(f"--size must be WIDTHxHEIGHT or full, got {text!r}")
    width, height = map(int, found.groups())
    return height, width


def _bytes(text: str) -> float:
    found = re.fullmatch(r"([\d.]+)\s*(b|[kmgt]?)(?:i?b)?", text.strip().lower())
    try:
        return float(found.group(1)) * UNITS[found.group(2)]  # type: ignore[union-attr]
    except (AttributeError, ValueError):
        raise ValueError(
            f"--memory must be a size such as 800MB or 1.5GB, got {text!r}"
        ) from None


def _weight(name: str, text: str, *words: str) -> float | str:
    if text.lower() in words:
        return text.lower()
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise ValueError(
            f"--{name} must be {', '.join(words)} or a number from 0 on, got {text!r}"
        )
    return number


def _positive(name: str, number: float) -> float:
    if not 0 < number < 1:
        raise ValueError(f"--{name} must lie between 0 and 1, got {number}")
    return number
