"""Losses: noise, weights, rows and both against an independent solver, and limits."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from problems import least, small_problem
from rpcag import RPCA, RPCAG
from rpcag.graphs import KNNGraph
from rpcag.losses import L1, Both, DataTerm, Huber, Rows, nearest, part, rescaled
from rpcag.models.noise import SETTLED, estimate_noise
from rpcag.solvers import solve
from rpcag.solvers.dense import DenseIterates

# loss, whether there is noise, whether samples have weights
CASES = [
    ("entries", True, False),
    ("entries", False, True),
    ("rows", False, False),
    ("both", False, False),
    ("rows", True, False),
    ("both", True, True),
    ("entries", True, True),
]


def stated(k):
    """Problem k, its model and the weights of its samples."""
    problem = small_problem(k)
    kind, has_noise, has_weights = CASES[k % len(CASES)]
    rng = np.random.default_rng(k)
    lam = [0.2, 0.4, 0.6, 0.8][k % 4] if kind == "rows" else problem.lam
    weight = rng.uniform(0.2, 3.0, len(problem.X)) if has_weights else None
    if has_weights and k % 2:
        weight[1] = 0.0
    model = RPCAG(
        lam=lam,
        gamma=problem.gamma,
        graph=problem.adjacency,
        laplacian=problem.kind,
        loss=kind,
        noise=[0.03, 0.3][k % 2] * problem.unit if has_noise else None,
        tol=1e-7,
        max_iter=20_000,
    )
    return problem, model, weight


def optimum(problem, model, weight):
    """The least objective of the problem that a fitted model states."""
    import cvxpy as cp

    X = problem.X / problem.unit
    seen = ~np.isnan(X)
    w = np.ones(len(X)) if weight is None else weight
    values, vectors = np.linalg.eigh(problem.Phi)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    L = cp.Variable(X.shape)
    rest = cp.multiply(seen.astype(float), np.where(seen, X, 0) - L)
    objective = cp.normNuc(L)
    if problem.gamma > 0:
        objective += problem.gamma * problem.unit * cp.sum_squares(root @ L)
    if model.mu_ is not None:
        N = cp.Variable(X.shape)
        rest = rest - N
        mu = model.mu_ / problem.unit
        objective += cp.sum(cp.multiply(w[:, None], cp.square(N))) / (2 * mu)
    if model.loss == "both":
        rows = cp.Variable(X.shape)
        rest = rest - rows
        objective += model.lam_rows_ * (w @ cp.norm(rows, 2, axis=1))
    if model.loss == "rows":
        objective += model.lam_ * (w @ cp.norm(rest, 2, axis=1))
    else:
        objective += model.lam_ * cp.sum(cp.multiply(w[:, None], cp.abs(rest)))
    value, accuracy = least(objective)
    return value * problem.unit, accuracy


def bound_of(model, X, Phi, weight=None):
    """The lower bound that `dual_` proves, from its definition."""
    D, W, F = model.dual_
    D = np.where(np.isnan(X), 0, D)
    w = np.ones((len(X), 1)) if weight is None else weight[:, None]
    if model.loss == "rows":
        assert (np.linalg.norm(D, axis=1) <= model.lam_ * w[:, 0] * (1 + 1e-12)).all()
    else:
        assert (np.abs(D) <= model.lam_ * w * (1 + 1e-12)).all()
    if model.loss == "both":
        lengths = np.linalg.norm(D, axis=1)
        assert (lengths <= model.lam_rows_ * w[:, 0] * (1 + 1e-12)).all()
    Y, bound = D.copy(), np.sum(D * np.nan_to_num(X))
    if W is not None:
        Y -= 2 * model.gamma_ * Phi @ W
        bound -= model.gamma_ * np.sum(W * (Phi @ W))
    if F is not None:
        Y -= 2 * model.gamma_features_ * F @ model.feature_laplacian_
        bound -= model.gamma_features_ * np.sum(F.T * (model.feature_laplacian_ @ F.T))
    if model.mu_ is not None:
        bound -= model.mu_ / 2 * np.sum(D**2 / np.where(w > 0, w, 1.0))
    assert np.linalg.norm(Y, 2) <= 1 + 1e-9
    return bound


@pytest.mark.parametrize("k", range(70))
def test_objective_and_bound_agree_with_an_interior_point_method(k):
    problem, model, weight = stated(k)
    model.fit(problem.X, sample_weight=weight)
    best, accuracy = optimum(problem, model, weight)
    assert model.gap_ <= 1e-7
    assert model.objective_ == pytest.approx(best, rel=1e-6)
    assert model.lower_bound_ <= best * (1 + accuracy)
    proven = bound_of(model, problem.X, problem.Phi, weight)
    assert proven == pytest.approx(model.lower_bound_, rel=1e-6)


def test_most_problems_are_not_trivial():
    ranks, wrong = [], []
    for k in range(70):
        problem, model, weight = stated(k)
        model.set_params(tol=1e-4).fit(problem.X, sample_weight=weight)
        ranks.append(model.rank_)
        wrong.append(np.abs(model.sparse_).max() > 1e-6 * problem.unit)
    assert np.mean(np.array(ranks) > 0) > 0.6
    assert np.mean(wrong) > 0.6


def spoiled(n=120, p=150, rank=4, noise=0.1, seed=0, missing=0.05):
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    X = L + noise * rng.standard_normal((n, p))
    X[rng.random((n, p)) < 0.05] = 8.0
    X[rng.random((n, p)) < missing] = np.nan
    return X, L


@pytest.mark.parametrize("shape", [(40, 30), (120, 150)])
def test_vanishing_noise_is_the_l1_norm(shape):
    X, _ = spoiled(*shape)
    lam = 1 / np.sqrt(max(shape))
    plain = RPCA(lam=lam, tol=1e-6, max_iter=5000).fit(X)
    noisy = RPCA(lam=lam, noise=1e-9, tol=1e-6, max_iter=5000).fit(X)
    assert noisy.objective_ == pytest.approx(plain.objective_, rel=3e-6)


def test_with_much_lam_noise_is_singular_value_thresholding():
    X, _ = spoiled(60, 40, missing=0.0)
    model = RPCA(lam=1e3, noise=0.5, tol=1e-9, max_iter=5000).fit(X)
    P, s, Vt = np.linalg.svd(X, full_matrices=False)
    L = (P * np.maximum(s - model.mu_, 0)) @ Vt
    np.testing.assert_allclose(model.low_rank_, L, atol=1e-4 * np.abs(X).max())
    assert not model.sparse_.any()


def test_weights_of_one_change_nothing():
    X, _ = spoiled(60, 40)
    plain = RPCA(lam="theory").fit(X)
    ones = RPCA(lam="theory").fit(X, sample_weight=np.ones(len(X)))
    np.testing.assert_allclose(ones.low_rank_, plain.low_rank_, atol=1e-10)


@pytest.mark.parametrize("options", [{}, {"noise": 0.1}, {"loss": "rows"}])
def test_a_sample_of_weight_zero_is_missing(options):
    X, _ = spoiled(60, 40)
    weight = np.ones(len(X))
    weight[:3] = 0
    lam = 0.2
    weighted = RPCA(lam=lam, tol=1e-8, max_iter=5000, **options)
    weighted.fit(X, sample_weight=weight)
    left_out = RPCA(lam=lam, tol=1e-8, max_iter=5000, **options)
    left_out.fit(np.where(weight[:, None] > 0, X, np.nan))
    if options.get("noise"):  # mu depends on the share that is observed
        assert weighted.mu_ > left_out.mu_
        return
    assert weighted.objective_ == pytest.approx(left_out.objective_, rel=1e-7)
    assert not weighted.sparse_[:3].any()


def test_samples_of_more_weight_are_fitted_better():
    X, _ = spoiled(60, 40, noise=0.5)
    weight = np.where(np.arange(60) < 30, 5.0, 1.0)
    plain = RPCA(lam=0.15).fit(X)
    model = RPCA(lam=0.15).fit(X, sample_weight=weight)

    def distance(fit):
        return np.nansum(np.abs(X - fit.low_rank_)[:30])

    assert distance(model) < 0.8 * distance(plain)


@pytest.mark.parametrize("shape", [(60, 40), (120, 150)])
@pytest.mark.parametrize("options", [{"noise": "auto"}, {"loss": "both", "noise": 0.1}])
@pytest.mark.parametrize("unit", [1e-5, 2.0**40])
def test_the_unit_of_X_does_not_matter(shape, options, unit):
    X, _ = spoiled(*shape)
    model = RPCA(lam="theory", **options).fit(X)
    if options["noise"] != "auto":
        options = options | {"noise": options["noise"] * unit}
    other = RPCA(lam="theory", **options).fit(X * unit)
    # The rounds that estimate the noise end when the level changes by less than this,
    # and the objective changes by a smaller share than the level.
    assert other.noise_ == pytest.approx(unit * model.noise_, rel=SETTLED)
    assert other.objective_ == pytest.approx(unit * model.objective_, rel=SETTLED)
    assert other.rank_ == model.rank_


def test_outlying_samples_are_found():
    X, L = spoiled(100, 60, noise=0.0, missing=0.05)
    X = np.where(np.isnan(X), np.nan, L)
    rng = np.random.default_rng(1)
    X[:6] += 5 * rng.standard_normal((6, 60))
    model = RPCA(loss="rows", tol=1e-6).fit(X)
    sizes = np.linalg.norm(model.sparse_, axis=1)
    assert sizes[6:].max() < 1e-2 * sizes[:6].min()
    assert np.linalg.norm((model.low_rank_ - L)[6:]) < 1e-2 * np.linalg.norm(L[6:])


def test_cells_and_samples_are_wrong_at_once():
    """Both together find L and its rank, neither loss alone does."""
    X, L = spoiled(100, 60, noise=0.0, missing=0.0)
    rng = np.random.default_rng(1)
    X[:6] = 5 * rng.standard_normal((6, 60))
    both = RPCA(loss="both", tol=1e-6, max_iter=3000).fit(X)

    def error(model):
        return np.linalg.norm((model.low_rank_ - L)[6:]) / np.linalg.norm(L[6:])

    assert both.rank_ == 4
    assert error(both) < 1e-5
    options = {"tol": 1e-6, "max_iter": 3000}
    cells = RPCA(lam=both.lam_, **options).fit(X)
    rows = RPCA(loss="rows", lam=both.lam_rows_, **options).fit(X)
    assert cells.rank_ > 4  # the wrong samples are in L
    assert error(rows) > 0.1  # the wrong cells are


@pytest.mark.parametrize("noise", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_auto_noise_finds_level_and_rank(noise, seed):
    X, L = spoiled(noise=noise, seed=seed)
    model = RPCA(noise="auto").fit(X)
    assert model.noise_ == pytest.approx(noise, rel=0.1)
    assert model.rank_ == 4
    wrong = X == 8.0
    gross = wrong & (np.abs(8.0 - L) > 6 * noise)
    assert (model.sparse_[gross] != 0).all()
    assert (model.sparse_[~wrong] != 0).mean() < 0.15
    assert np.linalg.norm(model.low_rank_ - L) < 0.6 * noise * np.linalg.norm(L)


@pytest.mark.parametrize("shape", [(200, 3), (80, 3), (3, 80), (100, 5), (5, 100)])
def test_auto_noise_of_few_features_or_samples(shape):
    rng = np.random.default_rng(0)
    for _ in range(6):
        X = np.outer(rng.standard_normal(shape[0]), rng.standard_normal(shape[1]))
        X += 0.1 * rng.standard_normal(shape)
        assert 0.03 < estimate_noise(X).sigma < 0.3


@pytest.mark.parametrize("shape", [(90, 40), (40, 90), (300, 300)])
@pytest.mark.parametrize("offset", [0.0, 10.0, 1e4, 1e7])
def test_the_noise_level_does_not_depend_on_the_offset(shape, offset):
    """The gap of the fits would be relative to the offset, and the level too large."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1]))
    X += 0.1 * rng.standard_normal(shape) + offset * rng.standard_normal(shape[1])
    assert estimate_noise(X).sigma == pytest.approx(0.1, rel=0.1)


