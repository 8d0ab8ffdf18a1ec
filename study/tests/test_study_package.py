"""What the package of the study ships, and how it joins the command."""

import subprocess
import sys
import zipfile
from importlib import metadata, util
from pathlib import Path

import pytest

import rpcag_study

ROOT = Path(__file__).parents[1]


def test_the_wheel_is_the_package_and_its_tables(tmp_path):
    if util.find_spec("hatchling") is None:
        pytest.skip("needs hatchling, which builds the wheel")
    command = [
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "-t",
        "wheel",
        "-d",
        tmp_path,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (path,) = tmp_path.iterdir()
    with zipfile.ZipFile(path) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
    source = ROOT / "src"
    kept = {p for p in source.rglob("*") if p.is_file() and p.suffix != ".pyc"}
    assert names == {p.relative_to(source).as_posix() for p in kept}
    assert {"rpcag_study/datasets/catalog.csv", "rpcag_study/py.typed"} <= names
    assert "rpcag_study/printed/clustering_error.csv" in names


def test_one_version_and_one_entry_point():
    assert metadata.version("rpcag-study") == rpcag_study.__version__
    (entry,) = metadata.entry_points(group="rpcag.commands", name="study")
    assert entry.value == "rpcag_study.commands:register"


@pytest.mark.slow
def test_the_command_has_the_study_where_it_is_installed():
    command = [sys.executable, "-m", "rpcag", "--help"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for name in ("datasets", "report", "reproduce"):
        assert name in done.stdout


def test_a_package_that_fails_to_load_leaves_the_command_usable(monkeypatch, capsys):
    from rpcag import commands

    broken = metadata.EntryPoint("mine", "no_such_package.commands:register", "x")
    monkeypatch.setattr(commands, "entry_points", lambda group: [broken])
    commands.with_installed()
    told = capsys.readouterr().err
    assert "mine adds no commands: ModuleNotFoundError" in told
    assert "update no_such_package" in told
