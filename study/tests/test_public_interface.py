"""The study uses only what rpcag documents as public."""

import ast
import importlib
from pathlib import Path

import pytest

import rpcag_study

SOURCE = Path(rpcag_study.__file__).parent
# The public modules of rpcag; each lists its names in __all__.
PUBLIC = {
    "rpcag",
    "rpcag.clustering",
    "rpcag.datasets",
    "rpcag.graphs",
    "rpcag.metrics",
    "rpcag.models",
    "rpcag.plots",
    "rpcag.plugins",
    "rpcag.solvers",
    "rpcag.video",
}


def imports_of_rpcag(path: Path):
    """Module and name of everything a file imports from rpcag."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            if node.module.split(".")[0] == "rpcag":
                yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "rpcag":
                    yield alias.name, None


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_only_public_names_are_imported(path):
    for module, name in imports_of_rpcag(path):
        assert module in PUBLIC, f"{path.name} imports the private {module}"
        if name is not None and f"{module}.{name}" not in PUBLIC:
            public = importlib.import_module(module).__all__
            assert name in public, (
                f"{path.name} imports {name}, not in {module}.__all__"
            )


def test_the_test_reads_imports():
    found = {m for path in FILES for m, _ in imports_of_rpcag(path)}
    assert {"rpcag.models", "rpcag.graphs", "rpcag.plugins"} <= found


@pytest.mark.parametrize("module", sorted(PUBLIC))
def test_public_names_are_there_and_not_private(module):
    found = importlib.import_module(module)
    for name in found.__all__:
        assert not name.startswith("_") or name == "__version__"
        assert getattr(found, name) is not None
