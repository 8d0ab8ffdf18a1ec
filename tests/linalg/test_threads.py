"""Work in shares gives what one thread gives, and leaves BLAS as it was."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from rpcag import RPCAG
from rpcag.linalg import threads
from rpcag.linalg.threads import gram, in_shares, one_blas_thread_each, product
from rpcag.tables import RobustImputer
from rpcag.tables.cross_prediction import cross_predict


def blas_threads():
    """Of libraries that can have several; SCS, of cvxpy, brings one that cannot."""
    blas = threads._controller().select(user_api="blas")
    return [
        library.num_threads
        for library in blas.lib_controllers
        if library.info().get("threading_layer") != "disabled"
    ]


@pytest.fixture(params=[1, 2, 3])
def crew(request, monkeypatch):
    """So many threads, whatever the machine has."""
    monkeypatch.setattr(threads, "_cores", lambda: request.param)
    monkeypatch.setattr(threads, "LARGE", 1)
    with threadpool_limits(3, user_api="blas"), one_blas_thread_each():
        yield request.param


def test_every_piece_is_in_one_share(crew):
    for count in (0, 1, 2, 5, 64):
        shares = in_shares(list, range(count), 1)
        assert [i for share in shares for i in share] == list(range(count))
        assert len(shares) == max(min(crew, count), 1)


@pytest.mark.parametrize("m", [1, 7, 60])
@pytest.mark.parametrize("k", [1, 7, 200])
@pytest.mark.parametrize("n", [1, 7, 60])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_product_is_the_product(rng, crew, m, k, n, dtype):
    A = rng.standard_normal((m, k)).astype(dtype)
    B = rng.standard_normal((n, k)).astype(dtype).T
    wanted, atol = A.astype(float) @ B, 1000 * float(np.finfo(dtype).eps)
    out = np.empty((m, n), dtype)
    for found in (product(A, B), product(A, B, out)):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, wanted, atol=atol)
    assert product(A, B, out) is out
    np.testing.assert_allclose(gram(A), A.T.astype(float) @ A, atol=1e-12)


def test_work_is_done_by_so_many_threads(crew):
    together = threading.Barrier(crew, timeout=10)
    # A barrier opens when all are there at once: no thread takes two shares in turn.
    found = in_shares(lambda share: together.wait(), range(crew), 1)
    assert sorted(found) == list(range(crew))


def test_a_thread_at_work_does_not_share_again(crew):
    def share_again(share):
        with one_blas_thread_each():  # as a fit in a function of the user's would
            return in_shares(list, range(4), 1)

    shares = in_shares(share_again, range(crew), 1)
    if crew > 1:
        assert shares == [[[0, 1, 2, 3]]] * crew
    assert len(in_shares(list, range(4), 1)) == crew


def test_errors_come_out(crew):
    with pytest.raises(ZeroDivisionError):
        in_shares(lambda share: 1 / (3 - share[-1]), range(4), 1)


def test_blas_has_one_thread_inside_and_all_again_outside():
    with threadpool_limits(2, user_api="blas"):
        with one_blas_thread_each():
            assert set(blas_threads()) == {1}
            with one_blas_thread_each():
                assert set(blas_threads()) == {1}
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {2}
        with pytest.raises(RuntimeError), one_blas_thread_each():
            raise RuntimeError
        assert set(blas_threads()) == {2}


def test_who_gave_blas_one_thread_gets_one(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 8)
    with threadpool_limits(1, user_api="blas"), one_blas_thread_each():
        assert len(in_shares(list, range(8), threads.LARGE)) == 1


def test_little_work_is_done_by_one(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    with threadpool_limits(2, user_api="blas"), one_blas_thread_each():
        assert len(in_shares(list, range(8), threads.LARGE - 1)) == 1
        assert len(in_shares(list, range(8), threads.LARGE)) == 2


@pytest.mark.slow
def test_the_answer_does_not_depend_on_the_threads(rng, monkeypatch):
    X = rng.standard_normal((150, 5)) @ rng.standard_normal((5, 400))
    X[rng.random(X.shape) < 0.1] += 5
    X[rng.random(X.shape) < 0.1] = np.nan
    answers = []
    for count in (1, 3):
        monkeypatch.setattr(threads, "_cores", lambda count=count: count)
        monkeypatch.setattr(threads, "LARGE", 1)
        monkeypatch.setattr("rpcag.linalg.blocks.ROWS", 2**12)
        with threadpool_limits(3, user_api="blas"):
            answers.append(RPCAG(gamma="clustering", tol=1e-6).fit(X))
    one, three = answers
    assert one.gap_ <= 1e-6
    assert three.gap_ <= 1e-6
    difference = np.linalg.norm(one.low_rank_ - three.low_rank_)
    assert difference <= 1e-3 * np.linalg.norm(one.low_rank_)


@contextmanager
def another_inside():
    """Another thread holds the limit; it leaves when told to, or at the end."""
    inside, may_leave = threading.Event(), threading.Event()

    def hold():
        with one_blas_thread_each():
            inside.set()
            may_leave.wait(10)

    def leave():
        may_leave.set()
        thread.join()

    thread = threading.Thread(target=hold)
    thread.start()
    inside.wait(10)
    try:
        yield leave
    finally:
        leave()


def test_threads_of_a_user_leave_blas_as_it_was():
    """The first to come in is the first to leave; the limit holds for the other."""
    before = blas_threads()
    with another_inside() as leave:
        assert set(blas_threads()) == {1}
        with one_blas_thread_each():
            leave()
            assert set(blas_threads()) == {1}
        assert blas_threads() == before
    with another_inside(), one_blas_thread_each():
        pass
    assert blas_threads() == before
    with one_blas_thread_each():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


class OpenMP(threading.local):
    """A library with limits of every thread's own."""

    num_threads = 4

    def set_num_threads(self, count):
        self.num_threads = count


