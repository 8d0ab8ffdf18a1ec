"""Fixtures of both test suites: a seeded generator, and the real data."""

import os
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

# Test processes run side by side: one BLAS thread each.
threadpool_limits(1)


@pytest.fixture
def rng():
    return np.random.default_rng(20150101)


def data_folder() -> Path | None:
    named = os.environ.get("RPCAG_DATA")
    beside = Path(__file__).parents[2] / "shared" / "data"
    for folder in ([Path(named)] if named else []) + [beside]:
        if folder.is_dir():
            return folder
    return None


@pytest.fixture(autouse=True)
def _real_data_or_skip(request, monkeypatch):
    """Tests marked `data` find the folder, and skip where there is none."""
    if request.node.get_closest_marker("data"):
        folder = data_folder()
        if folder is None:
            pytest.skip("real data not found: set RPCAG_DATA to their folder")
        monkeypatch.setenv("RPCAG_DATA", str(folder))


@pytest.fixture
def real_data():
    """Load a real data set by file name, or skip the test."""
    folder = data_folder()
    if folder is None:
        pytest.skip("real data not found: set RPCAG_DATA to their folder")

    def load(name):
        with np.load(folder / f"{name}.npz") as file:
            return {key: file[key] for key in file.files}

    return load
