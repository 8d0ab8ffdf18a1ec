"""Split work between a few threads, each with one BLAS thread.

The threads of a BLAS wait for each other in busy loops, so two can be many times slower
than one (docs/design_solver.md). Python's threads sleep while waiting.
"""

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager
from functools import cache
from typing import Any

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

# Number of multiplications, a few milliseconds, below which one thread is faster.
LARGE = 1e8


class _Here(threading.local):
    """State of the current thread."""

    crew = 1  # threads that may share its work, itself included
    is_open = False  # whether the thread is within `one_blas_thread_each`
    had: Sequence[int] = ()  # BLAS threads before a limit of its own, if any


class _Limit:
    """Limit BLAS to one thread while any block is active; the last one removes it.

    With OpenMP, every thread that enters has a limit of its own.
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
            _set_blas_threads([1] * len(found))
            # Limits that a thread of the user's holds stay as they are.
            return had if max(_blas_threads(), default=1) == 1 else 1

    def leave(self) -> None:
        me = threading.get_ident()
        with self.lock:
            if _here.had:
                _restore(_here.had)
                _here.had = ()
            if self.inside == {me}:
                _restore(self.had)
            self.inside.discard(me)

    def after_fork(self) -> None:
        """Reset after a fork: other threads do not exist in the child process."""
        self.lock = threading.Lock()
        here = self.inside & {threading.get_ident()}
        if self.inside and not here:
            _restore(self.had)
        self.inside = here


_here = _Here()
_limit = _Limit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.after_fork)


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


def _run(future: Future, function: Callable[[Sequence], Any], pieces: Sequence) -> None:
    """Call a function on a share of the pieces, in a thread of its own."""
    if not future.set_running_or_notify_cancel():
        return
    try:
        _here.is_open = True  # the share is not split again
        _set_blas_threads([1] * len(_blas()))  # with OpenMP, a limit of its own
        future.set_result(function(pieces))
    except BaseException as error:
        future.set_exception(error)


def in_shares(
    function: Callable[[Sequence], Any],
    pieces: Sequence,
    work: float,
    most: int | None = None,
) -> list:
    """Call `function` on consecutive shares of the pieces, one share per thread.

    `work` is the total number of multiplications; little work is done in this thread.
    There are at most `most` shares. Starting a thread takes far less time than LARGE
    multiplications. Unlike those of a pool, it does not outlive a fork or the
    interpreter, and no share waits for another.
    """
    crew = _here.crew
    count = min(crew, len(pieces), most or len(pieces))
    if count < 2 or work < LARGE:
        return [function(pieces)]
    edges = [len(pieces) * i // count for i in range(count + 1)]
    first, *rest = [pieces[a:b] for a, b in itertools.pairwise(edges)]
    futures: list[Future] = [Future() for _ in rest]
    _here.crew = 1  # nor is the share of this thread split again
    try:
        for future, share in zip(futures, rest, strict=True):
            task = (future, function, share)
            try:
                threading.Thread(target=_run, name="rpcag", args=task).start()
            except RuntimeError:  # too many threads, or Python is shutting down
                _run(*task)
        return [function(first), *(future.result() for future in futures)]
    finally:  # also after Ctrl-C, no thread continues to write
        wait([future for future in futures if not future.cancel()])
        _here.crew = crew


def product(A: np.ndarray, B: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """A @ B for matrices, split along the longest side; `out` may not overlap them."""
    (m, k), n = A.shape, B.shape[1]
    work = m * k * n
    if _here.crew < 2 or work < LARGE:
        return np.matmul(A, B, out=out)
    if k > 2 * max(m, n) and out is None:
        return sum(in_shares(lambda s: A[:, _span(s)] @ B[_span(s)], range(k), work))
    if out is None:
        out = np.empty((m, n), np.result_type(A, B))
    if n > m:
        product(B.T, A.T, out.T)
        return out

    def rows(share: Sequence[int]) -> None:
        np.matmul(A[_span(share)], B, out=out[_span(share)])

    in_shares(rows, range(m), work)
    return out


def gram(Y: np.ndarray) -> np.ndarray:
    """Y^T Y in double precision."""

    def of_share(rows: Sequence[int]) -> np.ndarray:
        some = Y[_span(rows)].astype(np.float64, copy=False)
        return some.T @ some

    return sum(in_shares(of_share, range(len(Y)), Y.size * Y.shape[1]))


def _span(indices: Sequence[int]) -> slice:
    return slice(indices[0], indices[-1] + 1) if indices else slice(0)


_controller = cache(ThreadpoolController)
_cores = cache(joblib.cpu_count)


def _blas() -> list:
    return _controller().select(user_api="blas").lib_controllers


def _blas_threads() -> list[int]:
    """Number of threads of every BLAS: NumPy and SciPy may each have their own."""
    return [library.num_threads or 1 for library in _blas()]


def _set_blas_threads(counts: Sequence[int]) -> None:
    for library, count in zip(_blas(), counts, strict=True):
        if library.num_threads != count:
            library.set_num_threads(count)
        # Let other threads set limits: threadpoolctl 3.8 keeps them to the first.
        getattr(library, "clear_controlling_thread", lambda: None)()


def _restore(had: Sequence[int]) -> None:
    """Restore the threads of every BLAS, unless other code has changed them."""
    now = _blas_threads()
    changed = [before if n == 1 else n for n, before in zip(now, had, strict=True)]
    _set_blas_threads(changed)
