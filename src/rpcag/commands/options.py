"""Options that several subcommands share: one name, one meaning."""

from pathlib import Path
from typing import Annotated

import typer

from rpcag.files.table import Reading

READING = "Reading the input"
MODEL = "Model"

Input = Annotated[
    Path,
    typer.Argument(
        metavar="INPUT",
        show_default=False,
        help="Data with samples in rows: .csv, .tsv, .txt, .parquet, .xlsx, .npy, "
        ".npz, .mat, .h5 or a folder of images.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print only errors.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Force = Annotated[
    bool, typer.Option("--force", "-f", help="Replace the files of an earlier run.")
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]


def reading_option(*names: str, help: str, **options):
    return typer.Option(*names, help=help, rich_help_panel=READING, **options)


Variable = Annotated[
    str | None,
    reading_option("--variable", metavar="NAME", help="Name of the array in the file."),
]
Labels = Annotated[
    str | None,
    reading_option("--labels", metavar="COLUMN", help="Column or array of labels."),
]
Names = Annotated[
    str | None,
    reading_option(
        "--names", metavar="COLUMN", help="Column or array of sample names."
    ),
]
Drop = Annotated[
    list[str] | None,
    reading_option(
        "--drop", metavar="COLUMN", help="Column to leave out. Can be repeated."
    ),
]
Missing = Annotated[
    list[str] | None,
    reading_option(
        "--missing",
        metavar="VALUE",
        help="Value that means missing, such as -999, besides NA, NaN, null, ? and "
        "others. Can be repeated.",
    ),
]
Transpose = Annotated[
    bool, reading_option("--transpose", help="Samples are in columns.")
]
Shape = Annotated[
    str | None,
    reading_option(
        "--shape",
        metavar="HEIGHTxWIDTH",
        help="Shape of the images in the rows. Images of a folder are resized to it.",
    ),
]
Color = Annotated[bool, reading_option("--color", help="Keep the colors of images.")]
Delimiter = Annotated[
    str | None,
    reading_option(
        "--delimiter",
        metavar="CHARACTER",
        help="Character between fields; also: tab, space.",
    ),
]
Decimal = Annotated[
    str | None,
    reading_option("--decimal", metavar="CHARACTER", help="Decimal point or comma."),
]
Header = Annotated[
    bool | None,
    reading_option(
        "--header/--no-header", help="Whether the first line has column names."
    ),
]


def _model(*names: str, help: str, **options):
    return typer.Option(*names, help=help, rich_help_panel=MODEL, **options)


Lam = Annotated[
    str | None,
    _model(
        "--lam",
        metavar="NUMBER|auto|theory",
        help="Weight of the sparse part. auto chooses it by predicting hidden "
        "entries; theory is 1 / sqrt(max(samples, features)).",
    ),
]
Gamma = Annotated[
    str | None,
    _model(
        "--gamma",
        metavar="NUMBER|auto|clustering|cv",
        help="Weight of the smoothness. auto chooses it by predicting hidden "
        "entries; clustering is larger, for embeddings that you cluster; cv "
        "searches a grid.",
    ),
]
GammaFeatures = Annotated[
    str | None,
    _model(
        "--gamma-features",
        metavar="NUMBER",
        help="Weight of the smoothness between features (frpcag).",
    ),
]
Graph = Annotated[
    str | None,
    _model(
        "--graph",
        metavar="robust|knn|complete|chain|FILE",
        help="Graph between samples. Default: robust, nearest neighbors after Robust "
        "PCA has removed the errors. chain: for samples in time order. FILE: an "
        "adjacency matrix (.npz, .npy, .mat, .csv) or a list of edges (.csv, .tsv, "
        ".txt).",
    ),
]
Components = Annotated[
    int | None,
    _model("--components", min=1, help="Maximum number of components."),
]
Tol = Annotated[
    float | None, _model("--tol", min=0, help="Stop at this certified duality gap.")
]
MaxIter = Annotated[
    int | None, _model("--max-iter", min=1, help="Maximum number of iterations.")
]
Scale = Annotated[
    str | None,
    _model(
        "--scale",
        metavar="auto|robust|standard|none",
        help="Center and scale every feature first: robust by clipped mean and "
        "quantiles, standard by mean and deviation. Results are in the units of INPUT. "
        "Default: auto, which is robust if scales differ by a factor of more than 30.",
    ),
]


def parse_shape(text: str | None) -> tuple[int, ...] | None:
    """HEIGHTxWIDTH or HEIGHTxWIDTHx3."""
    if text is None:
        return None
    try:
        sides = tuple(int(part) for part in text.lower().split("x"))
    except ValueError:
        sides = ()
    if len(sides) not in (2, 3) or min(sides) < 1:
        raise ValueError(f"--shape must be HEIGHTxWIDTH, such as 56x46, got {text!r}")
    return sides


def parse_number(option: str, text: str | None, *words: str) -> float | str | None:
    """A number, "auto", or one of the words; None stays."""
    if text is None or text in ("auto", *words):
        return text
    try:
        return float(text)
    except ValueError:
        known = ", ".join(["auto", *words])
        raise ValueError(
            f"{option} must be a number or {known}, got {text!r}"
        ) from None


def reading_of(values: dict) -> Reading:
    """From all the options of a command, by name."""
    same = ["variable", "labels", "names", "transpose", "color"]
    same += ["delimiter", "decimal", "header"]
    return Reading(
        **{name: values[name] for name in same},
        drop=tuple(values["drop"] or ()),
        missing=tuple(values["missing"] or ()),
        shape=parse_shape(values["shape"]),
    )
