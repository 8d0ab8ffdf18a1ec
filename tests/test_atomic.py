"""Files that are written: whole or not at all, and nothing of others is touched."""

import csv
import errno
import itertools
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from rpcag import atomic
from rpcag.atomic import write_atomically, write_text
from rpcag.files.decomposition import FORMATS, Decomposition
from rpcag.files.names import escaped, original
from rpcag.files.reading import read_table
from rpcag.files.table import Reading

posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")
SOURCE = Path(atomic.__file__).parent
NAMES = ("low_rank", "sparse", "components", "embedding")


def small(value: float, **given) -> Decomposition:
    """All entries are `value`, so that files of two results are told apart."""
    n, p, d = given.pop("shape", (4, 3, 2))
    values = {
        "low_rank": np.full((n, p), value),
        "sparse": np.full((n, p), value),
        "missing": None,
        "embedding": np.full((n, d), value),
        "components": np.full((d, p), value),
        "singular_values": np.full(d, value),
        "graph": None,
        "samples": [f"s{i}" for i in range(n)],
        "features": [f"f{j}" for j in range(p)],
        "labels": None,
        "image_shape": None,
        "facts": {"value": value},
    }
    return Decomposition(**values | given)


def value_of(folder) -> float:
    """The one value of a result that is whole."""
    found = Decomposition.load(folder)
    everything = np.concatenate([getattr(found, name).ravel() for name in NAMES])
    assert len(set(everything.tolist()) | {found.facts["value"]}) == 1, "a mixture"
    return found.facts["value"]


def python(code: str, *words, **options) -> subprocess.CompletedProcess:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        env=environment,
        **options,
    )


# -- one file --------------------------------------------------------------------------


def test_a_file_is_replaced_at_the_end_and_not_before(tmp_path):
    path = tmp_path / "new" / "a.txt"
    for text in ("first", "second"):
        with write_atomically(path) as part:
            part.write_text(text)
            assert part.suffix == ".txt"
            assert not path.exists() or path.read_text() == "first"
        assert path.read_text() == text
    assert os.listdir(path.parent) == ["a.txt"]


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, ValueError])
@pytest.mark.parametrize("name", ["a.txt", "new/folder/a.txt"])
def test_any_exception_leaves_what_was_there(tmp_path, name, stop):
    (tmp_path / "a.txt").write_text("before")

    def write_half(path):
        with write_atomically(path) as part:
            part.write_text("half")
            raise stop

    with pytest.raises(stop):
        write_half(tmp_path / name)
    assert os.listdir(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "before"


def test_two_writers_do_not_meet(tmp_path):
    path = tmp_path / "a.txt"
    with write_atomically(path) as one, write_atomically(path) as two:
        assert one != two
        one.write_text("one")
        two.write_text("two")
    assert path.read_text() == "one"  # the last to end
    assert os.listdir(tmp_path) == ["a.txt"]


@posix
def test_links_are_not_written_through(tmp_path, monkeypatch):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "a.txt").symlink_to(precious)
    with write_atomically(tmp_path / "a.txt") as part:
        part.write_text("new")
    assert precious.read_text() == "mine"
    assert not (tmp_path / "a.txt").is_symlink()
    # Not even one with the name of the temporary file.
    monkeypatch.setattr("os.urandom", bytes)
    (tmp_path / f"{atomic.PREFIX}{'00' * 8}.txt").symlink_to(precious)
    with (
        pytest.raises(FileExistsError, match=r"a\.txt could not be written: File exi"),
        write_atomically(tmp_path / "a.txt") as part,
    ):
        part.write_text("never")
    assert precious.read_text() == "mine"


@posix
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_permissions_are_those_that_open_gives(tmp_path, mask):
    before = os.umask(mask)
    try:
        (tmp_path / "plain").touch()
        write_text(tmp_path / "new.txt", "new")
        kept = tmp_path / "kept.txt"
        kept.touch()
        kept.chmod(0o640)
        write_text(kept, "new")
        small(1.0).save(tmp_path / "r")
    finally:
        os.umask(before)

    def mode(name):
        return stat.S_IMODE((tmp_path / name).stat().st_mode)

    assert mode("new.txt") == mode("plain") == 0o666 & ~mask
    assert mode("kept.txt") == 0o640
    assert mode("r/low_rank.npy") == mode("r/result.json") == mode("plain")


# -- a full disk -----------------------------------------------------------------------

# Files may have so many bytes; Python ignores the signal, and writes fail.
LIMITED = """
import resource, sys
import numpy as np
sys.path.insert(0, sys.argv[1])
from test_atomic import small
made = small(0.1, shape=(100, 300, 2))
made.low_rank[:] = np.random.default_rng(0).standard_normal(made.low_rank.shape)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
for path in sys.argv[2:]:
    try:
        made.save(path, format=path.rpartition(".")[2], force=True)
    except OSError as error:
        print(type(error).__name__, error.errno, error)
"""
HAS = {"parquet": "pyarrow"}


