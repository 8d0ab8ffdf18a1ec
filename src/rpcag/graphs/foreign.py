"""Convert graphs of other libraries to matrices, in the order of the rows.

This imports only libraries that the caller already has: a NetworkX graph cannot exist
without NetworkX.
"""

from collections.abc import Hashable, Sequence

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
    if library not in ("networkx", "igraph", "pandas"):
        return graph
    nodes, ordered = _nodes(graph, library)
    if n is None or len(nodes) == n:
        places = _places(nodes, labels, ordered, name)
    else:
        places = list(range(len(nodes)))
    try:
        return _matrix(graph, library, nodes, places)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} has edges whose weight is not a number: {error}"
        ) from error


def _library(graph) -> str:
    """The library that defines its class or one of its base classes."""
    known = ("networkx", "igraph", "pygsp", "pandas")
    roots = (kind.__module__.partition(".")[0] for kind in type(graph).__mro__)
    return next((root for root in roots if root in known), "")


def _nodes(graph, library: str) -> tuple[list, bool]:
    """Names of the vertices, and whether their order is part of the graph."""
    if library == "networkx":
        return list(graph.nodes), False
    if library == "igraph":
        named = "name" in graph.vs.attributes()
        return (graph.vs["name"] if named else list(range(graph.vcount()))), True
    index = list(graph.index)
    if graph.ndim == 2 and set(index) == set(graph.columns):
        return index, True
    return list(range(len(index))), True


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


def _matrix(graph, library: str, nodes: list, places: list[int]):
    if library == "networkx":
        import networkx

        if not nodes:
            return np.zeros((0, 0))
        return networkx.to_scipy_sparse_array(
            graph, [nodes[i] for i in places], dtype=np.float64, weight="weight"
        )
    if library == "igraph":
        weighted = "weight" in graph.es.attributes()
        A = graph.get_adjacency_sparse("weight" if weighted else None)
        return A[places][:, places]
    if graph.ndim == 2 and set(graph.index) == set(graph.columns):
        names = [nodes[i] for i in places]
        return graph.loc[names, names].to_numpy(dtype=np.float64)
    return graph.to_numpy(dtype=np.float64)
