"""The pages of the API reference: every public class and function, from the code."""

import importlib
import inspect
from importlib.util import find_spec
from pathlib import Path

MODULES = {
    "rpcag.tables": "Repair tables, find outliers",
    "rpcag": "Reduce dimensions, split a matrix",
    "rpcag.graphs": "Build graphs",
    "rpcag.clustering": "Cluster",
    "rpcag.video": "Separate videos",
    "rpcag.plots": "Plot",
    "rpcag.metrics": "Measure",
    "rpcag.datasets": "Make example data",
    "rpcag_study": "Reproduce the paper",
    "rpcag_study.datasets": "Data sets of the paper",
    "rpcag.plugins": "Add commands",
    "rpcag.solvers": "Follow a fit",
}
# What a user meets, where that is not everything a module has.
ONLY = {"rpcag.solvers": ["Progress", "DualPoint"]}
# What belongs to a section but is in another module.
ALSO = {
    "rpcag": ("rpcag.models", ["resolve_gamma", "resolve_lam"]),
    "rpcag.graphs": ("rpcag.models", ["RobustGraph"]),
}
HEAD = """API reference
=============

Every public class and function, grouped by task. The estimators also have the methods
of every scikit-learn estimator: ``get_params``, ``set_params``, ``set_output`` and
``get_feature_names_out``.
"""
SECTION = """
{title}
{line}

.. automodule:: {module}
   :no-members:
"""
LIST = """
.. currentmodule:: {module}

.. autosummary::
   :toctree: generated

   {names}
"""


def public_names(module) -> list[str]:
    """Classes and functions, in the order of `__all__` or of the source."""
    named = getattr(module, "__all__", None)
    if named is None:
        named = [
            name
            for name, value in vars(module).items()
            if not name.startswith("_")
            and getattr(value, "__module__", None) == module.__name__
        ]
    return [
        name
        for name in named
        if inspect.isclass(getattr(module, name))
        or inspect.isfunction(getattr(module, name))
    ]


def write_reference(folder: Path) -> None:
    """Write the page that lists everything; autosummary makes the others from it."""
    text = HEAD
    for name, title in MODULES.items():
        if find_spec(name) is None:
            continue
        module = importlib.import_module(name)
        text += SECTION.format(title=title, line="-" * len(title), module=name)
        lists = [(name, ONLY.get(name) or public_names(module))]
        if name in ALSO:
            lists.append(ALSO[name])
        for home, names in lists:
            text += LIST.format(module=home, names="\n   ".join(names))
    folder.mkdir(exist_ok=True)
    (folder / "index.rst").write_text(text)