@posix
@pytest.mark.slow
def test_a_write_that_fails_is_one_sentence_and_changes_nothing(tmp_path):
    formats = [f for f in FORMATS if f not in HAS or find_spec(HAS[f])]
    for format in formats:
        small(1.0).save(tmp_path / f"old.{format}", format=format)
    before = tree(tmp_path)
    paths = [tmp_path / f"{age}.{f}" for age in ("old", "new") for f in formats]
    done = python(LIMITED, Path(__file__).parent, *paths)
    assert done.returncode == 0, done.stderr
    for path, line in zip(paths, done.stdout.splitlines(), strict=True):
        reason = "File too large; choose a disk that supports files of this size"
        if path.suffix == ".npy":
            reason = "30000 requested and"  # NumPy does not say why
            assert "; free some space, or choose a folder on another disk" in line
        said = f"{path / 'low_rank'}{path.suffix} could not be written: {reason}"
        assert said in line
    assert tree(tmp_path) == before
    assert len(list(tmp_path.iterdir())) == len(formats)


def test_no_space_and_no_permission_say_what_to_do(tmp_path):
    for number, remedy in (
        (errno.ENOSPC, "free some space, or choose a folder on another disk"),
        (errno.EACCES, "choose a folder that you may write to"),
        (errno.EIO, "choose another path"),
    ):
        kind = type(OSError(number, ""))
        said = f"a.txt could not be written: {os.strerror(number)}; {remedy}"
        with (
            pytest.raises(kind, match=re.escape(said)) as caught,
            write_atomically(tmp_path / "a.txt"),
        ):
            raise OSError(number, "whatever a library says")
        assert caught.value.errno == number
        assert not list(tmp_path.iterdir())


# -- a folder --------------------------------------------------------------------------


