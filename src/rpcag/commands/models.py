"""``rpcag models``."""

from dataclasses import asdict

from rich.markup import escape
from rich.table import Table

import rpcag
from rpcag.commands.options import Json
from rpcag.commands.output import console, print_json


def models(json: Json = False) -> None:
    """List all models with their objectives, graphs and solvers.

    Examples:
    rpcag models
    rpcag models --json
    """
    if json:
        print_json([asdict(row) for row in rpcag.list_models()])
        return
    table = Table(title="Models of rpcag (samples in rows)", show_lines=True)
    for name in ("model", "problem", "parameters", "graph", "convex", "solved by"):
        table.add_column(name)
    for row in rpcag.list_models():
        problem = escape(f"min {row.problem}")
        if row.constraints:
            problem += f"\n[dim]{escape(row.constraints)}[/dim]"
        table.add_row(
            f"[bold]{row.model}[/bold]",
            problem,
            row.parameters.replace(", ", "\n"),
            row.graph,
            "yes" if row.convex else "no",
            row.solution,
        )
    console().print(table)
