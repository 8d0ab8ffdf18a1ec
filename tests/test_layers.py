"""Imports point down: the tree stays the mathematics."""

import ast
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "rpcag"
LAYERS = ["linalg", "losses", "terms", "solvers", "graphs", "models", "tables"]
BOTTOM = {"linalg", "losses", "terms", "solvers"}
BELOW = {"atomic"}  # modules that any layer may use


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def test_files_are_below_the_command():
    for path in (SOURCE / "files").glob("*.py"):
        for name in imports(path):
            parts = name.split(".")
            assert parts[0] not in ("typer", "rich", "matplotlib"), path.name
            assert parts[:2] != ["rpcag", "commands"], path.name


@pytest.mark.parametrize("module", sorted(BELOW))
def test_what_any_layer_may_use_needs_only_the_standard_library(module):
    for name in imports(SOURCE / f"{module}.py"):
        assert name.split(".")[0] in sys.stdlib_module_names


@pytest.mark.parametrize("layer", LAYERS)
def test_imports_point_down(layer):
    allowed = set(LAYERS[: LAYERS.index(layer) + 1])
    for path in (SOURCE / layer).glob("*.py"):
        for name in imports(path):
            parts = name.split(".")
            if parts[0] == "rpcag":
                assert len(parts) > 1, f"{path.name} imports the whole package"
                assert parts[1] in allowed | BELOW, f"{path.name} imports {name}"
            if layer in BOTTOM:
                assert parts[0] not in ("sklearn", "matplotlib", "typer", "rich")


def test_the_library_knows_nothing_of_the_study():
    for path in SOURCE.rglob("*.py"):
        assert not any(n.split(".")[0] == "rpcag_study" for n in imports(path)), path
