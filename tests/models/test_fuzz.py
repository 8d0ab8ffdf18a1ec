"""A fixed share of the fuzzer's problems, and that its checks can fail.

`make fuzz` runs as many problems as you like.
"""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from fuzz_checks import examine
from fuzz_oracles import Factors, Graph, LowRank, singular_values
from fuzz_problems import MODELS, Problem, random_problem
from rpcag import FRPCAG, GLPCA, RPCA, RPCAG, NCuts
from rpcag.graphs import KNNGraph

# Problems per test: enough that each model meets most kinds of data and graphs.
BATCHES, SIZE = 12, 12


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_problems_are_answered_right_or_refused_by_name(batch):
    found = []
    for seed in range(batch * SIZE, (batch + 1) * SIZE):
        report = examine(random_problem(seed))
        for kind, detail in report.findings:
            found.append(f"benchmarks/fuzz.py --only {seed}: {kind}: {detail}")
    assert not found, "\n".join(found)


def test_the_same_number_is_the_same_problem():
    for seed in range(24):
        a, b = random_problem(seed), random_problem(seed)
        assert str(a) == str(b)
        np.testing.assert_array_equal(a.X, b.X)
    assert {random_problem(seed).model for seed in range(12)} == set(MODELS)


# ---- the oracles ----


@pytest.mark.skipif(
    np.finfo(np.longdouble).eps > 1e-18, reason="no floats longer than double"
)
def test_singular_values_beat_double_precision():
    """Those of a Hilbert matrix reach 1e-13; one of rank one has zeros."""
    n = 10
    i = np.arange(1, n + 1, dtype=np.longdouble)
    hilbert = 1 / (i[:, None] + i - 1)
    values = singular_values(hilbert)
    # The determinant is known: 2.164179226431492e-53 for n = 10.
    assert float(np.prod(values)) == pytest.approx(2.164179226431492e-53, rel=1e-5)
    ones = singular_values(np.ones((7, 4)))
    assert float(ones[0]) == pytest.approx(28**0.5, rel=1e-15)
    assert float(ones[1:].sum()) < 1e-15


def test_oracles_agree_with_plain_formulas(rng):
    A = rng.random((6, 6))
    A = np.triu(A, 1) + np.triu(A, 1).T
    X, L = rng.standard_normal((2, 6, 4))
    D = A.sum(axis=1)
    for kind, Phi in (
        ("combinatorial", np.diag(D) - A),
        ("normalized", np.eye(6) - A / np.sqrt(np.outer(D, D))),
    ):
        graph = Graph(A, kind)
        rough = np.trace(L.T @ Phi @ L)
        assert float(graph.value(L)) == pytest.approx(rough)
        np.testing.assert_allclose(graph.matrix().astype(float), Phi, atol=1e-15)
        plain = np.linalg.norm(L, "nuc") + 0.3 * np.abs(X - L).sum() + 2 * rough
        goal = LowRank(X, 0.3, nuclear=True, rows=(2.0, graph))
        assert float(goal.value(L)) == pytest.approx(plain)
    Q, U = rng.standard_normal((6, 2)), rng.standard_normal((4, 2))
    squares = np.sum((X - Q @ U.T) ** 2) + 2 * np.trace(Q.T @ Phi @ Q)
    assert float(Factors(X, [(2.0, graph)]).value(Q, U)) == pytest.approx(squares)


# ---- the checks find what they are for ----


class Tampered:
    """A problem whose model is changed after every fit, as a defect would."""

    def __init__(self, model, change, X):
        class Model(model):
            def fit(self, X, y=None):
                super().fit(X)
                change(self)
                return self

        Model.__name__ = model.__name__
        self.make, self.X = Model, X

    def problem(self, **options):
        made = self.make

        class Changed(Problem):
            def estimator(self):
                return made(**self.options)

        return Changed(0, made.__name__, self.X, options)


def _set(**values):
    def change(model):
        for name, factor in values.items():
            setattr(model, name, getattr(model, name) * factor)

    return change


def _spoil(model):
    model.embedding_[0, 0] = np.nan


@pytest.mark.parametrize(
    ("model", "change", "kind"),
    [
        (RPCA, _set(objective_=1 + 1e-9), "objective"),
        (RPCAG, _set(objective_=1 + 1e-9), "objective"),
        (RPCA, _set(lower_bound_=1.1), "bound"),
        (FRPCAG, _set(lower_bound_=1.1), "bound"),
        (RPCA, _spoil, "nan"),
        (GLPCA, _set(embedding_=1.001), "structure"),
        (GLPCA, _set(objective_=1.001), "optimum"),
        (NCuts, _set(objective_=1.001), "optimum"),
        (RPCA, _set(low_rank_=1.001), "structure"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_a_wrong_number_is_found(model, change, kind, rng):
    X = rng.standard_normal((12, 3)) @ rng.standard_normal((3, 9))
    X += rng.standard_normal(X.shape)
    report = examine(Tampered(model, change, X).problem())
    assert kind in {found for found, _ in report.findings}, report.findings


def _write(model):
    model.tol = 0.5


def _forget(model):
    raise RuntimeError("lost")


def _warn(model):
    warnings.warn("odd", RuntimeWarning, stacklevel=1)


def _late(model):
    warnings.warn("late", ConvergenceWarning, stacklevel=1)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (_write, "modified"),
        (_forget, "exception"),
        (_warn, "warning"),
        (_late, "status"),
    ],
)
def test_wrong_manners_are_found(change, kind, rng):
    X = rng.standard_normal((8, 6))
    report = examine(Tampered(RPCA, change, X).problem())
    assert kind in {found for found, _ in report.findings}, report.findings


def test_an_error_that_names_no_argument_is_a_finding(rng):
    def vague(model):
        raise ValueError("something went wrong")

    report = examine(Tampered(RPCA, vague, rng.standard_normal((5, 4))).problem())
    assert report.findings == [("exception", "fit: ValueError: something went wrong")]
    named = Problem(0, "RPCA", np.full((3, 3), np.nan), {})
    report = examine(named)
    assert report.findings == []
    assert report.refusal == "X has no observed entry: every value is NaN"


def test_a_transform_that_runs_away_is_found(rng):
    X = np.repeat(rng.standard_normal((3, 8)), 8, axis=0)
    X += 0.1 * rng.standard_normal(X.shape)

    def run_away(model):
        plain = model.transform
        model.transform = lambda X, **extra: 1e4 * plain(X, **extra)

    report = examine(Tampered(GLPCA, run_away, X).problem(graph=KNNGraph(5)))
    found = [detail for kind, detail in report.findings if kind == "transform"]
    assert any("comes back" in detail for detail in found)
    assert any("times as long" in detail for detail in found)
