"""Every exact way to the same answer."""

import numpy as np
import pytest
from scipy import linalg, sparse

from rpcag.graphs import KNNGraph, laplacian
from rpcag.linalg.gram import excess, factorize, proven_norm, spectral_norm
from rpcag.linalg.orthonormal import orthonormal
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.penalties import NuclearNorm
from rpcag.solvers.problem import Problem


def reference(A, t):
    P, s, Qt = linalg.svd(A, full_matrices=False)
    return (P * np.maximum(s - t, 0)) @ Qt


def low_rank_and_noise(rng, n, p, rank=8):
    L = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    return L + 0.1 * rng.standard_normal((n, p))


@pytest.mark.parametrize("shape", [(30, 50), (50, 30), (40, 40), (1, 7), (7, 1)])
@pytest.mark.parametrize("method", ["gram", "svd"])
@pytest.mark.parametrize("t", [0.0, 0.5, 3.0, 1e3])
def test_singular_values_are_thresholded(rng, shape, method, t):
    A = low_rank_and_noise(rng, *shape)
    svt = NuclearNorm()
    svt._trust_gram = method == "gram"
    L = svt.prox_in_place(A.copy(), t)
    np.testing.assert_allclose(L, reference(A, t), atol=1e-10 * np.linalg.norm(A))
    nuclear = np.linalg.svd(L, compute_uv=False).sum()
    assert svt.values.sum() == pytest.approx(nuclear, abs=1e-8)


@pytest.mark.parametrize("shape", [(150, 220), (220, 150)])
def test_a_rough_threshold_keeps_its_digits_beside_large_singular_values(rng, shape):
    """Single precision alone is off by eps (top / t)^2 / 2 of the threshold t."""
    A = low_rank_and_noise(rng, *shape).astype(np.float32)
    A += 20.0  # one singular value of some thousands
    t = 1.5
    exact = reference(A.astype(np.float64), t)
    svt = NuclearNorm(rough=True)
    svt.prox_in_place(A.copy(), t)  # in double precision: nothing is known of A
    L = svt.prox_in_place(A.copy(), t)
    assert np.linalg.norm(L - exact) < 2e-3 * t  # about t, all in single precision
    answer = svt.settle(L, np.dtype(np.float64))
    assert np.linalg.matrix_rank(answer) == len(svt.values)
    assert svt.values.sum() == pytest.approx(linalg.svdvals(answer).sum(), rel=1e-12)
    square = svt.basis.T @ svt.basis
    np.testing.assert_allclose(square, np.eye(len(square)), atol=1e-13)


@pytest.mark.parametrize("shape", [(30, 50), (50, 30)])
@pytest.mark.parametrize("size", [0.1, 0.2, 1.0])
def test_without_its_excess_a_matrix_is_in_the_unit_ball(rng, shape, size):
    A = size * rng.standard_normal(shape)
    P, s, Qt = linalg.svd(A, full_matrices=False)
    Z = excess(A)
    if Z is None:
        assert s[0] <= 1
    else:
        np.testing.assert_allclose(A - Z, P * np.minimum(s, 1) @ Qt, atol=1e-12)


@pytest.mark.parametrize("size", [1, 3, 100, 400])
@pytest.mark.parametrize("accuracy", [0.0, 1e-9, 1e-4])
def test_proven_norm_is_above_the_norm_and_near_it(rng, size, accuracy):
    A = rng.standard_normal((size, size + 5))
    truth = linalg.svdvals(A)[0]
    bound = proven_norm(A @ A.T, accuracy)
    assert truth <= bound <= truth * (1 + accuracy + 1e-12)


@pytest.mark.parametrize("kind", ["equal", "zero", "one", "cluster", "tiny", "huge"])
def test_proven_norm_of_awkward_spectra(rng, kind):
    size = 300
    values = {
        "equal": np.ones(size),
        "zero": np.zeros(size),
        "one": np.r_[1.0, np.zeros(size - 1)],
        "cluster": 1 - 1e-9 * np.arange(size),
        "tiny": np.full(size, 1e-130),
        "huge": np.full(size, 1e130),
    }[kind]
    Q = linalg.orth(rng.standard_normal((size, size)))
    bound = proven_norm((Q * values**2) @ Q.T, 1e-4)
    assert values.max() * (1 - 1e-12) <= bound <= values.max() * (1 + 2e-4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(60, 90), (90, 60)])
