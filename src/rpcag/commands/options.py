"""Options of the subcommands.

Options that belong together are the fields of a dataclass, and `takes_groups` lets a
command have a parameter of that type. So each option is declared once.
"""

import inspect
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


@dataclass(frozen=True)
class TextOptions:
    """How to read a table."""

    missing: list[str] | None = reading_option(
        "Value that means missing, such as -999. Can be repeated. NA, NaN, null, ? and "
        "similar words always mean missing.",
        "VALUE",
    )
    delimiter: str | None = reading_option(
        "Character between fields, or tab or space.", "CHARACTER"
    )
    decimal: str | None = reading_option("Decimal point or comma.", "CHARACTER")
    header: bool | None = reading_option(
        "Whether the first line has column names.", None, "--header/--no-header"
    )

    def reading(self) -> Reading:
        known = {one.name for one in fields(Reading)}
        given = {k: v for k, v in asdict(self).items() if k in known}
        lists = {k: tuple(given.get(k) or ()) for k in ("drop", "keep", "missing")}
        return Reading(**given | lists | {"shape": parse_shape(given.get("shape"))})


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
    shape: str | None = reading_option(
        "Shape of the images in the rows. Images of a folder are resized to it.",
        "HEIGHTxWIDTH",
    )
    color: bool = reading_option("Keep the colors of images.", default=False)


@dataclass(frozen=True)
class ModelOptions:
    """Parameters of a model."""

    lam: str | None = model_option(
        "Weight of the sparse part: a number, auto (default; predicts hidden entries "
        "best) or theory (1 / sqrt(max(samples, features))).",
        "WEIGHT",
    )
    gamma: str | None = model_option(
        "Weight of the graph: a number, auto (predicts hidden entries best) or "
        "clustering (larger, for clustering). Larger values make similar samples more "
        "alike.",
        "WEIGHT",
    )
    gamma_features: str | None = model_option(
        "Weight of the graph between features: a number or auto (frpcag).", "WEIGHT"
    )
    graph: str | None = model_option(
        "Graph between samples. robust (default): nearest neighbors after Robust PCA "
        "has removed errors. knn: nearest neighbors. complete: all pairs. chain: for "
        "samples in time order. Or a FILE with an adjacency matrix (.npz, .npy, "
        ".csv) or a list of edges (.csv, .tsv, .txt).",
        "KIND|FILE",
    )
    components: int | None = model_option("Maximum number of components.", min=1)
    tol: float | None = model_option(
        "Certified duality gap at which to stop. Default: that of the model.", min=0
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

    def weights(self) -> dict[str, float | str | None]:
        return {
            "lam": parse_weight("--lam", self.lam, "theory"),
            "gamma": parse_weight("--gamma", self.gamma, "clustering"),
            "gamma_features": parse_weight("--gamma-features", self.gamma_features),
        }


def parse_weight(option: str, text: str | None, *words: str) -> float | str | None:
    """A number, "auto", or one of the words; None stays."""
    if text is None or text.lower() in ("auto", *words):
        return text and text.lower()
    is_lam = option == "--lam"  # with zero, S would be all of X
    with suppress(ValueError):
        number = float(text)
        if 0 <= number < float("inf") and not (is_lam and number == 0):
            return number
    least = "above 0" if is_lam else "of at least 0"
    known = ", ".join(["auto", *words])
    raise ValueError(f"{option} must be a number {least}, or {known}, got {text!r}")


def parse_sides(text: str) -> tuple[int, ...] | None:
    """The sides in AxB or AxBxC, or None if it is something else."""
    if not re.fullmatch(r"\d+([x×]\d+){1,2}", text.lower()):
        return None
    return tuple(map(int, re.findall(r"\d+", text)))


def parse_shape(text: str | None) -> tuple[int, ...] | None:
    """HEIGHTxWIDTH or HEIGHTxWIDTHx3."""
    if text is None:
        return None
    sides = parse_sides(text)
    if sides is None or min(sides) < 1:
        raise ValueError(f"--shape must be HEIGHTxWIDTH, such as 56x46, got {text!r}")
    return sides
