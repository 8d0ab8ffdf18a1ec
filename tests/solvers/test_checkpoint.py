"""A fit that is killed goes on where it was, to the same answer."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse

from rpcag import RPCA, RPCAG
from rpcag.losses import L1
from rpcag.solvers.checkpoint import _fingerprint
from rpcag.solvers.tile import Tile

# (n, p, options): with factors, with a graph, and without factors.
FITS = {
    "factors": (150, 200, {"lam": 0.06, "gamma": 0.0, "tol": 1e-7}),
    "graph": (150, 200, {"lam": 0.06, "gamma": 0.1, "tol": 1e-6}),
    "dense": (60, 80, {"lam": 0.12, "gamma": 0.05, "tol": 1e-7}),
    "handed over": (120, 130, {"lam": 0.2, "gamma": 0.05, "tol": 1e-6}),
}


def data(n, p):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((n, 5)) @ rng.standard_normal((5, p))
    X += 0.1 * rng.standard_normal((n, p))
    X[rng.random(X.shape) < 0.1] = 9.0
    return X


def model(options, **more):
    return RPCAG(**options, max_iter=20_000, **more)


class Killed(Exception):
    pass


def killer(at):
    def stop(progress):
        if progress.stage == "fit" and progress.n_iter == at:
            raise Killed

    return stop


@pytest.mark.slow
@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("share", [0.2, 0.7])
def test_a_broken_fit_goes_on_to_the_same_answer(tmp_path, name, share):
    n, p, options = FITS[name]
    X, path = data(n, p), tmp_path / "fit.npz"
    whole = model(options).fit(X)
    at = max(2, int(share * whole.n_iter_))
    broken = model(options, checkpoint=path, checkpoint_seconds=0, callback=killer(at))
    with pytest.raises(Killed):
        broken.fit(X)
    assert path.exists()
    first = []
    rest = model(
        options, checkpoint=path, callback=lambda p: first.append((p.stage, p.n_iter))
    ).fit(X)
    fits = [n_iter for stage, n_iter in first if stage == "fit"]
    assert fits[0] == at  # the broken iteration, again
    assert rest.n_iter_ == whole.n_iter_
    assert rest.objective_ == whole.objective_  # bit by bit
    np.testing.assert_array_equal(rest.low_rank_, whole.low_rank_)
    assert not list(tmp_path.iterdir())  # done: nothing is left


SCRIPT = """
import sys, numpy as np
sys.path.insert(0, sys.argv[2])
from test_checkpoint import data, model, FITS
n, p, options = FITS["graph"]
slow = lambda progress: __import__("time").sleep(0.05)
fit = model(options, checkpoint=sys.argv[1], checkpoint_seconds=0.2, callback=slow).fit
fit(data(n, p))
"""


@pytest.mark.kill
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL")
def test_sigkill_costs_time_not_the_answer(tmp_path):
    path = tmp_path / "fit.npz"
    child = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(path), os.path.dirname(__file__)]
    )
    try:
        deadline = time.monotonic() + 60
        while not path.exists() and time.monotonic() < deadline:
            assert child.poll() is None, "the fit ended before it was killed"
            time.sleep(0.01)
        time.sleep(0.3)  # perhaps in the middle of writing the next one
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert child.returncode == -signal.SIGKILL
    n, p, options = FITS["graph"]
    X = data(n, p)
    rest = model(options, checkpoint=path).fit(X)
    assert rest.objective_ == pytest.approx(model(options).fit(X).objective_, rel=1e-9)


def test_a_checkpoint_of_other_data_is_refused(tmp_path):
    n, p, options = FITS["dense"]
    X, path = data(n, p), tmp_path / "fit.npz"
    with pytest.raises(Killed):
        model(options, checkpoint=path, checkpoint_seconds=0, callback=killer(5)).fit(X)
    for change in ({"lam": 0.13}, {"gamma": 0.06}):
        with pytest.raises(ValueError, match="belongs to other data or other param"):
            model({**options, **change}, checkpoint=path).fit(X)
    with pytest.raises(ValueError, match="belongs to other data"):
        model(options, checkpoint=path).fit(X + 1)
    with pytest.raises(ValueError, match="belongs to other data"):
        RPCA(lam=options["lam"], checkpoint=path).fit(X)
    path.write_text("something else")
    with pytest.raises(ValueError, match="is not a checkpoint of rpcag"):
        model(options, checkpoint=path).fit(X)
    assert path.read_text() == "something else"
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="is not a checkpoint of rpcag"):
        model(options, checkpoint=path).fit(X)


def test_a_fit_out_of_iterations_can_be_given_more(tmp_path):
    for name in ("graph", "dense"):
        n, p, options = FITS[name]
        X, path = data(n, p), tmp_path / f"{name}.npz"
        whole = model(options).fit(X)
        for max_iter, done in ((9, 9), (9, 10), (3, 11), (12, 12)):
            short = model(options, checkpoint=path).set_params(max_iter=max_iter)
            with pytest.warns(UserWarning, match="stopped after"):
                short.fit(X)
            assert short.n_iter_ == done  # at least one more
            assert (np.diff(short.history_["n_iter"]) > 0).all()
        assert path.exists()
        rest = model(options, checkpoint=path).fit(X)
        assert rest.objective_ == pytest.approx(whole.objective_, rel=2e-6)


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        (7, TypeError, "'checkpoint' parameter of RPCA must be"),
        (".", ValueError, "is a directory"),
        ("no/such/place/fit.npz", ValueError, "there is no directory"),
    ],
)
def test_a_useless_path_is_refused(path, error, message):
    with pytest.raises(error, match=message):
        RPCA(checkpoint=path).fit(np.eye(5))
    with pytest.raises(ValueError, match="checkpoint_seconds"):
        RPCA(checkpoint="fit.npz", checkpoint_seconds=-1).fit(np.eye(5))


# -- files that were changed -----------------------------------------------------------

CHAIN = {
    n: sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n, n)) for n in (60, 150)
}


def broken_fit(path, name, at=5):
    """The data and options of a fit that was killed, with its state at `path`."""
    n, p, options = FITS[name]
    X, options = data(n, p), options | {"graph": CHAIN[n]}
    X[3, :7] = np.nan
    with pytest.raises(Killed):
        model(options, checkpoint=path, checkpoint_seconds=0, callback=killer(at)).fit(
            X
        )
    return X, options


def content(path):
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    return json.loads(str(arrays.pop("numbers"))), arrays


def rewrite(path, numbers, arrays, is_signed=False):
    text = json.dumps(numbers)
    if is_signed:
        arrays = {k: A for k, A in arrays.items() if k != "digest"}
        arrays |= {"digest": _fingerprint(text, arrays)}
    with path.open("wb") as file:
        np.savez(file, numbers=np.array(text), **arrays)


@pytest.mark.parametrize("name", ["factors", "graph", "dense"])
@pytest.mark.slow
def test_what_a_file_claims_proves_nothing(tmp_path, name):
    path = tmp_path / "fit.npz"
    X, options = broken_fit(path, name, at=30)
    whole = model(options).fit(X)
    saved = content(path)
    for bound, gap in ((1e9, 0.0), (0.999 * whole.objective_, 1e-12)):
        numbers, arrays = json.loads(json.dumps(saved[0])), saved[1]
        numbers["claim"] = bound
        for entry in numbers["pace"]:
            entry[1] = gap
        rewrite(path, numbers, arrays, is_signed=True)
        rest = model(options, checkpoint=path).fit(X)
        # Both prove what they say: each bound is below both objectives.
        assert rest.lower_bound_ <= whole.objective_
        assert whole.lower_bound_ <= rest.objective_
        proven = 1 - rest.lower_bound_ / rest.objective_
        assert 0 <= proven <= options["tol"]
        assert rest.gap_ == pytest.approx(proven, abs=1e-12)
        assert rest.history_["n_iter"][0] >= 30
        assert (rest.history_["lower_bound"] <= whole.objective_).all()


def test_a_dual_point_is_zero_where_data_are_missing_whatever_a_file_says():
    X = data(150, 200)
    X[3, :7] = np.nan
    tile = Tile(X, L1(0.06))
    D, _ = tile.dual_piece(np.full(X.shape, 7.0), slice(None))
    assert (D[np.isnan(X)] == 0).all()
    assert (D[~np.isnan(X)] == 0.06).all()


@pytest.mark.parametrize("name", ["factors", "graph", "dense"])
@pytest.mark.slow
def test_a_damaged_checkpoint_is_refused_in_words(tmp_path, name):
    path = tmp_path / "fit.npz"
    X, options = broken_fit(path, name)
    fit = model(options, checkpoint=path).fit
    numbers, arrays = content(path)

    def refused(numbers, arrays):
        rewrite(path, numbers, arrays)
        before = path.read_bytes()
        with pytest.raises(ValueError, match=r"fit\.npz' is not a checkpoint of rpcag"):
            fit(X)
        assert path.read_bytes() == before

    for key in set(numbers) - {"format"}:
        refused({k: v for k, v in numbers.items() if k != key}, arrays)
        if key == "identity":
            continue
        wrong = [None, "x", {}, float("nan")]
        if isinstance(numbers[key], list):
            wrong += [[*numbers[key], None], [*numbers[key], float("inf")]]
        for value in wrong:
            refused(numbers | {key: value}, arrays)
    for key, array in arrays.items():
        refused(numbers, {k: v for k, v in arrays.items() if k != key})
        if key == "digest":
            refused(numbers, arrays | {key: np.array("0" * 32)})
            continue
        refused(numbers, arrays | {key: array[:-1]})
        refused(numbers, arrays | {key: array[None]})
        refused(numbers, arrays | {key: array.astype(complex)})
        refused(numbers, arrays | {key: array.astype("S")})
        if array.size and array.dtype.kind == "f":
            spoiled = array.copy()
            spoiled.flat[-1] = np.nan
            refused(numbers, arrays | {key: spoiled})
    refused([], arrays)
    refused("x", arrays)
    rewrite(path, numbers, arrays)
    fit(X)
    assert not path.exists()


@pytest.mark.parametrize(
    ("format", "said"),
    [(None, "an older format of rpcag .1, not 5."), (2, "another format of rpcag .2")],
)
def test_another_format_is_named(tmp_path, format, said):
    path = tmp_path / "fit.npz"
    X, options = broken_fit(path, "dense")
    numbers, arrays = content(path)
    numbers.pop("format")
    rewrite(path, numbers | ({} if format is None else {"format": format}), arrays)
    with pytest.raises(ValueError, match=f"belongs to {said}.*delete it to start over"):
        model(options, checkpoint=path).fit(X)


def test_a_full_disk_is_one_sentence_and_leaves_the_last_state(tmp_path, monkeypatch):
    path = tmp_path / "fit.npz"
    X, options = broken_fit(path, "dense")
    before = path.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(
        OSError, match=r"fit\.npz could not be written: No space left on device; free"
    ):
        model(options, checkpoint=path, checkpoint_seconds=0).fit(X)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["fit.npz"]
