"""Certificates in spite of rounding, and numbers at the ends of the range.

Objectives are computed here in extended precision, from the edges of the graphs.
"""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from problems import UNIT
from rpcag import FRPCAG, GNMF, MMF, RPCA, RPCAG, LaplacianEigenmaps, NCuts
from rpcag.graphs import laplacian
from rpcag.linalg.gram import spectral_norm
from rpcag.linalg.null_space import NullSpace
from rpcag.linalg.rounding import size_norm
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.losses import L1, DataTerm
from rpcag.penalties import GraphSmoothness
from rpcag.solvers import certificates
from rpcag.solvers.certificates import Certificates
from rpcag.solvers.dual_completion import DualColumns, DualCompletion
from rpcag.solvers.problem import Problem

LONG = np.longdouble


def ring(n, weight=1.0):
    A = np.zeros((n, n))
    A[np.arange(n), (np.arange(n) + 1) % n] = weight
    return np.maximum(A, A.T)


def roughness(L, A, kind):
    """tr(L^T Phi L) as a sum over the edges."""
    A = A.astype(LONG)
    degrees = A.sum(axis=1)
    if kind == "normalized":
        L = L / np.sqrt(np.where(degrees > 0, degrees, 1))[:, None]
    i, j = np.nonzero(np.triu(A, 1))
    return np.sum(A[i, j][:, None] * (L[i] - L[j]) ** 2)


def two_graph_objective(model, X, L):
    kind = model.laplacian
    rest = np.abs(X.astype(LONG) - L)
    value = np.sum(rest[~np.isnan(rest)])
    value += model.gamma_ * roughness(L, model.adjacency_, kind)
    return value + model.gamma_features_ * roughness(
        L.T, model.feature_adjacency_, kind
    )


def nuclear_norm(L):
    """An upper bound, to more digits than double precision has."""
    if not L.any():
        return LONG(0)
    size = LONG(2.0 ** np.ceil(np.log2(float(np.abs(L).max()))))
    U, s, Vt = np.linalg.svd((L / size).astype(float), full_matrices=False)
    U, s, Vt = (part.astype(LONG) for part in (U, s, Vt))
    rest = L / size - (U * s) @ Vt
    lengths = np.sqrt(np.sum(U**2, axis=0) * np.sum(Vt**2, axis=1))
    lost = np.sqrt(LONG(min(L.shape)) * np.sum(rest**2))
    return size * (np.sum(s * lengths) + lost)


def objective(model, X, L, A=None):
    L = L.astype(LONG)
    rest = np.abs(X.astype(LONG) - L)
    value = nuclear_norm(L) + LONG(model.lam_) * np.sum(rest[~np.isnan(rest)])
    if A is not None:
        value += LONG(model.gamma_) * roughness(L, A, model.laplacian)
    return value


# -- data far from zero ----------------------------------------------------------------


def far(offset, dtype=np.float64, shape=(30, 20)):
    noise = np.random.default_rng(0).standard_normal(shape)
    return (offset + noise).astype(dtype)


@pytest.mark.parametrize(
    ("offset", "dtype", "gamma"),
    [
        (1e6, np.float64, 100.0),
        (1e8, np.float64, 100.0),
        (1e8, np.float64, "unit"),
        (1e5, np.float32, 1.0),
        (1e6, np.float32, 100.0),
    ],
)
def test_no_bound_is_above_a_constant_matrix(offset, dtype, gamma):
    X = far(offset, dtype)
    model = FRPCAG(
        gamma=gamma,
        gamma_features=gamma,
        graph=ring(30, 7.3),
        feature_graph=ring(20, 0.3),
        laplacian="combinatorial",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X)
    values = [
        two_graph_objective(model, X, L.astype(LONG))
        for L in (np.full_like(X, np.median(X)), X, model.low_rank_)
    ]
    assert model.lower_bound_ <= min(values)
    assert model.objective_ == pytest.approx(float(values[-1]), rel=1e-6)
    assert model.gap_ == pytest.approx(1 - model.lower_bound_ / model.objective_)


