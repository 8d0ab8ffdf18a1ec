"""Write the pages of the commands from their help: ``python docs/make_command_page.py``."""
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
[first steps](first_steps.md). [rpcag background](command_background.md) has a page
of its own, and so have the [file formats](file_formats.md).

Install the commands with `pip install ".[all]"` in a clone. `python -m rpcag` is the same as `rpcag`.
`rpcag --install-completion` installs completion in your shell.

Results go to standard output. Progress bars, notes and errors go to standard error. An error is one line
that says what to do. `make docs` writes this page from the code.
"""


def pages() -> dict[str, str]:
    """The files to write: the command for videos has a page of its own."""
    sections: dict[str, str] = {}
    shown: dict[str, str] = {}
    for path, command in _commands(typer.main.get_command(app), ("rpcag",)):
        sections[path[-1]] = _section(" ".join(path), command, shown)
    video = sections.pop("background")[1:]  # as the title of its page
    codes = [f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items()]
    table = "\n".join(["| | |", "| ---: | --- |", *codes])
    parts = [INTRODUCTION, *sections.values(), f"## Exit codes\n\n{table}\n"]
    return {"command.md": "\n".join(parts), "command_background.md": video}


def _commands(group: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, (*path, name))
        else:
            yield (*path, name), command


def _section(name: str, command: Any, shown: dict[str, str]) -> str:
    """The section of a command. Options that `shown` has, by their rows, refer to it."""
    text, examples = [], []
    for line in (command.help or "").splitlines():
        line = line.strip().removeprefix("Example: ")
        if line.startswith("rpcag "):
            examples.append(line)
        elif line != "Examples:":
            text.append(textwrap.fill(line, 88))
    rows = [_row(parameter) for parameter in command.params]
    new = "\n".join(row for row in rows if row not in shown)
    page = f"## {name}\n\n" + "\n".join(text).strip() + "\n\n```sh\n"
    page += "\n".join(examples) + f"\n```\n\n| option | |\n| --- | --- |\n{new}\n"
    for other in dict.fromkeys(shown[row] for row in rows if row in shown):
        names = [_first_name(row) for row in rows if shown.get(row) == other]
        page += f"\nAs in `{other}`: {', '.join(names)}.\n"
    shown |= {row: name for row in rows if row not in shown}
    return page


def _first_name(row: str) -> str:
    """Of the option in this row."""
    return row.split("|")[1].split(",")[0].split(" ")[1]


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
    for name, text in pages().items():
        Path(__file__).with_name(name).write_text(text, encoding="utf-8")
