"""``rpcag explore``."""

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from rpcag.commands.output import console, mistakes


def explore(
    result: Annotated[
        Path,
        typer.Argument(help="Folder that rpcag decompose wrote.", metavar="RESULT"),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The page, e.g. page.html.")
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Replace the page if it is there.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print nothing if all is well.")
    ] = False,
    show: Annotated[
        bool, typer.Option("--open", help="Open the page in the browser.")
    ] = False,
) -> None:
    """A page to look at a decomposition: one HTML file that needs nothing else.

    Samples as original, low-rank and sparse; the embedding to turn and zoom; singular
    values, convergence, the graph, parameters, and what the certificate proves.

    Example: rpcag explore RESULT -o page.html
    """
    from rpcag.files.decomposition import Decomposition
    from rpcag.page.document import check_target, write
    from rpcag.page.explore import explore as page_of

    with mistakes():
        check_target(output, force=force)
        write(output, page_of(Decomposition.load(result)))
        if not quiet:
            size = output.stat().st_size / 1e6
            console().print(f"wrote {output} ({size:.1f} MB)", highlight=False)
        if show:
            webbrowser.open(output.resolve().as_uri())
