"""Robust PCA (on graphs), in units that make the solver independent of scale."""

import math
import os
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg

from rpcag.linalg.blocks import row_blocks
from rpcag.linalg.orthonormal import orthonormal
from rpcag.linalg.rounding import in_unit
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.threads import one_blas_thread_each, product
from rpcag.linalg.typical import (
    TOO_FAR,
    TooFarApart,
    thinned,
    typical_center,
    typical_size,
    typical_spread,
)
from rpcag.losses import L1, DataTerm, Loss, part, rescaled
from rpcag.penalties import GraphSmoothness
from rpcag.solvers.checkpoint import Checkpoint, digest
from rpcag.solvers.dense import DenseIterates
from rpcag.solvers.factored import FactoredIterates
from rpcag.solvers.loop import PRECISE, Make, solve
from rpcag.solvers.penalties import ExactPenalties
from rpcag.solvers.proof import with_proof
from rpcag.solvers.result import DualPoint, Progress, Result, State

# From this size of the shorter side on, factors of L are tried; from as many entries as
# a square of this size on, single precision is faster to begin with.
FACTORED = 100
# Share of the shorter side below which the rank of L is low enough for them to pay also
# when the last solve on a path ended without, and the shorter side from which on.
LOW, LONG = 0.3, 500
# Change of lam from which zero is a better start than the last result.
LEAP = 10.0
# Spread over size of the entries below which the solver starts at the medians, and from
# which single precision does to begin with.
FAR, OFFSET = 0.5, 0.02
# Exponents of the spread in the unit of the penalties, from zero and from the medians.
HALF, NEARLY = 0.5, 0.85
# Entries beyond this many typical sizes are gross errors and are left out of the first
# L, which would otherwise take too many iterations to recover.
FAR_OUT = 100.0
# Sizes of entries whose squares, summed, are safe in single precision too.
SAFE = 1e12
# Share of features without an entry from which on they are left out.
EMPTY = 0.05


