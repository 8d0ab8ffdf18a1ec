"""Fixtures that the tests of the study share with those of the library."""

from fixtures import _real_data_or_skip, real_data, rng  # noqa: F401