def test_data_without_noise_have_none():
    X, L = spoiled(noise=0.0, missing=0.0)
    model = RPCA(noise="auto", tol=1e-6).fit(X)
    assert model.noise_ == 0
    assert model.mu_ is None
    assert np.linalg.norm(model.low_rank_ - L) < 1e-4 * np.linalg.norm(L)


@pytest.mark.parametrize(
    "options", [{"noise": 0.1}, {"loss": "rows"}, {"loss": "both"}, {"noise": "auto"}]
)
def test_new_rows_get_what_fitted_rows_got(options):
    """With the same loss; without a graph every row is projected by itself."""
    X, _ = spoiled(90, 40, missing=0.0)
    model = RPCA(tol=1e-8, max_iter=5000, **options).fit(X)
    Z = model.transform(X)
    size = np.abs(model.embedding_).max()
    np.testing.assert_allclose(Z, model.embedding_, atol=2e-3 * size)


@pytest.mark.parametrize("noise", [None, 0.1])
def test_graph_and_missing_entries_go_with_noise(noise):
    X, _ = spoiled(120, 150)
    model = RPCAG(lam="theory", gamma=0.01, graph=KNNGraph(), noise=noise).fit(X)
    assert model.gap_ <= 1e-3
    assert model.transform(X[:5]).shape == (5, model.rank_)
    assert model.solver_ in ("factored", "factored, exact", "exact")


