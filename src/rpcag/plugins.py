"""Public interface for packages that add commands to ``rpcag``.

A package registers a function under the entry point group ``rpcag.commands``::

    [project.entry-points."rpcag.commands"]
    mine = "my_package.commands:register"

``rpcag`` calls it with the Typer application, to which it adds commands. The names
below print, report mistakes, write files, and build HTML pages as the commands of
``rpcag`` do. Each is imported when it is first used, so that this module needs none of
the extras by itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rpcag.atomic import explained, replace_files, write_atomically, write_text
    from rpcag.commands.options import Json, Quiet
    from rpcag.commands.output import (
        INCOMPLETE,
        console,
        errors,
        fail,
        mistakes,
        note,
        print_json,
        say,
    )
    from rpcag.files.names import escaped
    from rpcag.files.numpy_arrays import read_npz
    from rpcag.files.place import check_file, check_folder, recorded
    from rpcag.page.document import Page, check_target, scrolled, section, write_page
    from rpcag.versions import versions

# Where each name lives.
_HOME = {
    "rpcag.atomic": ("explained", "replace_files", "write_atomically", "write_text"),
    "rpcag.commands.options": ("Json", "Quiet"),
    "rpcag.commands.output": (
        *("INCOMPLETE", "console", "errors", "fail", "mistakes"),
        *("note", "print_json", "say"),
    ),
    "rpcag.files.names": ("escaped",),
    "rpcag.files.numpy_arrays": ("read_npz",),
    "rpcag.files.place": ("check_file", "check_folder", "recorded"),
    "rpcag.page.document": (
        *("Page", "check_target", "scrolled", "section", "write_page"),
    ),
    "rpcag.versions": ("versions",),
}
__all__ = [
    "INCOMPLETE",
    "Json",
    "Page",
    "Quiet",
    "check_file",
    "check_folder",
    "check_target",
    "console",
    "errors",
    "escaped",
    "explained",
    "fail",
    "mistakes",
    "note",
    "print_json",
    "read_npz",
    "recorded",
    "replace_files",
    "say",
    "scrolled",
    "section",
    "versions",
    "write_atomically",
    "write_page",
    "write_text",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOME.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'rpcag.plugins' has no attribute {name!r}")
