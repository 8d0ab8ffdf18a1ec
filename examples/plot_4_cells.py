"""
Counts like those of single cells
=================================

Cluster cells by their gene counts although one count in twenty is wrong. **The table is
synthetic**: four kinds of cells, a random depth for each cell, and about half of the
entries zero. The wrong counts belong to other cells, as when barcodes are swapped. The
usual preparation comes first: equal depth, logarithm, centered genes.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from rpcag import RPCA, RPCAG, plots
from rpcag.metrics import clustering_error

rng = np.random.default_rng(1)
cells, genes, kinds = 400, 300, 4
kind = rng.integers(kinds, size=cells)
active = rng.random((kinds, genes)) < 0.25
fold = np.exp(0.9 * rng.standard_normal((kinds, genes)) * active)
programs = rng.gamma(0.5, 2.0, genes) * fold
rates = programs[kind] / programs[kind].sum(axis=1, keepdims=True)
depth = 600 * rng.lognormal(0, 0.5, (cells, 1))
counts = rng.poisson(depth * rates).astype(float)
total = counts.sum(axis=1, keepdims=True)
swapped = rng.random(counts.shape) < 0.05
counts[swapped] += rng.lognormal(5, 1, swapped.sum()).round()
print(f"{np.mean(counts == 0):.0%} zeros, {swapped.mean():.1%} of the entries swapped")

X = np.log1p(counts / total * np.median(total))
X -= np.median(X, axis=0)

# %%
# Three models give three components each, which k-means clusters. RPCAG uses
# weights for clustering.

models = {"PCA": PCA(3), "RPCA": RPCA(3), "RPCAG": RPCAG(3, gamma="clustering")}
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    Z = model.fit_transform(X)
    found = KMeans(kinds, n_init=10, random_state=0).fit_predict(Z)
    plots.embedding(Z, kind, ax=ax)
    ax.set_title(f"{name}: clustering error {clustering_error(kind, found):.1%}")

# %%
# The largest entries of the sparse part are mostly swapped counts:

largest = np.argsort(np.abs(models["RPCAG"].sparse_), axis=None)[-1000:]
print(f"{swapped.flat[largest].mean():.0%} of the largest 1000 were swapped")
