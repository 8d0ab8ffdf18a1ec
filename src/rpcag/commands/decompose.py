"""``rpcag decompose``."""

import hashlib
from pathlib import Path
from typing import Annotated, Any

import typer

from rpcag.commands import options as o
from rpcag.commands.output import incomplete, mistakes, report, summary
from rpcag.files import decomposition as results
from rpcag.graphs.inputs import percent
from rpcag.page.words import certificate, error, prediction


@o.takes_groups
def decompose(
    input: o.Input,
    output: o.OutputFolder,
    *,
    model: o.Model = "rpcag",
    options: o.ModelOptions,
    format: Annotated[
        str,
        typer.Option(metavar="|".join(results.FORMATS), help="Format of the matrices."),
    ] = "npy",
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Save the state to FILE every minute. If the run is stopped, run the "
            "same command to continue.",
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
    rpcag decompose sensors.csv -o smooth --graph edges.csv --json
    """
    from rpcag.commands import fitting
    from rpcag.files.reading import read_table

    with mistakes():
        others = {} if checkpoint is None else {"checkpoint": str(checkpoint)}
        estimator = fitting.build(model, options, **others)
        results.check_format(format)
        results.check_target(output, force, format, [input, options.graph])
        table = read_table(input, reading.reading())
        found, notes = fitting.decomposed(estimator, table, options, input, quiet=quiet)
        facts = found.facts
        facts["input"] = _provenance(input) | {"shape": list(table.X.shape)}
        facts["components"] = options.components
        if Path(options.graph or "").is_file():
            facts["graph"] = _provenance(Path(options.graph or ""))
        written = found.save(output, format=format, force=force)
    told = {k: v for k, v in facts.items() if k not in ("history", "scaling")}
    told |= {"output": str(output), "files": [path.name for path in written]}
    told["notes"] = notes
    shown = summary(f"{facts['model']} of {input}", _rows(found, output))
    report(results.plain(told), shown, notes=notes, quiet=quiet, json=json)
    if facts["status"] != "converged":
        raise incomplete(facts["status"], facts["gap"], estimator.tol)


def _provenance(path: Path) -> dict[str, Any]:
    """The name of a file or folder, and the hash of a file."""
    digest = None
    if path.is_file():
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": path.resolve().name, "sha256": digest}


def _rows(found: results.Decomposition, output: Path) -> dict[str, str | None]:
    f = found.facts
    n, p = found.low_rank.shape
    return {
        "samples x features": f"{n} x {p}",
        "missing": percent(f["missing"] / (n * p)),
        "features": {"none": "not scaled"}.get(f["scale"], f"scaled: {f['scale']}"),
        "weights": ", ".join(f"{name} {w:.3g}" for name, w in f["resolved"].items()),
        "rank of L": str(f["rank"]),
        "entries in S": f"{percent(f['sparse_share'])} of those observed; gross, "
        f"above the deviation of the data: {percent(f['gross_share'])}",
        "largest in S": "\n".join(": ".join(error(entry)) for entry in f["largest"]),
        "optimality": certificate(f)[0],
        "prediction": prediction(results.plain(f)),
        "time": f"{f['seconds']:.1f} s, {f['n_iter']} iterations",
        "written to": str(output),
    }
