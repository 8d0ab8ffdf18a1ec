"""Tables in the terminal, as CSV, Markdown and LaTeX."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, field

from rpcag.plugins import (
    escaped,
)


@dataclass(frozen=True)
class Table:
    """Text cells, with the best of a column marked; the note is for pages."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    bold: frozenset[tuple[int, int]] = field(default_factory=frozenset)
    note: str = ""

    def markdown(self) -> str:
        lines = [self.header, ["---"] + ["---:"] * (len(self.header) - 1)]
        for i, row in enumerate(self.rows):
            lines.append(
                [f"**{c}**" if (i, j) in self.bold else c for j, c in enumerate(row)]
            )
        return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"

    def csv(self) -> str:
        text = io.StringIO()
        rows = map(escaped, [self.header, *self.rows])
        csv.writer(text, lineterminator="\n").writerows(rows)
        return text.getvalue()

    def latex(self) -> str:
        columns = "l" + "r" * (len(self.header) - 1)
        lines = [
            r"\begin{tabular}{" + columns + "}",
            r"\hline",
            " & ".join(_escape(cell) for cell in self.header) + r" \\",
            r"\hline",
        ]
        for i, row in enumerate(self.rows):
            cells = [
                rf"\textbf{{{_escape(c)}}}" if (i, j) in self.bold else _escape(c)
                for j, c in enumerate(row)
            ]
            lines.append(" & ".join(cells) + r" \\")
        lines += [r"\hline", r"\end{tabular}", ""]
        return "\n".join([f"% {self.title}", *lines])


def _escape(text: str) -> str:
    for sign in "\\&%$#_{}":
        text = text.replace(sign, "\\" + sign if sign != "\\" else r"\textbackslash ")
    return text


def percent(error: float | None) -> str:
    return "-" if error is None else f"{100 * error:.1f}"


def signed(points: float | None) -> str:
    return "-" if points is None else f"{points:+.1f}"


def listed(words: Sequence[str]) -> str:
    """In a sentence."""
    if not words:
        return "none"
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
