"""The command, as a user types it."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("typer", reason="needs the extra rpcag[cli]")

from typer.testing import CliRunner

import rpcag
from rpcag.commands import app
from rpcag.metrics import clustering_error


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert result.stdout == f"rpcag {rpcag.__version__}\n"


def test_commands_of_the_study_say_how_to_install_it():
    result = CliRunner().invoke(app, ["reproduce", "--quick"])
    assert result.exit_code == 2
    assert "rpcag reproduce needs another package: pip install rpcag-study" in (
        result.output.replace("\n", " ")
    )


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = CliRunner().invoke(app, ["demo", "--files", str(tmp_path / "file" / "f")])
    assert result.exit_code == 2
    assert "file (Not a directory)" in result.output
    assert "Traceback" not in result.output


def test_missing_extra_is_one_line(tmp_path):
    code = "import sys; sys.modules['typer'] = None; import rpcag.cli; rpcag.cli.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.strip() == "rpcag: typer is missing; pip install 'rpcag[all]'"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("words", "code", "remedy"),
    [
        (["--version"], 1, ""),
        (["decompose", "--help"], 1, ""),
        (["--help"], 1, ""),
        (["repair", "-", "-o", "-"], 2, "; free some space, or choose a folder on an"),
    ],
)
def test_a_full_disk_behind_standard_output_is_one_line(words, code, remedy):
    done = in_shell(words, "1>/dev/full", TABLE)
    told = "rpcag: standard output could not be written: No space left on device"
    assert done.returncode == code
    assert done.stderr.startswith(told + remedy)
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("words", "closed", "code", "said"),
    [
        (["repair", "-", "-o", "-"], "<&-", 2, "rpcag: standard input is closed; name"),
        (["repair", "-", "-o", "-"], ">&-", 2, "rpcag: standard output is closed; na"),
        (["--version"], ">&-", 0, ""),
        # Closed by the reader, as by head.
        (["repair", "-", "-o", "-", "--quiet"], "| :", 0, ""),
    ],
)
def test_closed_streams_are_one_line(words, closed, code, said):
    done = in_shell(words, closed, TABLE)
    assert (done.returncode, done.stderr[: len(said) or None]) == (code, said)
    assert done.stderr.count("\n") == (1 if said else 0)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["decompose", "gamma=3", "-o", "x"], "gamma=3 does not exist"),
        (["explore", "lam=7", "-o", "a.html"], "lam=7 is not a result of rpcag decom"),
        (["explore", "my tol=1", "-o", "a.html"], "my tol=1 is not a result of rpcag"),
        (["decompose", "time=", "--output=x", "--lam=1"], "time= does not exist"),
    ],
)
def test_names_of_files_are_not_shown_as_options(words, told, tmp_path):
    line = [sys.executable, "-m", "rpcag", *words]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"rpcag: {told}")


TABLE = "a,b\n" + "".join(f"{i % 7}.5,{i % 5}.25\n" for i in range(40))


def in_shell(words, redirection, text=""):
    """Run the command in a shell, with a redirection."""
    line = f"{shlex.join([sys.executable, '-m', 'rpcag', *words])} {redirection}"
    return subprocess.run(
        ["sh", "-c", line], input=text, capture_output=True, text=True, check=False
    )


def test_ctrl_c_is_handled_before_anything_else_is_imported():
    code = (
        "import sys; before = set(sys.modules); import rpcag.cli; "
        "print(*sorted(set(sys.modules) - before))"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["rpcag", "rpcag.cli"]


@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM"])
def test_a_signal_after_the_work_does_not_change_the_exit_code(number):
    code = (
        "import atexit, os, signal, sys; import rpcag.cli; "
        # Called last.
        f"atexit.register(lambda: os.kill(os.getpid(), signal.{number})); "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        "sys.argv = ['rpcag', '--version']; rpcag.cli.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    told = (done.returncode, done.stdout, done.stderr)
    assert told == (0, f"rpcag {rpcag.__version__}\n", "")


def test_clustering_error():
    truth, found = [0, 0, 0, 1, 1, 2], [1, 1, 2, 2, 2, 2]
    assert clustering_error(truth, found) == pytest.approx(2 / 6)
    assert clustering_error([0, 0, 1], [0, 1, 2]) == pytest.approx(1 / 3)
