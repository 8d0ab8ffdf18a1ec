"""The printed algorithm: where it stops, and where it would end."""

import numpy as np
import pytest

from rpcag.graphs import KNNGraph, laplacian
from rpcag.models import RPCA, RPCAG
from rpcag_study.datasets import Data
from rpcag_study.experiments import as_printed
from rpcag_study.models import CUT


def two_groups(seed=0):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.standard_normal((2, 12)), 10, axis=0)
    X += 0.1 * rng.standard_normal(X.shape)
    X[rng.random(X.shape) < 0.05] += 5
    return X


@pytest.mark.parametrize("gamma", [None, 0.5])
def test_it_ends_at_the_optimum_of_the_model_at_other_weights(monkeypatch, gamma):
    """RPCAG at (lam / 2, gamma / 4); RPCA at lam itself."""
    monkeypatch.setattr(as_printed, "MAX_ITER", 3000)
    X, lam = two_groups(), 0.4
    A = KNNGraph(3)(X)
    Phi = None if gamma is None else laplacian(A).toarray()
    ((_, _, Q),) = as_printed.iterates(X, Phi, lam, gamma or 0.0, [0.0])
    if gamma is None:
        model = RPCA(lam=lam, tol=1e-8, max_iter=20000).fit(X)
    else:
        weights = {"lam": lam / 2, "gamma": gamma / 4}
        model = RPCAG(**weights, graph=A, tol=1e-8, max_iter=20000).fit(X)
    kept = model.singular_values_ > CUT * model.singular_values_[0]
    U = (model.embedding_ / model.singular_values_)[:, kept]
    assert Q.shape[1] == U.shape[1]
    np.testing.assert_allclose(Q @ Q.T, U @ U.T, atol=1e-3)


def test_larger_epsilons_stop_earlier():
    X = two_groups()
    Phi = laplacian(KNNGraph(3)(X)).toarray()
    found = list(as_printed.iterates(X, Phi, 0.4, 0.5, [1e-6, 1e-2, 1e-4]))
    epsilons, steps, _ = zip(*found, strict=True)
    assert epsilons == (1e-2, 1e-4, 1e-6)
    assert list(steps) == sorted(steps)
    assert steps[0] < steps[-1] < as_printed.MAX_ITER


def test_records_make_tables_and_one_sentence():
    def load(run):
        return Data("USPS", two_groups(), np.repeat([0, 1], 10))

    tasks = as_printed.plan(datasets=["USPS"], load=load)
    assert len(tasks) == 2 * 3  # blocks need images
    records = [task() for task in tasks if task.run.corruption == "none"]
    means, every = as_printed.tables(records)
    assert [row[0] for row in means.rows] == [row[0] for row in every.rows]
    assert every.rows[1][:3] == ["RPCAG, the paper's graph", "USPS, none", "21.3"]
    stops = as_printed.least(records)["USPS", "none", "complete"]
    assert means.rows[1][-1] == f"{100 * stops['optimum']:.1f}"
    assert "mean of 1 columns" in as_printed.outcome(records)
    assert as_printed.outcome(records[:1]) == ""