def test_a_correction_of_singular_values_is_of_second_order(rng, shape, dtype):
    """Its error falls with the square of the change, also at equal singular values."""
    U, _, Vt = np.linalg.svd(rng.standard_normal(shape), full_matrices=False)
    values = np.repeat(np.geomspace(50, 0.2, 30), 2)  # pairs, half of them above 3
    A, change = (U * values) @ Vt, rng.standard_normal(shape)
    errors = []
    for size in (0.1, 0.01, 0.001):
        svt = NuclearNorm()
        svt.prox_in_place(A.astype(dtype), 3.0)
        near = (A + size * change).astype(dtype)
        found = svt.prox_in_place(near.copy(), 3.0, change=1e-9)
        assert svt.basis is None  # it was corrected
        exact = NuclearNorm().prox_in_place(near.copy(), 3.0)
        errors.append(np.linalg.norm(found - exact))
    first = np.linalg.norm(NuclearNorm().prox_in_place(A.copy(), 3.0) - exact)
    assert errors[0] < 1.0 < np.linalg.norm(0.1 * change)
    assert errors[1] < errors[0] / 50
    assert errors[2] < 1e-2 * first
    assert svt.rank == np.count_nonzero(linalg.svdvals(near) > 3)


def test_the_solver_corrects_and_converges(rng, monkeypatch):
    """Most steps of a fit of high rank are corrections, and the answer is the same."""
    X = rng.standard_normal((120, 150)) + 3 * rng.standard_normal((120, 1))
    counts = {"prox_in_place": 0, "_corrected": 0}
    for name in counts:
        step = getattr(NuclearNorm, name)

        def counted(*args, name=name, step=step, **options):
            counts[name] += 1
            return step(*args, **options)

        monkeypatch.setattr(NuclearNorm, name, counted)
    problem = Problem(X, 1 / np.sqrt(150))
    result = problem.solve(tol=1e-6, max_iter=2000)
    assert result.status == "converged"
    assert counts["_corrected"] > counts["prox_in_place"] / 2
    monkeypatch.setattr("rpcag.penalties.nuclear_norm.LEEWAY", 0.0)
    exact = problem.solve(tol=1e-6, max_iter=2000)
    assert abs(exact.objective - result.objective) <= 2e-6 * exact.objective
    assert result.n_iter <= 1.2 * exact.n_iter


def test_proven_norm_of_a_matrix_that_is_not_aligned(rng):
    A = rng.standard_normal((200, 210))
    K = np.empty(200 * 200 * 8 + 1, np.uint8)[1:].view(np.float64).reshape(200, 200)
    K[:] = A @ A.T  # as it may come from another process
    assert not K.flags.aligned
    truth = linalg.svdvals(A)[0]
    assert truth <= proven_norm(K, 1e-4) <= truth * (1 + 2e-4)


def test_proven_norm_refuses_what_is_not_finite():
    assert proven_norm(np.full((200, 200), np.nan), 1e-4) == np.inf


def test_lapack_takes_over_where_squares_would_lose_digits(rng):
    P, Q = (linalg.orth(rng.standard_normal((30, 30))) for _ in range(2))
    A = (P * np.logspace(0, -9, 30)) @ Q
    svt = NuclearNorm()
    L = svt.prox_in_place(A.copy(), 1e-8)
    assert not svt._trust_gram
    np.testing.assert_allclose(L, reference(A, 1e-8), atol=1e-14)


def test_single_precision_thresholding_is_accurate(rng):
    A = low_rank_and_noise(rng, 60, 300).astype(np.float32)
    L = NuclearNorm().prox_in_place(A.copy(), 2.0)
    assert L.dtype == np.float32
    error = np.linalg.norm(L - reference(A.astype(float), 2.0))
    assert error < 1e-5 * np.linalg.norm(A)


def test_factors_multiply_back(rng):
    for shape in [(20, 35), (35, 20)]:
        A = low_rank_and_noise(rng, *shape)
        svt = NuclearNorm()
        L = svt.prox_in_place(A.copy(), 2.0)
        P, s, Qt = factorize(L, svt.basis)
        assert len(s) == 8
        np.testing.assert_allclose((P * s) @ Qt, L, atol=1e-10)
        np.testing.assert_allclose(P.T @ P, np.eye(8), atol=1e-10)
        np.testing.assert_allclose(Qt @ Qt.T, np.eye(8), atol=1e-10)


@pytest.mark.parametrize("shape", [(40, 90), (90, 40), (1, 5)])
def test_spectral_norm_is_never_too_small(rng, shape):
    for dtype, slack in ((np.float64, 1e-12), (np.float32, 1e-12)):
        A = rng.standard_normal(shape).astype(dtype)
        true = np.linalg.norm(A.astype(float), 2)
        assert true * (1 - 1e-15) <= spectral_norm(A) <= true * (1 + slack)


def chain(n):
    ones = np.ones(n - 1)
    return sparse.diags_array([ones, ones], offsets=[-1, 1], format="csr")


