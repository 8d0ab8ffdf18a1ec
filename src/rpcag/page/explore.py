"""The page of one decomposition: ``rpcag explore``."""

import math
from pathlib import PurePath
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from rpcag.files.decomposition import Decomposition
from rpcag.graphs.inputs import percent
from rpcag.page import pack
from rpcag.page.document import Page, empty, escape, hint, scrolled, section, verdict
from rpcag.page.words import certificate, count, error, prediction

COMPONENTS = 8  # to choose from
LEGEND, NUMBERS = 60, 28  # labels, and numbers, with a color each; more get a scale
VALUES = 200  # singular values that are drawn
WEIGHTS = 400  # features whose weights in the components are listed
LARGEST = 1e36  # the page computes in single precision
NAMES = {
    "n_iter": "iterations",
    "lower_bound": "lower bound",
    "sha256": "SHA-256",
    "gap": "certified gap",
    "explained": "hidden entries predicted",
    "explained_error": "standard error of that",
    "missing": "missing entries",
    "sparse_share": "in the sparse part",
    "gross_share": "gross errors",
}
# Not in the list of results: they have lists of their own, or are too long (a number
# per certificate, or per feature).
UNSHOWN = ("model", "parameters", "resolved", "largest", "history", "scaling")


def explore(found: Decomposition, *, limit: int = pack.MATRIX_BYTES) -> str:
    """HTML page that shows a decomposition.

    Parameters
    ----------
    found : Decomposition
    limit : int
        Bytes of L and S on the page before compression; larger ones are reduced by
        `rpcag.page.pack`.
    """
    pack.check_size(
        LARGEST, found.low_rank, found.sparse, found.embedding, found.components
    )
    kept = pack.extract(found, limit)
    labels = found.labels and [found.labels[i] for i in kept.rows]
    source = (found.facts.get("input") or {}).get("file") or ""
    titles = PurePath(source).name, found.facts.get("model")
    title = " · ".join(filter(None, titles)) or "Decomposition"
    page = Page(title, f'<p class="lead">{_lead(found)}</p>')
    facts = facts_html(found.facts), hint(_graph(found.graph))
    page.add(
        '<div class="columns two">',
        verdict("certificate", *certificate(found.facts)),
        fit(found.facts),
        '</div><div class="columns wide-left">',
        section("samples", "Samples", *_samples(page, found, kept, labels)),
        section("embedding", "Embedding", *_embedding(page, found, kept, labels)),
        "</div>",
        section("components", "Components", *_components(page, found)),
        section("facts", "Parameters and provenance", *facts),
    )
    return page.html()


def fit(facts: dict[str, Any]) -> str:
    """A headline and a sentence on how well the model fits the data, if known."""
    predicted = prediction(facts)
    told = (
        "Some entries were hidden while the weights were chosen. 100 % is a perfect "
        "prediction, and 0 % is no better than the median or mean of each feature."
    )
    return verdict("fit", f"Predicts {predicted}", told) if predicted else ""


def _lead(found: Decomposition) -> str:
    n, p = found.low_rank.shape
    rank = found.facts.get("rank", len(found.singular_values))
    parts = [f"{count(n, 'sample')} of {count(p, 'feature')}", f"rank {rank}"]
    if found.missing is not None and found.missing.any():
        parts.append(f"{percent(found.missing.mean())} missing")
    if "gross_share" in found.facts:
        parts.append(f"{percent(found.facts['gross_share'])} gross errors")
    return escape(" · ".join(parts))


def _graph(graph: Any) -> str:
    if graph is None:
        return "This model uses no graph."
    graph = sparse.csr_array(graph)
    graph.eliminate_zeros()
    neighbors = np.diff(graph.indptr)
    alone = int((neighbors == 0).sum())
    pieces = csgraph.connected_components(graph, directed=False)[0] - alone
    return (
        f"The graph has {count(graph.nnz // 2, 'edge')} between "
        f"{count(len(neighbors), 'sample')}, {neighbors.mean():.1f} neighbors on "
        f"average, {count(pieces, 'connected part')}, and "
        f"{count(alone, 'sample')} without neighbors."
    )


