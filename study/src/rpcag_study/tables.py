"""Tables in the terminal, as CSV and as Markdown."""

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rpcag.plugins import escaped


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


def percent(error: float | None) -> str:
    return "-" if error is None else f"{100 * error:.1f}"


def signed(points: float | None) -> str:
    return "-" if points is None else f"{points:+.1f}"


def best_cells(
    rows: Sequence[Sequence[str]], columns: Sequence[int], best: Callable = min
) -> frozenset[tuple[int, int]]:
    """Places of the least number of each column, or with max of the largest."""
    places = set()
    for j in columns:
        numbers = {i: float(row[j]) for i, row in enumerate(rows) if row[j] != "-"}
        places |= {(i, j) for i, n in numbers.items() if n == best(numbers.values())}
    return frozenset(places)


def listed(words: Sequence[str]) -> str:
    """In a sentence."""
    *first, last = words or ["none"]
    return f"{', '.join(first)} and {last}" if first else last