GRAPHS = {
    "neighbors": lambda rng: KNNGraph(5)(rng.standard_normal((120, 3))),
    "chain": lambda rng: chain(120),
    "edgeless": lambda rng: sparse.csr_array((120, 120)),
}


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("method", ["inverse", "factor", "cg"])
@pytest.mark.parametrize("shift", [1e-3, 1.0, 1e4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_shifted_laplacian_is_inverted(rng, graph, method, shift, dtype):
    Phi = laplacian(GRAPHS[graph](rng))
    Y = rng.standard_normal((120, 300)).astype(dtype)
    exact = np.linalg.solve(np.eye(120) + shift * Phi.toarray(), Y.astype(float))
    system, W = ShiftedLaplacian(Phi, method=method), np.zeros_like(Y)
    for _ in range(12 if method == "cg" else 1):  # from guess to better guess
        W = system.solve(shift, Y, W)
    assert W.dtype == dtype
    error = np.linalg.norm(W - exact) / np.linalg.norm(Y)
    assert error < (1e-8 if dtype == np.float64 else 1e-4)


@pytest.mark.parametrize("kind", ["normalized", "combinatorial"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_conjugate_gradients_leave_a_share_of_the_residual(rng, kind, dtype):
    """In every block of columns, also if their numbers are far from one."""
    Phi = laplacian(KNNGraph(7, weights="binary")(rng.standard_normal((900, 9))), kind)
    shift, reduction = 5.0, 0.1
    Y = (rng.standard_normal((900, 200)) * np.geomspace(1e-9, 1e9, 200)).astype(dtype)
    guess = (Y + 0.3 * np.roll(Y, 1, axis=0)).astype(dtype)
    system = ShiftedLaplacian(Phi, "cg", reduction)
    W = system.solve(shift, Y, guess.copy())

    def residuals(W):
        R = Y - W - shift * (Phi @ W.astype(np.float64))
        return [np.linalg.norm(R[:, i : i + 67]) for i in (0, 67, 134)]  # three blocks

    for left, before in zip(residuals(W), residuals(guess), strict=True):
        assert 0 < left <= 2 * reduction * before
        assert left >= 1e-3 * before  # no more steps than asked for
    none = Y[:, :0]
    assert system.solve(shift, none, none.copy()).shape == (900, 0)


def test_the_way_to_invert_fits_the_graph(rng):
    assert ShiftedLaplacian(np.eye(3)).method == "inverse"
    assert ShiftedLaplacian(laplacian(chain(100))).method == "inverse"
    assert ShiftedLaplacian(laplacian(chain(5000))).method == "factor"
    shuffled = rng.permutation(5000)
    assert ShiftedLaplacian(laplacian(chain(5000)[shuffled][:, shuffled])).method == (
        "factor"
    )
    for size, method in ((300, "inverse"), (900, "cg")):
        neighbors = KNNGraph(10)(rng.standard_normal((size, 9)))
        assert ShiftedLaplacian(laplacian(neighbors)).method == method
    wide = KNNGraph(10)(rng.standard_normal((5000, 20)))
    assert ShiftedLaplacian(laplacian(wide)).method == "cg"


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("condition", [1.0, 1e2, 1e5, 1e12])
def test_orthonormal_columns_are_those_of_lapack_up_to_signs(rng, dtype, condition):
    U, _ = np.linalg.qr(rng.standard_normal((300, 20)))
    V, _ = np.linalg.qr(rng.standard_normal((20, 20)))
    Y = (U * np.geomspace(1, 1 / condition, 20)) @ V * np.geomspace(1, 1e-9, 20)
    Y = Y.astype(dtype)
    N, C = orthonormal(Y)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(N.T @ N, np.eye(20), atol=200 * eps)
    sizes = np.linalg.norm(Y, axis=0)
    np.testing.assert_allclose(N @ C / sizes, Y / sizes, atol=200 * eps)


def test_orthonormal_columns_of_huge_numbers(rng):
    Y = 1e200 * rng.standard_normal((40, 3))
    N, C = orthonormal(Y)
    np.testing.assert_allclose(N.T @ N, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(N @ C, Y, rtol=1e-12)


def test_orthonormal_columns_of_nothing_and_of_zeros():
    N, C = orthonormal(np.empty((5, 0)))
    assert N.shape == (5, 0)
    assert C.shape == (0, 0)
    Y = np.zeros((5, 2))
    Y[0, 0] = 3.0
    N, C = orthonormal(Y)
    np.testing.assert_allclose(N.T @ N, np.eye(2), atol=1e-15)
    np.testing.assert_allclose(N @ C, Y, atol=1e-15)
