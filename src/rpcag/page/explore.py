"""The page of one decomposition: ``rpcag explore``."""

import math
from pathlib import PurePath
from typing import Any

import numpy as np

from rpcag.files.decomposition import Decomposition, plain
from rpcag.page import pack
from rpcag.page.document import (
    Page,
    empty,
    escape,
    hint,
    scrolled,
    section,
    verdict,
)
from rpcag.page.extract import (
    MATRIX_BYTES,
    PIXELS,
    Extract,
    extract,
    shrink,
    shrunk_shape,
)
from rpcag.page.facts import facts_html
from rpcag.page.graph import graph_parts
from rpcag.page.words import certificate, count, fit, share

# Number of components to choose from.
COMPONENTS = 8
# Maximum number of labels with their own color and shape; more numbers get a scale.
CLASSES = 28
LEGEND = 60
VALUES = 200  # singular values drawn
WEIGHTS = 400  # features whose weights in the components are listed
LARGEST = 1e36  # the page computes in single precision


def explore(found: Decomposition, *, limit: int = MATRIX_BYTES) -> str:
    """HTML page that shows a decomposition.

    Parameters
    ----------
    found : Decomposition
    limit : int
        Bytes of L and S on the page before compression; larger ones are reduced by
        `rpcag.page.extract`.
    """
    _check_size(found)
    kept = extract(found, limit)
    source = (found.facts.get("input") or {}).get("file")
    model = found.facts.get("model", "")
    title = " · ".join(filter(None, [PurePath(source).name if source else "", model]))
    page = Page(title or "Decomposition", f'<p class="lead">{_lead(found)}</p>')
    verdicts = {"certificate": certificate(found.facts), "fit": fit(found.facts)}
    cards = "".join(verdict(name, *told) for name, told in verdicts.items() if told)
    page.add(f'<div class="columns two">{cards}</div>' if verdicts["fit"] else cards)
    page.add('<div class="columns wide-left">')
    page.add(section("samples", "Samples", *_samples(page, found, kept)))
    page.add(section("embedding", "Embedding", *_embedding(page, found, kept)))
    page.add('</div><div class="columns three">')
    page.add(section("values", "Singular values", *_values(page, found)))
    convergence, gap = _curves(page, found)
    page.add(section("convergence", "Convergence", *convergence))
    page.add(section("gap", "Certified gap", *gap))
    page.add("</div>")
    page.add(section("graph", "Graph", *graph_parts(page, found.graph)))
    page.add(section("facts", "Parameters and provenance", facts_html(found.facts)))
    return page.html()


def _check_size(found: Decomposition) -> None:
    arrays = (found.low_rank, found.sparse, found.embedding, found.components)
    largest = float(np.max([np.abs(A).max(initial=0.0) for A in arrays]))  # or NaN
    if not largest < LARGEST:
        raise ValueError(
            f"the result has values of {largest:.1e}, and a page holds none beyond "
            f"{LARGEST:.0e}; decompose the data in another unit"
        )


def _lead(found: Decomposition) -> str:
    n, p = found.low_rank.shape
    rank = found.facts.get("rank", len(found.singular_values))
    parts = [f"{count(n, 'sample')} of {count(p, 'feature')}", f"rank {rank}"]
    if found.missing is not None and found.missing.any():
        parts.append(f"{share(found.missing.mean())} missing")
    if "gross_share" in found.facts:
        parts.append(f"{share(found.facts['gross_share'])} gross errors")
    return escape(" · ".join(parts))


# -- samples ---------------------------------------------------------------------------


