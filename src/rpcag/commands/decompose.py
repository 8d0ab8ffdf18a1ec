"""``rpcag decompose``."""

import hashlib
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from rpcag.commands import options as o
from rpcag.commands.far_values import far_value_named
from rpcag.commands.output import (
    INCOMPLETE,
    INTERRUPTED,
    console,
    fail,
    mistakes,
    note,
    print_json,
)
from rpcag.commands.progress import GapBar, duration
from rpcag.files.decomposition import Decomposition, check_target, plain
from rpcag.files.matrices import FORMATS, check_format
from rpcag.graphs.inputs import percent
from rpcag.page.words import prediction

FormatOption = Annotated[
    str,
    typer.Option(
        "--format", metavar="|".join(FORMATS), help="File format of the matrices."
    ),
]


def decompose(
    input: o.Input,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="RESULT", help="Folder to write."),
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model",
            metavar="rpca|rpcag|frpcag",
            help="rpca: Robust PCA. rpcag: with a graph. frpcag: two graphs, no SVD.",
            rich_help_panel=o.MODEL,
        ),
    ] = "rpcag",
    lam: o.Lam = None,
    gamma: o.Gamma = None,
    gamma_features: o.GammaFeatures = None,
    graph: o.Graph = None,
    components: o.Components = None,
    tol: o.Tol = None,
    max_iter: o.MaxIter = None,
    scale: o.Scale = None,
    format: FormatOption = "npy",
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            metavar="FILE",
            help="Save the state here every minute and on Ctrl-C or SIGTERM; the same "
            "command continues from it.",
        ),
    ] = None,
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
    """Split data with gaps and outliers into a low-rank and a sparse part.

    Writes a folder with low_rank, sparse, components, embedding, and result.json, which
    has the parameters, the certified gap, and how well hidden entries are predicted.
    View it with rpcag explore. To fill gaps and replace outliers of a table, use rpcag
    repair instead.

    Examples:
    rpcag decompose sensors.csv -o result
    rpcag decompose sensors.csv -o tables --scale robust --format csv --force
    rpcag decompose faces.npz -o faces --labels y --shape 8x6 --lam 0.1 --gamma 0.05
    rpcag decompose sensors.csv -o hours --transpose --graph chain
    rpcag decompose sensors.csv -o smooth --graph edges.csv --gamma cv --json
    """
    given = locals()
    from rpcag.commands import fitting
    from rpcag.files.reading import read_table

    with mistakes():
        kind = fitting.model_class(model, fitting.DECOMPOSITIONS)
        chosen = {
            "lam": o.parse_number("--lam", lam, "theory"),
            "gamma": o.parse_number("--gamma", gamma, "cv", "clustering"),
            "gamma_features": o.parse_number("--gamma-features", gamma_features),
            "tol": tol,
            "max_iter": max_iter,
            "checkpoint": None if checkpoint is None else str(checkpoint),
            "graph": graph,
        }
        estimator: Any = fitting.build(kind, chosen)
        fitting.check_scale(scale)
        check_format(format)
        check_target(output, force, format, [input, graph])
        table = read_table(input, o.reading_of(given))
        notes = list(table.notes)
        if graph is not None:
            estimator.set_params(graph=load_graph(graph, table.samples))
        tol, max_iter = estimator.tol, estimator.max_iter
        with (
            GapBar(kind.__name__, tol, max_iter, quiet=quiet) as bar,
            nullcontext() if checkpoint is None else _stopping(bar),
            far_value_named(input, table.X, table.samples, table.features),
        ):
            estimator.set_params(callback=bar)
            found, said = fitting.decompose(
                table, estimator, components=components, scale=scale
            )
        # Not `bar.stop`: a stop may come when the solver has converged and its state
        # is gone.
        if found.facts["status"] == "stopped":
            raise fail(_stopped(estimator), INTERRUPTED)
        found.facts.update(_provenance(input, table.X.shape, graph, components))
        written = found.save(output, format=format, force=force)
    if json:
        print_json(outcome(found) | {"output": str(output), "files": _names(written)})
    elif not quiet:
        for message in notes + said:
            note(message)
        console().print(_summary(found, input, output))
    if found.facts["status"] != "converged":
        raise fail(
            f"the gap is {in_words(found.facts['gap'])}, not the wanted "
            f"{percent(estimator.tol)}, after {found.facts['n_iter']} iterations; "
            f"{output} has what was reached: accept it, or raise --max-iter or --tol",
            INCOMPLETE,
        )


