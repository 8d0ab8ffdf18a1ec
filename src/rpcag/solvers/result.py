"""Progress of a solver while it runs, and its result."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from rpcag.linalg.rounding import from_unit

Status = Literal["converged", "max_iter", "stopped", "stalled", "numerical_error"]


class Progress(NamedTuple):
    """State of a solver after an iteration; the history has one for every certificate.

    `stage` is "weights" while weights are chosen, with `n_iter` counting on over all
    candidates; "graph" or "feature_graph" while Robust PCA runs for a robust graph; and
    "fit" in the model's own solve.
    """

    n_iter: int
    objective: float
    lower_bound: float
    gap: float
    primal_residual: float
    dual_residual: float
    rank: int | None  # None if it is not known
    stage: str = "fit"

    def in_unit(self, unit: float) -> "Progress":
        """That of data that are `unit` times as large."""
        objective, bound = self.objective * unit, self.lower_bound * unit
        return self._replace(objective=objective, lower_bound=bound)


class Distances(NamedTuple):
    """How far a copy P of L is from it and has moved: squared Frobenius norms."""

    apart: float  # L - P
    moved: float  # P - P_before
    copy: float  # P
    multiplier: float  # U

    @property
    def change(self) -> float:
        """The change of P, relative to U."""
        return root_ratio(self.moved, self.multiplier)


def root_ratio(numerator: float, denominator: float) -> float:
    """sqrt(numerator / denominator), zero for 0/0."""
    if numerator == 0:
        return 0.0
    return math.sqrt(numerator / denominator) if denominator > 0 else 1.0


class DualPoint(NamedTuple):
    """A point of the dual problem: it proves a lower bound of the optimum.

    With D in the dual ball of the loss l (for the l1 norm ``|D| <= lam``, and 0 where X
    is missing) and ``||D - 2 gamma Phi W||_2 <= 1``, no objective is below

        <D, X> - l*(D) - gamma tr(W^T Phi W).

    For the l1 norm ``l*(D)`` is 0, with noise it is ``mu ||D||_F^2 / 2``. A graph
    between features adds -2 gamma_f F Phi_f to the matrix and -gamma_f tr(F Phi_f F^T)
    to the bound.
    """

    D: np.ndarray
    W: np.ndarray | None  # None without a graph between samples
    F: np.ndarray | None = None  # None without a graph between features

    def times(self, scale: float, more: float) -> "DualPoint":
        """A multiple, with W multiplied once more."""
        W, F = (None if A is None else A * scale for A in self[1:])
        return DualPoint(self.D * scale, None if W is None else W * more, F)


def relative_gap(objective: float, bound: float) -> float:
    return max(objective - bound, 0.0) / objective if objective != 0 else 0.0


@dataclass(frozen=True)
class Factors:
    """X = Q U^T, without a certificate; `history` has an entry per iteration."""

    Q: np.ndarray
    U: np.ndarray
    history: list
    converged: bool


@dataclass(frozen=True)
class State:
    """The state from which a solver can continue."""

    arrays: dict[str, np.ndarray]
    penalties: tuple[float, ...]
    ratio: float  # the unit of the penalties
    kind: str  # of iterates: "factored" or "exact"
    rank: int | None = None  # of L
    proof: Any = None  # a `rpcag.solvers.proof.Proof`

    @classmethod
    def of_copies(
        cls,
        copies: Sequence[np.ndarray],
        multipliers: Sequence[np.ndarray],
        penalties: tuple[float, ...],
        ratio: float,
    ) -> "State":
        """Of exact iterates: the copies of L and their scaled multipliers."""
        arrays = {f"copy {i}": P for i, P in enumerate(copies)}
        arrays |= {f"multiplier {i}": U for i, U in enumerate(multipliers)}
        return cls(arrays, penalties, ratio, "exact")

    def copies(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """What `of_copies` was given."""
        copies, multipliers = (
            [A for name, A in self.arrays.items() if name.startswith(kind)]
            for kind in ("copy", "multiplier")
        )
        return copies, multipliers

    @property
    def shape(self) -> tuple[int, ...]:
        return self.arrays["V" if self.kind == "factored" else "copy 0"].shape

    @property
    def n_copies(self) -> int:
        return len(self.penalties)


@dataclass(frozen=True)
class Result:
    """The result of a solver, and its certificate.

    Status: the wanted gap was reached, the iterations ran out, the callback returned
    true, the floating-point precision allows no smaller gap, or a bound was above the
    objective. After the last, nothing is proven: `lower_bound` is 0 and `gap` is 1.
    """

    x: np.ndarray  # the solution
    objective: float  # at x
    lower_bound: float  # proven, of the optimum
    gap: float  # (objective - lower_bound) / objective
    primal_residual: float  # relative, of the last iteration
    dual_residual: float
    n_iter: int
    rank: int | None  # of x, if it is known
    status: Status
    basis: np.ndarray | None  # orthonormal columns that span the shorter side of x
    history: tuple[Progress, ...]
    state: State | None  # to warm-start the next solve
    # Of the last certificate, up to rounding to the precision of the iterates. Its
    # bound is `lower_bound`, unless an earlier certificate was better.
    dual: DualPoint | None = None
    value: tuple[float, float, float] = 0.0, 0.0, 0.0  # linear, quadratic and norm
    solver: str = ""  # iterates that ran: "factored", "exact", or one after the other
    seconds: dict[str, float] = field(default_factory=dict)  # time of every phase

    @classmethod
    def of(cls, last: Progress, **others: Any) -> "Result":
        """With the numbers of the last `Progress`."""
        numbers = last._asdict()
        del numbers["stage"]
        return cls(**numbers, **others)

    def in_unit(self, unit: float, largest: float) -> "Result":
        """That of data that are `unit` times as large, with entries up to `largest`.

        The unit is a power of two. D has no unit; the state keeps its own.
        """
        dual = self.dual
        with np.errstate(over="ignore"):
            x, objective = from_unit(self.x, unit), self.objective * unit
        if not (np.isfinite(objective) and np.isfinite(x).all()):
            raise ValueError(
                f"X has entries of size {largest:.3g}: L or the objective overflows; "
                "rescale X"
            )
        if dual is not None:
            W, F = (None if A is None else from_unit(A, unit) for A in dual[1:])
            dual = DualPoint(dual.D, W, F)
        return replace(
            self,
            x=x,
            objective=objective,
            lower_bound=self.lower_bound * unit,
            history=tuple(progress.in_unit(unit) for progress in self.history),
            dual=dual,
        )
