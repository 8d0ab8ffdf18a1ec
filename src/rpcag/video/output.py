"""A folder that gets all of its new files at once, or none of them."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def all_or_nothing(folder: Path) -> Iterator[Path]:
    """A place to write to, whose contents are moved to the folder at the end.

    If anything goes wrong before, also Ctrl-C, it is deleted, and so is the folder if
    it was not there.
    """
    made = [p for p in (folder, *folder.parents) if not p.exists()]
    part = None
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=".part-", dir=folder))
        yield part
        for path in sorted(part.iterdir()):
            target = folder / path.name
            if target.is_dir():
                shutil.rmtree(target)  # an earlier run's, of as many frames or others
            os.replace(path, target)
        made = []
    finally:
        if part is not None:
            shutil.rmtree(part, ignore_errors=True)
        for path in made:
            try:
                path.rmdir()
            except OSError:  # it has other things in it, or was never made
                break
