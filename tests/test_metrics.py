"""Scores have the values one finds by hand. clustering_error is in test_cli.py."""

import numpy as np
import pytest

from rpcag.metrics import recovery_error


def test_recovery_error_is_relative(rng):
    truth = rng.standard_normal((6, 4))
    assert recovery_error(truth, truth) == 0
    assert recovery_error(np.zeros((6, 4)), truth) == pytest.approx(1)
    assert recovery_error(1.25 * truth, truth) == pytest.approx(0.25)
    assert recovery_error(-7 * truth, -7 * truth / 2) == pytest.approx(1)


def test_recovery_error_refuses_what_it_cannot_compare(rng):
    with pytest.raises(ValueError, match=r"L and truth must have one shape, got \(4,"):
        recovery_error(np.ones((4, 1)), np.ones((4, 4)))
    with pytest.raises(ValueError, match="truth is zero"):
        recovery_error(np.ones((2, 2)), np.zeros((2, 2)))
