"""Fits in threads leave Python's warnings alone: filters belong to the process."""

import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import ConvergenceWarning

from rpcag import FRPCAG, GLPCA, GNMF, RPCA, RPCAG, NCuts
from rpcag.linalg import eigen
from rpcag.video import separate_file
from rpcag.video.ffmpeg import Writer


@pytest.fixture
def X(rng):
    return np.abs(rng.standard_normal((40, 4)) @ rng.standard_normal((4, 30)))


def silenced():
    """Filters that hide warnings of convergence."""
    return [f for f in warnings.filters if f[0] == "ignore" and f[2] is not None]


def test_fits_in_threads_do_not_silence_the_next_one(X):
    with warnings.catch_warnings():  # whatever is left behind ends here
        before = silenced()
        with ThreadPoolExecutor(4) as pool:
            for model in pool.map(
                lambda _: RPCAG(gamma="clustering").fit(X), range(16)
            ):
                assert model.status_ == "converged"
        assert silenced() == before
        warnings.simplefilter("error", append=True)
        with pytest.raises(ConvergenceWarning, match="RPCA stopped after 1 iter"):
            RPCA(lam="theory", max_iter=1).fit(X)


@pytest.mark.parametrize(
    "model",
    [
        RPCAG(),
        RPCAG(gamma="clustering"),
        FRPCAG(graph="robust"),
        GLPCA(graph="robust"),
        NCuts(graph="robust"),
        GNMF(),
        GNMF(gamma=0.0),
    ],
    ids=repr,
)
def test_no_fit_touches_the_filters(X, model, filter_changes):
    model.fit(X).transform(X)
    assert filter_changes == []


@pytest.fixture
def filter_changes(monkeypatch):
    """Modules of rpcag that change the filters while the test runs."""
    found = []

    class Watched(warnings.catch_warnings):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            name = sys._getframe(1).f_globals["__name__"]
            if name.startswith("rpcag"):
                found.append(name)

    monkeypatch.setattr(warnings, "catch_warnings", Watched)
    return found


def test_the_graph_of_a_model_out_of_iterations_is_its_own_business(X):
    """One warning: of the model, not of the graph's Robust PCA or of the trials."""
    for weights in ({"gamma": "clustering"}, {}):
        with pytest.warns(ConvergenceWarning) as caught:
            RPCAG(**weights, max_iter=1).fit(X)
        assert [str(w.message)[:23] for w in caught] == ["RPCAG stopped after 1 i"]


def test_eigenvectors_of_a_soft_chain_are_right_and_silent(
    rng, filter_changes, monkeypatch
):
    """Lanczos gives up on -L + u u^T, and what then helps has nothing to say."""
    n, k = 800, 6
    L = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
    L[0, 0] = L[-1, -1] = 1
    u = rng.standard_normal((n, 2))

    def apply(x):
        return u @ (u.T @ x) - L @ x

    def direct(*_):
        raise AssertionError("the direct method was needed")

    monkeypatch.setattr(eigen, "_lapack", direct)
    A = LinearOperator((n, n), apply, matmat=apply, dtype=np.float64)
    stiffness = sparse.csr_array(L)
    values, V = eigen.eigenvectors(A, k, largest=True, stiffness=stiffness)
    exact = np.linalg.eigvalsh(u @ u.T - L)[::-1][:k]
    np.testing.assert_allclose(values, exact, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-9)
    assert filter_changes == []


def test_a_video_out_of_iterations_does_not_warn(rng, filter_changes, tmp_path):
    """Its status is among the facts that are written."""
    pytest.importorskip("av", reason="needs the extra rpcag[video]")
    with Writer(tmp_path / "video", Fraction(25)) as writer:
        for frame in rng.integers(0, 255, (12, 16, 16), dtype=np.uint8):
            writer.write(frame)
    facts = separate_file(writer.path, tmp_path / "out", max_iter=1)
    assert facts["status"] == "max_iter"
    assert filter_changes == []
