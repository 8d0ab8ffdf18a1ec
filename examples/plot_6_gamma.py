"""
Choosing gamma and lam without labels
=====================================

:class:`rpcag.RPCAGCV` hides some entries, predicts them with every candidate, and takes
the candidate that predicts best. It needs no labels. Here the truth is known, so the
choice can be checked: one pixel in ten of the digits is replaced by a random gray
level.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from rpcag import RPCAG, RPCAGCV, plots
from rpcag.metrics import recovery_error

rng = np.random.default_rng(0)
truth = load_digits().data[:300]
wrong = rng.random(truth.shape) < 0.1
X = np.where(wrong, rng.uniform(0, 16, truth.shape), truth)

rules = RPCAG(lam="theory", gamma="clustering").fit(X)
lams = rules.lam_ * np.array([1, 2, 4])
gammas = rules.gamma_ * np.array([0, 1 / 16, 1 / 4, 1, 4])
search = RPCAGCV(lams=lams, gammas=gammas, n_splits=2).fit(X)
factors = search.lam_ / rules.lam_, search.gamma_ / rules.gamma_
print("chosen: {:g} times lam='theory', {:g} times gamma='clustering'".format(*factors))

# %%
# Errors along gamma, with a line for each lam:

plots.gamma_path(search)

# %%
# The distance to the digits before they were spoiled, which the search does not use.
# The dotted line is the error of the data.

figure, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
for lam in lams:
    fits = [RPCAG(lam=lam, gamma=gamma).fit(X) for gamma in gammas]
    errors = [recovery_error(fit.low_rank_, truth) for fit in fits]
    ax.plot(errors, "o-", label=f"{lam / rules.lam_:g} lam")
    best = np.flatnonzero(np.isclose(gammas, search.gamma_))[0]
    if lam == search.lam_:
        ax.plot(
            best, errors[best], "o", ms=13, mfc="none", color="#c8553d", label="chosen"
        )
ax.axhline(recovery_error(X, truth), ls=":", color="0.4")
ax.set_xticks(range(5), ["0", "1/16", "1/4", "1", "4"])
ax.set(xlabel="gamma, in units of the one for clustering", ylabel="relative error of L")
ax.legend(frameon=False)
