"""The page docs/command.md, made from the commands themselves."""
# ruff: noqa: E501  (rows of tables)

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from rpcag.commands.output import EXIT_CODES

INTRODUCTION = """# The command

Made from the code by `make docs`; `rpcag COMMAND --help` says the same.
`pip install ".[all]"` in a clone brings all of it, `rpcag --install-completion` completion in your
shell, and `python -m rpcag` is the same command. A first walk: [first steps](first_steps.md).

Results go to standard output; bars, notes and errors to standard error. `--json` prints
the outcome for scripts, `--quiet` nothing. A mistake is one line that says what to do.
"""

FORMATS = """## What is read

Samples are rows; `--transpose` where they are columns.

| INPUT | missing | names and classes | needs |
| --- | --- | --- | --- |
| `.csv`, `.tsv`, `.txt`, `.dat` | empty, `NA`, `NaN`, `null`, `None`, `?`, `-`, `.`, `#N/A`, in any case | header; first column of text without doubles, or one without a header, is the sample's name; `--labels`, `--names`, `--drop` for others | |
| `.parquet` | null, NaN | the same; the index of a pandas frame | `rpcag[files]` |
| `.npy`, `.npz` | NaN | `--variable`, `--labels`, `--names` choose arrays; three axes are images; `image_shape` is understood; `scipy.sparse.save_npz` too | |
| `.mat` | NaN | the same; cell arrays of strings are names | `rpcag[files]` for version 7.3 |
| `.h5`, `.hdf5` | NaN, `_FillValue`, `missing_value` | the same, by path | `rpcag[files]` |
| a folder of images | | subfolders are the classes; `--shape`, `--colour` | `rpcag[plots]` |

`--missing VALUE` adds a value that means missing, such as `-999` or `inf`.

Text may have any of comma, semicolon, tab, bar or space between its fields, decimal commas
(then without commas between fields), quotes, a byte order mark, UTF-16 or Windows-1252. If the
first line is `sep=;`, as Excel writes it, it sets the delimiter. Ambiguous files are errors that
name the line or column and the option to use: lines of unequal length, a word among numbers, a
first line that may be a header or data, a column of numbers with units, currency or percent
signs, or thousands separators.
Large files are read several times as fast if `rpcag[files]` is installed, which brings pyarrow.
If a file is read as Windows-1252, the command prints a note. Save the file as UTF-8 if names
look wrong.

Only INPUT itself is read. HDF5 datasets and videos that refer to other files are errors. So are
arrays and images that do not fit into memory; the size is checked before they are loaded.

A graph (`--graph FILE`) is an adjacency, as `.npz` of `scipy.sparse.save_npz`, `.npy`, `.mat`
or text, or a list of edges, a line each: two samples, by name or by number from 0, and
a weight, 1 if there is none. Without `--graph` every model that has one gets the robust graph;
in Python only `RPCAG` and `RPCAGCV` do so by themselves, the others need `graph="robust"`.

## What is written

`rpcag decompose INPUT -o RESULT` writes these files into a folder. If it fails, it writes none of them.

| | |
| --- | --- |
| `low_rank`, `sparse` | L and S; INPUT = L + S where it is observed |
| `embedding`, `components` | L = embedding times components, up to `--components`; of scaled features, times the scale plus the center in `result.json` |
| `missing.npy` | true where INPUT has no value, if there are such |
| `graph.npz` | the adjacency, if the model has a graph |
| `result.json` | parameters as given and as used, objective, lower bound of the optimum, certified gap, share of hidden entries predicted and its standard error, rank, history, names, versions, SHA-256 of INPUT |

The first four are `.npy`, or in the `--format` asked for: `csv`, `tsv` and `parquet` with names,
`mat`, `h5`. In Python: `rpcag.files.decomposition.Decomposition.load("RESULT")`.

`rpcag repair TABLE -o REPAIRED` writes these files. If it fails, it writes none of them.

| | |
| --- | --- |
| `REPAIRED` | the table in the format of TABLE; all cells that are not listed below are unchanged to the byte |
| `REPAIRED.cells.csv` | every changed cell: row (from 1, below the header), column, old value, new value, lower and upper bound, score, and why: `gap` or `error`. For `-o clean.csv` it is `clean.cells.csv` |
| `--report PAGE` | an HTML page |

New values have as many decimals as their column. Excel workbooks keep formats, formulas and
charts: only the values of changed cells are set. Columns with formulas are left alone; Excel
computes them again when it opens the workbook. `.xlsx` needs `rpcag[excel]`, `.parquet` needs
`rpcag[files]`.

In `.csv` and `.tsv` files, text that begins with `=`, `+`, `-`, `@`, a tab or a line break gets a
leading single quote. Otherwise spreadsheets would run it as a formula. Numbers are never
changed. When rpcag reads such a file, it removes the quote.

`--force` replaces only the files of an earlier run of the same command; `rpcag repair --force`
replaces any file but its input. Other files in the folder
stay. The earlier files are listed in `result.json` (`facts.json` for `rpcag background`). The
command stops and changes nothing if this list is damaged,
or if it would overwrite a file that is not in the list. `rpcag decompose` also stops if the
folder holds other files and no list.

If a run is killed while it replaces a result, the folder holds either the old result or the new
one. A hidden folder named `.rpcag-` and 16 hexadecimal digits may remain. The next run that
writes there removes it, except on Windows.
"""


def markdown() -> str:
    from rpcag.commands import app

    sections = [INTRODUCTION]
    for path, command in _commands(typer.main.get_command(app), ("rpcag",)):
        sections.append(_section(" ".join(path), command))
    codes = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    table = "\n".join(["| | |", "| ---: | --- |", *codes])
    return "\n".join([*sections, FORMATS, f"## Exit codes\n\n{table}\n"])


def _commands(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


def _section(name: str, command: Any) -> str:
    text, examples = [], []
    for line in (command.help or "").splitlines():
        line = line.strip().removeprefix("Example: ")
        if line.startswith("rpcag "):
            examples.append(line)
        elif line != "Examples:":
            text.append(line)
    shown = "\n".join(examples)
    rows = "\n".join(_row(parameter) for parameter in command.params)
    return (
        f"## {name}\n\n" + "\n".join(text).strip() + f"\n\n```sh\n{shown}\n```\n\n"
        f"| option | |\n| --- | --- |\n{rows}\n"
    )


def _row(parameter: Any) -> str:
    names = [*parameter.opts, *parameter.secondary_opts]
    if parameter.param_type_name == "argument":
        names = [parameter.metavar]
    words = ", ".join(f"`{name}`" for name in names)
    if parameter.metavar and parameter.param_type_name != "argument":
        words += " " + parameter.metavar.replace("|", "\\|")
    told = parameter.help or ""
    default = parameter.default
    # How many processes there may be depends on the machine.
    if isinstance(default, (str, Path)) or (
        type(default) in (int, float) and "--jobs" not in names
    ):
        told += f" Default: `{default}`."
    return f"| {words} | {told.replace('|', '/')} |"
