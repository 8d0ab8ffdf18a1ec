"""Public interface for packages that add commands to ``rpcag``.

A package registers a function that takes the Typer application and adds commands::

    [project.entry-points."rpcag.commands"]
    mine = "my_package.commands:register"

The names below print, report mistakes, write files, and build HTML pages as the
commands of ``rpcag`` do. Each is imported when it is first used, so this module needs
none of the extras.
"""

from importlib import import_module
from typing import Any

# Where each name lives.
_HOME = {
    "rpcag.atomic": (
        *("explained", "replace_files", "write_atomically", "write_json", "write_text"),
    ),
    "rpcag.commands.options": ("Json", "Quiet", "option", "takes_groups"),
    "rpcag.commands.output": (
        *("INCOMPLETE", "console", "errors", "fail", "mistakes"),
        *("note", "print_json", "say"),
    ),
    "rpcag.files.names": ("escaped",),
    "rpcag.files.arrays": ("load_arrays",),
    "rpcag.files.place": ("check_file", "check_folder"),
    "rpcag.page.document": (
        *("Page", "check_target", "scrolled", "section", "write_page"),
    ),
    "rpcag.versions": ("versions",),
}
__all__ = [name for names in _HOME.values() for name in names]


def __getattr__(name: str) -> Any:
    for home, names in _HOME.items():
        if name in names:
            return getattr(import_module(home), name)
    raise AttributeError(f"module 'rpcag.plugins' has no attribute {name!r}")
