"""A fit that is killed goes on where it was, to the same answer."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from rpcag import RPCA, RPCAG

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
        if progress.n_iter == at:
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
        options, checkpoint=path, callback=lambda p: first.append(p.n_iter)
    ).fit(X)
    assert first[0] == at  # the broken iteration, again
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
        (7, TypeError, "checkpoint must be a path or None, got 7"),
        (".", ValueError, "is a directory"),
        ("no/such/place/fit.npz", ValueError, "there is no directory"),
    ],
)
def test_a_useless_path_is_refused(path, error, message):
    with pytest.raises(error, match=message):
        RPCA(checkpoint=path).fit(np.eye(5))
    with pytest.raises(ValueError, match="checkpoint_seconds"):
        RPCA(checkpoint="fit.npz", checkpoint_seconds=-1).fit(np.eye(5))