def test_an_offset_takes_nothing_from_the_proof():
    """Timestamps: the same gap, and the same answer moved, at any offset."""
    options = {
        "gamma": 0.5,
        "gamma_features": 0.5,
        "graph": ring(30),
        "feature_graph": ring(20),
        "laplacian": "combinatorial",
        "tol": 1e-5,
        "max_iter": 20_000,
    }
    X = far(0.0)
    near = FRPCAG(**options).fit(X)
    moved = FRPCAG(**options).fit(X + 2.0**30)
    assert near.status_ == moved.status_ == "converged"
    assert moved.objective_ == pytest.approx(near.objective_, rel=1e-5)
    assert moved.lower_bound_ <= near.objective_
    np.testing.assert_allclose(moved.low_rank_ - 2.0**30, near.low_rank_, atol=0.02)


def test_offsets_of_components_give_a_warning_but_no_false_bound(rng):
    """One offset is taken out. Others, which differ by component, cost digits."""
    rows, columns = ring(12), ring(10)
    rows[:5, 5:] = rows[5:, :5] = 0
    rows[11] = rows[:, 11] = 0  # without neighbors
    columns[:4, 4:] = columns[4:, :4] = 0
    noise = rng.standard_normal((12, 10))
    offsets = np.zeros((12, 10))
    offsets[:5, :4], offsets[5:, :4], offsets[11] = 2.0**30, -(2.0**28), 2.0**26
    options = {
        "gamma": 0.5,
        "gamma_features": 0.5,
        "graph": rows,
        "feature_graph": columns,
        "laplacian": "combinatorial",
        "tol": 1e-5,
        "max_iter": 2000,
    }
    noise[2, 3] = noise[7, 8] = np.nan
    near = FRPCAG(**options).fit(noise)
    with pytest.warns(ConvergenceWarning, match="with a certified gap of"):
        moved = FRPCAG(**options).fit(noise + offsets)
    assert moved.lower_bound_ <= near.objective_ * (1 + 1e-6)


def test_roots_of_the_degrees_are_offsets_of_the_normalized_laplacian(rng):
    rows = np.triu(np.exp(rng.standard_normal((14, 14))), 1)
    rows += rows.T
    root = np.sqrt(rows.sum(axis=1))
    features = np.sqrt(ring(9).sum(axis=1))
    X = rng.standard_normal((14, 9))
    offset = 1e7 * np.outer(root, features)
    options = {
        "gamma": 1.0,
        "gamma_features": 1.0,
        "graph": rows,
        "feature_graph": ring(9),
        "tol": 1e-4,
        "max_iter": 20_000,
    }
    near = FRPCAG(**options).fit(X)
    moved = FRPCAG(**options).fit(X + offset)
    assert moved.status_ == "converged"
    assert moved.objective_ == pytest.approx(near.objective_, rel=3e-4)
    assert moved.lower_bound_ <= near.objective_ * (1 + 1e-6)


def test_smoothness_forgets_what_is_constant():
    """The objective at data with a large offset, beside a sum over the edges."""
    rng = np.random.default_rng(1)
    A = np.triu(np.exp(rng.standard_normal((25, 25))), 1)
    A += A.T
    model = RPCAG(graph=A, laplacian="combinatorial", gamma=1e3, lam=0.2, max_iter=30)
    X = 1e9 + rng.standard_normal((25, 8))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the offset is told, too
        model.fit(X)
    truth = float(objective(model, X, model.low_rank_, A))
    assert model.objective_ == pytest.approx(truth, rel=1e-7)


