"""Robust PCA (on graphs) in units in which every data set looks alike."""

import hashlib
import math
import os
import pickle
from collections.abc import Callable
from copy import copy
from dataclasses import replace

import numpy as np
from scipy import linalg, sparse

from rpcag.graphs.inputs import reason
from rpcag.linalg.blocks import row_blocks
from rpcag.linalg.rounding import from_unit, in_unit
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.threads import one_blas_thread_each
from rpcag.losses import L1, Loss, rescaled
from rpcag.solvers import DualPoint, Progress, Result, State, admm, lowrank
from rpcag.solvers.checkpoint import Checkpoint
from rpcag.solvers.dual_completion import DualCompletion
from rpcag.solvers.iterates import Iterates
from rpcag.solvers.lowrank import PRECISE, HandOver
from rpcag.terms import (
    DataTerm,
    FeatureSmoothness,
    GraphSmoothness,
    NuclearNorm,
)

# From this size of the shorter side on, factors of L are tried.
FACTORED = 100
# Share of the shorter side below which the rank of L is low enough for them to pay also
# when the last solve on a path ended without, and the shorter side from which on.
LOW, LONG = 0.3, 500
# Change of lam from which on zero is a better start than the last answer.
LEAP = 10.0
# Spread over size of the entries below which the solver starts at the medians.
FAR = 0.5
# Exponents of the spread in the unit of the penalties, from zero and from the medians.
HALF, NEARLY = 0.5, 0.85
# Spread over size of the entries from which single precision does to begin with.
OFFSET = 0.02
# Typical sizes beyond which an entry is an error that L does not start from: it would
# take too many iterations to come back.
FAR_OUT = 100.0
# Entries from which the unit of the penalties is estimated.
SAMPLE = 2**18
# Sizes of entries whose squares, summed, are safe in single precision too.
SAFE = 1e12
# Limits on typical sizes, so that their inverses do not overflow or underflow.
MIN_SIZE, MAX_SIZE = 2.0**-1022, 2.0**1023


