"""The paper's data: every fit is certified."""

import numpy as np
import pytest

from rpcag import RPCA, RPCAG
from rpcag.graphs import CompleteGraph, KNNGraph

pytestmark = pytest.mark.data


def load(real_data, name):
    data = real_data(name)
    X, y = data["X"].astype(float), data["y"]
    X /= max(1.0, X.max())
    if name == "orl_56x46":  # the subjects the authors used
        X = X[np.isin(y, [*range(9), 12, *range(20, 40)])]
    if name == "mnist_5k":
        X = X[np.sort(np.random.default_rng(0).choice(len(X), 300, replace=False))]
    return X


def standardize(X):
    deviation = np.nanstd(X, axis=0, ddof=1)
    return (X - np.nanmean(X, axis=0)) / np.where(deviation > 0, deviation, 1)


@pytest.mark.filterwarnings("ignore:.*as the zeros of counts do")  # dark pixels
@pytest.mark.parametrize("name", ["orl_56x46", "yale_64x64", "mnist_5k"])
@pytest.mark.parametrize("gamma", [0.05, 1.0, 10.0, 100.0])
def test_every_fit_reaches_a_certified_gap(real_data, name, gamma):
    images = load(real_data, name)
    A = CompleteGraph()(images)
    model = RPCAG(lam="theory", gamma=gamma, graph=A, max_iter=200)
    model.fit(standardize(images))
    assert model.gap_ <= 1e-3
    assert model.status_ == "converged"


def test_masked_distances_keep_the_neighbors_of_occluded_faces(real_data):
    """With the mask known, neighbors are of one person about as often as before."""
    images = load(real_data, "orl_56x46")
    person = np.repeat(np.arange(30), 10)
    rng, mask = np.random.default_rng(0), np.ones((len(images), 56, 46), bool)
    for block in mask:
        top, left = rng.integers((29, 24))
        block[top : top + 28, left : left + 23] = False
    mask = mask.reshape(images.shape)
    occluded = np.where(mask, images, 0)

    def share_within(A):
        i, j = A.nonzero()
        weights = A[i, j]
        return weights[person[i] == person[j]].sum() / weights.sum()

    clean = share_within(KNNGraph()(images))
    masked = share_within(KNNGraph()(occluded, mask=mask))
    blind = share_within(KNNGraph()(occluded))
    assert masked > 0.9 * clean > 1.5 * blind


@pytest.mark.parametrize("weights", [{}, {"lam": "theory", "gamma": 0.01}], ids=repr)
def test_missing_pixels_of_faces_are_filled_in(real_data, weights):
    images = load(real_data, "orl_56x46")[:100]
    rng = np.random.default_rng(0)
    hidden = rng.random(images.shape) < 0.25
    X = standardize(np.where(hidden, np.nan, images))
    truth = standardize(images)
    L = RPCAG(**weights).fit(X).low_rank_
    error = np.abs(L - truth)[hidden].mean()
    mean = np.abs(truth)[hidden].mean()  # what filling in the mean would leave
    assert error < 0.65 * mean


def test_a_gap_that_single_precision_cannot_reach_is_reached(real_data):
    """In single precision, the gap stalls just above the one that would end it."""
    X = standardize(load(real_data, "coil20")[::7])
    model = RPCA(lam="theory", tol=1e-5, max_iter=450).fit(X)
    assert model.gap_ <= 1e-5
