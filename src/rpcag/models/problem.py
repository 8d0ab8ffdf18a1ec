"""Robust PCA (on graphs) in units in which every data set looks alike."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.solvers import Progress, Result, State, admm
from rpcag.terms import GraphSmoothness, L1Loss, NuclearNorm

# The first penalty of every copy, in units of lam. Measured on faces and digits of
# 165 to 300 samples: 20 to 70 iterations to a gap of 1e-3 with or without a graph.
PENALTY = 3.0
# Up to this size of the shorter side, one BLAS thread is faster than two: the solver
# alternates between libraries whose waiting threads take each other's cores.
ONE_THREAD = 1000
# Sizes of entries whose squares, summed, are safe in single precision too.
SAFE = 1e12


class Problem:
    """Minimise ||L||_* + lam ||M o (X - L)||_1 + gamma tr(L^T Phi L) over L.

    With c the typical size of an observed entry, L / c solves the problem of X / c with
    gamma c in place of gamma. So penalties in units of 1 / c make the iterations the
    same in every unit of X; only if squares could overflow is X itself divided by c.
    """

    def __init__(
        self,
        X: np.ndarray,
        lam: float,
        gamma: float = 0.0,
        laplacian: ShiftedLaplacian | None = None,
    ) -> None:
        self.X = X
        self.scale = typical_size(X)
        self.unit = 1.0
        largest = max(float(np.nanmax(np.abs(x), initial=0.0)) for x in X)
        if largest > SAFE or self.scale < 1 / SAFE:
            self.unit = self.scale
            with np.errstate(over="ignore"):
                self.X = X / X.dtype.type(self.scale)
            if largest / self.scale > SAFE**3:
                raise ValueError(
                    f"X mixes values too far apart to be handled: the typical size is "
                    f"{self.scale:.3g}, the largest {largest:.3g}"
                )
        self.lam = lam
        self.gamma = gamma * self.unit
        if not np.isfinite(self.gamma):
            raise ValueError(
                f"gamma={gamma:.3g} is out of range for X, whose typical size is "
                f"{self.scale:.3g}; rescale X or use gamma='auto'"
            )
        self.laplacian = laplacian

    def solve(
        self,
        *,
        tol: float,
        max_iter: int,
        start: State | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
    ) -> Result:
        """The solution, in the unit of X."""
        terms: list = [L1Loss(self.X, self.lam)]
        if self.gamma > 0 and self.laplacian is not None:
            terms.append(GraphSmoothness(self.laplacian, self.gamma))
        if start is not None and (
            len(start.copies) != len(terms) or start.copies[0].shape != self.X.shape
        ):
            start = None
        relay = callback and (lambda progress: callback(self._in_units(progress)))
        limit = blas_threads(min(self.X.shape))
        with limit:
            result = admm(
                NuclearNorm(),
                terms,
                self.X.shape,
                self.X.dtype,
                penalties=[PENALTY * self.lam * self.unit / self.scale] * len(terms),
                tol=tol,
                max_iter=max_iter,
                start=start,
                callback=relay,
            )
        if self.unit == 1.0:
            return result
        with np.errstate(over="ignore"):
            x = np.multiply(result.x, self.X.dtype.type(self.unit), out=result.x)
            objective = result.objective * self.unit
        if not (np.isfinite(objective) and np.isfinite(x).all()):
            raise ValueError(
                f"X has entries of size {self.scale:.3g}: its nuclear norm or the "
                "objective overflows; rescale X"
            )
        return replace(
            result,
            x=x,
            objective=objective,
            lower_bound=result.lower_bound * self.unit,
            history=tuple(self._in_units(p) for p in result.history),
        )

    def _in_units(self, progress: Progress) -> Progress:
        return progress._replace(
            objective=progress.objective * self.unit,
            lower_bound=progress.lower_bound * self.unit,
        )


def typical_size(X: np.ndarray) -> float:
    """Median size of the entries that are neither missing nor zero, as a deviation.

    0.6745 is the median of |x| for a standard normal x, so standardised data have a
    size of about one. Unlike a mean it does not move with gross errors.
    """
    sizes = np.abs(X[(X != 0) & ~np.isnan(X)])
    if sizes.size == 0:
        return 1.0
    return max(float(np.median(sizes)) / 0.6745, float(np.finfo(X.dtype).tiny))


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def blas_threads(size: int):
    """A context with one BLAS thread where more would only wait for each other."""
    if size > ONE_THREAD:
        return nullcontext()
    return _threads().limit(limits=1, user_api="blas")
