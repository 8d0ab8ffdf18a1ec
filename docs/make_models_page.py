"""Write the page of the models, models.md, from their classes."""

from dataclasses import fields
from pathlib import Path

from rpcag import list_models
from rpcag.models.table import ModelRow


def markdown() -> str:
    """The table of `list_models` as a page."""
    rows = [[field.name for field in fields(ModelRow)]]
    rows.append(["---"] * len(rows[0]))
    for row in list_models():
        cells = (getattr(row, field.name) for field in fields(ModelRow))
        rows.append([_cell(cell) for cell in cells])
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"""# The models

This table lists the objective of every model, as `rpcag.list_models()` does. `make
docs` makes the page from the code.

{table}

Samples are rows, and X ≈ Q Uᵀ. `embedding_` is Q, or the scaled left singular vectors
of L, and `components_` is Uᵀ. Phi is the Laplacian of a graph between the samples. M is
zero where X is missing. For PCA, NMF and k-means, use scikit-learn.
"""


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = str(value)
    is_formula = any(sign in text for sign in ("||", "^", "="))
    return "`" + text.replace("|", "\\|") + "`" if is_formula else text


if __name__ == "__main__":
    Path(__file__).with_name("models.md").write_text(markdown(), encoding="utf-8")
