"""A damaged file is read or refused in words; it never ends or stalls the process."""

import subprocess
import sys
from pathlib import Path

import pytest

resource = pytest.importorskip("resource", reason="limits of memory need Unix")

SCRIPT = Path(__file__).parents[1].joinpath("damage.py")
MEMORY = 8 << 30  # of addresses; libraries reserve many


@pytest.mark.slow
def test_damaged_files_are_values_or_errors_in_words(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
    )
    lines = done.stdout.splitlines()
    assert done.returncode == 0, (lines[-1:], done.stderr[-2000:])
    assert [line for line in lines if not line.startswith("at ")] == ["done"]
    assert len(lines) > 400
