"""Corruptions hit what they say, tell what they hit, and leave their input alone."""

import numpy as np
import pytest

from rpcag_study.corruptions import add_sign_errors, drop_entries, occlude_blocks

SHAPE = (10, 12)
CORRUPTIONS = {
    "blocks": lambda X, **options: occlude_blocks(X, SHAPE, 0.25, **options),
    "entries": lambda X, **options: drop_entries(X, 0.25, **options),
    "random signs": lambda X, **options: add_sign_errors(X, 0.25, **options),
    "coherent signs": lambda X, **options: add_sign_errors(
        X, 0.25, signs="coherent", **options
    ),
}
SAMPLE_WISE = ["blocks", "entries"]


@pytest.fixture
def X(rng):
    return rng.uniform(0.1, 1, (40, 120))


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_the_mask_tells_what_changed_and_the_input_does_not(X, name):
    before = X.copy()
    spoiled, mask = CORRUPTIONS[name](X, random_state=0)
    np.testing.assert_array_equal(X, before)
    assert mask.dtype == bool
    np.testing.assert_array_equal(spoiled == X, mask)
    assert 0.15 < (~mask).mean() < 0.35


@pytest.mark.parametrize("name", CORRUPTIONS)
def test_the_seed_decides(X, name):
    corrupt = CORRUPTIONS[name]
    np.testing.assert_array_equal(
        corrupt(X, random_state=3)[0], corrupt(X, random_state=3)[0]
    )
    assert not np.array_equal(
        corrupt(X, random_state=3)[1], corrupt(X, random_state=4)[1]
    )


@pytest.mark.parametrize("name", SAMPLE_WISE)
def test_only_a_share_of_the_samples_is_hit(X, name):
    whole = CORRUPTIONS[name](X, random_state=0)[1]
    _, mask = CORRUPTIONS[name](X, samples=0.25, random_state=0)
    hit = ~mask.all(axis=1)
    assert hit.sum() == 10
    assert not hit[:10].all()
    np.testing.assert_array_equal(mask[hit], whole[hit])  # the same entries are lost
    assert CORRUPTIONS[name](X, samples=0.0, random_state=0)[1].all()


def test_blocks_are_where_they_always_were():
    """Benchmarks rely on the draw for a seed, so it is spelled out here again."""
    rng = np.random.RandomState(5)
    tops, lefts = rng.randint(10 - 5 + 1, size=7), rng.randint(12 - 6 + 1, size=7)
    expected = np.ones((7, 10, 12), dtype=bool)
    for image, top, left in zip(expected, tops, lefts, strict=True):
        image[top : top + 5, left : left + 6] = False
    _, mask = occlude_blocks(np.ones((7, 120)), SHAPE, 0.25, random_state=5)
    np.testing.assert_array_equal(mask.reshape(-1, 10, 12), expected)


def test_blocks_cover_all_channels(rng):
    images = rng.uniform(0.1, 1, (6, 10, 12, 3))
    spoiled, mask = occlude_blocks(images.reshape(6, -1), (*SHAPE, 3), random_state=0)
    gray = occlude_blocks(images[..., 0].reshape(6, -1), SHAPE, random_state=0)[1]
    np.testing.assert_array_equal(
        mask.reshape(images.shape), gray.reshape(6, 10, 12, 1).repeat(3, axis=3)
    )
    np.testing.assert_array_equal(spoiled == 0, ~mask)


@pytest.mark.parametrize("share", [0.0, 0.004, 0.15, 0.35, 0.5, 1.0])
def test_every_sample_loses_exactly_its_share(X, share):
    _, mask = drop_entries(X, share, random_state=0)
    assert ((~mask).sum(axis=1) == round(share * 120)).all()


def test_every_entry_is_as_likely_to_be_lost():
    _, mask = drop_entries(np.ones((4000, 20)), 0.25, random_state=0)
    assert np.abs((~mask).mean(axis=0) - 0.25).max() < 0.04  # sd 0.007


def test_sign_errors_have_the_size_and_signs_they_say(rng):
    L = rng.standard_normal((200, 200)) / 200
    X, mask = add_sign_errors(L, 0.3, size=2.0, random_state=0)
    S = X - L
    np.testing.assert_allclose(np.abs(S[~mask]), 2.0)
    assert (~mask).mean() == pytest.approx(0.3, abs=0.01)
    assert (S[~mask] > 0).mean() == pytest.approx(0.5, abs=0.02)
    assert len(set((~mask).sum(axis=1))) > 1  # Bernoulli, not a fixed number per row
    X, mask = add_sign_errors(L, 0.3, size=2.0, signs="coherent", random_state=0)
    np.testing.assert_array_equal(np.sign(X - L)[~mask], np.sign(L)[~mask])


def test_sign_errors_of_one_seed_are_nested(rng):
    L = rng.standard_normal((30, 30))
    few, kept = add_sign_errors(L, 0.1, random_state=0)
    many, mask = add_sign_errors(L, 0.3, random_state=0)
    assert not (mask & ~kept).any()
    np.testing.assert_array_equal(few[~kept], many[~kept])


def test_sign_errors_spoil_zeros_and_whole_numbers_too():
    spoiled, _ = add_sign_errors(np.zeros((2, 3), int), 1.0, size=0.5, signs="coherent")
    np.testing.assert_array_equal(spoiled, np.full((2, 3), 0.5))
