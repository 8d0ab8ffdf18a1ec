"""Work cut into shares for a few threads, each with one BLAS thread.

The threads of a BLAS wait for each other by spinning. Beside other work on the same
cores, or between two copies of the library (NumPy's and SciPy's), that makes two
threads many times slower than one: docs/notation.md. Python's threads wait asleep.
"""

import contextlib
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

# Multiplications, a few milliseconds of them, below which a second thread does not pay.
LARGE = 1e8


class _Here(threading.local):
    """Threads that this one may share its work with, itself included."""

    crew = 1
    is_open = False


class _Limit:
    """One BLAS thread for the process, set and lifted by the thread that came first.

    Others, coming while it is there, leave it alone: they could not lift it in order.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.owner: int | None = None
        self.had = 1
        self.limiter: Any = None

    def enter(self) -> int:
        """How many threads BLAS had."""
        with self.lock:
            if self.owner is None:
                blas = _controller().select(user_api="blas")
                self.had = _most(blas)
                self.limiter = blas.limit(limits=1).__enter__()
                self.owner = threading.get_ident()
                if _most(blas) > 1:  # a thread of the user's has limits of its own
                    self.had = 1
            return self.had

    def leave(self) -> None:
        with self.lock:
            if self.owner == threading.get_ident():
                self.limiter.__exit__(None, None, None)
                self.owner = None

    def after_fork(self) -> None:
        """Other threads did not come along."""
        self.lock = threading.Lock()
        if self.owner != threading.get_ident():
            self.owner = None


_here = _Here()
_limit = _Limit()


@contextmanager
def one_blas_thread_each() -> Iterator[None]:
    """One BLAS thread; `in_shares` and `product` use as many as BLAS had before."""
    if _here.is_open:
        yield
        return
    _here.crew, _here.is_open = min(_limit.enter(), _cores()), True
    try:
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
    """`function` of every share of the pieces: neighbours, one share per thread.

    `work` is the number of multiplications in all of them: few are done here. There are
    no more than `most` shares.
    """
    count = min(_here.crew, len(pieces), most or len(pieces))
    if count < 2 or work < LARGE:
        return [function(pieces)]
    edges = [len(pieces) * i // count for i in range(count + 1)]
    shares = [pieces[a:b] for a, b in itertools.pairwise(edges)]
    others: list[Future] = []
    with contextlib.suppress(RuntimeError):  # no new work while the interpreter ends
        for share in shares[1:]:
            others.append(_pool(_here.crew - 1).submit(function, share))
    try:
        here = [function(share) for share in (shares[0], *shares[1 + len(others) :])]
    except BaseException:  # also after Ctrl-C nobody goes on writing
        for other in others:
            other.cancel()
        wait(others)
        raise
    first, *rest = here
    return [first, *(other.result() for other in others), *rest]


def product(A: np.ndarray, B: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """A @ B, cut along its longest side."""
    (m, k), n = A.shape, B.shape[1]
    work = m * k * n
    if _here.crew < 2 or work < LARGE:
        return np.matmul(A, B, out=out)
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


def gram(Y: np.ndarray) -> np.ndarray:
    """Y^T Y in double precision."""

    def of_share(rows: Sequence[int]) -> np.ndarray:
        some = Y[_span(rows)].astype(np.float64, copy=False)
        return some.T @ some

    return sum(in_shares(of_share, range(len(Y)), Y.size * Y.shape[1]))


def _span(indices: Sequence[int]) -> slice:
    return slice(indices[0], indices[-1] + 1) if indices else slice(0)


def _most(blas: ThreadpoolController) -> int:
    """Threads of the BLAS that has the most."""
    counts = (library.num_threads or 1 for library in blas.lib_controllers)
    return max(counts, default=1)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _cores() -> int:
    return joblib.cpu_count()


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="rpcag")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
    os.register_at_fork(after_in_child=_limit.after_fork)
