"""Plots, with matplotlib (the extra ``rpcag[plots]``).

Every function takes a fitted model or arrays, draws on the given axes or on those of a
new pyplot figure, and returns the axes. No function calls ``show``.
"""

try:
    import matplotlib  # noqa: F401
except ImportError as error:
    raise ImportError(
        "pictures need matplotlib: pip install 'rpcag[plots]'", name="matplotlib"
    ) from error

from rpcag.plots.curves import convergence, gamma_path
from rpcag.plots.images import decomposition
from rpcag.plots.points import embedding, graph

__all__ = [
    "convergence",
    "decomposition",
    "embedding",
    "gamma_path",
    "graph",
]
