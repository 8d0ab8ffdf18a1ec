"""Options of the subcommands.

Options that belong together are the fields of a dataclass, and `takes_groups` lets a
command have a parameter of that type. So each option is declared once.
"""

import inspect
import math
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from rpcag.files.table import Reading

STREAM = Path("-")


def output_option(metavar: str, help: str, *names: str) -> Any:
    """The option -o, or another, of commands that cannot write to standard output."""

    def check(path: Path | None) -> Path | None:
        if path == STREAM:
            raise typer.BadParameter(
                "only rpcag repair can write to standard output, choose a name"
            )
        return path

    names = names or ("--output", "-o")
    return typer.Option(*names, metavar=metavar, help=help, callback=check)


def argument(metavar: str, help: str) -> Any:
    return typer.Argument(metavar=metavar, help=help, show_default=False)


Input = Annotated[
    Path,
    argument(
        "INPUT",
        "Data with samples in rows: .csv, .tsv, .txt, .parquet, .xlsx, .npy, .npz, or "
        "a folder of images.",
    ),
]
OutputFolder = Annotated[Path, output_option("FOLDER", "Folder to write.")]
Model = Annotated[
    str,
    typer.Option(
        metavar="rpca|rpcag|frpcag",
        help="rpca: Robust PCA. rpcag: with a graph between samples. frpcag: fast "
        "variant with two graphs.",
        rich_help_panel="Model",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Force = Annotated[
    bool, typer.Option("--force", "-f", help="Replace the files of an earlier run.")
]


def option(help: str, metavar: str | None = None, *names: str, **others: Any) -> Any:
    """A field of a group. The name of the option is that of the field, unless given."""
    default = others.pop("default", None)
    others |= {"help": help, "metavar": metavar, "names": names}
    return field(default=default, metadata=others)


def reading_option(*words: Any, **others: Any) -> Any:
    return option(*words, rich_help_panel="Reading the input", **others)


def model_option(*words: Any, **others: Any) -> Any:
    return option(*words, rich_help_panel="Model", **others)


def takes_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Show Typer the fields of every group in place of the group."""
    groups: dict[str, Any] = {}
    shown: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if is_dataclass(parameter.annotation):
            groups[name] = parameter.annotation
            shown += map(_parameter, fields(parameter.annotation))
        else:
            shown.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{f.name: given.pop(f.name) for f in fields(group)})
        command(**given)

    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in shown}
    return run


def _parameter(one: Any) -> inspect.Parameter:
    """A field as a parameter with an option of Typer."""
    settings = dict(one.metadata)
    names = settings.pop("names") or (flag(one.name),)
    kind = Annotated[one.type, typer.Option(*names, **settings)]
    where = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(one.name, where, default=one.default, annotation=kind)


def flag(name: str) -> str:
    """The option of a parameter: --max-iter for max_iter."""
    return "--" + name.replace("_", "-")


def weight(*words: str, positive: bool = False) -> Callable[[str], float | str]:
    """A parser of numbers, "auto" and further words."""
    known = ("auto", *words)
    numbers = "a number above 0" if positive else "a number of at least 0"

    def parse(text: str) -> float | str:
        if text.lower() in known:
            return text.lower()
        with suppress(ValueError):
            if 0 <= float(text) < math.inf and (float(text) or not positive):
                return float(text)
        raise typer.BadParameter(
            f"it must be {' or '.join(known)} or {numbers}, got {text!r}"
        )

    return parse


def sides(text: str, least: int = 1, most: int = 3) -> tuple[int, ...]:
    """The sides of an image, such as 56x46 or, up to `most`, 56x46x3."""
    found = tuple(map(int, re.findall(r"\d+", text)))
    is_plain = re.fullmatch(r"\d+([x×]\d+)+", text.lower()) and len(found) <= most
    if not is_plain or min(found) < least:
        raise typer.BadParameter(
            f"write it as 64x48, with sides of at least {least}, got {text!r}"
        )
    return found


@dataclass(frozen=True)
class TextOptions:
    """How to read a table."""

    missing: list[str] | None = reading_option(
        "Value that means missing, such as -999. Can be repeated. NA, NaN, null, ? and "
        "similar words always mean missing.",
        "VALUE",
    )
    delimiter: str | None = reading_option(
        "Character between fields, or tab or space. Default: detected.", "CHARACTER"
    )
    decimal: str | None = reading_option(
        "Decimal point or comma. Default: detected.", "CHARACTER"
    )
    header: bool | None = reading_option(
        "Whether the first line has column names. Default: detected.",
        None,
        "--header/--no-header",
    )

    def reading(self) -> Reading:
        known = {one.name for one in fields(Reading)}
        given = {k: v for k, v in asdict(self).items() if k in known}
        lists = {k: tuple(given.get(k) or ()) for k in ("drop", "missing")}
        return Reading(**given | lists)


@dataclass(frozen=True)
class ReadingOptions(TextOptions):
    """How to read data of any kind."""

    variable: str | None = reading_option("Name of the array in the file.", "NAME")
    labels: str | None = reading_option("Column or array of labels.", "COLUMN")
    names: str | None = reading_option("Column or array of sample names.", "COLUMN")
    drop: list[str] | None = reading_option(
        "Column to leave out. Can be repeated.", "COLUMN"
    )
    transpose: bool = reading_option("Samples are in columns.", default=False)
    shape: Any = reading_option(
        "Shape of the images in the rows. Images of a folder are resized to it.",
        "HEIGHTxWIDTH",
        parser=sides,
    )
    color: bool = reading_option("Keep the colors of images.", default=False)


@dataclass(frozen=True)
class ModelOptions:
    """Parameters of a model."""

    lam: Any = model_option(
        "Weight of the sparse part: a number, auto (default; predicts hidden entries "
        "best; with --gamma clustering, twice theory) or theory "
        "(1 / sqrt(max(samples, features) * share of observed entries)).",
        "WEIGHT",
        parser=weight("theory", positive=True),
    )
    gamma: Any = model_option(
        "Weight of the graph: a number, auto (predicts hidden entries best; "
        "default of rpcag decompose), clustering (rpcag; larger, for clustering) or "
        "unit (frpcag; the same). Larger values make similar samples more alike.",
        "WEIGHT",
        parser=weight("clustering", "unit"),
    )
    gamma_features: Any = model_option(
        "Weight of the graph between features: a number, auto or unit (frpcag).",
        "WEIGHT",
        parser=weight("unit"),
    )
    graph: str | None = model_option(
        "Graph between samples. robust (default): nearest neighbors after Robust PCA "
        "has removed errors. knn: nearest neighbors in INPUT. "
        "complete: all pairs. chain: for samples in time order. Or a FILE with an "
        "adjacency matrix (.npz, .npy) or a list of edges (.csv, .tsv, .txt).",
        "KIND|FILE",
    )
    components: int | None = model_option("Maximum number of components.", min=1)
    tol: float | None = model_option(
        "Certified duality gap at which to stop. Default: that of the model.",
        min=0,
        max=1,
    )
    max_iter: int | None = model_option(
        "Maximum number of iterations. Default: that of the model.", min=1
    )
    scale: str | None = model_option(
        "How to center and scale each feature before the fit. robust: by clipped mean "
        "and quantiles. standard: by mean and standard deviation. none: not at all. "
        "auto (default): robust if scales differ by a factor of more than 30. Results "
        "are in the units of INPUT.",
        "KIND",
    )
