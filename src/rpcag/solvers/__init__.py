"""Solvers: each takes a problem and returns a `Result`."""

from rpcag.solvers.loop import solve
from rpcag.solvers.problem import Problem
from rpcag.solvers.result import DualPoint, Progress, Result, State

__all__ = ["DualPoint", "Problem", "Progress", "Result", "State", "solve"]