@pytest.mark.parametrize("model", [GNMF, MMF])
def test_factors_with_an_offset_have_the_objective_that_is_told(model, rng):
    X = 1e8 + np.abs(rng.standard_normal((30, 20)))
    A = ring(30, 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = model(3, graph=A, laplacian="combinatorial").fit(X)
    Q, Ut = fitted.embedding_.astype(LONG), fitted.components_.astype(LONG)
    truth = np.sum((X.astype(LONG) - Q @ Ut) ** 2)
    truth += roughness(Q, A, "combinatorial")
    assert fitted.objective_ == pytest.approx(float(truth), rel=1e-3)


# -- single precision ------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("has_graph", [False, True])
def test_single_precision_bounds_are_below_the_optimum(seed, has_graph):
    rng = np.random.default_rng(seed)
    n, p = rng.integers(4, 20, 2)
    X = (10.0 ** rng.integers(0, 7) + rng.standard_normal((n, p))).astype(np.float32)
    X *= np.float32(10.0 ** rng.choice([0, -15, 15]))
    lam = float(10 ** rng.uniform(-3, 1))
    A = ring(n, 0.1)
    model, exact = RPCA(lam=lam), RPCA(lam=lam, tol=1e-9, max_iter=3000)
    if has_graph:
        gamma = 1 / float(np.abs(X).mean())
        model = RPCAG(lam=lam, gamma=gamma, graph=A)
        exact = RPCAG(lam=lam, gamma=gamma, graph=A, tol=1e-9, max_iter=3000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # large offsets are told, too
        model.fit(X)
        exact.fit(X.astype(np.float64))
    graph = A if has_graph else None
    best = min(objective(model, X, m.low_rank_, graph) for m in (model, exact))
    zero = LONG(lam) * np.abs(X.astype(LONG)).sum()
    assert model.lower_bound_ <= min(best, zero)
    assert model.gap_ < 0.5


def test_a_dual_point_of_the_loss_is_as_exact_as_it_says():
    X = np.full((40, 40), 1.0, np.float32)
    Y, total = np.full_like(X, 5.0), np.zeros_like(X)
    linear, _, error = DataTerm(X, L1(0.1)).add_dual(Y, total)
    assert abs(linear - X.size * 0.1) <= 1e-12 * X.size  # of the point itself
    assert np.linalg.norm(total.astype(np.float64) - 0.1) <= error


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_dual_point_of_the_smoothness_is_as_exact_as_it_says(rng, dtype):
    """Beside an offset: what was added, its error and its value, against the edges."""
    A = np.triu(np.exp(3 * rng.standard_normal((20, 20))), 1)
    A += A.T
    Phi = np.diag(A.astype(LONG).sum(axis=1)) - A
    for offset in (0.0, 1e6):
        P = (offset + rng.standard_normal((20, 7))).astype(dtype)
        total = rng.standard_normal((20, 7)).astype(dtype)
        before = total.astype(LONG)
        shifted = ShiftedLaplacian(laplacian(A, "combinatorial"))
        term = GraphSmoothness(shifted, 0.3)
        _, quadratic, error = term.add_dual(P, total)
        P = P.astype(LONG)
        exact = before + 2 * LONG(0.3) * (Phi @ P)
        assert np.sqrt(np.sum((exact - total) ** 2)) <= error
        assert LONG(0.3) * roughness(P, A, "combinatorial") <= quadratic


def test_norms_are_rounded_up(rng):
    for n, p in [(5, 400), (60, 60), (1, 3)]:
        A = rng.standard_normal((n, p)).astype(np.float32)
        truth = np.linalg.svd(A.astype(np.float64), compute_uv=False)[0]
        assert truth <= spectral_norm(A) <= truth * (1 + 1e-11)
    star = np.zeros((50, 50))
    star[0, 1:] = star[1:, 0] = 1
    for kind in ("normalized", "combinatorial"):
        Phi = laplacian(star, kind)
        truth = np.linalg.norm(np.abs(Phi), 2)
        assert truth <= size_norm(Phi) * (1 + 1e-12)
        assert size_norm(Phi) <= 1.5 * truth


def test_the_null_space_is_one(rng):
    A = np.triu(rng.random((15, 15)), 1)
    A[:6, 6:] = 0
    A += A.T
    A[14] = A[:, 14] = 0
    for kind, root in (("combinatorial", None), ("normalized", np.sqrt(A.sum(axis=1)))):
        null, Phi = NullSpace(A, root), laplacian(A, kind)
        assert null.n_parts == 3
        Y = rng.standard_normal((15, 4))
        rest = null.without(Y)
        np.testing.assert_allclose(Phi @ rest, Phi @ Y, atol=1e-12)
        constant = null.root[:, None] * rng.standard_normal(3)[null.label][:, None]
        np.testing.assert_allclose(null.without(constant), 0, atol=1e-14)


# -- a bound that is wrong -------------------------------------------------------------


def overstated(linear, quadratic, norm):
    return 1e9


@pytest.mark.parametrize("shape", [(20, 12), (130, 110)])
@pytest.mark.parametrize(
    "model",
    [
        RPCA(lam="theory"),
        RPCAG(gamma="clustering", graph="knn"),
        FRPCAG(**UNIT),
        RPCA(),
        RPCAG(graph="knn"),
    ],
)
def test_a_false_bound_is_an_error_and_no_proof(model, shape, monkeypatch, rng):
    from rpcag.solvers import fista

    monkeypatch.setattr(certificates, "dual_value", overstated)
    monkeypatch.setattr(fista, "dual_value", overstated)
    X = rng.standard_normal((shape[0], 2)) @ rng.standard_normal((2, shape[1]))
    X += 0.1 * rng.standard_normal(shape)
    with pytest.warns(
        ConvergenceWarning, match="put a lower bound above the objective"
    ):
        model.fit(X)
    assert model.status_ == "numerical_error"
    assert model.gap_ == 1
    assert model.lower_bound_ == 0
    assert np.all(model.history_["lower_bound"] == 0)
    assert np.all(model.history_["gap"] == 1)


def test_a_bound_within_the_rounding_of_the_objective_is_none():
    ledger = Certificates(1e-3)
    assert ledger.record(1, 1.0, 1e-6, 1.0 + 1e-7, (0.1, 0.1), 1).gap == 0
    assert not ledger.is_contradicted
    progress = ledger.record(2, 1.0, 1e-6, 1.1, (0.1, 0.1), 1)
    assert ledger.is_contradicted
    assert (progress.lower_bound, progress.gap) == (0, 1)
    assert ledger.history[0].gap == 1


# -- the ends of the range -------------------------------------------------------------


def test_huge_degrees_leave_the_normalized_laplacian(rng):
    for weight in (4e299, 1e-320):
        Phi = laplacian(ring(12, weight))
        np.testing.assert_allclose(Phi, laplacian(ring(12)), atol=1e-15)
    X = rng.standard_normal((12, 9))
    for model in (RPCAG(gamma="clustering"), RPCAG(), FRPCAG(**UNIT)):
        usual, huge = (
            clone(model).set_params(graph=ring(12, w)).fit(X) for w in (1.0, 4e299)
        )
        assert huge.objective_ == pytest.approx(usual.objective_, rel=1e-12)
        assert huge.lower_bound_ == pytest.approx(usual.lower_bound_, rel=1e-9)
    usual, huge = (NCuts(3, graph=ring(12, w)).fit(X) for w in (1.0, 4e299))
    np.testing.assert_allclose(huge.eigenvalues_, usual.eigenvalues_, atol=1e-14)


@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
@pytest.mark.parametrize("model", [RPCAG, FRPCAG])
def test_degrees_that_overflow_are_refused_by_name(model, kind, rng):
    X = rng.standard_normal((12, 9))
    with pytest.raises(ValueError, match=r"graph has weights up to 1\.7e\+308"):
        model(graph=ring(12, 1.7e308), laplacian=kind).fit(X)


def test_a_graph_too_stiff_for_the_data_is_refused_by_name(rng):
    X = rng.standard_normal((12, 9))
    model = FRPCAG(**UNIT, feature_graph=ring(9, 1e200), laplacian="combinatorial")
    with pytest.raises(ValueError, match=r"feature_graph with degrees up to 2e\+200"):
        model.fit(X)


def test_an_embedding_that_overflows_is_refused_by_name(rng):
    X = rng.standard_normal((12, 9))
    model = LaplacianEigenmaps(2, graph=ring(12, 1e-80))
    with pytest.raises(ValueError, match="a sample whose weights sum to only 2e-80"):
        model.fit(X.astype(np.float32))
    assert np.isfinite(model.fit(X).embedding_).all()


@pytest.mark.parametrize("model", [RPCA(lam="theory"), FRPCAG(**UNIT)], ids=repr)
@pytest.mark.parametrize("size", [1e-39, 1e-42])
def test_subnormal_data_are_split(model, size, rng):
    X = rng.standard_normal((30, 20))
    tiny = clone(model).fit((size * X).astype(np.float32))
    usual = clone(model).fit((size * X).astype(np.float32).astype(np.float64) / size)
    assert tiny.status_ == "converged"
    assert tiny.objective_ == pytest.approx(size * usual.objective_, rel=2e-3)
    assert np.isfinite(tiny.embedding_).all()
    assert tiny.rank_ > 0


SCRIPT = """
import numpy as np
import rpcag
X = np.abs(np.random.default_rng(0).standard_normal((30, 20))).clip(0, 5)
models = dict(
    RPCA=rpcag.RPCA(lam="theory"),
    FRPCAG=rpcag.FRPCAG(gamma="unit", gamma_features="unit"),
)
for name, size, dtype in {cases}:
    try:
        model = models[name].fit((size * X).astype(dtype))
        print("finite", np.isfinite(model.embedding_).all(), model.rank_ > 0)
    except ValueError as error:
        print(error)
"""
ENDS = {
    ("RPCA", 5e36, "float32"): "finite True True",
    ("RPCA", 5e37, "float32"): "singular values of L overflow float32; rescale X",
    ("FRPCAG", 5e37, "float32"): "singular values of L overflow float32; rescale X",
    ("FRPCAG", 3e307, "float64"): "overflows; rescale X",
}


@pytest.mark.slow
def test_data_near_the_largest_number_end_in_an_answer_or_a_name():
    """In another process, with a limit: LAPACK may never return from infinity."""
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT.format(cases=list(ENDS))],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    lines = ended.stdout.splitlines()
    assert len(lines) == len(ENDS)
    for line, answer in zip(lines, ENDS.values(), strict=True):
        assert answer in line


def test_a_unit_is_exact(rng):
    X = (1e20 * rng.standard_normal((9, 7))).astype(np.float32)
    problem = Problem(X, 0.3)
    assert problem.unit != 1
    np.testing.assert_array_equal(problem.X * np.float32(problem.unit), X)


def test_completion_changes_the_dual_point_as_it_says(rng):
    """Linear, quadratic and norm beside the point itself, in extended precision."""
    n, p, lam, gamma = 12, 15, 0.3, 2.0
    A = np.triu(10 ** rng.uniform(-6, 0, (n, n)), 1)
    A += A.T
    Phi = np.diag(A.astype(LONG).sum(axis=1)) - A
    X = rng.standard_normal((n, p))
    shifted = ShiftedLaplacian(laplacian(A, "combinatorial"))
    D_1 = np.clip(rng.standard_normal((n, p)), -lam, lam)
    W = rng.standard_normal((n, p))
    completion = DualCompletion(X.shape, gamma, shifted)
    columns = DualColumns(X, L1(lam), D_1, W)
    square = columns.square(shifted, gamma, completion.null, None)
    (linear, quadratic, norm), _ = completion.relieved(square, 1e-9)
    value = certificates.dual_value(linear, quadratic, norm)
    # Any matrix is above the bound: here the best multiple of X.
    for c in np.linspace(-1, 1, 41):
        L = LONG(c) * X.astype(LONG)
        upper = nuclear_norm(L)
        upper += LONG(lam) * np.abs(X.astype(LONG) - L).sum()
        upper += LONG(gamma) * np.sum(L * (Phi @ L))
        assert value <= upper


@pytest.mark.parametrize("seed", range(3))
def test_the_objective_of_single_precision_data_is_that_of_the_answer(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((200, 4)) @ rng.standard_normal((4, 120))
    X = (X + 0.1 * rng.standard_normal(X.shape)).astype(np.float32)
    model = RPCA(lam="theory", tol=0.01).fit(X)
    L = model.low_rank_.astype(np.float64)
    expected = np.linalg.norm(L, "nuc") + model.lam_ * np.abs(X - L).sum()
    assert model.solver_ == "factored, exact"
    assert model.objective_ == pytest.approx(expected, rel=1e-6)
