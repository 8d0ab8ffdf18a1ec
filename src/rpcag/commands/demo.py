"""``rpcag demo``."""

from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from rpcag.commands.options import Json, OutputFolder, Quiet, Seed
from rpcag.commands.output import errors, mistakes, note, report

if TYPE_CHECKING:
    from rpcag.demo import Demo


def demo(
    output: OutputFolder = Path("demo"),
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
    with mistakes():
        try:
            written = save_pictures(found, output)
        except ImportError as error:
            written = []
            note(f"no pictures, {error.name} is missing; pip install 'rpcag[plots]'")
    rows = [asdict(row) for row in found.rows]
    facts = {"models": rows, "files": [str(path) for path in written]}
    lines = [f"wrote {path}" for path in written]
    report(facts, _table(found), *lines, quiet=quiet, json=json)


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
        written = [str(path) for path in write_files(folder, contents)]
    lines = [f"wrote {path}" for path in written]
    report({"files": written}, *lines, quiet=quiet, json=json)


def _table(found: "Demo") -> Table:
    table = Table(
        title="1797 digits, 25 % of each behind a block",
        caption="clustering error: share of digits outside the class of their cluster\n"
        "certified gap: how far the objective can be above the optimum, as a share",
    )
    for name in ("model", "clustering error", "seconds", "certified gap"):
        table.add_column(name, justify="left" if name == "model" else "right")
    for row in found.rows:
        table.add_row(
            row.model,
            f"{100 * row.error:.1f} %",
            f"{row.seconds:.1f}",
            "-" if row.gap is None else f"{row.gap:.1e}",
        )
    return table