def _samples(
    page: Page, found: Decomposition, kept: pack.Extract, labels: list[str] | None
) -> list[str]:
    if not kept.low_rank.size:
        return [empty("This matrix is empty.")]
    viewer = page.widget(
        "viewer",
        names=[found.samples[i] for i in kept.rows],
        labels=labels,
        shape=kept.image_shape,
        missing=None if kept.missing is None else pack.mask(kept.missing),
        **(_rows(kept) if kept.image_shape is None else _images(kept)),
    )
    notes = list(kept.notes)
    if kept.image_shape is not None:
        notes.append("Values beyond the ends of a scale have the colors of its ends.")
    return [viewer, hint(*notes)]


def _images(kept: pack.Extract) -> dict[str, Any]:
    """Both matrices, the sizes of S, and the ends of the gray and the signed scale."""
    low, high = np.quantile(kept.low_rank, [0.001, 0.999])
    outliers = np.abs(kept.sparse[kept.sparse != 0])
    return {
        "low_rank": pack.levels(kept.low_rank),
        "sparse": pack.signed(kept.sparse),
        "amount": _floats(np.abs(kept.sparse).sum(axis=1)),
        "low": float(low) if abs(low) > (high - low) / 500 else 0.0,
        "high": float(high),
        "size": float(np.quantile(outliers, 0.99)) if len(outliers) else 1.0,
    }


def _rows(kept: pack.Extract) -> dict[str, Any]:
    """Both matrices, the sizes of S, and center and spread of every feature.

    Features get their own scales at first if these differ too much to share one.
    """
    L = kept.low_rank
    center, spread = np.median(L, axis=0), L.std(axis=0)
    flat = spread <= 1e-9 * np.abs(L).max(initial=0.0)
    usual = 1.0 if flat.all() else float(np.median(spread[~flat]))
    spread = np.where(flat, usual, spread)
    differ = center.std() > 3 * usual or spread.max() > 20 * spread.min()
    return {
        "low_rank": pack.exact(L),
        "sparse": pack.exact(kept.sparse),
        "amount": _floats((np.abs(kept.sparse) / spread).sum(axis=1)),
        "features": kept.features,
        "center": _floats(center),
        "spread": _floats(spread),
        "own_scales": bool(differ),
    }


def _embedding(
    page: Page, found: Decomposition, kept: pack.Extract, labels: list[str] | None
) -> list[str]:
    Z = np.asarray(found.embedding)[kept.rows, :COMPONENTS]
    if not Z.size:
        return [empty("The low-rank part is zero, so there are no components to show.")]
    names = [f"component {k + 1}" for k in range(Z.shape[1])]
    if Z.shape[1] == 1:  # one component, over the order of the samples
        Z = np.column_stack([np.arange(len(Z)), Z])
        names = ["order of the samples", *names]
        axes = [0, 1]
    else:  # those along which the samples differ most
        axes = np.sort(np.argsort(-Z.std(axis=0), kind="stable")[:2]).tolist()
    x, y = (names[axis] for axis in axes)
    cloud = page.widget(
        "embedding",
        points=pack.exact(Z),
        names=names,
        axes=axes,
        describes=f"{count(len(Z), 'sample')} along {x} and {y}.",
        **colors(labels, len(Z)),
    )
    total = found.embedding.shape[1]
    note = f"The first {COMPONENTS} of {total:,} components are shown."
    return [cloud, hint(note) if total > COMPONENTS else ""]


def colors(labels: list[str] | None, count: int) -> dict[str, Any]:
    """Classes and codes of labels, or numbers for a scale: the labels or the order."""
    labels = labels or []
    classes = sorted(set(labels))
    try:
        numbers = [float(label) for label in labels]
        classes.sort(key=float)
    except ValueError:
        numbers = []
    if 0 < len(classes) <= (NUMBERS if numbers else LEGEND):
        codes = [classes.index(label) for label in labels]
        return {"classes": classes, "codes": codes, "numbers": None, "ends": None}
    if numbers and np.isfinite(numbers).all():
        ends = [f"{end:.4g}" for end in (min(numbers), max(numbers))]
    else:
        numbers, ends = list(range(count)), ["first sample", "last"]
    return {"classes": None, "codes": None, "numbers": numbers, "ends": ends}


