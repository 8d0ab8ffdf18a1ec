"""Degrees and weights of a graph."""

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from rpcag.page.document import Page, empty, hint
from rpcag.page.words import count

BINS = 40


def graph_parts(page: Page, graph) -> list[str]:
    """A sentence and two histograms."""
    if graph is None:
        return [empty("This model uses no graph.")]
    graph = sparse.csr_array(graph)
    graph.eliminate_zeros()
    degrees = np.diff(graph.indptr)
    weights = sparse.triu(graph, k=1).data
    if not len(weights):
        return [empty("The graph has no edges.")]
    alone = int((degrees == 0).sum())
    pieces = csgraph.connected_components(graph, directed=False)[0] - alone
    told = (
        f"{count(len(weights), 'edge')} between {count(len(degrees), 'sample')}, "
        f"{degrees.mean():.1f} neighbors on average; in "
        f"{'one piece' if pieces == 1 else f'{pieces:,} pieces'}"
    )
    if alone:
        told += f", and {count(alone, 'sample')} without neighbors"
    charts = [
        _histogram(page, degrees, "neighbors", "samples"),
        _histogram(page, weights, "weight of an edge", "edges"),
    ]
    return [hint(told + "."), '<div class="charts">', *charts, "</div>"]


def _histogram(page: Page, values: np.ndarray, x_name: str, y_name: str) -> str:
    low, high = float(values.min()), float(values.max())
    names = None
    if values.dtype.kind in "iu" and high - low < BINS:  # one bar per number
        edges = np.arange(low, high + 2) - 0.5
        names = [f"{number:.0f}" for number in np.arange(low, high + 1)]
    elif low == high:
        reach = abs(low) / 2 or 0.5
        edges = np.array([low - reach / 5, low + reach / 5])
        names = [f"{low:.4g}"]
    else:
        edges = np.linspace(low, high, BINS + 1)
    counts, _ = np.histogram(values, edges)
    return page.widget(
        "bars",
        "figure",
        edges=edges.tolist(),
        names=names,
        values=counts.tolist(),
        x_name=x_name,
        y_name=y_name,
        describes=f"Number of {y_name} by {x_name}: from {low:.4g} to {high:.4g}, "
        f"median {np.median(values):.4g}.",
    )
