"""``rpcag cluster``."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table as RichTable

from rpcag.atomic import write_atomically
from rpcag.commands import options as o
from rpcag.commands.output import incomplete, mistakes, report, shortened, summary
from rpcag.files.decomposition import Decomposition, is_result, plain
from rpcag.files.matrices import write_rows
from rpcag.files.names import unique
from rpcag.files.place import check_file

DELIMITERS = {".csv": ",", ".tsv": "\t"}
HEADER = ("sample", "cluster", "label")
# Default weights, as in the study of clustering. The models' own defaults are chosen to
# predict hidden entries, which needs less weight on the graph.
WEIGHTS: dict[str, dict[str, str]] = {
    "rpca": {"lam": "theory"},
    "rpcag": {"gamma": "clustering"},
    "frpcag": {"gamma": "unit", "gamma_features": "unit"},
}
SHOWN = 20  # sizes of clusters in the summary


@o.takes_groups
def cluster(
    input: o.Input,
    *,
    k: Annotated[
        int | None,
        typer.Option(
            "-k", min=1, help="Number of clusters. Default: the number of labels."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Table to write, .csv or .tsv."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Any model that rpcag models lists. Default: rpcag.",
            rich_help_panel="Model",
        ),
    ] = None,
    options: o.ModelOptions,
    seed: o.Seed = 0,
    force: o.Force = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
    reading: o.ReadingOptions,
) -> None:
    """Cluster samples with missing values and outliers.

    Fits a model, scales each row of its embedding to unit length, and runs k-means on
    the first k components. The default model is rpcag with --gamma clustering. INPUT
    may also be the folder of an earlier rpcag decompose --gamma clustering. If labels
    are given, also reports the clustering error.

    Examples:
    rpcag cluster sensors.csv -k 3 -o clusters.csv
    rpcag cluster faces.npz --labels y --model glpca
    rpcag cluster result -k 3 --json
    """
    from rpcag.clustering import cluster_embedding

    with mistakes():
        if output is not None:
            _check_file(output, force)
        if input.is_dir() and is_result(input):
            _check_unused(input, model, options, reading)
            fitted = _load(input, k, options.components)
        else:
            fitted = _fit(input, k, model or "rpcag", options, reading, quiet)
        found = cluster_embedding(
            fitted.embedding,
            fitted.k,
            adjacency=fitted.adjacency,
            weighted=fitted.weighted,
            random_state=seed,
        )
        facts = fitted.facts | _errors(fitted.labels, found)
        sizes = np.bincount(found, minlength=fitted.k).tolist()
        facts |= {"k": fitted.k, "sizes": sizes, "seed": seed}
        if output is not None:
            _write(output, fitted, found)
            facts["output"] = str(output)
    members = dict(zip(unique(fitted.samples), found.tolist(), strict=True))
    told = plain(facts | {"clusters": members})
    report(told, _summary(facts, input), notes=fitted.notes, quiet=quiet, json=json)
    if facts.get("status", "converged") not in ("converged", "closed form"):
        raise incomplete(facts["status"], facts.get("gap"), options.tol)


@dataclass
class _Fitted:
    """The data to cluster, the number of clusters, and the source."""

    samples: list[str]
    labels: list[str] | None
    k: int
    embedding: np.ndarray
    adjacency: Any
    facts: dict[str, Any]
    notes: list[str]
    weighted: bool = True


def _check_unused(folder: Path, model: str | None, *groups: Any) -> None:
    """Refuse options that do not apply to an earlier result."""
    given = [] if model is None else ["model"]
    for group in groups:
        given += [f.name for f in fields(group) if getattr(group, f.name) != f.default]
    for name in given:
        if name != "components":
            raise ValueError(
                f"--{name.replace('_', '-')}: {folder} is decomposed already; pass the "
                "data instead, or leave the option out"
            )


def _load(folder: Path, k: int | None, components: int | None) -> _Fitted:
    """The embedding and the graph of an earlier decomposition."""
    found = Decomposition.load(folder)
    k = _number(k, found.labels, len(found.samples))
    names = ("model", "resolved", "gap", "status")
    facts = {name: found.facts[name] for name in names if name in found.facts}
    notes = []
    if found.facts.get("parameters", {}).get("gamma") == "auto":
        notes.append(
            f"the weights of {folder} were chosen to predict missing entries; clusters "
            "are usually better with rpcag decompose --gamma clustering"
        )
    facts = {"model": "unknown model"} | facts
    Q = found.embedding[:, : components or k]
    return _Fitted(found.samples, found.labels, k, Q, found.graph, facts, notes)


def _fit(
    input: Path,
    k: int | None,
    model: str,
    options: o.ModelOptions,
    reading: o.ReadingOptions,
    quiet: bool,
) -> _Fitted:
    from rpcag.commands import fitting
    from rpcag.files.reading import read_table

    kind = fitting.model_class(model, fitting.BY_NAME)
    name = kind.__name__.lower()
    table = read_table(input, reading.reading())
    k = _number(k, table.labels, len(table.samples))
    d = options.components or min(k, *table.X.shape)
    estimator = fitting.build(kind, options, n_components=d, **WEIGHTS.get(name, {}))
    facts, notes = fitting.fit(estimator, table, options, input, quiet=quiet)
    facts.pop("history", None)
    return _Fitted(
        table.samples,
        table.labels,
        k,
        estimator.embedding_,
        getattr(estimator, "adjacency_", None),
        facts,
        notes,
        weighted=name in fitting.DECOMPOSITIONS,
    )


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
    """Whether the file starts with a header from `_write`."""
    delimiter = DELIMITERS[path.suffix.lower()]
    with path.open("rb") as file:
        first = file.readline(100).decode("utf-8", "replace").rstrip("\n")
    return first in (delimiter.join(HEADER), delimiter.join(HEADER[:2]))


def _write(path: Path, fitted: _Fitted, found: np.ndarray) -> None:
    columns = [fitted.samples, found.tolist()]
    if fitted.labels is not None:
        columns.append(fitted.labels)
    delimiter = DELIMITERS[path.suffix.lower()]
    with write_atomically(path) as part:
        write_rows(part, delimiter, HEADER[: len(columns)], zip(*columns, strict=True))


def _summary(facts: dict[str, Any], input: Path) -> RichTable:
    sizes = [str(size) for size in facts["sizes"]]
    rows = {"model": facts["model"], "samples in each": shortened(sizes, SHOWN)}
    if "classes" in facts:
        matching, majority = facts["error_matching"], facts["error_majority"]
        rows["classes"] = str(facts["classes"])
        rows["error"] = f"{100 * matching:.1f} % (one class per cluster)"
        rows[""] = f"{100 * majority:.1f} % (majority class of each cluster)"
    if "output" in facts:
        rows["written to"] = facts["output"]
    return summary(f"{facts['k']} clusters of {input}", rows)
