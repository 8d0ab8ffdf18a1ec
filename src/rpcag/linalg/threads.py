"""Work cut into shares for a few threads, each with one BLAS thread.

The threads of a BLAS wait for each other by spinning. Beside other work on the same
cores, or between two copies of the library (NumPy's and SciPy's), that makes two
threads many times slower than one: docs/notation.md. Python's threads wait asleep.
"""

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
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


_here = _Here()


@contextmanager
def one_blas_thread_each() -> Iterator[None]:
    """One BLAS thread; `in_shares` and `product` use as many as BLAS had before."""
    if _here.is_open:
        yield
        return
    blas = _controller().select(user_api="blas")
    had = max((library.num_threads or 1 for library in blas.lib_controllers), default=1)
    with blas.limit(limits=1):
        _here.crew, _here.is_open = min(had, _cores()), True
        try:
            yield
        finally:
            _here.crew, _here.is_open = 1, False


def in_shares(
    function: Callable[[Sequence], Any], pieces: Sequence, work: float
) -> list:
    """`function` of every share of the pieces: neighbours, one share per thread.

    `work` is the number of multiplications in all of them: few are done here.
    """
    count = min(_here.crew, len(pieces))
    if count < 2 or work < LARGE:
        return [function(pieces)]
    edges = [len(pieces) * i // count for i in range(count + 1)]
    shares = [pieces[a:b] for a, b in itertools.pairwise(edges)]
    others = [_pool(count - 1).submit(function, share) for share in shares[1:]]
    first = function(shares[0])
    return [first, *(other.result() for other in others)]


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


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _cores() -> int:
    return joblib.cpu_count()


@cache
def _pool(size: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(size, thread_name_prefix="rpcag")


if hasattr(os, "register_at_fork"):  # threads do not come along
    os.register_at_fork(after_in_child=_pool.cache_clear)
