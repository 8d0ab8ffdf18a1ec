"""``rpcag cluster``."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table as RichTable

from rpcag.atomic import write_atomically
from rpcag.commands import options as o
from rpcag.commands.decompose import load_graph
from rpcag.commands.output import (
    INCOMPLETE,
    console,
    fail,
    mistakes,
    note,
    print_json,
)
from rpcag.commands.progress import GapBar
from rpcag.files.decomposition import Decomposition, is_result, plain
from rpcag.files.matrices import write_rows
from rpcag.files.names import unique
from rpcag.files.place import check_file
from rpcag.files.table import Table

DELIMITERS = {".csv": ",", ".tsv": "\t"}
HEADER = ("sample", "cluster", "label")
# Weights that are not given, as in the study of clustering. The models' own defaults
# predict hidden entries, which needs less weight on the graph.
WEIGHTS: dict[str, dict[str, str]] = {
    "rpca": {"lam": "theory"},
    "rpcag": {"gamma": "clustering"},
    "frpcag": {"gamma": "unit", "gamma_features": "unit"},
}
# Options that a result has no use for.
OF_DATA = (
    *("model", "lam", "gamma", "gamma_features", "graph", "tol", "max_iter"),
    *("scale", "variable", "labels", "names", "drop", "missing", "transpose"),
    *("shape", "color", "delimiter", "decimal", "header"),
)
FLAGS = ("transpose", "color")


def cluster(
    input: o.Input,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", min=1, help="Number of clusters. Default: the number of labels."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write, .csv or .tsv."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="Any model that rpcag models lists. Default: rpcag.",
            rich_help_panel=o.MODEL,
        ),
    ] = None,
    lam: o.Lam = None,
    gamma: o.Gamma = None,
    gamma_features: o.GammaFeatures = None,
    graph: o.Graph = None,
    components: o.Components = None,
    tol: o.Tol = None,
    max_iter: o.MaxIter = None,
    scale: o.Scale = None,
    seed: o.Seed = 0,
    force: o.Force = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
    variable: o.Variable = None,
    labels: o.Labels = None,
    names: o.Names = None,
    drop: o.Drop = None,
    missing: o.Missing = None,
    transpose: o.Transpose = False,
    shape: o.Shape = None,
    color: o.Color = False,
    delimiter: o.Delimiter = None,
    decimal: o.Decimal = None,
    header: o.Header = None,
) -> None:
    """Cluster samples with missing values and outliers.

    Runs k-means on the first k components of a model. By default this is rpcag with
    --gamma clustering. Samples of the embedding are scaled to unit length. INPUT may be
    the folder of an earlier rpcag decompose --gamma clustering. If labels are given,
    also reports the clustering error.

    Examples:
    rpcag cluster sensors.csv -k 3 -o clusters.csv
    rpcag cluster faces.npz --labels y --model glpca
    rpcag cluster result -k 3 --json
    """
    given = locals()
    with mistakes():
        if output is not None:
            _check_file(output, force)
        from rpcag.clustering import cluster_embedding

        if input.is_dir() and is_result(input):
            table, embedded, facts, notes = _from_result(input, k, given)
        else:
            table, embedded, facts, notes = _from_table(input, k, given)
        wanted = facts.pop("k")
        found = cluster_embedding(**embedded, n_clusters=wanted, random_state=seed)
        facts |= _errors(table.labels, found)
        sizes = np.bincount(found, minlength=wanted).tolist()
        facts |= {"k": wanted, "sizes": sizes, "seed": seed}
        if output is not None:
            _write(output, table, found)
            facts["output"] = str(output)
    if json:
        members = dict(zip(unique(table.samples), found.tolist(), strict=True))
        print_json(plain(facts | {"clusters": members}))
    elif not quiet:
        for message in notes:
            note(message)
        console().print(_summary(facts, input))
    if facts.get("status", "converged") not in ("converged", "closed form"):
        raise fail(
            f"{facts['model']} did not converge; accept the clusters, or raise "
            "--max-iter or --tol",
            INCOMPLETE,
        )


def _from_result(folder: Path, k: int | None, given: dict[str, Any]):
    """The embedding and the graph of an earlier decomposition."""
    for name in OF_DATA:
        if given[name] is not (False if name in FLAGS else None):
            raise ValueError(
                f"--{name.replace('_', '-')}: {folder} is decomposed already; name the "
                "data instead, or leave the option out"
            )
    found = Decomposition.load(folder)
    wanted = _number(k, found.labels, len(found.samples))
    table = Table(found.low_rank, found.samples, found.features, found.labels)
    Q = found.embedding[:, : given["components"] or wanted]
    names = ("model", "resolved", "gap", "status")
    facts = {name: found.facts[name] for name in names if name in found.facts}
    notes = []
    if found.facts.get("parameters", {}).get("gamma") == "auto":
        notes.append(
            f"the weights of {folder} were chosen to predict missing entries; clusters "
            "are usually better with rpcag decompose --gamma clustering"
        )
    facts = {"model": "unknown model"} | facts | {"k": wanted}
    return table, {"embedding": Q, "adjacency": found.graph}, facts, notes


def _from_table(input: Path, k: int | None, given: dict[str, Any]):
    from rpcag.commands import fitting
    from rpcag.files.reading import read_table

    fitting.check_scale(given["scale"])
    kind = fitting.model_class(given["model"] or "rpcag", fitting.BY_NAME)
    name = kind.__name__.lower()
    table = read_table(input, o.reading_of(given))
    wanted = _number(k, table.labels, len(table.samples))
    d = given["components"] or min(wanted, *table.X.shape)
    weights = WEIGHTS.get(name, {}) | _given_weights(given)
    others = {option: given[option] for option in ("tol", "max_iter", "graph")}
    estimator: Any = fitting.build(kind, weights | others | {"n_components": d})
    fitting.check_missing(estimator, table)
    if given["graph"] is not None:
        estimator.set_params(graph=load_graph(given["graph"], table.samples))
    X, scale, said = fitting.scale_rows(estimator, table, given["scale"])
    tol, most = getattr(estimator, "tol", 1.0), getattr(estimator, "max_iter", 1)
    with GapBar(kind.__name__, tol, most, quiet=given["quiet"]) as bar:
        if "callback" in estimator.get_params():
            estimator.set_params(callback=bar)
        seconds, notes = fitting.fit(estimator, X)
    facts = fitting.facts(estimator, seconds) | {"scale": scale}
    facts.pop("history", None)
    embedded = {
        "embedding": estimator.embedding_,
        "adjacency": getattr(estimator, "adjacency_", None),
        "weighted": name in fitting.DECOMPOSITIONS,
    }
    return table, embedded, facts | {"k": wanted}, table.notes + said + notes


def _given_weights(given: dict[str, Any]) -> dict[str, float | str]:
    """lam, gamma and gamma_features, where the user has set them."""
    words = {"lam": ["theory"], "gamma": ["cv", "clustering"], "gamma_features": []}
    found = {
        name: o.parse_number("--" + name.replace("_", "-"), given[name], *known)
        for name, known in words.items()
    }
    return {name: value for name, value in found.items() if value is not None}


def _number(k: int | None, labels: list[str] | None, n: int) -> int:
    if k is None and labels is None:
        raise ValueError(
            "give the number of clusters with -k, or the classes with --labels"
        )
    if k is None:
        k = len({label for label in labels or () if label})
    if not 1 <= k <= n:
        raise ValueError(f"-k {k} must be between 1 and the number of samples, {n}")
    return k


def _errors(labels: list[str] | None, found: np.ndarray) -> dict[str, Any]:
    """Both clustering errors, over the samples whose class is known."""
    from rpcag.metrics import clustering_error

    if labels is None:
        return {}
    known = np.array([bool(label) for label in labels])
    if not known.any():
        raise ValueError("--labels: no sample has a class")
    truth = np.array(labels)[known]
    return {
        "classes": len(set(truth.tolist())),
        "error_matching": clustering_error(truth, found[known]),
        "error_majority": clustering_error(truth, found[known], label="majority"),
    }


def _check_file(path: Path, force: bool) -> None:
    if path.suffix.lower() not in DELIMITERS:
        raise ValueError(f"--output must be a .csv or .tsv file, got {path}")
    check_file(path, _is_ours, "clusters", force=force, example="clusters.csv")


def _is_ours(path: Path) -> bool:
    """Whether the file begins with a header that `_write` writes."""
    delimiter = DELIMITERS[path.suffix.lower()]
    with path.open("rb") as file:
        first = file.readline(100).decode("utf-8", "replace").rstrip("\n")
    return first in (delimiter.join(HEADER), delimiter.join(HEADER[:2]))


def _write(path: Path, table: Table, found: np.ndarray) -> None:
    columns = [table.samples, found.tolist()]
    if table.labels is not None:
        columns.append(table.labels)
    delimiter = DELIMITERS[path.suffix.lower()]
    with write_atomically(path) as part:
        write_rows(part, delimiter, HEADER[: len(columns)], zip(*columns, strict=True))


def _summary(facts: dict[str, Any], input: Path) -> RichTable:
    title = escape(f"{facts['k']} clusters of {input}")
    table = RichTable(show_header=False, title=title)
    table.add_column(style="dim")
    table.add_column()
    table.add_row("model", facts["model"])
    shown = [str(size) for size in facts["sizes"][:20]]
    more = len(facts["sizes"]) - len(shown)
    sizes = ", ".join(shown) + (f" and {more} more" if more else "")
    table.add_row("samples in each", sizes)
    if "classes" in facts:
        matching, majority = facts["error_matching"], facts["error_majority"]
        table.add_row("classes", str(facts["classes"]))
        table.add_row("error", f"{100 * matching:.1f} % (one class per cluster)")
        table.add_row("", f"{100 * majority:.1f} % (majority class of each cluster)")
    if "output" in facts:
        table.add_row("written to", escape(facts["output"]))
    return table