def tree(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.parametrize(
    "index",
    [
        "{}",
        "",
        "[1]",
        "null",
        '{"rpcag_result": 1}',
        '{"files": {}, "rpcag_result": 1}',
        json.dumps({"rpcag_result": 2, "files": {n: f"{n}.npy" for n in NAMES}}),
        json.dumps({"rpcag_result": 1, "files": dict.fromkeys(NAMES, "src/main.py")}),
        json.dumps({"rpcag_result": 1, "files": dict.fromkeys(NAMES, "../out.npy")}),
        json.dumps({"rpcag_result": 1, "files": dict.fromkeys(NAMES, 7)}),
        json.dumps({"rpcag_result": 1, "files": NAMES}),
    ],
)
def test_a_folder_that_is_no_result_is_never_touched(tmp_path, index):
    (tmp_path / "proj" / "src").mkdir(parents=True)
    (tmp_path / "proj" / "src" / "main.py").write_text("precious")
    (tmp_path / "proj" / "result.json").write_text(index)
    (tmp_path / "out.npy").write_text("precious")
    before = tree(tmp_path)
    with pytest.raises(FileExistsError, match=r"result\.json does not say which files"):
        small(1.0).save(tmp_path / "proj", force=True)
    assert tree(tmp_path) == before


LITTER = [".DS_Store", ".gitkeep", ".gitignore", "desktop.ini", "Thumbs.db"]


def test_a_folder_of_files_that_systems_leave_is_empty(tmp_path):
    for name in LITTER:
        (tmp_path / name).write_text("kept")
    (tmp_path / ".ipynb_checkpoints").mkdir()
    (tmp_path / ".ipynb_checkpoints" / "a.ipynb").write_text("kept")
    before = tree(tmp_path)
    small(1.0).save(tmp_path)
    assert value_of(tmp_path) == 1.0
    assert before.items() <= tree(tmp_path).items()


def test_a_folder_that_is_refused_is_told_with_a_file_that_is_in_the_way(tmp_path):
    for name in (*LITTER, "b.txt", "a.txt"):
        (tmp_path / name).touch()
    said = f"{tmp_path} is a folder of something else: it has a.txt; choose another"
    with pytest.raises(FileExistsError, match=re.escape(said)):
        small(1.0).save(tmp_path, force=True)


def test_what_is_not_ours_in_a_result_stays(tmp_path):
    folder = tmp_path / "r"
    small(1.0, missing=np.eye(4, 3) > 0).save(folder, format="csv")
    (folder / "notes.txt").write_text("mine")
    (folder / "plots").mkdir()
    (folder / "plots" / "one.png").write_text("mine")
    small(2.0).save(folder, force=True)
    assert value_of(folder) == 2.0
    assert tree(folder).keys() == {
        *(f"{name}.npy" for name in NAMES),
        *("result.json", "notes.txt", "plots/one.png"),
    }
    # A name that the new result wants, but the old one did not have.
    (folder / "sparse.csv").write_text("mine")
    before = tree(folder)
    with pytest.raises(FileExistsError, match=r"sparse\.csv is not part of an earlier"):
        small(3.0).save(folder, format="csv", force=True)
    assert tree(folder) == before


@posix
def test_nothing_behind_a_link_is_removed(tmp_path):
    folder, outside = tmp_path / "r", tmp_path / "outside"
    small(1.0).save(folder, format="csv")
    outside.mkdir()
    for name in ("sparse.csv", "low_rank.csv"):
        (folder / name).replace(outside / name)
    (folder / "sparse.csv").symlink_to(outside / "sparse.csv")
    small(2.0).save(folder, force=True)
    assert sorted(os.listdir(outside)) == ["low_rank.csv", "sparse.csv"]


class Crash(BaseException):
    pass


@pytest.mark.parametrize("is_killed", [False, True])
@pytest.mark.parametrize(
    ("before", "after"), [("csv", "npy"), ("npy", "npy"), (None, "npy")]
)
def test_an_end_at_any_call_leaves_a_whole_result_or_none(
    tmp_path, monkeypatch, before, after, is_killed
):
    """An exception leaves the old result. A process that is killed leaves no mixture.

    Each call that changes the folder fails, one after the other.
    """
    seen = set()
    for end in itertools.count():
        folder = tmp_path / str(end)
        if before:
            small(1.0).save(folder, format=before)
        count = itertools.count()

        def crashing(call, count=count, end=end):
            def run(*arguments, **options):
                number = next(count)
                if number == end or (is_killed and number > end):  # no cleanup then
                    raise Crash
                return call(*arguments, **options)

            return run

        crashed = False
        with monkeypatch.context() as patch:
            for name in ("replace", "unlink", "mkdir", "rmdir"):
                patch.setattr(f"os.{name}", crashing(getattr(os, name)))
            patch.setattr("shutil.rmtree", crashing(atomic.shutil.rmtree))
            try:
                small(2.0).save(folder, format=after, force=True)
            except Crash:
                crashed = True
        if not crashed:
            break
        found = value_of(folder) if (folder / "result.json").exists() else None
        seen.add(found)
    old = 1.0 if before else None
    assert seen == ({old, None, 2.0} if is_killed else {old, 2.0})
    assert end > 10


@pytest.mark.parametrize("call", range(10))
def test_ctrl_c_while_files_are_moved_leaves_the_old_result(
    tmp_path, monkeypatch, call
):
    small(1.0).save(tmp_path / "r")
    before, replace = tree(tmp_path), os.replace
    count = itertools.count()

    def interrupted(source, target):
        replace(source, target)
        if ".rpcag-" in str(source) + str(target) and next(count) == call + 1:
            raise KeyboardInterrupt  # the file has moved, but nobody knows

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            small(2.0).save(tmp_path / "r", force=True)
    assert tree(tmp_path) == before
    small(2.0).save(tmp_path / "r", force=True)
    assert value_of(tmp_path / "r") == 2.0
    assert len(os.listdir(tmp_path / "r")) == 5


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from test_atomic import small
value = float(sys.argv[3])
made = small(value, shape=(200, 100, 20))
print("ready", flush=True)
for _ in range(int(sys.argv[4])):
    made.save(sys.argv[2], force=True)
"""


def writer(folder, value, times) -> subprocess.Popen:
    words = [str(Path(__file__).parent), folder, value, times]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, *map(str, words)],
        stdout=subprocess.PIPE,
        env=environment,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"
    return child


@posix
@pytest.mark.slow
def test_sigkill_leaves_a_whole_result_or_none(tmp_path):
    folder = tmp_path / "r"
    small(1.0, shape=(200, 100, 20)).save(folder)
    child = writer(folder, 2.0, 10_000)
    time.sleep(0.3)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert child.returncode == -signal.SIGKILL
    if (folder / "result.json").exists():
        assert value_of(folder) in (1.0, 2.0)
    else:
        with pytest.raises(FileNotFoundError, match="is not a result"):
            Decomposition.load(folder)


# -- names that a spreadsheet would compute --------------------------------------------

WILD = ["=1+1", "+cmd|x", "-2+3", "@SUM(A1)", "\tx", "\rx", "'=1", "''@", "-5", "x=1"]


def test_formulas_are_escaped_and_numbers_are_not():
    assert escaped(WILD) == [
        *("'=1+1", "'+cmd|x", "'-2+3", "'@SUM(A1)", "'\tx", "'\rx", "''=1", "''@"),
        *("-5", "x=1"),
    ]
    same = ["-5", "+3.5e-7", "-.5", "-1.", "-", "", "'quoted'", -5, -0.5, None]
    assert escaped(same) == same
    assert [original(cell) for cell in escaped(WILD)] == WILD


def test_tables_have_no_formulas_and_readers_give_the_names_back(tmp_path):
    n = len(WILD)
    made = small(-1.5, shape=(n, n, 2), samples=WILD, features=WILD)
    made.save(tmp_path / "r", format="csv")
    path = tmp_path / "r" / "low_rank.csv"
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["sample", *escaped(WILD)]
    assert [row[0] for row in rows] == escaped(WILD)
    assert {cell for row in rows for cell in row[1:]} == {"-1.5"}
    found = Decomposition.load(tmp_path / "r")
    assert found.samples == found.features == WILD
    table = read_table(path, Reading(header=True, delimiter=","))
    assert table.samples == table.features == WILD