class Problem:
    """Minimize ||L||_* + lam ||M o (X - L)||_1 + gamma tr(L^T Phi L) over L.

    Another `loss` may be given instead of the l1 norm. Then lam is only the typical
    size of an entry of the dual point, from which the first penalties are made. A graph
    between features, with the Laplacian `features`, adds gamma_features tr(L Phi L^T).

    With c the typical size of an observed entry, L / c solves the problem of X / c with
    gamma c in place of gamma. So penalties in units of 1 / c make the iterations the
    same in every unit of X. X itself is divided only if squares could overflow, by a
    power of two near c, which is exact.
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
        largest = self.largest = max(
            float(np.fmax.reduce(np.abs(X[rows]), axis=None, initial=0.0))
            for rows in row_blocks(X.shape)
        )
        if largest > SAFE or self.scale < 1 / SAFE:
            self.unit = math.ldexp(1.0, math.frexp(self.scale)[1] - 1)
            with np.errstate(over="ignore"):
                self.X = in_unit(X, self.unit)
            if largest / self.scale > SAFE**3:
                raise too_far_apart(self.scale, largest)
        self.center: np.ndarray | None = None
        if min(X.shape) >= FACTORED and self.spread < FAR * self.scale:
            self.center = in_unit(center, self.unit)
        self.laplacian = laplacian
        self.gamma_features = gamma_features * self.unit
        self.features = features if self.gamma_features > 0 else None
        self.loss: Loss
        self._set(lam, gamma)
        if loss is not None:
            self.loss = rescaled(loss, self.unit)
        self.has_other_loss = loss is not None

    def _set(self, lam: float, gamma: float) -> None:
        self.lam = lam
        self.loss = L1(float(lam))
        self.gamma = gamma * self.unit
        if not np.isfinite(self.gamma):
            raise ValueError(
                f"gamma={gamma:.3g} is out of range for X, whose typical size is "
                f"{self.scale:.3g}; rescale X or use gamma='auto'"
            )

    def at(self, lam: float, gamma: float) -> "Problem":
        """The same data and graph with other parameters."""
        other = copy(self)
        other._set(lam, gamma)
        return other

    def solve(
        self,
        *,
        tol: float,
        max_iter: int,
        start: State | None = None,
        callback: Callable[[Progress], bool | None] | None = None,
        checkpoint: str | os.PathLike | None = None,
        checkpoint_seconds: float = 60.0,
        keep_checkpoint: bool = False,
    ) -> Result:
        """The solution, in the unit of X.

        A solve that converged removes its checkpoint, unless `keep_checkpoint` is set.
        """
        saves = None
        if checkpoint is not None:
            saves = Checkpoint(checkpoint, self.identity(), checkpoint_seconds)
        has_graph = self.gamma > 0 and self.laplacian is not None
        if start is not None and (
            start.shape != self.X.shape
            or start.n_copies != 1 + has_graph + (self.features is not None)
        ):
            start = None
        # Between the size of an entry and its distance from the feature's median. From
        # zero L has to reach the offset of the features too; from the medians only
        # deviations have to move. Without a graph the rank grows best from zero.
        center = self.center if has_graph else None
        share = HALF if center is None else NEARLY
        size = self.scale * (self.spread / self.scale) ** share / self.unit
        step = self.lam / size / start.ratio if start is not None else 1.0
        if not 1 / LEAP < step < LEAP:
            start = None
        relay = callback and (lambda progress: callback(self._in_units(progress)))
        try:
            with one_blas_thread_each():
                result = self._iterate(
                    has_graph,
                    start,
                    center,
                    ratio=self.lam / size,
                    tol=tol,
                    max_iter=max_iter,
                    callback=relay,
                    checkpoint=saves,
                )
        except (FloatingPointError, OverflowError, linalg.LinAlgError) as error:
            raise ValueError(
                f"lam={self.lam:.3g}, gamma={self.gamma / self.unit:.3g} and X, whose "
                f"typical size is {self.scale:.3g}, are out of the range of "
                f"{self.X.dtype} together ({reason(error)}); choose values "
                "nearer to 'auto'"
            ) from error
        if saves is not None and result.status == "converged" and not keep_checkpoint:
            saves.forget()
        if self.unit == 1.0:
            return result
        with np.errstate(over="ignore"):
            x = from_unit(result.x, self.unit)
            objective = result.objective * self.unit
        if not (np.isfinite(objective) and np.isfinite(x).all()):
            raise ValueError(
                f"X has entries of size {self.largest:.3g}: its nuclear norm or the "
                "objective overflows; rescale X"
            )
        return replace(
            result,
            x=x,
            objective=objective,
            lower_bound=result.lower_bound * self.unit,
            dual=self._dual_in_units(result.dual),
            history=tuple(self._in_units(p) for p in result.history),
        )

    def _iterate(
        self,
        has_graph: bool,
        start: State | None,
        center: np.ndarray | None,
        **options,
    ) -> Result:
        """With factors of L while its rank is low, else with L itself."""
        laplacian = self.laplacian if has_graph else None
        low = LOW * min(self.X.shape) if min(self.X.shape) >= LONG else 0
        if start is not None and start.rank is not None and start.rank < low:
            start = None  # factors from scratch are faster than L from there
        factors = self.loss.entrywise and min(self.X.shape) >= FACTORED
        factors = factors and self.features is None
        if start is not None and start.factored and not factors:
            start = None  # of another loss
        goes_on: dict = {"start": start}
        if factors and (start is None or start.factored):
            dtype = self._precision(has_graph, options["tol"])
            if start is not None and options["tol"] < PRECISE:
                dtype = start.arrays["V"].dtype  # where it ended, it goes on
            panel = Iterates(self.X, self.loss, self.gamma, laplacian, dtype, center)
            try:
                return lowrank(panel, start=start, **options)
            except HandOver as end:
                goes_on = {"start": end.state, "ledger": end.ledger, "done": end.n_iter}
            del panel
        others: list = []
        relief = None
        if laplacian is not None:
            others.append(GraphSmoothness(laplacian, self.gamma))
            alone = self.loss.entrywise and self.features is None
            if alone and DualCompletion.suits(laplacian):
                relief = DualCompletion(self.X, self.loss, self.gamma, laplacian)
        if self.features is not None:
            others.append(FeatureSmoothness(self.features, self.gamma_features))
        start, rounded = goes_on["start"], None
        tol = options["tol"]
        is_fine = start is not None and start.arrays["copy 0"].dtype == np.float64
        may_round = self._precision(has_graph, tol) == np.float32
        may_round &= not (is_fine and tol < PRECISE)
        if may_round and min(self.X.shape) >= FACTORED:
            loss = DataTerm(self.X.astype(np.float32, copy=False), self.loss)
            rounded = NuclearNorm(rough=True), [loss, *others]
        result = admm(
            NuclearNorm(),
            [DataTerm(self.X, self.loss), *others],
            self.X.shape,
            self.X.dtype,
            first=self._filled() if start is None or "ledger" in goes_on else None,
            rounded=rounded,
            relief=relief,
            **goes_on,
            **options,
        )
        if "ledger" in goes_on:
            result = replace(result, solver="factored, exact")
        return result

    def _filled(self) -> np.ndarray:
        """X, with the medians of the features where it is missing or far out."""
        usual = np.abs(self.X) <= FAR_OUT * self.scale / self.unit  # false for NaN
        if usual.all():
            return self.X
        return np.where(usual, self.X, typical_center(self.X))

    def _precision(self, has_graph: bool, tol: float) -> np.dtype:
        """Single where its rounding cannot matter.

        The offset of the entries must leave digits to their spread, and the dual point
        2 gamma Phi W multiplies the rounding of W: as noise in every entry that has the
        spectral norm below, to be compared with one.
        """
        if self.spread < OFFSET * self.scale:
            return self.X.dtype
        noise = 0.0
        if has_graph and self.laplacian is not None:
            stiffness = abs(self.laplacian.laplacian).sum(axis=1).max()
            sides = sum(math.sqrt(side) for side in self.X.shape)
            size = self.scale / self.unit
            eps = float(np.finfo(np.float32).eps)
            noise = 2 * self.gamma * float(stiffness) * size * eps * sides
        # Also of single precision data, if they need it.
        return np.dtype(np.float32 if noise < 0.1 * tol else np.float64)

    def identity(self) -> str:
        """A fingerprint of the data, the parameters and the graph."""
        digest = hashlib.blake2b(digest_size=16)
        numbers = (self.X.shape, self.X.dtype.str, self.lam, self.gamma)
        digest.update(repr(numbers).encode())
        if self.has_other_loss:
            digest.update(pickle.dumps(self.loss))
        for row in self.X:
            digest.update(np.ascontiguousarray(row).data)
        graphs = [self.laplacian] if self.gamma > 0 else []
        if self.features is not None:
            digest.update(repr(self.gamma_features).encode())
            graphs.append(self.features)
        for shifted in graphs:
            if shifted is None:
                continue
            Phi = shifted.laplacian
            parts: tuple = (Phi,)
            if sparse.issparse(Phi):
                Phi = sparse.csr_array(Phi)
                parts = (Phi.data, Phi.indices, Phi.indptr)
            for part in parts:
                digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def _dual_in_units(self, dual: DualPoint | None) -> DualPoint | None:
        if dual is None:
            return None
        W, F = (None if A is None else from_unit(A, self.unit) for A in dual[1:])
        return DualPoint(dual.D, W, F)

    def _in_units(self, progress: Progress) -> Progress:
        return progress._replace(
            objective=progress.objective * self.unit,
            lower_bound=progress.lower_bound * self.unit,
        )


def theory_lam(shape: tuple[int, int], observed: float = 1.0) -> float:
    """The rule of Candès et al., also where only a share of the entries is observed.

    Their theorem on corrupted and missing entries has 1 / sqrt(0.1 n) for a tenth.
    """
    return 1 / math.sqrt(observed * max(shape))


def clustering_gamma(
    shape: tuple[int, int], size: float, observed: float = 1.0
) -> float:
    """4 / sqrt(max(n, p)) in units of 1 / size, times the share that is observed.

    The four was measured on the paper's data sets. The loss is a sum over what is
    observed and the smoothness one over everything: as the share falls, so must gamma.
    """
    return 4 * observed / math.sqrt(max(shape)) / size


def observed_share(X: np.ndarray) -> float:
    """Of the entries that are not NaN."""
    missing = sum(int(np.isnan(X[rows]).sum()) for rows in row_blocks(X.shape))
    return 1 - missing / X.size


def typical_size(X: np.ndarray) -> float:
    """Median size of the entries that are neither missing nor zero, as a deviation.

    0.6745 is the median of |x| for a standard normal x, so standardized data have a
    size of about one. Unlike a mean it does not move with gross errors.
    """
    sizes = np.abs(X[(X != 0) & ~np.isnan(X)])
    if sizes.size == 0:
        return 1.0
    with np.errstate(over="ignore"):
        size = float(np.median(sizes))
    if not math.isfinite(size):  # the mean of the two middle ones overflowed
        size = float(sizes.max())
    # Limited, because 1 / size is needed too.
    return min(max(size / 0.6745, MIN_SIZE), MAX_SIZE)


class TooFarApart(ValueError):
    """One entry is so large that the others vanish beside it."""


def too_far_apart(typical: float, largest: float) -> TooFarApart:
    return TooFarApart(
        f"X mixes values too far apart to be handled: the typical size is "
        f"{typical:.3g}, the largest {largest:.3g}; correct the largest, or mark it "
        "as missing by NaN"
    )


def thinned(X: np.ndarray) -> np.ndarray:
    """At most SAMPLE entries from everywhere: enough for the first penalties."""
    step = math.ceil(X.size / SAMPLE)
    while math.gcd(step, X.shape[1]) > 1:  # else always the same features
        step += 1
    some = X.reshape(-1)[::step]
    return some if np.any(np.abs(some) > 0) else X


def typical_center(X: np.ndarray) -> np.ndarray:
    """The median of every feature, from at most a hundred rows; zero where unseen."""
    rows = some_rows(X)
    # Half of them first: the sum of the two middle ones may overflow.
    if not np.isnan(rows).any():
        return 2 * np.median(rows / 2, axis=0)
    center = np.zeros(X.shape[1], X.dtype)
    seen = ~np.isnan(rows).all(axis=0)
    center[seen] = 2 * np.nanmedian(rows[:, seen] / 2, axis=0)
    return center


def typical_spread(
    X: np.ndarray, size: float, center: np.ndarray, least: float = 1e-3
) -> float:
    """Typical size of the distance of an entry from the median of its feature.

    From the rows that gave the medians: it only sets the first penalties. `size` is
    that of the entries themselves; the result is at least `least` times that.
    """
    distances = some_rows(X) - center
    if not np.any(np.abs(distances) > 0):
        return size
    return float(np.clip(typical_size(thinned(distances)), least * size, size))


def some_rows(X: np.ndarray) -> np.ndarray:
    return X[:: max(1, len(X) // 64)]
