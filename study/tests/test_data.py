"""Data sets in memory."""

import numpy as np
import pytest

from rpcag_study.datasets import Data


def test_own_arrays_make_a_data_set():
    X = np.arange(24).reshape(2, 12)
    data = Data("mine", X, [4, 7], image_shape=[2, 2, 3])
    assert data.X.dtype == np.float64
    assert data.y.tolist() == [4, 7]
    assert data.image_shape == (2, 2, 3)
    assert data.n_classes == 2
    assert repr(data) == (
        "Data('mine', 2 samples x 12 features, 2 classes, images of 2 x 2 x 3)"
    )
    assert Data("mine", X, np.array([0.0, 1.0])).y.dtype == np.int64


def test_nonnegative_data_may_have_holes():
    X = np.array([[0.0, np.nan], [1.0, 2.0]])
    assert Data("mine", X).is_nonnegative
    assert not Data("mine", X - 1e-9).is_nonnegative


def test_data_without_classes_have_no_number_of_them():
    data = Data("mine", np.eye(2))
    assert data.y is None
    with pytest.raises(ValueError, match="mine has no classes"):
        data.n_classes  # noqa: B018


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.ones(4)}, r"one row per sample.*got shape \(4,\)"),
        ({"X": np.ones((0, 4))}, r"one row per sample.*got shape \(0, 4\)"),
        ({"X": [["a", "b"]]}, "X must be a dense array of numbers"),
        ({"y": [0, 1]}, r"one class per row of X, shape \(3,\), got \(2,\)"),
        ({"y": ["a", "b", "a"]}, "whole numbers, got .'a', 'b', 'a'."),
        ({"y": [0, 0.5, 1]}, "whole numbers"),
        ({"y": [0, np.nan, 1]}, "whole numbers"),
        ({"image_shape": (2, 3)}, "does not fit the 4 features"),
        ({"image_shape": (2, 2, 3)}, "does not fit the 4 features"),
    ],
)
def test_data_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Data("mine", **{"X": np.ones((3, 4)), **arguments})
