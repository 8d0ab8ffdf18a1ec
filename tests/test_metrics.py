"""Scores have the values one finds by hand. clustering_error is in test_cli.py."""

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support

from rpcag.metrics import foreground_scores, recovery_error


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


def test_foreground_scores_pool_the_frames(rng):
    mask, truth = rng.random((2, 5, 8, 9)) < np.array([0.3, 0.4])[:, None, None, None]
    truth[0] = False  # a frame without foreground
    scores = foreground_scores(mask, truth)
    expected = precision_recall_fscore_support(
        truth.ravel(), mask.ravel(), average="binary"
    )[:3]
    assert tuple(scores) == pytest.approx(expected)
    assert scores.precision != pytest.approx(scores.recall)


def test_foreground_outside_the_valid_region_does_not_count(rng):
    mask, truth, valid = rng.random((3, 4, 8, 9)) < 0.5
    scores = foreground_scores(mask, truth, valid)
    assert scores == foreground_scores(mask[valid], truth[valid])
    assert scores == foreground_scores(np.where(valid, mask, ~mask), truth, valid)
    assert scores != foreground_scores(mask, truth)


def test_scores_where_there_is_nothing_to_divide_by():
    nothing, something = np.zeros((2, 2), bool), np.eye(2, dtype=bool)
    assert foreground_scores(nothing, nothing) == (1, 1, 1)
    assert foreground_scores(nothing, something) == (0, 0, 0)
    assert foreground_scores(something, nothing) == (0, 0, 0)
    assert foreground_scores(something, something) == (1, 1, 1)
    assert foreground_scores(something, something, nothing) == (1, 1, 1)


def test_foreground_scores_refuse_what_they_cannot_compare():
    frame = np.zeros((2, 3), int)
    assert foreground_scores(frame + 1, frame + 1).f == 1
    with pytest.raises(ValueError, match="mask must be boolean, got values of int"):
        foreground_scores(frame + 255, frame)
    with pytest.raises(ValueError, match="mask and truth must have one shape"):
        foreground_scores(frame[:1], frame)
    with pytest.raises(ValueError, match="valid and truth must have one shape"):
        foreground_scores(frame, frame, frame.T)
