"""``rpcag explore``."""

from pathlib import Path
from typing import Annotated

from rpcag.commands import options as o
from rpcag.commands.output import mistakes, report


def explore(
    result: Annotated[Path, o.argument("RESULT", "Folder that rpcag decompose wrote.")],
    output: Annotated[Path, o.output_option("PAGE", "HTML file to write.")],
    force: o.Force = False,
    quiet: o.Quiet = False,
) -> None:
    """Write an HTML page that shows a decomposition.

    The page shows the original, the low-rank and the sparse part of each sample, the
    embedding, singular values, and parameters. It is a single file that works offline.

    Examples:
    rpcag explore result -o page.html
    rpcag explore result -o page.html --force --quiet
    """
    from rpcag.files.decomposition import Decomposition
    from rpcag.page.document import check_target, write_page
    from rpcag.page.explore import explore as page_of

    with mistakes():
        check_target(output, force=force)
        write_page(output, page_of(Decomposition.load(result)))
        size = output.stat().st_size
    report(None, f"wrote {output}, {size / 1e6:.1f} MB", quiet=quiet)
