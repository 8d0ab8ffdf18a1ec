"""The basis of a matrix of low rank."""

import numpy as np
import pytest

from rpcag.linalg.low_rank import low_rank_basis


@pytest.mark.parametrize("shape", [(80, 300), (300, 80), (80, 80)])
@pytest.mark.parametrize("rank", [0, 1, 15, 40])
def test_spans_a_low_rank(rng, shape, rank):
    n, p = shape
    A = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p))
    Q, rest = low_rank_basis(A, 40, 1e-10)
    short = A if n <= p else A.T
    np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-12)
    np.testing.assert_allclose(Q @ (Q.T @ short), short, atol=1e-10)
    assert np.linalg.norm(short - Q @ (Q.T @ short), "nuc") <= rest * (1 + 1e-6)


def test_is_none_for_a_high_rank(rng):
    A = rng.standard_normal((200, 300))
    assert low_rank_basis(A, 40, 1e-10)[0] is None
    low = A[:, :10] @ rng.standard_normal((10, 300))
    assert low_rank_basis(low, 40, 1e-10)[0] is not None
    # What is left out would change the nuclear norm by more than the share asked for.
    assert low_rank_basis(low + 1e-6 * A, 40, 1e-10)[0] is None


def test_nothing_to_span():
    assert low_rank_basis(np.zeros((3, 4)), 0.6, 1e-10)[0] is None
    assert low_rank_basis(np.zeros((0, 4)), 0.0, 1e-10)[0] is None
