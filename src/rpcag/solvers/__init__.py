"""Algorithms: arrays and terms in, a `Result` out."""

from rpcag.solvers.admm import admm
from rpcag.solvers.lowrank import lowrank
from rpcag.solvers.result import DualPoint, Progress, Result, State

__all__ = ["DualPoint", "Progress", "Result", "State", "admm", "lowrank"]
