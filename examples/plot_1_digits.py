"""
Digits behind blocks
====================

Restore and cluster digits of which a quarter is covered by a block. The places of the
blocks are known, so covered pixels are NaN. This is the main experiment of the paper,
on the digits of scikit-learn.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from rpcag import RPCAG, plots
from rpcag.clustering import cluster_embedding
from rpcag.metrics import clustering_error

images, labels = load_digits(return_X_y=True)
images, labels = images[:600], labels[:600]
occluded = images.copy()
tops, lefts = np.random.RandomState(0).randint(5, size=(2, 600))
for image, i, j in zip(occluded.reshape(-1, 8, 8), tops, lefts, strict=True):
    image[i : i + 4, j : j + 4] = np.nan
seen = ~np.isnan(occluded)

# %%
# The default weights are chosen to predict missing entries. The remaining pixels are
# correct, so ``graph="knn"`` finds neighbors directly in the pixels. The default graph
# is for errors that are not marked.

model = RPCAG(graph="knn").fit(occluded)
print(f"objective within {model.gap_:.2%} of the optimum (certified)")
print(f"predicts {model.explained_:.0%} of the spread of hidden pixels")

plots.decomposition(
    {
        "original": images,
        "occluded": occluded,
        "low-rank": np.clip(model.low_rank_, 0, 16),
        "sparse": model.sparse_,
    },
    (8, 8),
    samples=range(12),
)

# %%
# The low-rank part fills the blocks. Each covered pixel is predicted from images that
# are similar where they are visible.

filled = np.abs(model.low_rank_ - images)[~seen].mean()
mean = np.abs(np.nanmean(occluded, axis=0) - images)[~seen].mean()
print(f"mean error behind the blocks, in gray levels of 16: {filled:.2f}")
print(f"with the mean of every pixel: {mean:.2f}")

# %%
# Clusters need more weight on the graph: ``gamma="clustering"``. They are found by
# k-means on ten components, with samples scaled to unit length. PCA does not accept
# missing pixels and gets the mean of the pixel instead.


def error(embedding, adjacency=None):
    runs = [
        cluster_embedding(embedding, 10, adjacency=adjacency, random_state=k)
        for k in range(3)
    ]
    return np.mean([clustering_error(labels, found) for found in runs])


filled_in = np.where(seen, images, np.nanmean(occluded, axis=0))
model = RPCAG(n_components=10, gamma="clustering", graph="knn").fit(occluded)
found = error(model.embedding_, model.adjacency_)
print(f"clustering error with PCA:   {error(PCA(10).fit_transform(filled_in)):.0%}")
print(f"clustering error with RPCAG: {found:.0%}")

# %%
# The first component is nearly the same for all digits. The next two separate some of
# them.

plots.embedding(model, labels, first=1)
