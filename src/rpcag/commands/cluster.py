"""``rpcag cluster``."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from rpcag.atomic import write_atomically
from rpcag.commands import options as o
from rpcag.commands.output import incomplete, mistakes, report, summary
from rpcag.files.decomposition import Decomposition, plain
from rpcag.files.names import listed, unique, write_rows
from rpcag.files.place import check_file
from rpcag.page.words import count

# Default weights, as in the study of clustering. The models' own defaults are chosen to
# predict hidden entries, which needs less weight on the graph.
WEIGHTS: dict[str, dict[str, str]] = {
    "rpca": {"lam": "theory"},
    "rpcag": {"gamma": "clustering"},
    "frpcag": {"gamma": "unit", "gamma_features": "unit"},
}
SHOWN = 20  # sizes of clusters in the summary
TOLD = ("model", "parameters", "resolved", "scale", "gap", "status", "seconds")


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
        Path | None, o.output_option("FILE", "Table to write, .csv.")
    ] = None,
    model: o.Model = "rpcag",
    options: o.ModelOptions,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Random seed.")] = 0,
    force: o.Force = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
    reading: o.ReadingOptions,
) -> None:
    """Cluster samples with missing values and outliers.

    Fits a model, scales each row of its embedding to unit length, and runs k-means on
    the first k components. By default, weights suit clustering: --gamma clustering for
    rpcag, --lam theory for rpca, and --gamma unit for frpcag. If labels are given, also
    reports the clustering error.

    Examples:
    rpcag cluster sensors.csv -k 3 -o clusters.csv
    rpcag cluster faces.npz --labels y --model rpca
    rpcag cluster sensors.csv -k 3 --json
    """
    from sklearn.exceptions import ConvergenceWarning

    from rpcag.clustering import cluster_embedding
    from rpcag.commands import fitting
    from rpcag.files.reading import read_table

    with mistakes():
        if output is not None:
            _check_file(output, force)
        table = read_table(input, reading.reading())
        k = _number(k, table.labels, len(table.samples))
        others = {"n_components": options.components or min(k, *table.X.shape)}
        others |= WEIGHTS.get(model.lower(), {})
        estimator = fitting.build(model, options, **others)
        found, notes = fitting.decomposed(estimator, table, options, input, quiet=quiet)
        Z = found.embedding[:, : options.components or k]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a note says it
            clusters = cluster_embedding(Z, k, adjacency=found.graph, random_state=seed)
        sizes = np.bincount(clusters, minlength=k).tolist()
        if 0 in sizes:
            different = count(k - sizes.count(0), "different embedding")
            notes.append(f"the samples have {different}: fewer than -k {k} clusters")
        facts = {name: found.facts[name] for name in TOLD if name in found.facts}
        facts |= _error(found.labels, clusters)
        facts |= {"k": k, "sizes": sizes, "seed": seed}
        if output is not None:
            _write(output, found, clusters)
            facts["output"] = str(output)
    members = dict(zip(unique(found.samples), clusters.tolist(), strict=True))
    shown = summary(f"{k} clusters of {input}", _rows(facts))
    told = plain(facts | {"clusters": members, "notes": notes})
    report(told, shown, notes=notes, quiet=quiet, json=json)
    if facts["status"] != "converged":
        raise incomplete(facts["status"], facts.get("gap"), options.tol)


def _number(k: int | None, labels: list[str] | None, n: int) -> int:
    if k is None:
        if labels is None:
            raise ValueError(
                "give the number of clusters with -k, or the classes with --labels"
            )
        k = len(set(labels) - {""})
    if not 1 <= k <= n:
        raise ValueError(f"-k {k} must be between 1 and the number of samples, {n}")
    return k


def _error(labels: list[str] | None, clusters: np.ndarray) -> dict[str, Any]:
    """The clustering error over the samples whose class is known."""
    from rpcag.metrics import clustering_error

    if labels is None:
        return {}
    truth = np.array(labels)
    known = truth != ""
    if not known.any():
        raise ValueError("--labels: no sample has a class")
    error = clustering_error(truth[known], clusters[known])
    return {"classes": len(np.unique(truth[known])), "error": error}


def _check_file(path: Path, force: bool) -> None:
    if path.suffix.lower() != ".csv":
        raise ValueError(f"--output must be a .csv file, got {path}")

    def is_ours(path: Path) -> bool:
        with path.open("rb") as file:
            return file.readline().startswith(b"sample,cluster")

    check_file(path, is_ours, "clusters", force=force, example="clusters.csv")


def _write(path: Path, found: Decomposition, clusters: np.ndarray) -> None:
    columns = {"sample": found.samples, "cluster": clusters.tolist()}
    if found.labels is not None:
        columns["label"] = found.labels
    rows = zip(*columns.values(), strict=True)
    with write_atomically(path) as part:
        write_rows(part, list(columns), rows)


def _rows(facts: dict[str, Any]) -> dict[str, str | None]:
    rows = {
        "model": facts.get("model"),
        "samples in each": listed(facts["sizes"], SHOWN, str),
    }
    if "error" in facts:
        rows["classes"] = str(facts["classes"])
        rows["error"] = f"{100 * facts['error']:.1f} % (one class per cluster)"
    return rows | {"written to": facts.get("output")}
