"""The terms of the objectives: value, proximity operator, convex conjugate.

A term f has ``value(Y)``, ``prox(Y, step, out)``, the minimizer over P of
``f(P) + ||P - Y||^2 / (2 step)``, and what a duality-gap certificate needs of it:

- norms that can be the central term have ``dual_norm(Y)``: f* is the indicator of
  ``dual_norm(Y) <= 1``; also ``prox_in_place``, and ``value_at_prox(P)``, ``rank`` and
  ``basis`` of its last answer;
- every other term has ``add_dual(P, Y, total) -> (linear, quadratic, error)``. It
  turns the multiplier Y of its copy P into a feasible dual point D and adds D to
  ``total``. The error of ``total`` is at most ``error`` in the Frobenius norm. The
  numbers satisfy ``f*(s D) <= s linear + s^2 quadratic`` for s in [0, 1], with equality
  up to rounding.

`TwoGraphSmoothness` has no prox; it has ``gradient(L, out)`` and ``lipschitz``.
"""

from rpcag.terms.data import DataTerm
from rpcag.terms.nuclear import NuclearNorm
from rpcag.terms.smoothness import FeatureSmoothness, GraphSmoothness
from rpcag.terms.two_graphs import TwoGraphSmoothness

__all__ = [
    "DataTerm",
    "FeatureSmoothness",
    "GraphSmoothness",
    "NuclearNorm",
    "TwoGraphSmoothness",
]
