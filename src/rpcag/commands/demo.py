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
        Path, typer.Option("--output", "-o", help="Folder for the pictures.")
    ] = Path("demo"),
    seed: Seed = 0,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Take blocks off scikit-learn's digits and cluster what is left.

    Example: rpcag demo -o pictures
    """
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
        files = [str(path) for path in written]
        print_json({"models": [asdict(row) for row in found.rows], "files": files})
    elif not quiet:
        _show(found, written)


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
        "certified gap: the objective is at most this share above the best, proven\n"
        "4 lam: four times the automatic weight of the sparse part",
        style="dim",
    )
    for path in written:
        say(f"wrote {path}")
