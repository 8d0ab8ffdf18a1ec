"""The trials by which weights are chosen: short, but not wrong."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from rpcag import RPCA, RPCAG
from rpcag.graphs import KNNGraph
from rpcag.graphs.laplacian import laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.models import parts
from rpcag.models.trials import PLAIN, Trials
from rpcag.models.weights import choose
from rpcag.solvers.problem import Problem

ROOT = math.sqrt(2)


def table(rng, *, rows=300, errors=0.05):
    """Real features, standardized, with gross errors."""
    X = StandardScaler().fit_transform(load_breast_cancer().data[:rows])
    wrong = rng.random(X.shape) < errors
    return np.where(wrong, rng.uniform(-10, 10, X.shape), X)


def noisy(rng, n, p, rank=5, noise=0.3, errors=0.05):
    X = (
        rng.standard_normal((n, rank))
        @ rng.standard_normal((rank, p))
        / math.sqrt(rank)
    )
    X += noise * rng.standard_normal(X.shape)
    return np.where(rng.random(X.shape) < errors, rng.uniform(-10, 10, X.shape), X)


def kinds(rng):
    """Rows of four kinds, with noise: neighbors help to predict entries."""
    X = rng.standard_normal((4, 30))[rng.integers(4, size=120)]
    return X + 0.7 * rng.standard_normal(X.shape)


def neighbors(Y, L):
    """The graph of the rows of L, as `choose` gets it."""
    return ShiftedLaplacian(laplacian(KNNGraph(7)(L)))


# In the order of a search: each trial starts where the one before ended.
LAMS = [(1.0, 0.0), (2.0, 0.0), (4.0, 0.0), (2 * ROOT, 0.0), (ROOT, 0.0)]
GAMMAS = [(2.0, 0.25), (2 * ROOT, 1.0), (4.0, 4.0), (2.0, 1.0)]


@pytest.mark.parametrize("data", ["table", "far", "low rank"])
@pytest.mark.parametrize("with_graph", [False, True])
def test_a_trial_predicts_what_the_solution_does(data, with_graph, rng):
    X = noisy(rng, 130, 110) if data == "low rank" else table(rng)
    if data == "far":  # which a graph whose degrees differ does not leave alone
        X += 10 * rng.uniform(0.5, 1, X.shape[1])
    trials = Trials(X, neighbors)
    near = None
    for cell in LAMS + GAMMAS * with_graph:
        trials.error(cell, near)
        near = cell
    shifted = ShiftedLaplacian(trials.graph()[0].laplacian) if with_graph else None
    found = {cell: math.sqrt(trials.error(cell)) for cell in trials.squares}
    expected = {}
    for c, g in found:
        gamma = g * trials.gamma_unit / trials.stiffness
        problem = Problem(trials.Y[0], c * trials.lam_unit, gamma, shifted)
        solved = problem.solve(tol=1e-4, max_iter=5000)
        assert solved.status == "converged"
        squares = trials._squares(solved.x[trials.at[1:]])
        expected[c, g] = math.sqrt(np.mean(squares))
    best = min(expected, key=expected.__getitem__)
    for cell, error in expected.items():
        if error < 1.1 * expected[best]:
            assert found[cell] == pytest.approx(error, rel=0.02), cell
        else:  # a trial that is clearly worse may end early
            assert found[cell] > 1.05 * found[best], cell


def test_the_same_data_have_the_same_choice(rng):
    X = kinds(rng)
    one, two = (choose(X, gamma=None, build=neighbors) for _ in range(2))
    assert one.gamma > 0
    assert (one.lam, one.gamma, one.factors) == (two.lam, two.gamma, two.factors)
    assert (one.explained, one.explained_error) == (two.explained, two.explained_error)
    for name in one.trials:
        np.testing.assert_array_equal(one.trials[name], two.trials[name])


@pytest.mark.parametrize("gamma", [0.0, None])
@pytest.mark.parametrize(
    ("dtype", "offset"),
    [(np.float64, 1e4), (np.float32, 0.0), (np.float32, 1e4), (np.float64, -1e2)],
)
def test_offsets_and_single_precision_hardly_change_the_choice(
    dtype, offset, gamma, rng
):
    X = table(rng)
    centered = choose(X, gamma=gamma, build=neighbors)
    moved = (X + offset * rng.uniform(0.5, 1, X.shape[1])).astype(dtype)
    found = choose(moved, gamma=gamma, build=neighbors)
    ratio = found.factors[0] / centered.factors[0]
    assert 0.99 / ROOT < ratio < 1.01 * ROOT
    assert found.explained == pytest.approx(centered.explained, abs=0.05)


@pytest.mark.parametrize("offset", [0.0, 10.0, 100.0])
def test_a_graph_is_not_chosen_where_it_harms_data_far_from_zero(offset, rng):
    """The normalized Laplacian has roots of degrees in its null space, not ones."""
    X = kinds(rng) + offset * rng.uniform(0.5, 1, 30)
    hidden = rng.random(X.shape) < 0.2
    Y = np.where(hidden, np.nan, X)
    with_graph, without = (
        np.sqrt(np.mean((model.fit(Y).low_rank_ - X)[hidden] ** 2))
        for model in (RPCAG(graph="knn"), RPCA())
    )
    assert with_graph < 1.02 * without


@pytest.mark.parametrize("gamma", [0.0, None])
def test_exact_data_keep_the_lam_of_the_theory_after_one_trial(gamma, rng):
    X = noisy(rng, 300, 200, noise=0, errors=0.1)
    choice = choose(X, gamma=gamma, build=neighbors)
    assert choice.factors == PLAIN
    assert choice.lam == pytest.approx(1 / math.sqrt(300))
    assert len(choice.trials["error"]) == 1
    assert choice.explained > 0.99


@pytest.mark.parametrize(
    ("shape", "noise", "factor"),
    [
        ((1900, 40), 0.3, 1.5),
        ((1800, 60), 1.0, 1.5),
        ((1600, 150), 0.5, 2.1),  # its part is not as tall
    ],
)
def test_a_part_of_large_data_chooses_as_all_of_them(
    shape, noise, factor, rng, monkeypatch
):
    X = noisy(rng, *shape, noise=noise)
    whole = choose(X)
    assert whole.n_rows == len(X)
    monkeypatch.setattr(parts, "ENTRIES", X.size // 4)
    part = choose(X)
    assert part.n_rows == max(len(X) // 4, parts.ROWS)
    assert whole.lam / factor < part.lam < factor * whole.lam
    # Errors are flat around the best lam: all data predict as well with that of a part.
    order = np.argsort(whole.trials["lam"])
    lams, errors = whole.trials["lam"][order], whole.trials["error"][order]
    assert np.interp(part.lam, lams, errors) < 1.01 * errors.min()
