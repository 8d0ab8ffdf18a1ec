"""``rpcag demo``."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from rpcag.commands.output import console as _console
from rpcag.commands.output import fail


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for the pictures.")
    ] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Where the blocks fall.", min=0)] = 0,
) -> None:
    """Take blocks off scikit-learn's digits and cluster what is left.

    Example: rpcag demo -o pictures
    """
    console = _console()
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise fail(f"cannot write to {output}: {error.strerror}") from None
    from rpcag.demo import run, save_pictures

    with console.status("1797 digits, a quarter of each behind a block ..."):
        found = run(random_state=seed)
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
    console.print(table)
    console.print(
        "clustering error: digits outside the class matched to their cluster\n"
        "certified gap: the objective is at most this share above the best, proven\n"
        "4 lam: four times the automatic weight of the sparse part",
        style="dim",
    )
    try:
        written = save_pictures(found, output)
    except ImportError as error:
        console.print(
            f"rpcag: no pictures, {error.name} is missing; pip install 'rpcag[plots]'"
        )
        return
    except OSError as error:
        raise fail(f"cannot write to {output}: {error.strerror}") from None
    for path in written:
        console.print(f"wrote {path}")
