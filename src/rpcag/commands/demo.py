"""``rpcag demo``."""

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from rpcag.commands.options import Json, Quiet, Seed
from rpcag.commands.output import console, errors, fail, mistakes, note, print_json, say

if TYPE_CHECKING:
    from rpcag.demo import Demo


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder to write.")
    ] = Path("demo"),
    files: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write sensors.csv and street.mp4 instead, to try the other commands.",
        ),
    ] = None,
    seed: Seed = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Run a demo on scikit-learn's digits, or write example files.

    The demo restores and clusters digits that are partly covered. With --files, it
    writes example data instead: a table of 40 sensors with gaps and wrong values, and a
    short video.

    Examples:
    rpcag demo -o pictures
    rpcag demo --files examples
    """
    if files is not None:
        _write_files(files, seed, quiet=quiet, json=json)
        return
    from rpcag.demo import check_target, run, save_pictures

    with mistakes():
        check_target(output)
    waiting = "1797 digits, a quarter of each behind a block ..."
    with nullcontext() if quiet else errors().status(waiting):
        found = run(random_state=seed)
    try:
        written = save_pictures(found, output)
    except ImportError as error:
        written = []
        note(f"no pictures, {error.name} is missing; pip install 'rpcag[plots]'")
    except OSError as error:
        raise fail(str(error)) from None
    if json:
        rows = [asdict(row) for row in found.rows]
        print_json({"models": rows, "files": [str(path) for path in written]})
    elif not quiet:
        _show(found, written)


def _write_files(folder: Path, seed: int, *, quiet: bool, json: bool) -> None:
    from rpcag.demo_files import (
        TABLE,
        VIDEO,
        sensor_table,
        street_video,
        write_files,
    )

    contents = {TABLE: sensor_table(seed)}
    try:
        contents[VIDEO] = street_video(seed)
    except ImportError:
        note(f"no {VIDEO}, PyAV is missing; pip install 'rpcag[video]'")
    with mistakes():
        written = write_files(folder, contents)
    if json:
        print_json({"files": [str(path) for path in written]})
    elif not quiet:
        for path in written:
            say(f"wrote {path}")


def _show(found: "Demo", written: list[Path]) -> None:
    table = Table(title="1797 digits, 25 % of each behind a block")
    table.add_column("model")
    table.add_column("clustering error", justify="right")
    table.add_column("seconds", justify="right")
    table.add_column("certified gap", justify="right")
    for row in found.rows:
        table.add_row(
            row.model,
            f"{100 * row.error:.1f} %",
            f"{row.seconds:.1f}",
            "-" if row.gap is None else f"{row.gap:.1e}",
        )
    console().print(table)
    console().print(
        "clustering error: digits outside the class matched to their cluster\n"
        "certified gap: largest possible excess of the objective over the optimum, "
        "as a share of the objective",
        style="dim",
    )
    for path in written:
        say(f"wrote {path}")
