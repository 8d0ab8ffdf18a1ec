"""Convert graphs of other libraries to matrices, in the order of the rows.

This imports only libraries that the caller already has: a NetworkX graph cannot exist
without NetworkX.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np


def as_matrix(graph, labels: Sequence[Hashable] | None, n: int | None, name: str):
    """Edge weights of a graph of NetworkX, igraph, PyGSP or pandas; others unchanged.

    Vertices that are named like the rows are put in their order. Vertices called 0, 1,
    ..., n - 1 are positions in X. It is an error if both apply and differ. If `n` is
    given and the graph has another number of vertices, it keeps its own order.
    """
    library = _library(graph)
    if library == "pygsp":
        return graph.W
    if library not in _READERS:
        return graph
    try:
        nodes, ordered, A = _READERS[library](graph)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} has edges whose weight is not a number: {error}"
        ) from error
    if n is not None and len(nodes) != n:
        return A
    places = _places(nodes, labels, ordered, name)
    return A if places == list(range(len(nodes))) else A[places][:, places]


def _library(graph) -> str:
    """The library that defines its class or one of its base classes."""
    known = ("networkx", "igraph", "pygsp", "pandas")
    roots = (kind.__module__.partition(".")[0] for kind in type(graph).__mro__)
    return next((root for root in roots if root in known), "")


def _places(nodes: list, labels, ordered: bool, name: str) -> list[int]:
    """Where the vertex of every row is among the nodes."""
    place = {node: i for i, node in enumerate(nodes)}
    counted = set(place) == set(range(len(nodes)))
    by_number = [place[i] for i in range(len(nodes))] if counted else None
    by_name = None
    if labels is not None and len(labels) == len(place) and set(labels) == set(place):
        by_name = [place[label] for label in labels]
    if by_name is not None and by_number is not None and by_name != by_number:
        raise ValueError(
            f"{name} has vertices 0 to {len(nodes) - 1}, which can be names or places "
            "of the rows of X, whose index has the same numbers in another order; "
            "pass X.sort_index() for names, X.reset_index(drop=True) for places"
        )
    if by_name is not None:
        return by_name
    if ordered:
        return list(range(len(nodes)))
    if by_number is not None:
        return by_number
    if labels is None:
        reason = (
            "the rows of X have no names; pass X as a DataFrame with the nodes as index"
        )
    else:
        strange = next((label for label in labels if label not in place), None)
        reason = (
            "the index of X has duplicate names; every row needs its own vertex"
            if strange is None
            else f"the index of X has {strange!r}, which is not a node; rename one"
        )
    raise ValueError(
        f"{name} has nodes such as {nodes[0]!r}, and {reason}, or call the nodes "
        "0, 1, ... in the order of the rows"
    )


# For every library: names of the vertices, whether the graph defines their order, and
# the weights in this order.


def _networkx(graph) -> tuple[list, bool, Any]:
    import networkx

    nodes = list(graph.nodes)
    if not nodes:
        return nodes, False, np.zeros((0, 0))
    A = networkx.to_scipy_sparse_array(graph, dtype=np.float64, weight="weight")
    return nodes, False, A


def _igraph(graph) -> tuple[list, bool, Any]:
    named = "name" in graph.vs.attributes()
    nodes = graph.vs["name"] if named else list(range(graph.vcount()))
    weighted = "weight" in graph.es.attributes()
    return nodes, True, graph.get_adjacency_sparse("weight" if weighted else None)


def _pandas(graph) -> tuple[list, bool, Any]:
    names = list(graph.index)
    if graph.ndim == 2 and set(names) == set(graph.columns):
        graph = graph.loc[names, names]
    else:
        names = list(range(len(names)))
    return names, True, graph.to_numpy(dtype=np.float64)


_READERS = {"networkx": _networkx, "igraph": _igraph, "pandas": _pandas}