# -- the loss functions themselves -----------------------------------------------------


@dataclass(frozen=True)
class Quantile:
    """l(R) = lam sum of q (X - L)_+ + (1 - q) (L - X)_+, of CONTRIBUTING.md."""

    lam: float
    q: float
    entrywise: ClassVar[bool] = True

    def project(
        self, D: np.ndarray, r: Any, out: np.ndarray | None = None
    ) -> np.ndarray:
        # <D, R> <= l(R) for every R if and only if -q lam <= D <= (1 - q) lam.
        return np.clip(D, -self.q * self.lam / r, (1 - self.q) * self.lam / r, out=out)

    def conjugate(self, D: np.ndarray) -> np.ndarray:
        return np.zeros(len(D))

    def value(self, R: np.ndarray) -> np.ndarray:
        return self.lam * np.maximum(-self.q * R, (1 - self.q) * R).sum(axis=1)


@pytest.mark.parametrize("q", [0.2, 0.5, 0.9])
def test_a_loss_of_ones_own_is_certified(q):
    import cvxpy as cp

    X = small_problem(4).X
    term = DataTerm(X, Quantile(0.5, q))
    result = solve(
        {"exact": lambda _: DenseIterates([term])},
        ratio=0.5,
        tol=1e-8,
        max_iter=20_000,
    )
    seen = ~np.isnan(X)
    L = cp.Variable(X.shape)
    R = cp.multiply(seen.astype(float), L - np.where(seen, X, 0))
    loss = cp.sum(cp.maximum(-q * R, (1 - q) * R))
    best, accuracy = least(cp.normNuc(L) + 0.5 * loss)
    assert result.objective == pytest.approx(best, rel=1e-6)
    assert result.lower_bound <= best * (1 + accuracy)


