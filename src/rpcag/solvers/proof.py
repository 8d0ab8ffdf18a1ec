"""Reuse the dual point of a solve as a proof for the same problem with another gamma.

Let (D, W) be feasible for gamma_before, and s = gamma / gamma_before. Then (D, W / s)
is feasible for gamma, because the constraint has the product gamma W only. The
smoothness term of its bound is the old one divided by s. The objective of the same L
changes by (gamma - gamma_before) tr(L^T Phi L). So neither needs an iteration.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rpcag.linalg.threads import gram
from rpcag.penalties import GraphSmoothness
from rpcag.solvers.certificates import Bound, dual_scale
from rpcag.solvers.graph_copy import GraphCopy
from rpcag.solvers.loop import SMALL
from rpcag.solvers.result import DualPoint, Progress, Result, relative_gap


@dataclass(frozen=True)
class Proof:
    """A converged solve of a `rpcag.solvers.problem.Problem` with a graph."""

    X: np.ndarray  # a copy
    identity: str  # hash of the rest of the problem, without gamma
    gamma: float
    result: Result
    roughness: float  # tr(L^T Phi L)

    def bound(self, problem: Any) -> Bound | None:
        """A bound for the same problem with another gamma; None for another problem."""
        if self.X.dtype != problem.X.dtype or problem.laplacian is None:
            return None
        if problem.unit != 1.0:  # the same X in another unit
            return None
        if not np.array_equal(self.X, problem.X, equal_nan=True):
            return None
        if self.identity != problem.identity():
            return None
        dual, value = self.result.dual, self.result.value
        assert dual is not None
        shrinks = self.gamma / problem.gamma
        # Other parts of the quadratic form are the same, and none is negative.
        is_mixed = dual.F is not None or problem.loss.conjugate(dual.D).any()
        quadratic = value[1] * (max(shrinks, 1.0) if is_mixed else shrinks)

        def point(scale: float) -> DualPoint:
            return dual.times(scale / dual_scale(*value), shrinks)

        return Bound(value[0], quadratic, value[2], point)

    def result_for(self, problem: Any, bound: Bound, tol: float) -> Result | None:
        """A result with the same L if the bound proves its gap, else None."""
        before = self.result
        objective = before.objective + (problem.gamma - self.gamma) * self.roughness
        gap = relative_gap(objective, bound.value)
        if gap > tol:
            return None
        last = Progress(0, objective, bound.value, gap, 0.0, 0.0, before.rank)
        assert before.state is not None
        return Result.of(
            last,
            x=before.x.copy(),
            status="converged",
            basis=before.basis,
            history=(last,),
            state=replace(before.state, proof=self),
            dual=bound.point(bound.scale),
            value=bound[:3],
            solver=before.solver,
        )


def with_proof(result: Result, problem: Any, last: Proof | None) -> Result:
    """Add a proof to the state if X is small, because it holds copies of X and L.

    `last` is a proof for the same X, if there is one.
    """
    laplacian, state, X = problem.laplacian, result.state, problem.X
    if laplacian is None or state is None or result.dual is None or X.size > SMALL:
        return result
    if result.status != "converged" or not result.lower_bound > 0:
        return result
    if state.kind == "factored":
        F, Q = state.arrays["F"], state.arrays["Q"][:, : state.rank]
        squares = GraphCopy(1.0, F, F).roughness(laplacian, F)
        roughness = float(np.sum(squares * gram(Q)))
    else:
        roughness = GraphSmoothness(laplacian, 1.0).value(result.x)
    for A in result.dual:  # the caller may change what it gets, but not the proof
        if A is not None:
            A.flags.writeable = False
    held = X.copy() if last is None else last.X
    kept = replace(result, x=result.x.copy())
    proof = Proof(held, problem.identity(), problem.gamma, kept, roughness)
    return replace(result, state=replace(state, proof=proof))
