"""Executors: work on the columns of X in this process, or on Dask workers."""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, Protocol


class Executor(Protocol):
    """Calls functions of tiles of X, and of results of earlier calls.

    A tile has some columns of X with all their rows. A call may return a promise;
    only `get` returns its value.
    """

    def call(self, function: Callable, *args: Any, n: int = 1) -> Any:
        """`function(*args)`, a tuple of `n` results if `n` is larger than one."""
        ...

    def update(self, method: Callable, tile: Any, *args: Any) -> tuple[Any, Any]:
        """The tile after `method(tile, *args)` has changed it, and the return value."""
        ...

    def keep(self, *values: Any) -> Sequence[Any]:
        """The same values, computed once and kept while they are referenced."""
        ...

    def get(self, *values: Any) -> Sequence[Any]:
        """The values themselves, in this process."""
        ...


class Local:
    """Runs every call immediately, in this process; tiles are changed in place."""

    def call(self, function: Callable, *args: Any, n: int = 1) -> Any:
        return function(*args)

    def update(self, method: Callable, tile: Any, *args: Any) -> tuple[Any, Any]:
        return tile, method(tile, *args)

    def keep(self, *values: Any) -> Sequence[Any]:
        return values

    def get(self, *values: Any) -> Sequence[Any]:
        return values


def total(run: Executor, terms: Sequence[Any]) -> Any:
    """Sum of terms, as a tree: no call holds more than a few terms."""
    terms = list(terms)
    while len(terms) > 1:
        terms = [run.call(_sum, terms[i : i + 4]) for i in range(0, len(terms), 4)]
    return terms[0]


def _sum(terms: list) -> Any:
    return reduce(add, terms)