def test_limits_of_every_threads_own_are_lifted_by_each(monkeypatch):
    library = OpenMP()
    monkeypatch.setattr(threads, "_blas", lambda: [library])
    monkeypatch.setattr(threads, "_cores", lambda: 3)
    monkeypatch.setattr(threads, "LARGE", 1)
    after = []

    def fit(inside, may_leave):
        with one_blas_thread_each():
            in_force = in_shares(lambda share: library.num_threads, range(3), 1)
            after.append(in_force)
            inside.set()
            may_leave.wait(10)
        after.append(library.num_threads)

    first, second = ((threading.Event(), threading.Event()) for _ in range(2))
    pair = [threading.Thread(target=fit, args=events) for events in (first, second)]
    for thread, (inside, _) in zip(pair, (first, second), strict=True):
        thread.start()
        inside.wait(10)
    for thread, (_, may_leave) in zip(pair, (first, second), strict=True):
        may_leave.set()
        thread.join()
    assert after == [[1, 1, 1], [1, 1, 1], 4, 4]
    assert library.num_threads == 4


def test_who_is_interrupted_while_coming_in_leaves_blas_as_it_was(monkeypatch):
    before = blas_threads()

    def interrupted():
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(threads, "_cores", interrupted)
        with pytest.raises(KeyboardInterrupt), one_blas_thread_each():
            pass
    assert blas_threads() == before
    threads._limit.enter()  # and nobody left
    with one_blas_thread_each():
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_limits_that_another_thread_has_set_are_left_alone(monkeypatch):
    monkeypatch.setattr(threads, "_cores", lambda: 2)
    shares = []

    def fit():
        with one_blas_thread_each():
            shares.append(len(in_shares(list, range(8), threads.LARGE)))

    with threadpool_limits(2, user_api="blas"):
        thread = threading.Thread(target=fit)
        thread.start()
        thread.join()
        # Some versions of threadpoolctl let the thread set its own, others do not.
        assert shares in ([1], [2])
        assert set(blas_threads()) == {2}


