"""Graphs between samples: builders compute adjacencies, `laplacian` their Laplacians.

A graph is a symmetric, non-negative adjacency with a zero diagonal: a CSR array if it
is sparse, a dense array if it is complete. There is no graph class.
"""

from rpcag.graphs.chain import Chain
from rpcag.graphs.check import check_graph
from rpcag.graphs.complete import CompleteGraph
from rpcag.graphs.hypergraph import KNNHypergraph
from rpcag.graphs.laplacian import laplacian
from rpcag.graphs.neighbors import KNNGraph

__all__ = [
    "Chain",
    "CompleteGraph",
    "KNNGraph",
    "KNNHypergraph",
    "check_graph",
    "laplacian",
]
