"""Split work between a few threads, each with one BLAS thread.

The threads of a BLAS wait for each other in busy loops. If other work runs on the same
cores, or two copies of the library (NumPy's and SciPy's) alternate, two threads can be
many times slower than one: docs/design_solver.md. Python's threads sleep while waiting.
"""

import contextlib
import itertools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

# Number of multiplications, a few milliseconds, below which one thread is faster.
LARGE = 1e8


class _Here(threading.local):
    """Number of threads that may share the work of this one, itself included."""

    crew = 1
    is_open = False
    had: Sequence[int] = ()  # BLAS threads, where this one has a limit of its own


class _Limit:
    """Limit BLAS to one thread while any block is active; the last one removes it.

    With OpenMP every thread has its own limits. A thread that enters without a limit
    sets one, and removes it when it leaves.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inside: set[int] = set()
        self.had: Sequence[int] = ()

    def enter(self) -> int:
        """Set the limit; returns the number of BLAS threads before."""
        with self.lock:
            # Recorded before anything is set, so that `leave` works after Ctrl-C.
            found = _blas_threads()
            if self.inside and max(found, default=1) > 1:
                _here.had = found
            else:
                if not self.inside:
                    self.had = found
                self.inside.add(threading.get_ident())
            had = max(_here.had or self.had, default=1)
            _one_blas_thread()
            # Limits that a thread of the user's holds stay as they are.
            return had if max(_blas_threads(), default=1) == 1 else 1

    def leave(self) -> None:
        me = threading.get_ident()
        with self.lock:
            if _here.had:
                _lift(_here.had)
                _here.had = ()
            if self.inside == {me}:
                _lift(self.had)
            self.inside.discard(me)
            _let_go()

    def enter_worker(self) -> None:
        """Set a limit for this thread, if it needs one, while the pool exists."""
        with self.lock:
            if self.inside:
                _one_blas_thread()
                _let_go()

    def after_fork(self) -> None:
        """Reset after a fork: other threads do not exist in the child process."""
        self.lock = threading.Lock()
        here = self.inside & {threading.get_ident()}
        if self.inside and not here:
            _lift(self.had)
            _let_go()
        self.inside = here


_here = _Here()
_limit = _Limit()


@contextmanager
def one_blas_thread_each() -> Iterator[None]:
    """One BLAS thread; `in_shares` and `product` use as many as BLAS had before."""
    if _here.is_open:
        yield
        return
    try:
        _here.crew, _here.is_open = min(_limit.enter(), _cores()), True
        yield
    finally:
        _here.crew, _here.is_open = 1, False
        _limit.leave()


def in_shares(
    function: Callable[[Sequence], Any],
    pieces: Sequence,
    work: float,
    most: int | None = None,
) -> list:
    """Call `function` on consecutive shares of the pieces, one share per thread.

    `work` is the total number of multiplications; little work is done in this thread.
    There are at most `most` shares.
    """
    crew = _here.crew
    count = min(crew, len(pieces), most or len(pieces))
    if count < 2 or work < LARGE:
        return [function(pieces)]
    edges = [len(pieces) * i // count for i in range(count + 1)]
    found: list[Future] = [Future() for _ in range(count)]
    # A thread removes a share before it works on it, so late threads find none.
    todo = deque(
        (function, pieces[a:b], future)
        for (a, b), future in zip(itertools.pairwise(edges), found, strict=True)
    )
    try:
        _here.crew = 1  # nor is a share cut again
        mine = _next(todo)
        # Where no thread can be started, or the interpreter ends, all is done here.
        with contextlib.suppress(RuntimeError):
            for _ in range(count - 1):
                _pool(crew - 1).submit(_help, todo)
        while mine is not None:
            _, share, future = mine
            future.set_result(function(share))
            mine = _next(todo)
        return [future.result() for future in found]
    except BaseException:  # also after Ctrl-C, no thread continues to write
        todo.clear()
        wait([future for future in found if not future.cancel()])
        raise
    finally:
        _here.crew = crew


def _next(todo: deque) -> tuple[Callable, Sequence, Future] | None:
    try:
        return todo.popleft()
    except IndexError:
        return None


def _help(todo: deque) -> None:
    """Work on a share that is neither taken nor canceled."""
    taken = _next(todo)
    if taken is None or not taken[2].set_running_or_notify_cancel():
        return
    function, share, future = taken
    try:
        future.set_result(function(share))
    except BaseException as error:
        future.set_exception(error)


def product(A: np.ndarray, B: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """A @ B, split along its longest side."""
    if _here.crew < 2 or not _can_be_cut(A, B, out):
        return np.matmul(A, B, out=out)
    (m, k), n = A.shape, B.shape[1]
    work = m * k * n
    if k > 2 * max(m, n) and out is None:
        return sum(in_shares(lambda s: A[:, _span(s)] @ B[_span(s)], range(k), work))
    if out is None:
        out = np.empty((m, n), np.result_type(A, B))

    def rows(share: Sequence[int]) -> None:
        np.matmul(A[_span(share)], B, out=out[_span(share)])

    def columns(share: Sequence[int]) -> None:
        np.matmul(A, B[:, _span(share)], out=out[:, _span(share)])

    in_shares(rows if m >= n else columns, range(max(m, n)), work)
    return out


def _can_be_cut(A: np.ndarray, B: np.ndarray, out: np.ndarray | None) -> bool:
    """Whether the product can be split: large matrices, and no overlap with `out`."""
    if A.ndim != 2 or B.ndim != 2 or A.shape[1] != len(B):
        return False
    if out is not None and (
        out.shape != (len(A), B.shape[1])
        or np.may_share_memory(A, out)
        or np.may_share_memory(B, out)
    ):
        return False
    return A.size * B.shape[1] >= LARGE


def gram(Y: np.ndarray) -> np.ndarray:
    """Y^T Y in double precision."""

    def of_share(rows: Sequence[int]) -> np.ndarray:
        some = Y[_span(rows)].astype(np.float64, copy=False)
        return some.T @ some

    return sum(in_shares(of_share, range(len(Y)), Y.size * Y.shape[1]))


def _span(indices: Sequence[int]) -> slice:
    return slice(indices[0], indices[-1] + 1) if indices else slice(0)


def _blas() -> list:
    return _controller().select(user_api="blas").lib_controllers


def _blas_threads() -> list[int]:
    """Number of threads of every BLAS: NumPy and SciPy may each have their own."""
    return [library.num_threads or 1 for library in _blas()]


def _one_blas_thread() -> None:
    for library in _blas():
        if library.num_threads != 1:
            library.set_num_threads(1)


def _lift(had: Sequence[int]) -> None:
    """Restore the threads of every BLAS, unless other code has changed them."""
    for library, count in zip(_blas(), had, strict=True):
        if library.num_threads == 1:
            library.set_num_threads(count)


def _let_go() -> None:
    """Let other threads set limits: threadpoolctl 3.8 keeps them to the first."""
    for library in _blas():
        getattr(library, "clear_controlling_thread", lambda: None)()


def _start_worker() -> None:
    # Workers never share their work: waiting for other workers could deadlock.
    _here.is_open = True
    _limit.enter_worker()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _cores() -> int:
    return joblib.cpu_count()


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, "rpcag", initializer=_start_worker)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=_limit.after_fork)
