"""Write the page of the models, models.md, from their classes."""

import inspect
from dataclasses import dataclass, fields
from pathlib import Path

from rpcag.models import MODELS
from rpcag.models.base import FactorModel
from rpcag.models.decomposition import DecompositionModel

# Options that are numbers of the model itself, as in the first table of the paper.
PARAMETERS = (
    "n_components",
    "lam",
    "gamma",
    "beta",
    "weight_penalty",
    "gamma_features",
)
GRAPHS = {
    "graph": "samples",
    "graphs": "samples, several",
    "feature_graph": "features",
}
SOLUTIONS = {
    "RPCA": "ADMM, certified gap",
    "RPCAG": "ADMM, certified gap",
    "FRPCAG": "FISTA, certified gap",
    "GLPCA": "closed form",
    "RGLPCA": "augmented Lagrangian, from GLPCA",
    "MMF": "closed form",
    "MMMF": "closed form and projection in turn",
    "MHMF": "closed form and projection in turn",
    "GNMF": "coordinate descent",
    "NCuts": "eigenvectors",
    "LaplacianEigenmaps": "eigenvectors",
}


@dataclass(frozen=True)
class ModelRow:
    """A model in the table."""

    model: str
    problem: str
    constraints: str
    parameters: str
    graph: str
    factors: bool
    convex: bool
    solution: str


def describe(model: type) -> ModelRow:
    """The model's row, from its docstring, its options and its base class.

    A docstring starts with a summary line and then the problem: "minimize" objective
    "over" variables, and the constraints.
    """
    name = model.__name__
    options = inspect.signature(model).parameters
    paragraph = (inspect.getdoc(model) or "").split("\n\n")[1]
    minimized, _, rest = " ".join(paragraph.split("\n")).partition(" over ")
    variables, *constraints = (part.strip(" ,") for part in rest.split(",   "))
    # The graph between features of RPCAG is an extra that is not in the problem.
    extra = () if "gamma_features" in minimized else ("gamma_features", "feature_graph")
    used = [name for name in options if name not in extra]
    graphs = " and ".join(GRAPHS[name] for name in GRAPHS if name in used)
    if name == "MHMF":
        graphs += " hypergraphs"
    return ModelRow(
        model=name,
        problem=f"{minimized.removeprefix('minimize ')} over {variables}",
        constraints=", ".join(constraints),
        parameters=", ".join(name for name in PARAMETERS if name in used),
        graph=graphs or "no",
        factors=issubclass(model, FactorModel),
        convex=issubclass(model, DecompositionModel),
        solution=SOLUTIONS[name],
    )


def markdown() -> str:
    """The table of all models as a page."""
    rows = [[field.name for field in fields(ModelRow)]]
    rows.append(["---"] * len(rows[0]))
    for row in map(describe, MODELS):
        cells = (getattr(row, field.name) for field in fields(ModelRow))
        rows.append([_cell(cell) for cell in cells])
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"""# The models

This table lists the objective of every model. `make docs` makes the page from the code.

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