def test_nobody_writes_on_after_an_interruption(crew):
    written = []

    def slowly(share):
        if share[0] == 0:
            raise KeyboardInterrupt
        time.sleep(0.2)
        written.append(share)

    with pytest.raises(KeyboardInterrupt):
        in_shares(slowly, range(6), 1)
    before = list(written)
    time.sleep(0.5)
    assert written == before


@pytest.fixture
def heard():
    """Ctrl-C, also where the tests run in the background of a shell."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no such signals")
def test_nobody_writes_on_after_ctrl_c_while_waiting(crew, heard):
    written, all_there = [], threading.Barrier(crew)
    main = threading.get_ident()

    def slowly(share):
        all_there.wait(10)  # every share has its thread
        if share[0] == 0 and crew > 1:
            return
        if share[-1] == crew - 1:  # once: who asks twice need not wait
            signal.pthread_kill(main, signal.SIGINT)
        time.sleep(0.2)
        written.append(share)

    with pytest.raises(KeyboardInterrupt):
        in_shares(slowly, range(crew), 1)
    before = list(written)
    time.sleep(0.4)
    assert written == before
    assert len(written) == crew - 1


def test_nobody_writes_on_after_an_error_elsewhere(crew):
    written, all_there = [], threading.Barrier(crew)

    def slowly(share):
        all_there.wait(10)
        if share[0] == crew // 2:  # of three, not the caller's
            raise ZeroDivisionError
        if share[0] != 0:
            time.sleep(0.2)
        written.append(share)

    with pytest.raises(ZeroDivisionError):
        in_shares(slowly, range(crew), 1)
    before = list(written)
    time.sleep(0.4)
    assert written == before
    assert len(written) == crew - 1


class Counter:
    """How often each piece was done."""

    def __init__(self, count):
        self.done = [0] * count

    def __call__(self, share):
        for i in share:
            self.done[i] += 1


def refuse(thread):
    raise RuntimeError("can't start new thread")


def test_a_share_is_done_once_where_no_thread_can_be_started(crew, monkeypatch):
    count = Counter(6)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        in_shares(count, range(6), 1)
    assert count.done == [1] * 6


def test_a_fit_goes_on_while_the_interpreter_ends(tmp_path):
    script = """
import threading, time
from rpcag.linalg import threads

def late():
    with threads.one_blas_thread_each():
        threads._here.crew = 2  # whatever the machine has
        time.sleep(0.5)  # the main thread is at its end
        print(threads.in_shares(sum, range(4), threads.LARGE))

threading.Thread(target=late).start()
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60
    )
    assert done.stderr == ""
    assert done.stdout.strip() == "[1, 5]"


def test_there_are_no_more_shares_than_may_be(crew):
    assert len(in_shares(list, range(8), 1, most=1)) == 1
    assert len(in_shares(list, range(8), 1, most=2)) == min(crew, 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own(crew):
    in_shares(list, range(8), 1)
    child = os.fork()
    if child == 0:  # would wait for ever for threads that did not come along
        os._exit(0 if len(in_shares(list, range(8), 1)) == crew else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_forked_beside_a_fit_has_all_of_blas():
    before = blas_threads()
    with another_inside():
        child = os.fork()
        if child == 0:
            os._exit(0 if blas_threads() == before else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_tables_are_predicted_with_one_blas_thread(monkeypatch):
    """Their matrices are small: threads of BLAS would wait for each other."""
    seen = set()

    def spied(*args, **options):
        seen.update(blas_threads())
        return cross_predict(*args, **options)

    monkeypatch.setattr("rpcag.tables.cell_model.cross_predict", spied)
    X = np.random.default_rng(0).standard_normal((40, 8))
    with threadpool_limits(2, user_api="blas"):
        RobustImputer().fit(X)
    assert seen == {1}
