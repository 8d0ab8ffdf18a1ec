"""A fit that explains nothing says so, and what to try."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline

from rpcag import FRPCAG, RPCA, RPCAG
from rpcag.models import PoorFitWarning
from rpcag.models.diagnosis import is_poor, why_poor
from rpcag.models.weights import choose


def low_rank(rng, shape=(120, 30), rank=2):
    return rng.standard_normal((shape[0], rank)) @ rng.standard_normal((rank, shape[1]))


@pytest.mark.parametrize("model", [RPCA(), RPCAG(), RPCA(scale="robust")], ids=repr)
def test_noise_is_told(model, rng):
    X = rng.standard_normal((120, 30))
    with pytest.warns(PoorFitWarning, match="no low-rank structure was found") as all_:
        fitted = model.fit(X)
    (said,) = [str(w.message) for w in all_]
    assert f"predicts {fitted.explained_:.0%} (standard error" in said
    assert "not clearly better than the median of each feature or its mean" in said
    assert all_[0].filename == __file__


@pytest.mark.parametrize(
    "fit",
    [
        lambda X: RPCA().fit_transform(X),
        lambda X: RPCA().set_output(transform="default").fit_transform(X),
        lambda X: make_pipeline(RPCA()).fit(X),
        lambda X: RPCAG(lam="auto", gamma=0).fit(X),
        pytest.param(
            lambda X: RPCA().fit(pytest.importorskip("dask.array").from_array(X)),
            marks=pytest.mark.dask,
        ),
    ],
    ids=["fit_transform", "set_output", "pipeline", "graph", "dask"],
)
def test_the_warning_points_at_the_line_of_the_user(fit, rng):
    with pytest.warns(PoorFitWarning) as caught:
        fit(rng.standard_normal((120, 30)))
    assert {said.filename for said in caught} == {__file__}


def test_structure_is_not_warned_of(rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RPCA().fit(low_rank(rng))
        RPCA().fit(low_rank(rng) + 0.5 * rng.standard_normal((120, 30)))
        RPCA(lam="theory").fit(rng.standard_normal((120, 20)))  # nothing is measured
        RPCA().fit(rng.standard_normal((12, 5)))  # too few entries to tell
        RPCAG(gamma=10.0).fit(low_rank(rng))  # gamma is the cause
        RPCA(callback=lambda progress: True).fit(rng.standard_normal((120, 30)))


def test_columns_in_different_units_are_the_cause(rng):
    X = load_wine().data.copy()
    X[:, 0] = 1e4 * rng.standard_normal(len(X))
    with pytest.warns(PoorFitWarning, match=r"factor of \d+, .* try scale='robust'"):
        RPCA().fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert RPCA(scale="robust").fit(X).explained_ > 0.4


@pytest.mark.parametrize("offset", [100.0, -1e6])
def test_the_offset_of_noise_is_not_taken_for_structure(offset, rng):
    noise = rng.standard_normal((120, 30)) + offset
    for model in (RPCA(), FRPCAG(), FRPCAG(scale="robust")):
        with pytest.warns(PoorFitWarning, match="no low-rank structure was found"):
            model.fit(noise)


FAR = "The offset of the features makes up (9.|100) % of the objective of RPCA"


@pytest.mark.parametrize(
    "model", [RPCA(), RPCA(lam="theory"), RPCAG(gamma="clustering")], ids=repr
)
def test_a_gap_that_is_small_only_relative_to_the_offset_is_told(model, rng):
    """The certified answer has too low a rank: tol allows for it."""
    X = low_rank(rng)
    X[rng.random(X.shape) < 0.05] += 10
    with pytest.warns(PoorFitWarning, match=FAR) as caught:
        fitted = model.fit(1e5 + X)
    assert fitted.status_ == "converged"
    assert np.linalg.norm(fitted.low_rank_ - 1e5 - X) > 0.3 * np.linalg.norm(X)
    assert "Use scale='robust' or 'standard'" in str(caught[0].message)
    assert caught[0].filename == __file__


def test_a_gap_that_is_small_beside_the_deviations_is_not_warned_of(rng):
    X = low_rank(rng)
    X[rng.random(X.shape) < 0.05] += 10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RPCA(lam="theory").fit(X + 1000)
        RPCA(lam="theory", tol=1e-7).fit(X + 1e4)
        RPCA(lam="theory", tol=0.5).fit(X)
        RPCA(lam="theory").fit(np.ones((20, 5)))  # nothing deviates
        for scale in ("robust", "standard"):
            model = RPCA(lam="theory", scale=scale).fit(X + 1e5)
            assert np.median(np.abs(model.low_rank_ - 1e5 - X)) < 0.01
        # Gross errors are most of the objective, and no problem.
        Y = low_rank(rng)
        errors = np.where(rng.random(Y.shape) < 0.03, 1e6, 0)
        L = RPCA(lam="theory").fit(Y + errors).low_rank_
        assert np.linalg.norm(L - Y) < 0.05 * np.linalg.norm(Y)


@pytest.mark.dask
def test_the_offset_is_told_of_dask_arrays(rng):
    da = pytest.importorskip("dask.array")
    with pytest.warns(PoorFitWarning, match=FAR):
        RPCA(lam="theory").fit(da.from_array(1e5 + low_rank(rng)))


def test_mostly_zeros_are_the_cause(rng):
    X = rng.poisson(0.08, (200, 30)).astype(float)
    share = (X == 0).mean()
    cause = why_poor(X)
    assert f"{100 * share:.2g} % of the entries equal the median" in cause
    assert "mostly zeros" in cause
    # Also where zeros were centered.
    assert "mostly zeros" in why_poor(X - 0.25)


def test_poor_is_two_standard_errors_above_zero(rng):
    choice = choose(low_rank(rng) + 0.1 * rng.standard_normal((120, 30)))
    assert not is_poor(choice)
    assert is_poor(replace(choice, explained=0.1, explained_error=0.06))
    assert not is_poor(replace(choice, explained=0.1, explained_error=0.04))
    assert is_poor(replace(choice, explained=-0.1, explained_error=0.01))
    assert not is_poor(replace(choice, explained=np.nan, explained_error=np.nan))
    few = replace(choice, explained=-1.0, explained_error=0.1, n_hidden=10)
    assert not is_poor(few)
    nothing_varies = replace(choice, explained=0.0, explained_error=0.0)
    assert not is_poor(nothing_varies)
