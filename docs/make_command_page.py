"""Write docs/command.md from the help of the commands: ``python docs/make_command_page.py``."""
# ruff: noqa: E501  (rows of tables)

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer.main

from rpcag.commands import app
from rpcag.commands.output import EXIT_CODES

INTRODUCTION = """# Commands

This page lists every command and option, as `rpcag COMMAND --help` does. Start with
[first steps](first_steps.md).

Install the commands with `pip install ".[all]"` in a clone. `python -m rpcag` is the same as `rpcag`.
`rpcag --install-completion` installs completion in your shell.

Results go to standard output. Progress bars, notes and errors go to standard error. An error is one line
that says what to do. `make docs` writes this page from the code.
"""

FORMATS = """## Input files

Samples are rows. Pass `--transpose` if they are columns.

| INPUT | missing values | names and labels | needs |
| --- | --- | --- | --- |
| `.csv`, `.tsv`, `.txt`, `.dat` | empty, `NA`, `NaN`, `null`, `None`, `?`, `-`, `.`, `#N/A`, in any case | header; a first column of unique text, or one without a header, has the sample names; otherwise `--labels`, `--names`, `--drop` | |
| `.parquet` | null, NaN | as above; also the index of a pandas frame | `rpcag[files]` |
| `.xlsx`, `.xlsm` | empty, and as in text | as above; the first sheet | `rpcag[excel]` |
| `.npy`, `.npz` | NaN | `--variable`, `--labels`, `--names` choose arrays; three axes are images; `image_shape` is used; also `scipy.sparse.save_npz` | |
| `.mat` from version 5 | NaN | as above; cell arrays of strings are names | `rpcag[files]` for version 7.3 |
| `.h5`, `.hdf5` | NaN, `_FillValue`, `missing_value` | as above, by path | `rpcag[files]` |
| a folder of images | | subfolders are the labels; `--shape`, `--color` | `rpcag[plots]` |

`--missing VALUE` adds a value that means missing, such as `-999` or `inf`.

**Text files** may use commas, semicolons, tabs, bars or spaces between fields, decimal commas, quotes, a
byte order mark, UTF-16 or Windows-1252. A first line `sep=;` sets the delimiter. They may be compressed
(`.csv.gz`).

**Ambiguous files** are errors that name the line or column and the option to use. Examples are lines of
unequal length, a word among numbers, and numbers with units or thousands separators. `1.234` in a column
with whole numbers such as `190` may be a decimal or 1234: pass `--decimal .` if it is a decimal.

**Other files** are never opened: HDF5 datasets and videos that refer to other files are errors. Arrays
and images that do not fit into memory are refused before they are loaded.

## Graph files

`--graph FILE` reads an adjacency matrix (`.npz` of `scipy.sparse.save_npz`, `.npy`, `.mat` or text) or a
list of edges. Each line of a list has two samples, by name or by number from 0, and a weight (default
1).

Without `--graph`, every model that has a graph uses the robust graph. In Python only `RPCAG` and
`RPCAGCV` do so by default; pass `graph="robust"` to the others.

## Output files

If a command fails, it writes no files. `rpcag decompose INPUT -o RESULT` writes a folder:

| file | content |
| --- | --- |
| `low_rank`, `sparse` | L and S; INPUT = L + S where it is observed |
| `embedding`, `components` | L = embedding times components, up to `--components`; for scaled features, times the scale plus the center in `result.json` |
| `missing.npy` | true where INPUT has no value, if there are such entries |
| `graph.npz` | the adjacency matrix, if the model has a graph |
| `result.json` | parameters as given and as used, objective, lower bound, certified gap, share of hidden entries predicted and its standard error, rank, history, names, versions, SHA-256 of INPUT |

The first four are `.npy`, or have the `--format` that you pass: `csv`, `tsv` and `parquet` with names,
`mat`, `h5`. Read the folder with `rpcag.files.decomposition.Decomposition.load("RESULT")`.

`rpcag repair TABLE -o REPAIRED` writes files:

| file | content |
| --- | --- |
| `REPAIRED` | the table in the format of TABLE; all cells that are not listed below are unchanged (in text files, to the byte) |
| `REPAIRED.cells.csv` | every changed cell: row (from 1, below the header), column, old value, new value, lower and upper bound, score, and the reason, `gap` or `error`. For `-o clean.csv` it is `clean.cells.csv` |
| `--report PAGE` | an HTML page |

New values have as many decimals as their column. Excel workbooks keep formats and formulas; columns with
formulas are left alone. Charts and pictures may be lost, and a note says so. `.xlsx` needs `rpcag[excel]`,
`.parquet` needs `rpcag[files]`.

**Formulas in text.** In `.csv` and `.tsv` files, text that begins with `=`, `+`, `-`, `@`, a tab or a line
break gets a leading single quote. So spreadsheets do not run it. Numbers are never changed. rpcag
removes the quote when it reads such a file.

**Existing files.** `--force` replaces only the files of an earlier run of the same command, which
`result.json` lists (`facts.json` for `rpcag background`). `rpcag repair --force` replaces any file except
its input. Other files in the folder stay. If the list is damaged, or a file is not in it, the command
stops and changes nothing.

**Interrupted runs.** After an error or Ctrl-C, the folder holds what it held before. SIGKILL may interrupt a
run while it moves its files in place. Then the folder has no `result.json`, and no command accepts it as a
result. A hidden folder named `.rpcag-` and 16 hexadecimal digits may remain. You can delete it.
"""


def markdown() -> str:
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
            text.append(textwrap.fill(line, 88))
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


if __name__ == "__main__":
    Path(__file__).with_name("command.md").write_text(markdown(), encoding="utf-8")
