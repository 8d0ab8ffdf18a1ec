"""The same word means the same thing in every estimator."""

import ast
import inspect
import re

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

from rpcag import RPCAGCV
from rpcag.models import MODELS

ESTIMATORS = (*MODELS, RPCAGCV)
# How the description of a parameter begins in every estimator that has it.
SENTENCES = {
    "n_components": r"(Number|Maximum number) of components",
    "gamma": "Weights? of the smoothness",
    "graph": r"As in `RPCAG`|Graph between samples, as in `RPCAG`|\"robust\" is",
    "feature_graph": "Graph between features|A second graph, between features",
    "tol": r"[^.]* at which to stop\.",
    "verbose": "Log a line for every certificate",
    "callback": "Called after every iteration",
    "scale": "Center and scale every feature first",
}
DEFAULTS = {
    "n_components": None,
    "lam": "auto",
    "gamma": "auto",
    "gamma_features": "auto",
    "beta": None,
    "weight_penalty": "auto",
    "graph": "robust",
    "graphs": "auto",
    "laplacian": "normalized",
    "feature_graph": None,
    "scale": None,
    "tol": 1e-3,
    "max_iter": 1000,
    "verbose": 0,
    "callback": None,
    "random_state": 0,
}
FACTORS = {"GLPCA", "RGLPCA", "MMF", "MMMF", "MHMF", "GNMF", "NCuts"}
FACTORS |= {"LaplacianEigenmaps"}
# Where a default differs: the default, the estimators, and the reason.
REASONS = [
    ("n_components", 2, FACTORS, "the rank is part of the model"),
    ("gamma", 1.0, {"MMF", "MMMF", "MHMF", "GNMF"}, "no unit and no rule for it"),
    ("gamma", None, {"GLPCA", "RGLPCA"}, "beta says it without a unit"),
    ("graph", "knn", FACTORS, "their papers have no robust graph"),
    ("graph", "knn", {"FRPCAG"}, "a robust graph needs the SVDs that it avoids"),
    ("feature_graph", "knn", {"FRPCAG"}, "its model has two graphs"),
    ("tol", 1e-5, {"GNMF", "MMMF", "MHMF"}, "bounds a decrease, not a gap"),
    ("tol", 1e-4, {"RGLPCA"}, "bounds residuals, not a gap"),
    ("max_iter", 2000, {"FRPCAG"}, "cheap gradient steps"),
    ("drop_first", True, {"LaplacianEigenmaps"}, "its first vector is constant"),
]


def options(model):
    return inspect.signature(model).parameters


def described(model, name: str) -> tuple[str, str]:
    """Type and description of a parameter."""
    entry = rf"^(?:\w+, )*{name}(?:, \w+)* : (.*)\n((?:    .*\n)*)"
    found = re.search(entry, model.__doc__, re.MULTILINE)
    assert found is not None, f"{model.__name__} does not describe {name}"
    return found[1], " ".join(found[2].split())


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: model.__name__)
def test_references_to_other_models_are_filled_in(model):
    assert not re.findall(r"^[^:\n]*\n    As in `", model.__doc__, re.MULTILINE)
    for name in options(model):
        described(model, name)


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: model.__name__)
def test_options_are_described_in_the_same_words(model):
    for name in SENTENCES.keys() & options(model).keys():
        if (model, name) == (RPCAGCV, "callback"):
            continue  # describes when it is not called
        _, text = described(model, name)
        assert re.match(SENTENCES[name], text), f"{model.__name__}, {name}: {text}"


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: model.__name__)
def test_defaults_differ_only_with_a_reason(model):
    for name, option in options(model).items():
        wanted = DEFAULTS.get(name, option.default)
        for other, default, models, _ in REASONS:
            if name == other and model.__name__ in models:
                wanted = default
        assert option.default == wanted, f"{model.__name__}, {name}"
        said = re.search(r"default=(\S+)$", described(model, name)[0])
        default = None if said is None else ast.literal_eval(said[1])
        assert option.default == default, f"docstring of {model.__name__}, {name}"


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: model.__name__)
def test_only_n_components_may_be_given_by_place(model):
    first, *others = options(model).values()
    assert first.name == "n_components"
    assert all(option.kind is option.KEYWORD_ONLY for option in others)


def test_the_same_option_stands_for_the_same_thing_in_all_estimators():
    """No other option has a name for what these have: one word per meaning."""
    known = DEFAULTS.keys() | {"drop_constant", "drop_first", "image_shape", "loss"}
    known |= {"noise", "warm_start", "checkpoint", "checkpoint_seconds"}
    known |= {"lams", "gammas", "holdout", "n_splits", "rule", "n_jobs"}  # the search
    assert set().union(*map(options, ESTIMATORS)) == known


def test_results_of_the_search_have_the_names_of_scikit_learn(rng):
    X = rng.standard_normal((20, 3)) @ rng.standard_normal((3, 8))
    ours = RPCAGCV(lams="theory", gammas=[0.0, 0.1], n_splits=2, graph="knn").fit(X)
    theirs = GridSearchCV(PCA(), {"n_components": [1, 2]}, cv=2).fit(X)
    named = {name for name in theirs.cv_results_ if "time" not in name}
    assert named - ours.cv_results_.keys() == {"param_n_components"}
    assert {"param_lam", "param_gamma"} <= ours.cv_results_.keys()
    for name in ("best_index_", "best_params_", "best_score_", "n_splits_"):
        assert type(getattr(ours, name)) is type(getattr(theirs, name)) or np.isscalar(
            getattr(ours, name)
        )
    best = ours.cv_results_["rank_test_score"][ours.best_index_]
    assert best == 1
    assert ours.best_score_ == ours.cv_results_["mean_test_score"].max()
