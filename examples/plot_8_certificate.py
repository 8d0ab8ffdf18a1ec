"""
Watching a certificate
======================

Follow the duality gap of a fit, and stop early. The solver keeps the objective of the
best L so far and a lower bound on every objective. The optimum lies between them, and
the fit stops when they are close enough. This says nothing about how well the model
fits the data; ``explained_`` does.
"""

import numpy as np
from sklearn.datasets import load_digits

from rpcag import RPCAG, plots

rng = np.random.default_rng(0)
X = load_digits().data[:500]
X[rng.random(X.shape) < 0.1] = 16.0

model = RPCAG(gamma="clustering", tol=1e-6, max_iter=3000).fit(X)
print(f"objective {model.objective_:.3f}")
print(f"bound     {model.lower_bound_:.3f}")
print(f"gap       {model.gap_:.1e} after {model.n_iter_} iterations: {model.status_}")
plots.convergence(model)

# %%
# Often a gap of one percent is enough. The callback is called after every iteration
# with a :class:`rpcag.solvers.Progress`. If it returns a true value, the fit stops,
# and its gap is still valid.


def good_enough(progress):
    return progress.gap < 0.01


early = RPCAG(gamma="clustering", tol=1e-6, callback=good_enough).fit(X)
print(
    f"{early.status_} after {early.n_iter_} iterations with a gap of {early.gap_:.1e}"
)

# %%
# The gap bounds the objective, not the distance between the matrices. Here both are
# small.

distance = np.linalg.norm(early.low_rank_ - model.low_rank_)
print(
    f"relative distance of the two L: {distance / np.linalg.norm(model.low_rank_):.1e}"
)
