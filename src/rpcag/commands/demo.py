"""``rpcag demo``."""

from pathlib import Path
from typing import Annotated

from rpcag.commands.options import Quiet, output_option
from rpcag.commands.output import mistakes, note, report


def demo(
    files: Annotated[Path, output_option("FOLDER", "Folder to write.", "--files")],
    quiet: Quiet = False,
) -> None:
    """Write example files to try the other commands.

    sensors.csv is a table of 40 sensors with gaps and wrong values, and street.mp4 is a
    short video.

    Examples:
    rpcag demo --files examples
    """
    from rpcag import demo_files as demo
    from rpcag.files.place import check_place

    with mistakes():
        check_place(files, inside=True)
        contents = {demo.TABLE: demo.sensor_table()}
        try:
            contents[demo.VIDEO] = demo.street_video()
        except ImportError:
            note(f"no {demo.VIDEO}, PyAV is missing; pip install 'rpcag[video]'")
        written = demo.write_files(files, contents)
    report(None, *(f"wrote {path}" for path in written), quiet=quiet)
