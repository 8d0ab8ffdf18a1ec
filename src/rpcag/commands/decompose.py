"""``rpcag decompose``."""

import hashlib
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table as RichTable

from rpcag.commands import options as o
from rpcag.commands.output import (
    INTERRUPTED,
    fail,
    incomplete,
    mistakes,
    report,
    summary,
)
from rpcag.files.decomposition import Decomposition, check_target, plain
from rpcag.files.matrices import FORMATS, check_format
from rpcag.graphs.inputs import percent
from rpcag.page.words import certificate, prediction


@o.takes_groups
def decompose(
    input: o.Input,
    output: o.OutputFolder,
    *,
    model: Annotated[
        str,
        typer.Option(
            metavar="rpca|rpcag|frpcag",
            help="rpca: Robust PCA. rpcag: with a graph between samples. frpcag: fast "
            "variant with two graphs.",
            rich_help_panel="Model",
        ),
    ] = "rpcag",
    options: o.ModelOptions,
    format: Annotated[
        str, typer.Option(metavar="|".join(FORMATS), help="Format of the matrices.")
    ] = "npy",
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Save the state to FILE every minute, and on Ctrl-C or SIGTERM. Run "
            "the same command to continue.",
        ),
    ] = None,
    force: o.Force = False,
    quiet: o.Quiet = False,
    json: o.Json = False,
    reading: o.ReadingOptions,
) -> None:
    """Split data with gaps and outliers into a low-rank and a sparse part.

    Writes a folder with low_rank, sparse, components, embedding, and result.json. View
    it with rpcag explore. To fill gaps and replace outliers of a table, use rpcag
    repair instead.

    Examples:
    rpcag decompose sensors.csv -o result
    rpcag decompose sensors.csv -o tables --scale robust --format csv --force
    rpcag decompose faces.npz -o faces --labels y --shape 8x6 --lam 0.1 --gamma 0.05
    rpcag decompose sensors.csv -o hours --transpose --graph chain
    rpcag decompose sensors.csv -o smooth --graph edges.csv --gamma cv --json
    """
    from rpcag.commands import fitting
    from rpcag.files.reading import read_table

    with mistakes():
        state = None if checkpoint is None else str(checkpoint)
        kind = fitting.model_class(model, fitting.DECOMPOSITIONS)
        estimator = fitting.build(kind, options, checkpoint=state)
        check_format(format)
        check_target(output, force, format, [input, options.graph])
        table = read_table(input, reading.reading())
        facts, notes = fitting.fit(estimator, table, options, input, quiet=quiet)
        if facts["status"] == "stopped":
            raise fail(_stopped(estimator), INTERRUPTED)
        facts["input"] = _provenance(input) | {"shape": list(table.X.shape)}
        facts["components"] = options.components
        if options.graph is not None and Path(options.graph).is_file():
            facts["graph"] = _provenance(Path(options.graph))
        found = fitting.decomposition(estimator, table, facts, options.components)
        written = found.save(output, format=format, force=force)
    told = {k: v for k, v in found.facts.items() if k not in ("history", "scaling")}
    told |= {"output": str(output), "files": [path.name for path in written]}
    shown = _summary(found, input, output)
    report(plain(told), shown, notes=notes, quiet=quiet, json=json)
    if facts["status"] != "converged":
        raise incomplete(facts["status"], facts["gap"], estimator.tol)


def _provenance(path: Path) -> dict[str, Any]:
    return {"file": path.resolve().name, "sha256": _fingerprint(path)}


def _fingerprint(path: Path) -> str:
    """SHA-256 of a file; of a folder, over the names and contents of its files."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    total = hashlib.sha256()
    for member in sorted(path.rglob("*")):
        if member.is_file():
            total.update(f"{member.relative_to(path).as_posix()}\0".encode())
            total.update(_fingerprint(member).encode())
    return total.hexdigest()


def _stopped(estimator: Any) -> str:
    """The message after a stop. While weights are chosen there is no state to save."""
    from rpcag.models.progress import Monitor

    states = Path(estimator.checkpoint), Monitor.of(estimator, "graph").checkpoint
    if any(path is not None and path.exists() for path in states):
        return "stopped; the state is saved. Run the same command to continue"
    return "stopped before there was a state to save"


def _summary(found: Decomposition, input: Path, output: Path) -> RichTable:
    f = found.facts
    n, p = found.low_rank.shape
    rows = {
        "samples x features": f"{n} x {p}",
        "missing": percent(f["missing"] / (n * p)),
        "features": {"none": "not scaled"}.get(f["scale"], f"scaled: {f['scale']}"),
        "weights": ", ".join(f"{name} {w:.3g}" for name, w in f["resolved"].items()),
        "rank of L": str(f["rank"]),
        "entries in S": f"{percent(f['sparse_share'])} of those observed; gross, "
        f"above the deviation of the data: {percent(f['gross_share'])}",
    }
    for k, entry in enumerate(f["largest"]):
        rows["largest in S" if k == 0 else " " * k] = (
            f"{entry['sample']}, {entry['feature']}: {entry['value']:.4g} "
            f"where {entry['expected']:.4g} fits"
        )
    rows["optimality"], _ = certificate(f)
    predicted = prediction(plain(f))
    if predicted is not None:
        rows["prediction"] = predicted
    rows["time"] = f"{f['seconds']:.1f} s, {f['n_iter']} iterations"
    rows["written to"] = str(output)
    return summary(f"{f['model']} of {input}", rows)
