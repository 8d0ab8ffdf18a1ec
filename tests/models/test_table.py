"""The table of models is made from the code, and the page is up to date."""

from pathlib import Path

import pytest

import rpcag
from rpcag.models import MODELS
from test_docs import module_of_docs

PAGE = Path(__file__).parents[2] / "docs" / "models.md"
TABLE = module_of_docs("make_models_page.py")
ROWS = {row.model: row for row in map(TABLE.describe, MODELS)}


def test_every_public_model_is_listed():
    public = {name for name in rpcag.__all__ if isinstance(getattr(rpcag, name), type)}
    public -= {"RPCAGCV", "PoorFitWarning", "Certificate"}  # no models of their own
    assert public == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_says_what_is_minimized(name):
    row = ROWS[name]
    assert " over " in row.problem
    assert "minimize" not in row.problem
    assert row.constraints
    assert row.parameters.startswith("n_components")
    for parameter in row.parameters.split(", ")[1:]:
        # beta is another way to give gamma in two of them
        assert parameter in row.problem or name in ("GLPCA", "RGLPCA")


def test_the_paper_agrees():
    """Its first table: graph, factors, convex."""
    paper = {
        "RPCA": (False, False, True),
        "RPCAG": (True, False, True),
        "GLPCA": (True, True, False),
        "RGLPCA": (True, True, False),
        "MMF": (True, True, False),
        "MMMF": (True, True, False),
        "MHMF": (True, True, False),
    }
    for name, expected in paper.items():
        row = ROWS[name]
        assert (row.graph != "no", row.factors, row.convex) == expected


def test_the_page_is_the_table():
    assert PAGE.read_text() == TABLE.markdown(), "run make docs"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_docstrings_name_every_option(model):
    import inspect

    for option in inspect.signature(model).parameters:
        assert option in model.__doc__, f"{model.__name__}: {option}"
