"""Where the work on the columns of X is done: here, or by the workers of Dask."""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any, Protocol


class Executor(Protocol):
    """Calls functions of tiles of X, and of what earlier calls returned.

    A tile has some columns of X with all their rows. What a call returns may be a
    promise; only `get` makes values of promises.
    """

    def call(self, function: Callable, *args: Any, n: int = 1) -> Any:
        """`function(*args)`, a tuple of `n` results if `n` is larger than one."""
        ...

    def update(self, method: Callable, tile: Any, *args: Any) -> tuple[Any, Any]:
        """The tile after `method(tile, *args)` has changed it, and what it returned."""
        ...

    def keep(self, *values: Any) -> Sequence[Any]:
        """The same values, computed once and held until they are forgotten."""
        ...

    def get(self, *values: Any) -> Sequence[Any]:
        """The values themselves, in this process."""
        ...


class Local:
    """Does everything at once, in this process; tiles are changed in place."""

    def call(self, function: Callable, *args: Any, n: int = 1) -> Any:
        return function(*args)

    def update(self, method: Callable, tile: Any, *args: Any) -> tuple[Any, Any]:
        return tile, method(tile, *args)

    def keep(self, *values: Any) -> Sequence[Any]:
        return values

    def get(self, *values: Any) -> Sequence[Any]:
        return values


def total(run: Executor, terms: Sequence[Any]) -> Any:
    """Their sum, as a tree: no call holds more than a few terms."""
    terms = list(terms)
    while len(terms) > 1:
        terms = [run.call(_sum, terms[i : i + 4]) for i in range(0, len(terms), 4)]
    return terms[0]


def _sum(terms: list) -> Any:
    return reduce(add, terms)
