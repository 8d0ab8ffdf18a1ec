"""Imports point down: the tree stays the mathematics."""

import ast
import re
import sys
from collections import defaultdict
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "rpcag"
# From the bottom up: a room imports itself and rooms of the lines above its own.
LAYERS = [
    {"atomic", "stopping", "versions"},
    {"linalg"},
    {"losses", "penalties"},
    {"solvers"},
    {"graphs"},
    {"metrics", "files"},
    {"models", "datasets", "plots"},
    {"clustering", "tables", "video"},
    {"page", "demo_files"},
    {"commands"},
    {"plugins", "cli"},
    {"__init__", "__main__"},
]
LEVEL = {room: k for k, layer in enumerate(LAYERS) for room in layer}
BOTTOM = LAYERS[1] | LAYERS[2] | LAYERS[3]  # NumPy and SciPy only
# Each library is behind the rooms that need it.
BEHIND = {
    "sklearn": set(LEVEL) - BOTTOM - {"atomic", "stopping", "versions", "files"},
    "matplotlib": {"plots"},
    "typer": {"commands", "plugins", "cli"},
    "rich": {"commands", "plugins", "cli"},
    "av": {"video"},
    "pyarrow": {"files"},
    "openpyxl": {"files"},
    "dask": {"models", "solvers", "graphs"},
}
# British spellings, without their endings.
BRITISH = (
    r"\b(colour|grey|centre|neighbour|behaviour|favour|labelled(?!by)|modelling|catalogue|"
    r"(standard|normal|initial|optim|minim|maxim|organ|recogn|real|general|character)is"
    r"(e|ed|es|ing|ation))"
)


def modules():
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        yield path, room, ast.parse(path.read_text(encoding="utf-8"))


def imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "rpcag":
            yield from (f"rpcag.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_every_room_has_a_layer():
    assert {room for _, room, _ in modules()} == set(LEVEL)


def test_imports_point_down():
    for path, room, tree in modules():
        for name in imports(tree):
            other = name.removeprefix("rpcag.").split(".")[0]
            if not name.startswith("rpcag.") or other not in LEVEL:
                continue  # another library, or the version in rpcag/__init__.py
            is_below = LEVEL[other] < LEVEL[room] or other == room
            assert is_below, f"{path} imports {name}"


@pytest.mark.parametrize("library", BEHIND)
def test_libraries_are_behind_the_rooms_that_need_them(library):
    for path, room, tree in modules():
        if room not in BEHIND[library]:
            used = [name for name in imports(tree) if name.split(".")[0] == library]
            assert not used, f"{path} imports {used[0]}"


def test_what_any_room_may_use_needs_only_the_standard_library():
    for name in imports(ast.parse((SOURCE / "atomic.py").read_text())):
        assert name.split(".")[0] in sys.stdlib_module_names


def test_the_library_knows_nothing_of_the_study():
    for path, _, tree in modules():
        assert not any(n.split(".")[0] == "rpcag_study" for n in imports(tree)), path


def test_no_two_classes_share_a_name():
    homes = defaultdict(list)
    for path, _, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(SOURCE)))
    assert not {name: found for name, found in homes.items() if len(found) > 1}


def test_only_commands_speak_of_flags():
    """Below, messages name parameters; `commands.output` turns them into flags."""
    for path, room, tree in modules():
        if room in ("commands", "__init__"):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found = re.search(r"(?<![\w-])--[a-z]{2,}", node.value)
                is_style = "var(--" in node.value or node.value.startswith("--r:")
                assert found is None or is_style, f"{path}: {found[0]}"


def test_spelling_is_american():
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix in (".py", ".js", ".css", ".html"):
            text = path.read_text(encoding="utf-8")
            found = re.search(BRITISH, text, re.IGNORECASE)
            assert found is None, f"{path}: {found and found[0]}"
