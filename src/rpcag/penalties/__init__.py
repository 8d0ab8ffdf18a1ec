"""Penalties on L: the nuclear norm, and smoothness on graphs.

A penalty f has ``value(Y)``, and a prox, the minimizer over P of
``f(P) + ||P - Y||^2 / (2 step)``. For the certificate, the nuclear norm has the ball
``||D||_2 <= 1`` as its conjugate; `rpcag.linalg.gram` has its norm and projection.
Smoothness and the loss on the data (`rpcag.losses.DataTerm`) have
``add_dual(P, Y, total) -> (linear, quadratic, error)``. It turns the multiplier Y of
the copy P into a feasible dual point D and adds D to ``total``. The error of ``total``
is at most ``error`` in the Frobenius norm. The numbers satisfy
``f*(s D) <= s linear + s^2 quadratic`` for s in [0, 1], with equality up to rounding.

`TwoGraphSmoothness` has no prox; it has ``gradient(L, out)`` and ``lipschitz``.
"""

from rpcag.penalties.nuclear_norm import NuclearNorm
from rpcag.penalties.smoothness import FeatureSmoothness, GraphSmoothness
from rpcag.penalties.two_graphs import TwoGraphSmoothness

__all__ = [
    "FeatureSmoothness",
    "GraphSmoothness",
    "NuclearNorm",
    "TwoGraphSmoothness",
]
