"""The command ``rpcag``."""

import os
import sys


def main() -> None:
    """Run the command, or say which extra it needs."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        sys.exit(f"rpcag: {error.name} is missing; pip install 'rpcag[all]'")
    os.environ.setdefault("MPLBACKEND", "agg")  # pictures are written, never shown
    from rpcag.commands import app

    app(prog_name="rpcag")  # also for python -m rpcag