def _samples(page: Page, found: Decomposition, kept: Extract) -> list[str]:
    if not kept.low_rank.size:
        return [empty("This matrix is empty.")]
    images = kept.image_shape is not None
    low, high = np.quantile(kept.low_rank, [0.001, 0.999]) if images else (0, 0)
    outliers = np.abs(kept.sparse[kept.sparse != 0])
    reach = float(np.quantile(outliers, 0.99)) if len(outliers) else 1.0
    span, ends = _ends(low, high), _ends(-reach, reach)
    both = {"parts": ["low_rank", "sparse"], "shows_missing": True}
    viewer = page.widget(
        "viewer",
        names=[found.samples[i] for i in kept.rows],
        labels=None if found.labels is None else [found.labels[i] for i in kept.rows],
        features=[] if images else kept.features,
        shape=kept.image_shape,
        panels=[
            {"name": "Original", **both, "kind": "plain", **span},
            {"name": "Low-rank", "parts": ["low_rank"], "kind": "plain", **span},
            {"name": "Sparse", "parts": ["sparse"], "kind": "signed", **ends},
        ],
        matrices=_matrices(kept),
        missing=None if kept.missing is None else pack.mask(kept.missing),
        amount=_floats(np.abs(found.sparse[kept.rows]).sum(axis=1)),
        **({} if images else _scales(kept)),
    )
    told = list(kept.notes)
    if images:
        told.append("Values beyond the ends of a scale have the colors of its ends.")
    notes = [hint(" ".join(told))] if told else []
    return [viewer, *notes, *_components(page, found)]


def _components(page: Page, found: Decomposition) -> list[str]:
    """The axes of the embedding as images."""
    shape = found.image_shape
    if shape is None or not len(found.components):
        return []
    area = shape[0] * shape[1]
    by = max(1, math.ceil(math.sqrt(area / PIXELS)))
    shown = shrink(np.asarray(found.components[:COMPONENTS], dtype=float), shape, by)
    small = shrunk_shape(shape, by)
    gallery = page.widget("gallery", images=pack.signed(shown), shape=small)
    told = hint("The axes of the embedding as images.")
    return ["<h3>Components</h3>", told, gallery]


def _matrices(kept: Extract) -> dict[str, pack.Packed]:
    if kept.exact:
        return {
            "low_rank": pack.exact(kept.low_rank),
            "sparse": pack.exact(kept.sparse),
        }
    each = kept.image_shape is None  # features of a table have their own units
    return {
        "low_rank": pack.levels(kept.low_rank, by_column=each),
        "sparse": pack.signed(kept.sparse, by_column=each),
    }


def _scales(kept: Extract) -> dict[str, Any]:
    """Center and spread of every feature, and whether they differ too much to share."""
    L = kept.low_rank
    center, spread = np.median(L, axis=0), L.std(axis=0)
    flat = spread <= 1e-9 * np.abs(L).max(initial=0.0)
    usual = float(np.median(spread[~flat])) if (~flat).any() else 1.0
    own = bool(center.std() > 3 * usual) or (
        bool((~flat).any()) and float(spread.max() / spread[~flat].min()) > 20
    )
    spread = np.where(flat, usual, spread)
    return {"center": _floats(center), "spread": _floats(spread), "own_scales": own}


# -- embedding -------------------------------------------------------------------------


def _embedding(page: Page, found: Decomposition, kept: Extract) -> list[str]:
    Z = np.asarray(found.embedding)[kept.rows, :COMPONENTS]
    if Z.shape[1] == 0 or len(Z) == 0:
        return [empty("The low-rank part is zero, so there are no components to show.")]
    names = [f"component {k + 1}" for k in range(Z.shape[1])]
    if Z.shape[1] == 1:  # one component, over the order of the samples
        reach = float(np.abs(Z - Z.mean()).max()) or 1.0
        Z = np.column_stack([np.linspace(-reach, reach, len(Z)), Z])
        names = ["order of the samples", *names]
    labels = None if found.labels is None else [found.labels[i] for i in kept.rows]
    cloud = page.widget(
        "embedding",
        points=pack.exact(Z),
        axis_names=names,
        describes=f"{count(len(Z), 'sample')} along {' and '.join(names[:3])}.",
        **colors(labels, len(Z)),
    )
    parts = [cloud]
    total = found.embedding.shape[1]
    if total > COMPONENTS:
        parts.append(hint(f"The first {COMPONENTS} of {total:,} components are shown."))
    return parts + _weights(found)


def _weights(found: Decomposition) -> list[str]:
    """Weights of the features in the components, if features have names."""
    if found.image_shape is not None or len(found.features) > WEIGHTS:
        return []
    components = np.asarray(found.components[:COMPONENTS], dtype=float)
    rows = []
    for name, weights in zip(found.features, components.T, strict=True):
        cells = "".join(f"<td>{w:.3f}</td>".replace("-", "−") for w in weights)
        rows.append(f'<tr><th scope="row">{escape(name)}</th>{cells}</tr>')
    header = ["feature", *(str(k + 1) for k in range(len(components)))]
    return [scrolled("Weights of the features in the components", header, rows)]


