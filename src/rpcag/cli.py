"""The command ``rpcag``."""

import io
import os
import sys


def main() -> None:
    """Run the command, or print which extra it needs."""
    try:
        from rpcag.stopping import listen

        listen()
        _run()
    except KeyboardInterrupt:  # before there is a command to stop
        sys.stderr.write("rpcag: stopped\n")
        sys.exit(130)


def _run() -> None:
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        sys.exit(f"rpcag: {error.name} is missing; pip install 'rpcag[all]'")
    os.environ.setdefault("MPLBACKEND", "agg")  # pictures are written, never shown
    if isinstance(sys.stdout, io.TextIOWrapper):  # names that it cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    from rpcag.commands import with_installed

    with_installed()(prog_name="rpcag")  # also for python -m rpcag
