"""Penalties on L: the nuclear norm, and smoothness on graphs.

A penalty f has ``value(Y)``, and a prox, the minimizer over P of
``f(P) + ||P - Y||^2 / (2 step)``. For the certificate, smoothness and the loss on the
data (`rpcag.losses.DataTerm`) have ``add_dual(Y, total)``. It makes a feasible dual
point D, for smoothness from the copy Y of L, for the loss from the multiplier Y. It
adds D to ``total``, and returns three numbers with
``f*(s D) <= s linear + s^2 quadratic`` for s in [0, 1] and a bound ``error`` on the
rounding error of ``total`` in the Frobenius norm.

`TwoGraphSmoothness` has ``gradient(L, out)`` and ``lipschitz`` instead of a prox.
"""

from rpcag.penalties.nuclear_norm import NuclearNorm
from rpcag.penalties.smoothness import GraphSmoothness
from rpcag.penalties.two_graphs import TwoGraphSmoothness

__all__ = ["GraphSmoothness", "NuclearNorm", "TwoGraphSmoothness"]
