"""The experiments of a study, drawn: from records to widgets.

`DRAWINGS` has a function per experiment, ``draw(page, records) -> list of HTML``. An
experiment without one is shown by its tables and, where matplotlib is installed, by
the figure that `rpcag.study.figures` makes of it.
"""

import base64
import contextlib
import io
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from rpcag.page import pack
from rpcag.page.document import Page, escape, hint
from rpcag.page.tables import OURS
from rpcag.study.experiments import (
    components,
    directions,
    graph_quality,
    parameters,
    timing,
)
from rpcag.study.methods import METHODS
from rpcag.study.printed import times
from rpcag.study.report import SETUP_NAMES

PLAIN = {"low": 0.0, "high": 255.0, "kind": "plain"}


def draw_components(page: Page, records: list[dict]) -> list[str]:
    """Three components of every model, in small clouds that turn together."""
    parts = []
    for setup, found in components.by_setup(records).items():
        clouds = [
            {
                "name": model,
                "note": f"{100 * record['errors'][0]:.0f} % error",
                "points": pack.exact(np.array(record["components"])),
                "codes": record["classes"],
            }
            for model, record in found.items()
        ]
        parts.append(f"<h3>{escape(SETUP_NAMES[setup])}</h3>")
        parts.append(page.widget("clouds", clouds=clouds, class_name="class"))
    return parts


class Map(NamedTuple):
    """Numbers over lam (rows) and gamma (columns)."""

    title: str
    run: dict
    values: np.ndarray
    more: dict[str, np.ndarray]


class Scale(NamedTuple):
    """What the maps of a kind show."""

    name: str
    unit: str
    least: float  # what is below is as good


def draw_parameters(page: Page, records: list[dict]) -> list[str]:
    """Maps over gamma and lam, all of a kind on one scale."""
    images, matrices = [], []
    for record in records:
        run = record["run"]
        if "matching" in record:
            n, share = run["subjects"] * run["images"], run["corruption"]
            title = f"n = {n}, {share.removeprefix('occlusion')} % occluded"
            errors = 100 * np.array(record["matching"]["all"])
            rank = {"components": np.array(record["rank"])}
            images.append(Map(title, run, errors, rank))
        elif "log10" in record:
            title = f"rank {run['rank']}, {run['errors']} % errors"
            matrices.append(Map(title, run, np.array(record["log10"]), {}))
    relative = Scale("log10 of the relative error of L", "", parameters.EXACT)
    parts = [
        *_maps(page, "Images behind blocks", images, Scale("error", " %", 0.0)),
        *_maps(page, "Random low-rank matrices", matrices, relative),
    ]
    told = (
        "Upwards lam in units of 1 / √max(n, p), to the right gamma; left of the line "
        "gamma is 0, which is Robust PCA without a graph. A ring marks the least "
        "error, where it is the only one."
    )
    return [*parts, hint(told)]


def _maps(page: Page, title: str, maps: list[Map], scale: Scale) -> list[str]:
    if not maps:
        return []
    every = np.concatenate([one.values.ravel() for one in maps])
    span = [max(float(every.min()), scale.least), float(every.max())]
    low, high = (float(f"{end:.3g}") for end in span)
    bar = page.widget("scale", name=scale.name + scale.unit, low=low, high=high)
    drawn = "".join(_map(page, one, scale, span) for one in maps)
    return [f"<h3>{title}</h3>", bar, f'<div class="maps">{drawn}</div>']


def _map(page: Page, one: Map, scale: Scale, span: list[float]) -> str:
    order = np.argsort(one.run["gamma"])
    gammas = np.array(one.run["gamma"])[order]
    return page.widget(
        "heat",
        "figure",
        title=one.title,
        x=[f"{gamma:g}" for gamma in gammas],
        y=[f"{lam:g}" for lam in one.run["lam"]],
        x_name="gamma",
        y_name="lam √max(n, p)",
        values=one.values[:, order].tolist(),
        value_name=scale.name,
        unit=scale.unit,
        extra=[
            {"name": n, "values": v[:, order].tolist()} for n, v in one.more.items()
        ],
        span=span,
        divide=bool(gammas[0] == 0 and len(gammas) > 1),
    )


def draw_graph_quality(page: Page, records: list[dict]) -> list[str]:
    """A line per model, from the graph that knows the most to the one that does not."""
    found = graph_quality.errors_of(records)
    charts = []
    for graph, title in graph_quality.GRAPHS.items():
        known = [
            k
            for k in graph_quality.KNOWLEDGE
            if any(x[:2] == (graph, k) for x in found)
        ]
        if not known:
            continue
        series: list[dict[str, Any]] = []
        for model in METHODS:
            ys = [
                found.get((graph, k, model), found.get(("none", None, model)))
                for k in known
            ]
            if any(ys):
                y = [100 * float(np.mean(errors)) if errors else None for errors in ys]
                series.append(_line(model, list(range(len(known))), y, len(series)))
        charts.append(
            page.widget(
                "lines",
                "figure",
                series=series,
                x_names=[graph_quality.KNOWLEDGE[k] for k in known],
                x_name="what the graph knows, the most on the left",
                y_name=f"{title}: clustering error, %",
                describes=f"Clustering errors by what the graph knows; {title}.",
            )
        )
    return [f'<div class="charts">{"".join(charts)}</div>']


