"""Example data: the table, the video, and the truth behind them."""

import errno
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from rpcag import demo_files
from rpcag.datasets import make_sensors
from rpcag.files.reading import read_table


def test_cells_are_the_clean_ones_except_gaps_and_spikes():
    table = make_sensors(600, 20, seed=3)
    assert not (table.is_gap & table.is_spike).any()
    np.testing.assert_array_equal(np.isnan(table.X), table.is_gap)
    changed = table.is_gap | table.is_spike
    np.testing.assert_array_equal(table.X[~changed], table.clean[~changed])
    assert table.is_gap.mean() == pytest.approx(0.07, abs=0.02)
    assert table.is_spike.mean() == pytest.approx(0.016, abs=0.01)


def test_noise_rank_and_spikes_are_as_asked_for():
    table = make_sensors(2000, 30, rank=4, noise=0.3, size=(6, 20))
    deviations = table.signal.std(axis=0)
    signal = (table.signal - table.signal.mean(axis=0)) / deviations
    assert np.linalg.matrix_rank(signal, tol=1e-6) == 4
    noise = (table.clean - table.signal) / deviations
    np.testing.assert_allclose(noise.std(axis=0), 0.3, rtol=0.1)
    spikes = (np.abs(table.X - table.clean) / deviations)[table.is_spike]
    assert spikes.min() >= 6 - 1e-9
    assert spikes.max() <= 20 + 1e-9
    assert deviations.max() / deviations.min() == pytest.approx(1000, rel=0.01)


def test_curves_are_smooth_in_time():
    signal = make_sensors().signal
    steps = np.diff(signal, axis=0).std(axis=0) / signal.std(axis=0)
    assert steps.max() < 0.3  # of unrelated rows it would be 1.4


def test_the_same_seed_gives_the_same_table():
    first, again, other = (make_sensors(100, 5, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    assert not np.array_equal(first.clean, other.clean)


def test_the_table_is_read_back_with_times_as_names(tmp_path):
    path = tmp_path / "sensors.csv"
    path.write_bytes(demo_files.sensor_table())
    found, truth = read_table(path), make_sensors()
    assert found.X.shape == (2000, 42)
    assert found.features == [*truth.names, "valve_1", "spare_1"]
    assert found.samples[:2] == ["2026-01-05T00:00", "2026-01-05T01:00"]
    difference = np.abs(found.X[:, :40] - truth.X) / truth.signal.std(axis=0)
    assert np.nanmax(difference) < 0.01
    np.testing.assert_array_equal(np.isnan(found.X[:, :40]), truth.is_gap)
    np.testing.assert_array_equal(found.X[:, 40], 1.0)
    assert np.isnan(found.X[:, 41]).all()


def test_the_video_shows_two_things_that_move_over_a_scene(tmp_path):
    pytest.importorskip("av", reason="needs the extra rpcag[video]")
    from rpcag.video import Source

    frames, is_moving = demo_files.street_frames()
    assert frames.shape == (100, 120, 160, 3)
    assert 0.01 < is_moving.mean() < 0.1
    scene = np.median(frames, axis=0)
    change = np.abs(frames - scene).mean(axis=3)
    assert change[is_moving].mean() > 5 * change[~is_moving].mean()
    path = tmp_path / "street.mp4"
    path.write_bytes(demo_files.street_video())
    assert path.stat().st_size < 200_000
    shown_frames = Source(path)
    difference = [
        np.abs(shown.astype(float) - frame).mean()
        for shown, frame in zip(shown_frames, frames, strict=True)
    ]
    assert max(difference) < 8  # H.264 is not lossless


def test_other_files_are_not_replaced(tmp_path):
    contents = {"sensors.csv": b"a", "street.mp4": b"b"}
    written = demo_files.write_files(tmp_path / "new", contents)
    assert [path.read_bytes() for path in written] == [b"a", b"b"]
    demo_files.write_files(tmp_path / "new", contents)  # the same again
    written[1].write_bytes(b"work of days")
    with pytest.raises(FileExistsError, match="mp4 exists and has other content"):
        demo_files.write_files(tmp_path / "new", contents)
    assert written[1].read_bytes() == b"work of days"


def test_a_full_disk_is_told_by_name(tmp_path, monkeypatch):
    def full(path, content):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match=r"a\.csv could not be written: No space.*free"):
        demo_files.write_files(tmp_path / "new", {"a.csv": b"a"})
    assert not list(tmp_path.iterdir())


def test_the_command_writes_the_files(tmp_path, monkeypatch):
    pytest.importorskip("typer", reason="needs the extra rpcag[cli]")
    from command_line import call

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo_files, "street_video", lambda: b"a video")
    result = call("demo", "--files", "examples")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "wrote examples/sensors.csv",
        "wrote examples/street.mp4",
    ]
    assert call("demo", "--files", "examples", "--quiet").output == ""
    (tmp_path / "examples" / "sensors.csv").write_text("mine")
    result = call("demo", "--files", "examples")
    assert result.exit_code == 2
    assert "sensors.csv exists and has other content" in result.stderr


def test_without_the_video_extra_only_the_table_is_written(tmp_path, monkeypatch):
    pytest.importorskip("typer", reason="needs the extra rpcag[cli]")
    from command_line import call

    monkeypatch.setitem(sys.modules, "av", None)
    result = call("demo", "--files", tmp_path)
    assert result.exit_code == 0, result.output
    assert result.stderr == (
        "note: no street.mp4, PyAV is missing; pip install 'rpcag[video]'\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["sensors.csv"]