@pytest.mark.parametrize("q", [0.2, 0.9])
def test_a_loss_of_ones_own_is_fast_too(q):
    """The factored solver takes any loss that is a sum over entries."""
    from rpcag.solvers.problem import Problem

    X, _ = spoiled()
    loss = Quantile(0.1, q)
    result = Problem(X, 0.1, loss=loss).solve(tol=1e-4, max_iter=3000)
    exact = solve(
        {"exact": lambda _: DenseIterates([DataTerm(X, loss)])},
        ratio=0.1,
        tol=1e-4,
        max_iter=3000,
    )
    assert result.solver.startswith("factored")
    assert result.gap <= 1e-4
    assert result.objective == pytest.approx(exact.objective, rel=2e-4)
    assert result.lower_bound <= exact.objective


def test_the_point_nearest_in_box_and_ball():
    """Against a search over the multiplier of the ball, and at the corners."""
    rng = np.random.default_rng(0)
    D = 3 * rng.standard_normal((200, 7)) * (rng.random((200, 7)) < 0.7)
    cells = rng.uniform(0.1, 2, (200, 7))
    rows = rng.uniform(0.1, 4, (200, 1))
    found = Both(cells, rows).project(D, 1.0)
    assert (np.abs(found) <= cells).all()
    assert (np.linalg.norm(found, axis=1) <= rows[:, 0]).all()
    low, high = np.zeros((200, 1)), np.ones((200, 1))
    for _ in range(80):
        s = (low + high) / 2
        short = np.linalg.norm(np.clip(s * D, -cells, cells), axis=1) <= rows[:, 0]
        low, high = np.where(short[:, None], s, low), np.where(short[:, None], high, s)
    np.testing.assert_allclose(found, np.clip(low * D, -cells, cells), atol=1e-9)


