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
(then without commas between fields), quotes, a byte order mark, UTF-16 or Windows-1252. What
cannot be told is asked, not guessed: lines of unequal length, a word among numbers, a first
line that may be a header or data are errors that name the line and the option to use.
Large files are read by pyarrow where `rpcag[files]` is installed, several times as fast.
A file in Windows-1252 is noted, since names may be wrong; save it as UTF-8 if they are.

Only INPUT itself is read. HDF5 datasets and videos that refer to other files are refused, and
so are arrays and images that do not fit into memory, before they are loaded.

A graph (`--graph FILE`) is an adjacency, as `.npz` of `scipy.sparse.save_npz`, `.npy`, `.mat`
or text, or a list of edges, a line each: two samples, by name or by number from 0, and
a weight, 1 if there is none. Without `--graph` every model that has one gets the robust graph;
in Python only `RPCAG` and `RPCAGCV` do so by themselves, the others need `graph="robust"`.

## What is written

`rpcag decompose INPUT -o RESULT` writes all of these files into a folder, or none:

| | |
| --- | --- |
| `low_rank`, `sparse` | L and S; INPUT = L + S where it is observed |
| `embedding`, `components` | L = embedding times components, up to `--components` |
| `missing.npy` | true where INPUT has no value, if there are such |
| `graph.npz` | the adjacency, if the model has a graph |
| `result.json` | parameters as given and as used, objective, proven bound, certified gap, rank, history, names, versions, SHA-256 of INPUT |

The first four are `.npy`, or in the `--format` asked for: `csv`, `tsv` and `parquet` with names,
`mat`, `h5`. In Python: `rpcag.files.decomposition.Decomposition.load("RESULT")`.

In `.csv` and `.tsv` files a single quote is put before text that begins with `=`, `+`, `-`, `@`,
a tab or a line break, because spreadsheets would compute it as a formula. Numbers are never
changed. When rpcag reads such a file, it removes the quote again.

`--force` replaces only files that an earlier run of the same command wrote; anything else in
the folder stays. The record of those files is `result.json`, `facts.json` for
`rpcag background` and `report.json` for `rpcag report`. Without a valid record, or if a file
that is not in it is in the way, the command stops and changes nothing. If a run is killed
while it replaces a result, the folder holds the old result or the new one. A hidden folder named
`.rpcag-` and 16 hexadecimal digits may remain; the next run that writes there removes it. On
Windows it stays: delete it if none of these records names it.
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
