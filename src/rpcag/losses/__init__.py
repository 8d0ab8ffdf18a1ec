"""Losses of the residual R = L - X, each given by its dual ball.

A loss l is convex, l >= 0 and l(0) = 0, and a sum over rows. Its conjugate is the
indicator of a convex set, the dual ball, plus a quadratic form that may be zero.
"""

from rpcag.losses.both import Both
from rpcag.losses.data import DataTerm
from rpcag.losses.huber import Huber
from rpcag.losses.l1 import L1
from rpcag.losses.loss import Loss, nearest, part, rescaled
from rpcag.losses.rows import Rows

__all__ = [
    "L1",
    "Both",
    "DataTerm",
    "Huber",
    "Loss",
    "Rows",
    "nearest",
    "part",
    "rescaled",
]