@pytest.mark.parametrize("loss", [L1(0.3), Rows(0.5), Both(0.3, 0.5)], ids=repr)
def test_huber_without_mu_is_its_ball_and_nearest_is_idempotent(loss):
    rng = np.random.default_rng(0)
    R = rng.standard_normal((20, 6))
    tiny = Huber(loss, 1e-12)
    np.testing.assert_allclose(tiny.value(R), loss.value(R), rtol=1e-8)
    np.testing.assert_allclose(tiny.project(R, 2.0), loss.project(R, 2.0), atol=1e-10)
    inside = nearest(loss, R.copy())
    np.testing.assert_allclose(nearest(loss, inside.copy()), inside, rtol=1e-12)
    np.testing.assert_allclose(
        rescaled(Huber(loss, 0.4), 5.0).value(R),
        Huber(loss, 0.4).value(5 * R) / 5,
        rtol=1e-12,
    )


def test_a_part_of_a_loss_is_the_loss_of_a_part():
    rng = np.random.default_rng(0)
    R, lam, mu = rng.standard_normal((3, 9, 5))
    loss = Huber(L1(np.abs(lam)), np.abs(mu[:, :1]) + 0.1)
    rows, columns = slice(2, 7), slice(1, 4)
    some = part(loss, (rows, slice(None)))
    np.testing.assert_allclose(some.value(R[rows]), loss.value(R)[rows])
    few = part(loss, (rows, columns)).project(R[rows, columns], 2.0)
    np.testing.assert_allclose(few, loss.project(R, 2.0)[rows, columns])


# -- what is refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "l1"}, "'loss' .* a str among .*. Got 'l1'"),
        ({"noise": -1.0}, r"'noise' .* a float in the range \[0.0, inf\)"),
        ({"noise": np.inf}, "'noise' .* a float"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        RPCA(**options).fit(np.ones((5, 4)))


@pytest.mark.parametrize("noise", ["yes", [1.0]])
def test_noise_of_the_wrong_kind_is_refused(noise):
    with pytest.raises(TypeError, match="'noise' parameter of RPCA"):
        RPCA(noise=noise).fit(np.ones((5, 4)))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.ones(4), r"sample_weight.shape == \(4,\), expected \(5,\)"),
        (-np.ones(5), "Negative values in data passed to `sample_weight`"),
        (np.zeros(5), "non-zero|no observed entry"),
        (["a"] * 5, "could not convert"),
    ],
)
def test_bad_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        RPCA(lam=0.3).fit(np.ones((5, 4)), sample_weight=weight)


# -- Dask ------------------------------------------------------------------------------


@pytest.mark.dask
@pytest.mark.parametrize("weighted", [False, True])
def test_noise_and_weights_on_dask_are_those_in_memory(weighted):
    da = pytest.importorskip("dask.array")
    X, _ = spoiled(110, 130)
    weight = np.linspace(0.5, 2, len(X)) if weighted else None
    options = {"lam": 0.1, "noise": 0.1, "tol": 1e-5}
    here = RPCA(**options).fit(X, sample_weight=weight)
    model = RPCA(**options).fit(da.from_array(X, (110, 50)), sample_weight=weight)
    assert model.objective_ == pytest.approx(here.objective_, rel=2e-5)
    assert model.gap_ <= 1e-5
    np.testing.assert_allclose(
        np.asarray(model.sparse_), here.sparse_, atol=2e-2 * np.nanmax(np.abs(X))
    )
    D = np.asarray(model.dual_.D)
    assert np.linalg.norm(D, 2) <= 1 + 1e-9
    quadratic = model.mu_ / 2 * np.sum((D**2).T / (1 if weight is None else weight))
    bound = np.nansum(D * X) - quadratic
    assert bound == pytest.approx(model.lower_bound_, rel=1e-6)


@pytest.mark.dask
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "rows"}, "loss needs X in memory"),
        ({"noise": "auto"}, "noise='auto' needs X in memory"),
    ],
)
def test_dask_says_what_it_cannot_do(options, message):
    da = pytest.importorskip("dask.array")
    X = da.from_array(np.ones((8, 6)), (8, 3))
    with pytest.raises(ValueError, match=message):
        RPCA(**options).fit(X)


def test_a_warm_start_may_change_the_loss():
    X, _ = spoiled(120, 150)
    model = RPCA(lam="theory", warm_start=True).fit(X)
    for options in (
        {"noise": 0.1},
        {"loss": "rows"},
        {"loss": "both"},
        {"noise": None},
    ):
        model.set_params(**options).fit(X)
        assert model.status_ == "converged"