def colors(labels: list[str] | None, count: int) -> dict[str, Any]:
    """Classes and codes of labels, or numbers for a scale: the labels or the order."""
    order = {"numbers": list(range(count)), "ends": ["first sample", "last"]}
    nothing: dict[str, Any] = {"classes": None, "codes": None, **order}
    if labels is None:
        return nothing
    numbers = _numbers(labels)
    distinct = sorted(set(labels), key=None if numbers is None else float)
    if numbers is not None and len(distinct) > CLASSES:
        return nothing | {"numbers": numbers, "ends": None}
    if len(distinct) > LEGEND:  # names rather than classes: the tooltip shows them
        return nothing
    place = {name: k for k, name in enumerate(distinct)}
    return nothing | {"classes": distinct, "codes": [place[name] for name in labels]}


def _numbers(labels: list[str]) -> list[float] | None:
    try:
        found = [float(label) for label in labels]
    except ValueError:
        return None
    return found if np.isfinite(found).all() else None


# -- charts ----------------------------------------------------------------------------


def _values(page: Page, found: Decomposition) -> list[str]:
    values = _floats(found.singular_values[:VALUES])
    if not values:
        return [empty("The low-rank part is zero: it has no singular values.")]
    chart = page.widget(
        "bars",
        "figure",
        edges=[k + 0.5 for k in range(len(values) + 1)],
        names=[str(k + 1) for k in range(len(values))],
        values=values,
        x_name="component",
        y_name="singular value of the low-rank part",
        describes=f"Singular values, from {values[0]:.4g} down to {values[-1]:.4g}.",
    )
    more = len(found.singular_values) > VALUES
    return [chart, *([hint(f"The first {VALUES} are shown.")] if more else [])]


def _curves(page: Page, found: Decomposition) -> tuple[list[str], list[str]]:
    """Objective with its lower bound, and gap, over the iterations."""
    rows = plain(found.facts.get("history") or [])
    whole = [row for row in rows if len(row) == 4 and None not in row]
    if not whole:
        nothing = [empty("No certificates were recorded.")]
        return nothing, nothing
    steps, objective, bound, gap = (list(part) for part in zip(*whole, strict=True))

    def lines(series: list[dict[str, Any]], y_name: str, log: bool, told: str) -> str:
        scale = "log" if log else "linear"
        names = {"x_name": "iteration", "y_name": y_name, "y_scale": scale}
        return page.widget("lines", "figure", series=series, **names, describes=told)

    values = np.array([objective, bound])
    far = bool(values.min() > 0 and values.max() > 30 * values.min())
    both = lines(
        [
            {"name": "objective", "x": steps, "y": objective},
            {"name": "lower bound", "x": steps, "y": bound},
        ],
        "objective and its lower bound",
        far,
        f"The objective ends at {objective[-1]:.6g}, its lower bound at "
        f"{bound[-1]:.6g}.",
    )
    if max(gap) <= 0:
        return [both], [empty("The gap is zero to the last digit.")]
    series: list[dict[str, Any]] = [{"name": "gap", "x": steps, "y": gap}]
    wanted = _wanted(found.facts)
    if wanted:
        line = {"x": [steps[0], steps[-1]], "y": [wanted] * 2, "dashed": True}
        series.append({"name": "asked for", **line})
    told = f"The certified gap ends at {gap[-1]:.2g}."
    return [both], [lines(series, "certified relative gap", True, told)]


def _wanted(facts: dict[str, Any]) -> float | None:
    for name in ("resolved", "parameters"):
        tol = (facts.get(name) or {}).get("tol")
        if isinstance(tol, int | float) and tol > 0:
            return float(tol)
    return None


def _floats(values: np.ndarray) -> list[float]:
    """Six digits are enough for a picture."""
    return [float(f"{value:.6g}") for value in np.asarray(values, dtype=float)]


def _ends(low: float, high: float) -> dict[str, float]:
    """Of a scale, to a thousandth of it."""
    digits = 2 - math.floor(math.log10(high - low)) if high > low else 2
    return {
        name: round(float(v), digits) + 0.0
        for name, v in (("low", low), ("high", high))
    }