def _components(page: Page, found: Decomposition) -> list[str]:
    values = _floats(found.singular_values[:VALUES])
    if not values:
        return [empty("The low-rank part is zero: it has no singular values.")]
    parts = [_bars(values, len(found.singular_values))]
    components = np.asarray(found.components[:COMPONENTS], dtype=float)
    shape = found.image_shape
    if shape is not None and len(components):
        by = math.ceil(math.sqrt(shape[0] * shape[1] / pack.PIXELS))
        images = pack.signed(pack.shrink(components, shape, by))
        small = pack.shrunk_shape(shape, by)
        gallery = page.widget("gallery", images=images, shape=small)
        parts += [hint("The axes of the embedding as images:"), gallery]
    elif shape is None and len(found.features) <= WEIGHTS:
        rows = []
        for name, weights in zip(found.features, components.T, strict=True):
            cells = "".join(f"<td>{w:.3f}</td>".replace("-", "−") for w in weights)
            rows.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
        header = ["feature", *(str(k + 1) for k in range(len(components)))]
        caption = "Weights of the features in the components"
        parts.append(scrolled(caption, header, rows))
    return parts


def _bars(values: list[float], total: int) -> str:
    """Singular values as bars with their numbers as tooltips, and as text."""
    top = values[0] or 1.0
    bars = "".join(
        f'<rect x="{k + 0.05}" y="{1 - v / top:.4f}" width="0.9" height="{v / top:.4f}"'
        f"><title>component {k + 1}: {v:.4g}</title></rect>"
        for k, v in enumerate(values)
    )
    shown = f"the first {len(values)}, " if total > len(values) else ""
    caption = (
        f"Singular values of the low-rank part: {shown}from {values[0]:.4g} down to "
        f"{values[-1]:.4g}"
    )
    numbers = ", ".join(f"{v:.4g}" for v in values)
    return (
        f"<figure><figcaption>{caption}</figcaption>"
        f'<svg class="bars" viewBox="0 0 {max(len(values), 20)} 1" '
        f'preserveAspectRatio="none" role="img" aria-label="{caption}">{bars}</svg>'
        f"</figure><details><summary>Numbers</summary><p>{numbers}</p></details>"
    )


def _floats(values: Any) -> list[float]:
    """Six digits are enough for a picture."""
    return [float(f"{value:.6g}") for value in np.asarray(values, dtype=float)]


def facts_html(facts: dict[str, Any]) -> str:
    """A list of parameters, one of results, and one for every dict among the facts."""
    given, used = facts.get("parameters") or {}, facts.get("resolved") or {}
    others = {str(key): value for key, value in facts.items() if key not in UNSHOWN}
    groups: dict[str, dict[str, Any]] = {
        "Parameters": {"model": facts.get("model")},
        "Result": {k: v for k, v in others.items() if not isinstance(v, dict)},
        "Largest errors": dict(map(error, facts.get("largest") or [])),
        **{k.capitalize(): v for k, v in others.items() if isinstance(v, dict)},
    }
    for key in given | used:  # as given, and as used instead
        values = [text(part[key]) for part in (given, used) if key in part]
        groups["Parameters"][key] = ": ".join(dict.fromkeys(values))
    lists = []
    for title, entries in groups.items():
        rows = "".join(
            f"<dt>{escape(NAMES.get(key, str(key)))}</dt><dd>{escape(text(value))}</dd>"
            for key, value in entries.items()
            if value is not None
        )
        if rows:
            lists.append(f"<div><h3>{escape(title)}</h3><dl>{rows}</dl></div>")
    return f'<div class="facts">{"".join(lists)}</div>'


def text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        short = len(value) < 5
        return " × ".join(map(text, value)) if short else f"{len(value)} values"
    if isinstance(value, dict):
        return ", ".join(f"{key} {text(entry)}" for key, entry in value.items())
    return str(value)
