"""Write the map of the packages into CONTRIBUTING.md: ``python docs/make_map.py``.

An arrow from a to b means that a imports b, and that no longer way from a to b exists.
"""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "rpcag"
PAGE = ROOT / "CONTRIBUTING.md"
START, END = "<!-- map: made by docs/make_map.py -->\n", "<!-- end of the map -->\n"
# Modules of a file each that only pass things on.
LEFT_OUT = {"__init__", "__main__", "cli", "versions"}


def room(path: Path) -> str:
    """The folder, or the file, directly below the package."""
    parts = path.relative_to(SOURCE).parts
    return parts[0].removesuffix(".py")


def imported(tree: ast.Module) -> set[str]:
    """Names of the rooms of rpcag that a module imports."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            if node.module == "rpcag":
                names |= {f"rpcag.{alias.name}" for alias in node.names}
            else:
                names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.split(".")[1] for name in names if name.startswith("rpcag.")}


def edges() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = room(path)
        if name not in LEFT_OUT:
            tree = ast.parse(path.read_text(encoding="utf-8"))
            found.setdefault(name, set()).update(imported(tree) - {name})
    return {name: targets & found.keys() for name, targets in found.items()}


def reachable(graph: dict[str, set[str]], start: str) -> set[str]:
    seen, todo = set(), [start]
    while todo:
        for target in graph[todo.pop()] - seen:
            seen.add(target)
            todo.append(target)
    return seen


def reduced(graph: dict[str, set[str]]) -> dict[str, set[str]]:
    """Without the edges that a longer way replaces."""
    return {
        name: {
            target
            for target in targets
            if not any(
                target in reachable(graph, other)
                and name not in reachable(graph, other)
                for other in targets - {target}
            )
        }
        for name, targets in graph.items()
    }


def mermaid() -> str:
    lines = [
        f"    {name} --> {target}"
        for name, targets in sorted(reduced(edges()).items())
        for target in sorted(targets)
    ]
    return "\n".join(["```mermaid", "graph TD", *lines, "```", ""])


def page(text: str) -> str:
    """The text with the map of today."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return before + START + "\n" + mermaid() + "\n" + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
