"""Executors: work on the columns of X in this process, or on Dask workers."""

from collections.abc import Callable
from functools import reduce
from operator import add
from typing import Any


class Executor:
    """Calls functions of tiles of X, and of results of earlier calls.

    A tile has some columns of X with all their rows. This executor runs every call
    immediately and changes tiles in place. Others may return promises; only `get`
    returns their values.
    """

    is_local = True

    def call(self, function: Callable, *args: Any, n: int = 1) -> Any:
        """`function(*args)`, a tuple of `n` results if `n` is larger than one."""
        return function(*args)

    def update(self, method: Callable, tiles: list, *args: Any) -> tuple[list, list]:
        """The tiles after `method(tile, *args)` has changed them, and its results."""
        return tiles, self.each(method, tiles, *args)

    def keep(self, *values: Any) -> list:
        """The same values, computed once and kept while they are referenced."""
        return list(values)

    def get(self, *values: Any) -> list:
        """The values themselves, in this process."""
        return list(values)

    def split(self, X: Any) -> list[tuple[Any, slice]]:
        """Blocks of X, which become tiles, and their columns."""
        return [(X, slice(0, X.shape[1]))]

    def whole(self, tiles: list) -> Any:
        """The matrix with these tiles, of which there is one."""
        return tiles[0]

    def each(self, function: Callable, *args: Any, n: int = 1) -> list:
        """`call` for every tile; lists among the arguments have an element for each.

        Returns a list of results, or `n` lists if `n` is larger than one.
        """
        count = max(len(each) for each in args if isinstance(each, list))
        by_tile = [each if isinstance(each, list) else [each] * count for each in args]
        found = [self.call(function, *some, n=n) for some in zip(*by_tile, strict=True)]
        return found if n == 1 else [list(part) for part in zip(*found, strict=True)]

    def total(self, terms: list) -> Any:
        """Sum of terms, as a tree: no call holds more than a few terms."""
        while len(terms) > 1:
            few = [terms[i : i + 4] for i in range(0, len(terms), 4)]
            terms = [self.call(reduce, add, some) for some in few]
        return terms[0]