def draw_timing(page: Page, records: list[dict]) -> list[str]:
    """Seconds and errors by size: ours in full lines, the paper's dashed."""
    found = {(r["run"]["model"], r["n"]): r for r in records}
    sizes = sorted({n for _, n in found})
    models = {model for model, _ in found}
    paper = times()
    charts = []
    for name, scale, ours, which in (
        ("seconds of one fit without its graph", "log", _seconds, 0),
        ("clustering error, %", "linear", lambda r: 100 * r["errors"][0], 1),
    ):
        series: list[dict[str, Any]] = []
        for place, model in enumerate(m for m in timing.MODELS if m in models):
            at = [n for n in sizes if (model, n) in found]
            printed = [n for n in sizes if (model, n) in paper]
            theirs = [paper[model, n][which] for n in printed]
            series.append(_line(model, at, [ours(found[model, n]) for n in at], place))
            if printed:
                line = _line(f"{model}, paper", printed, theirs, place)
                series.append(line | {"dashed": True, "quiet": True})
        charts.append(
            page.widget(
                "lines",
                "figure",
                series=series,
                x_scale="log",
                x_ticks=sizes,
                x_name="samples",
                y_name=f"{name}; dashed: the paper’s",
                y_scale=scale,
                describes=f"{name} by number of samples.",
            )
        )
    return [f'<div class="charts">{"".join(charts)}</div>']


def _line(name: str, x: list, y: list, code: int) -> dict[str, Any]:
    """A series of a chart; our model stands out."""
    return {
        "name": name,
        "x": x,
        "y": y,
        "code": code,
        "strong": name.split(",")[0] == OURS,
    }


def _seconds(record: dict) -> float:
    return record["seconds"]["fit"]


def draw_directions(page: Page, records: list[dict]) -> list[str]:
    """Two directions of every model as images, and its singular values."""
    by_model = {record["run"]["model"]: record for record in records}
    models = [model for model in directions.FITS if model in by_model]
    images, captions = [], []
    for model in models:
        record = by_model[model]
        for i, direction in enumerate(record["directions"]):
            # A few pixels that hardly vary may be far out.
            reach = float(np.quantile(np.abs(direction), 0.99)) or 1.0
            images.append(np.clip(direction, -reach, reach) / reach)
            captions.append(f"{model} {i + 1}")
    shape = next(
        (r["image_shape"] for r in by_model.values() if r["image_shape"]), None
    )
    series = []
    for place, model in enumerate(models):
        values = by_model[model]["singular_values"]
        series.append(_line(model, list(range(1, len(values) + 1)), values, place))
    chart = page.widget(
        "lines",
        "figure",
        series=series,
        x_name="number",
        y_name="singular values over the first",
        describes="Singular values of every model over the first.",
    )
    if shape is None:
        return [chart]
    packed = pack.signed(np.array(images))
    gallery = page.widget("gallery", images=packed, shape=shape, captions=captions)
    return [gallery, chart]


def draw_video(page: Page, records: list[dict]) -> list[str]:
    """Frames beside their backgrounds, with a slider: a strip per record that has one.

    A record of the experiment "video" is drawn if it holds, beside its "run" and
    whatever else it measures::

        "strips": {
            "title": "hall",
            "shape": [height, width],
            "frames": ["frame 12", ...],
            "panels": {"frame": [[0, ..., 255], ...], "RPCA": ..., "RPCAG": ...},
        }

    Every panel is a list of frames, each of height * width gray values from 0 to 255.
    """
    parts = []
    for record in records:
        found = record.get("strips")
        if found:
            parts.append(f"<h3>{escape(found['title'])}</h3>")
            frames = {k: np.array(v, dtype=float) for k, v in found["panels"].items()}
            parts.append(strips(page, frames, found["shape"], found["frames"]))
    if not parts:
        with contextlib.suppress(FileNotFoundError):  # frames are not in the store
            parts = draw_figure("video", records)
    return parts


def strips(
    page: Page, panels: dict[str, np.ndarray], shape: Iterable[int], names: list[str]
) -> str:
    """Rows of gray images from 0 to 255 beside each other, with one slider."""
    return page.widget(
        "viewer",
        group=None,
        what="frame",
        names=names,
        labels=None,
        shape=list(shape),
        panels=[{"name": name, "parts": [name], **PLAIN} for name in panels],
        matrices={name: pack.levels(frames) for name, frames in panels.items()},
        missing=None,
        amount=None,
    )


def draw_figure(name: str, records: list[dict]) -> list[str]:
    """What matplotlib makes of an experiment, as a picture; nothing without it."""
    try:
        from rpcag.study import figures
    except ImportError:
        return []
    draw = getattr(figures, name, None)
    if draw is None:
        return []
    file = io.BytesIO()
    draw(records).savefig(file, format="png", dpi=120, facecolor="white")
    data = base64.b64encode(file.getvalue()).decode("ascii")
    text = escape(f"figure: {name.replace('_', ' ')}")
    return [f'<img class="picture" alt="{text}" src="data:image/png;base64,{data}">']


DRAWINGS: dict[str, Callable[[Page, list[dict]], list[str]]] = {
    "components": draw_components,
    "parameters": draw_parameters,
    "graph_quality": draw_graph_quality,
    "timing": draw_timing,
    "directions": draw_directions,
    "video": draw_video,
}
