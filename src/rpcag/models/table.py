"""The table of all models, made from their classes."""

import inspect
from dataclasses import dataclass

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
    """A model in the table of `list_models`."""

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


def list_models() -> list[ModelRow]:
    """Every model of the package: the first table of the paper, and more.

    Examples
    --------
    >>> from rpcag import list_models
    >>> for row in list_models()[:3]:
    ...     print(row.model, "|", row.parameters, "|", row.graph, "|", row.convex)
    RPCA | n_components, lam | no | True
    RPCAG | n_components, lam, gamma | samples | True
    FRPCAG | n_components, gamma, gamma_features | samples and features | True
    """
    from rpcag.models import MODELS

    return [describe(model) for model in MODELS]
