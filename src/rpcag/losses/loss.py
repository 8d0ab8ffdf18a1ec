"""The interface of a loss, for solvers, certificates and new rows."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, Protocol

import numpy as np

Array = np.ndarray

# A penalty so small that a quadratic form has no weight in `project`. It is a power of
# two, so that dividing by it is exact, and squares of the quotients do not overflow.
TINY = {np.dtype(np.float64): 2.0**-200, np.dtype(np.float32): 2.0**-50}


class Loss(Protocol):
    """The three functions that solvers, certificates and new rows need of a loss.

    A loss is a frozen dataclass. Its parameters are numbers, or arrays of shape (n, p),
    (n, 1) or (1, p) with a value per entry, sample or feature.

    A missing entry has the residual 0. So `project` must return 0 where D is 0, and the
    other entries must not depend on how many zeros there are.
    """

    @property
    def entrywise(self) -> bool:
        """Whether the loss is a sum over entries, so that it has parts by column."""
        ...

    def project(self, D: Array, r: Any, out: Array | None = None) -> Array:
        """The scaled multiplier U = V - P of P = argmin l(P - X) + r/2 ||P - V||^2.

        D is V - X. By Moreau's identity r U minimizes ||Y - r D||^2 / 2 + r l*(Y) over
        Y: for a norm it is the point of the dual ball nearest to r D. `out` may be D,
        and r may be an array with a penalty per row.
        """
        ...

    def conjugate(self, D: Array) -> Array:
        """l*(D) of a point of the dual ball, row by row: the quadratic form."""
        ...

    def value(self, R: Array) -> Array:
        """l(R), row by row, in double precision."""
        ...


def nearest(loss: Loss, D: Array) -> Array:
    """Overwrite D by the nearest point of the dual ball.

    It is the limit of r U, r -> 0, for V - X = D / r.
    """
    tiny = TINY[D.dtype]
    D /= tiny
    loss.project(D, tiny, out=D)
    D *= tiny
    return D


def part(loss: Any, at: tuple) -> Any:
    """The loss of some rows and columns: arrays of parameters are cut like X."""

    def cut(value: Any) -> Any:
        if is_dataclass(value):
            return part(value, at)
        if np.ndim(value) != 2:
            return value
        pairs = zip(at, value.shape, strict=True)
        return value[tuple(some if side > 1 else slice(None) for some, side in pairs)]

    return replace(loss, **{f.name: cut(getattr(loss, f.name)) for f in fields(loss)})


def rescaled(loss: Any, unit: float) -> Any:
    """The loss of residuals in another unit: l(unit R) / unit.

    The dual ball has no unit, and the quadratic form mu ||D||^2 / 2 has that of R.
    """
    return replace(loss, mu=loss.mu / unit) if hasattr(loss, "mu") else loss
