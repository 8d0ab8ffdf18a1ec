"""Fixtures, and tests that are slow by their parameters."""

import pytest

from fixtures import _real_data_or_skip, real_data, rng  # noqa: F401


def pytest_collection_modifyitems(items):
    """Scikit-learn's checks of a model that searches a grid are many fits each."""
    for item in items:
        if "test_scikit_learn_checks[RPCAGCV" in item.nodeid:
            item.add_marker(pytest.mark.slow)