def load_graph(graph: str, samples: list[str]) -> Any:
    """What --graph names: a kind of graph, or a file."""
    from rpcag.files.graph import read_graph
    from rpcag.models.graph import BUILDERS

    return graph if graph in BUILDERS else read_graph(graph, samples)


def in_words(gap: float) -> str:
    """gap = 1 - bound / objective, so the objective is gap / (1 - gap) above."""
    if gap >= 0.5:
        return "large"
    return percent(gap / (1 - gap))


def outcome(found: Decomposition) -> dict[str, Any]:
    """The facts without the long parts, for --json."""
    long = ("history", "scaling")
    return plain({k: v for k, v in found.facts.items() if k not in long})


def _names(written: list[Path]) -> list[str]:
    return [path.name for path in written]


def _provenance(
    input: Path, shape: tuple[int, ...], graph: str | None, components: int | None
) -> dict[str, Any]:
    found: dict[str, Any] = {
        "input": {
            "file": input.resolve().name,
            "sha256": fingerprint(input),
            "shape": list(shape),
        },
        "components": components,
    }
    if graph is not None and Path(graph).is_file():
        found["graph"] = {
            "file": Path(graph).name,
            "sha256": fingerprint(Path(graph)),
        }
    return found


def fingerprint(path: Path) -> str:
    """SHA-256 of a file; of a folder, over the names and contents of its files."""
    if path.is_file():
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    total = hashlib.sha256()
    for member in sorted(path.rglob("*")):
        if member.is_file():
            total.update(f"{member.relative_to(path).as_posix()}\0".encode())
            total.update(fingerprint(member).encode())
    return total.hexdigest()


def _stopped(estimator: Any) -> str:
    """The message after a stop. While weights are chosen there is no state to save."""
    from rpcag.models.progress import Monitor

    states = Path(estimator.checkpoint), Monitor.of(estimator, "graph").checkpoint
    if any(path is not None and path.exists() for path in states):
        return "stopped; the state is saved. Run the same command to continue"
    return "stopped before there was a state to save"


@contextmanager
def _stopping(bar: GapBar) -> Iterator[None]:
    """The first Ctrl-C or SIGTERM lets the solver save its state, the second is final.

    A signal that is ignored, such as Ctrl-C in the background of a shell, stays so.
    Only the main thread can handle signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {n: signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)}
    unchanged = (signal.SIG_IGN, None)  # None: set by something other than Python
    replaced = [n for n, handler in before.items() if handler not in unchanged]

    def ask(number: int, frame: Any) -> None:
        bar.stop = True
        for n in replaced:
            signal.signal(n, signal.default_int_handler)

    try:
        for n in replaced:
            signal.signal(n, ask)
        yield
    finally:
        for n in replaced:
            signal.signal(n, before[n])


def _summary(found: Decomposition, input: Path, output: Path) -> RichTable:
    f = found.facts
    n, p = found.low_rank.shape
    weights = ", ".join(f"{name} {value:.3g}" for name, value in f["resolved"].items())
    table = RichTable(show_header=False, title=escape(f"{f['model']} of {input}"))
    table.add_column(style="dim")
    table.add_column()
    rows = {
        "samples x features": f"{n} x {p}",
        "missing": percent(f["missing"] / (n * p)),
        "features": {"none": "not scaled"}.get(f["scale"], f"scaled: {f['scale']}"),
        "weights": weights,
        "rank of L": str(f["rank"]),
        "entries in S": f"{percent(f['sparse_share'])} of those observed; gross, "
        f"above the deviation of the data: {percent(f['gross_share'])}",
    }
    for k, entry in enumerate(f["largest"]):
        rows["largest in S" if k == 0 else " " * k] = (
            f"{entry['sample']}, {entry['feature']}: {entry['value']:.4g} "
            f"where {entry['expected']:.4g} fits"
        )
    rows["optimality"] = (
        f"objective at most {in_words(f['gap'])} above the optimum (certified)"
        if f["gap"] < 0.5
        else "objective may be far above the optimum: too few iterations"
    )
    predicted = prediction(plain(f))
    if predicted is not None:
        rows["prediction"] = predicted
    seconds = f["seconds"]
    spent = f"{seconds:.1f} s" if seconds < 60 else duration(seconds)
    rows["time"] = f"{spent}, {f['n_iter']} iterations"
    rows["written to"] = str(output)
    for name, value in rows.items():
        table.add_row(name, escape(value))
    return table