class Problem:
    """Minimize ||L||_* + lam ||M o (X - L)||_1 + gamma tr(L^T Phi L) over L.

    Another `loss` may be given instead of the l1 norm. Then lam is only the typical
    size of an entry of the dual point, from which the first penalties are made. A graph
    between features, with the Laplacian `features`, adds gamma_features tr(L Phi L^T).

    With c the typical size of an observed entry, L / c solves the problem of X / c with
    gamma c in place of gamma. So penalties in units of 1 / c make the iterations the
    same in every unit of X. X itself is divided only if squares could overflow, by a
    power of two near c, which is exact.

    In a feature that is zero wherever it is observed, L is zero. Without a graph
    between features, such features are left out if they are many.
    """

    def __init__(
        self,
        X: np.ndarray,
        lam: float,
        gamma: float = 0.0,
        laplacian: ShiftedLaplacian | None = None,
        loss: Loss | None = None,
        features: ShiftedLaplacian | None = None,
        gamma_features: float = 0.0,
    ) -> None:
        self.X = X
        self.scale = typical_size(thinned(X))
        center = typical_center(X)
        self.spread = typical_spread(X, self.scale, center)
        self.unit = 1.0
        sizes = np.zeros(X.shape[1])
        for rows in row_blocks(X.shape):
            np.fmax(sizes, np.fmax.reduce(np.abs(X[rows]), axis=0), out=sizes)
        largest = self.largest = float(sizes.max())
        if largest > SAFE or self.scale < 1 / SAFE:
            self.unit = math.ldexp(1.0, math.frexp(self.scale)[1] - 1)
            with np.errstate(over="ignore"):
                self.X = in_unit(X, self.unit)
            if largest / self.scale > TOO_FAR:
                raise TooFarApart(X, X)
        self.lam = lam
        self.loss = L1(float(lam)) if loss is None else rescaled(loss, self.unit)
        self.gamma, self.gamma_features = gamma * self.unit, gamma_features * self.unit
        self.laplacian = laplacian if self.gamma > 0 else None
        self.features = features if self.gamma_features > 0 else None
        if not np.isfinite(self.gamma):
            raise ValueError(
                f"gamma={gamma:.3g} is out of range for X, whose typical size is "
                f"{self.scale:.3g}; rescale X or use gamma='auto'"
            )
        self.shape, self.columns = X.shape, sizes > 0
        few = 0 < np.count_nonzero(self.columns) < (1 - EMPTY) * X.shape[1]
        if few and self.features is None:
            self.X = np.ascontiguousarray(self.X[:, self.columns])
            center = center[self.columns]
            self.loss = part(self.loss, (slice(None), self.columns))
        self.center: np.ndarray | None = None
        is_far = min(X.shape) >= FACTORED and self.spread < FAR * self.scale
        if is_far and self.laplacian is not None:  # else the rank grows best from zero
            self.center = in_unit(center, self.unit)

    def solve(
        self,
        *,
        tol: float,
        max_iter: int,
        start: State | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
        checkpoint: str | os.PathLike | None = None,
        checkpoint_seconds: float = 60.0,
    ) -> Result:
        """The solution, in the unit of X; a solve that converged removes its file."""
        saves = None
        if checkpoint is not None:
            identity = self.identity(self.gamma, digest(self.X))
            saves = Checkpoint(checkpoint, identity, checkpoint_seconds)
        proof = start.proof if start is not None and saves is None else None
        known = proof and proof.bound(self)
        if proof is not None and known is not None:
            again = proof.result_for(self, known, tol)
            if again is not None:
                return self._whole(again)
        # Between the size of an entry and its distance from the feature's median: from
        # zero L has to reach the offset of the features too.
        share = HALF if self.center is None else NEARLY
        size = self.scale * (self.spread / self.scale) ** share / self.unit
        start = self._usable(start, size)
        relay = callback and (lambda progress: callback(progress.in_unit(self.unit)))
        try:
            with one_blas_thread_each():
                result = solve(
                    self._makers(start, tol, self.lam / size),
                    ratio=self.lam / size,
                    tol=tol,
                    max_iter=max_iter,
                    start=start,
                    known=known,
                    callback=relay,
                    checkpoint=saves,
                )
        except (FloatingPointError, OverflowError, linalg.LinAlgError) as error:
            reason = error.args[-1] if error.args else error  # C's begin with a number
            raise ValueError(
                f"lam={self.lam:.3g}, gamma={self.gamma / self.unit:.3g} and X, whose "
                f"typical size is {self.scale:.3g}, are out of the range of "
                f"{self.X.dtype} together ({reason}); choose values "
                "nearer to 'auto'"
            ) from error
        if saves is not None and result.status == "converged":
            saves.forget()
        if self.unit == 1.0:
            return self._whole(with_proof(result, self, proof if known else None))
        return self._whole(result.in_unit(self.unit, self.largest))

    def _whole(self, result: Result) -> Result:
        """With the features that were left out."""
        if self.X.shape == self.shape:
            return result
        basis, dual = result.basis, result.dual
        n, p = self.shape
        if basis is not None and len(basis) < n:  # of the features
            if p < n:
                basis = self._wide(basis.T).T
            else:
                basis, _ = orthonormal(product(result.x, basis))
        if dual is not None:
            W = None if dual.W is None else self._wide(dual.W)
            dual = DualPoint(self._wide(dual.D), W)
        return replace(result, x=self._wide(result.x), basis=basis, dual=dual)

    def _wide(self, A: np.ndarray) -> np.ndarray:
        wide = np.zeros((len(A), self.shape[1]), A.dtype)
        wide[:, self.columns] = A
        return wide

    def _makers(self, start: State | None, tol: float, ratio: float) -> dict[str, Make]:
        """Functions that create iterates: factored if the rank is low, else exact."""
        single = self._allows_single(tol)
        share = min(1.0, 1 / (self.lam * math.sqrt(max(self.X.shape))))

        def factored(_: np.dtype | None) -> FactoredIterates:
            dtype = np.dtype(np.float32) if single else self.X.dtype
            if start is not None and tol < PRECISE:
                dtype = start.arrays["V"].dtype  # where it ended, it goes on
            return FactoredIterates(
                self.X, self.loss, self.gamma, self.laplacian, dtype, self.center
            )

        def exact(before: np.dtype | None) -> DenseIterates:
            terms: list = [DataTerm(self.X, self.loss)]
            if self.laplacian is not None:
                terms.append(GraphSmoothness(self.laplacian, self.gamma))
            if self.features is not None:
                features = GraphSmoothness(self.features, self.gamma_features, axis=1)
                terms.append(features)
            if before is None and start is not None:
                before = start.arrays["copy 0"].dtype
            is_fine = before == np.float64 and tol < PRECISE
            return DenseIterates(
                terms,
                is_rounded=single and not is_fine and self.X.size >= FACTORED**2,
                first=None if start is not None else self._filled(),
                share=share,
                mild=ExactPenalties.FIRST * share * ratio,
            )

        if not self._has_factors or (start is not None and start.kind == "exact"):
            return {"exact": exact}
        return {"factored": factored, "exact": exact}

    @property
    def _has_factors(self) -> bool:
        large = min(self.X.shape) >= FACTORED
        return large and self.loss.entrywise and self.features is None

    def _usable(self, start: State | None, size: float) -> State | None:
        """A state to start from, if that is better than a cold start."""
        if start is None or start.shape != self.X.shape:
            return None
        if not 1 / LEAP < self.lam / size / start.ratio < LEAP:
            return None
        if start.kind == "factored":
            fits = start.n_copies == 1 + (self.laplacian is not None)
            return start if fits and self._has_factors else None
        low = LOW * min(self.X.shape) if min(self.X.shape) >= LONG else 0
        # Factors from scratch are faster than L from there.
        return None if start.rank is not None and start.rank < low else start

    def _filled(self) -> np.ndarray:
        """X, with the medians of the features where it is missing or far out."""
        usual = np.abs(self.X) <= FAR_OUT * self.scale / self.unit  # false for NaN
        if usual.all():
            return self.X
        return np.where(usual, self.X, typical_center(self.X))

    def _allows_single(self, tol: float) -> bool:
        """Whether the rounding errors of single precision do not matter.

        The offset of the entries must leave digits to their spread, and the dual point
        2 gamma Phi W multiplies the rounding of W: as noise in every entry that has the
        spectral norm below, to be compared with one.
        """
        if self.spread < OFFSET * self.scale:
            return self.X.dtype == np.float32
        if self.laplacian is None:
            return True
        stiffness = float(abs(self.laplacian.laplacian).sum(axis=1).max())
        sides = sum(math.sqrt(side) for side in self.X.shape)
        rounding = self.scale / self.unit * float(np.finfo(np.float32).eps)
        return 2 * self.gamma * stiffness * rounding * sides < 0.1 * tol

    def identity(self, *more: Any) -> str:
        """A fingerprint of the graph, the loss and the parameters but gamma."""
        parts = [self.lam, *more, pickle.dumps(self.loss)]
        if self.laplacian is not None:
            parts.append(self.laplacian.laplacian)
        if self.features is not None:
            parts += [self.gamma_features, self.features.laplacian]
        return digest(*parts)
