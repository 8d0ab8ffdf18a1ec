"""Inpainting by total variation."""

import numpy as np
import pytest

from rpcag_study.inpainting import inpaint_tv

RNG = np.random.default_rng(5)


def test_inpainting_minimizes_total_variation():
    import cvxpy as cp

    image = np.add.outer(np.arange(6.0), 2 * np.arange(7.0)) + RNG.standard_normal(
        (6, 7)
    )
    seen = RNG.random(image.shape) < 0.6
    u = cp.Variable(image.shape)
    dx, dy = np.eye(6, k=1) - np.eye(6), np.eye(7, k=1) - np.eye(7)
    dx[-1] = dy[-1] = 0
    gradient = cp.vstack([cp.vec(dx @ u, order="C"), cp.vec(u @ dy.T, order="C")])
    tv = cp.sum(cp.norm(gradient, 2, axis=0))
    known = cp.multiply(seen.astype(float), u) == np.where(seen, image, 0)
    best = cp.Problem(cp.Minimize(tv), [known]).solve(solver=cp.CLARABEL)
    holed, known = np.where(seen, image, 9.0).reshape(1, -1), seen.reshape(1, -1)
    filled = inpaint_tv(holed, (6, 7), known, tol=1e-7, max_iter=20_000)
    np.testing.assert_array_equal(filled[0][seen.ravel()], image[seen])
    U = filled.reshape(6, 7)
    assert np.sqrt((dx @ U) ** 2 + (U @ dy.T) ** 2).sum() == pytest.approx(
        best, rel=1e-4
    )


def test_inpainting_takes_images_one_by_one_and_keeps_the_empty_ones():
    images = RNG.standard_normal((3, 20))
    mask = RNG.random(images.shape) > 0.3
    mask[2] = False
    filled = inpaint_tv(images, (4, 5), mask, tol=1e-9, max_iter=5000)
    assert np.isnan(filled[2]).all()
    assert np.isfinite(filled[:2]).all()
    alone = inpaint_tv(images[:1], (4, 5), mask[:1], tol=1e-9, max_iter=5000)
    np.testing.assert_allclose(filled[:1], alone, atol=1e-4)
