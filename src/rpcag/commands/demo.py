"""``rpcag demo``."""

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from rich.table import Table

from rpcag.commands.options import OutputFolder, Quiet, output_option
from rpcag.commands.output import errors, mistakes, note, report


def demo(
    output: OutputFolder = Path("demo"),
    files: Annotated[
        Path | None,
        output_option(
            "FOLDER",
            "Write sensors.csv and street.mp4 instead, to try the other commands.",
            "--files",
        ),
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Run a demo on scikit-learn's digits, or write example files.

    The demo restores and clusters digits that are partly covered. With --files, it
    writes example data instead: a table of 40 sensors with gaps and wrong values, and a
    short video.

    Examples:
    rpcag demo -o pictures
    rpcag demo --files examples
    """
    with mistakes():
        shown, written = _digits(output, quiet) if files is None else _files(files)
    report(None, *shown, *(f"wrote {path}" for path in written), quiet=quiet)


def _digits(folder: Path, quiet: bool) -> tuple[list[Table], list[Path]]:
    from rpcag.demo import check_target, run, save_pictures

    check_target(folder)
    waiting = "1797 digits, a quarter of each behind a block ..."
    with nullcontext() if quiet else errors().status(waiting):
        found = run()
    table = Table(
        title="1797 digits, 25 % of each behind a block",
        caption="clustering error: share of digits outside the class of their cluster\n"
        "certified gap: how far the objective can be above the optimum, as a share",
    )
    for name in ("model", "clustering error", "seconds", "certified gap"):
        table.add_column(name, justify="left" if name == "model" else "right")
    for row in found.rows:
        gap = "-" if row.gap is None else f"{row.gap:.1e}"
        table.add_row(row.model, f"{100 * row.error:.1f} %", f"{row.seconds:.1f}", gap)
    try:
        return [table], save_pictures(found, folder)
    except ImportError as error:
        note(f"no pictures, {error.name} is missing; pip install 'rpcag[plots]'")
        return [table], []


def _files(folder: Path) -> tuple[list[Table], list[Path]]:
    from rpcag.demo_files import (
        TABLE,
        VIDEO,
        sensor_table,
        street_video,
        write_files,
    )

    contents = {TABLE: sensor_table()}
    try:
        contents[VIDEO] = street_video()
    except ImportError:
        note(f"no {VIDEO}, PyAV is missing; pip install 'rpcag[video]'")
    return [], write_files(folder, contents)
