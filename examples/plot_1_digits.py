"""
Digits behind blocks
====================

The job of the paper, on the digits that come with scikit-learn: a quarter of every
image is covered at a random place, and digits are to be told apart all the same. Where
the blocks are is known, so covered pixels are missing: NaN.
"""

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from rpcag import RPCAG, plots
from rpcag.corruption import occlude_blocks
from rpcag.metrics import clustering_error

images, labels = load_digits(return_X_y=True)
images, labels = images[:600], labels[:600]
occluded, seen = occlude_blocks(images, (8, 8), 0.25, value=np.nan, random_state=0)

# %%
# Little is wrong with the pixels that are left, so a weight of the sparse part twice
# the automatic one suits: less of the data is put aside as an error. And neighbours are
# best sought in the pixels as they are; the default graph is for errors nobody marked.

weight = 2 / np.sqrt(seen.mean() * len(images))
model = RPCAG(n_components=10, lam=weight, graph="knn").fit(occluded)
print(f"rank {model.rank_}, certified within {100 * model.gap_:.2f} % of the optimum")

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
# The low-rank part fills the blocks in. It is no photograph of what was there: an entry
# is guessed from the images that look alike where they are seen.

filled = np.abs(model.low_rank_ - images)[~seen].mean()
mean = np.abs(np.nanmean(occluded, axis=0) - images)[~seen].mean()
print(f"mean error behind the blocks, in grey levels of 16: {filled:.2f}")
print(f"with the mean of every pixel: {mean:.2f}")

# %%
# Clusters are found in the principal components, scaled to unit size. PCA knows no
# missing pixels and gets the mean of the pixel instead.


def error(embedding):
    unit = embedding / np.linalg.norm(embedding, axis=0)
    runs = [KMeans(10, n_init=5, random_state=k).fit_predict(unit) for k in range(3)]
    return np.mean([clustering_error(labels, found) for found in runs])


filled_in = np.where(seen, images, np.nanmean(occluded, axis=0))
print(f"clustering error with PCA:   {error(PCA(10).fit_transform(filled_in)):.0%}")
print(f"clustering error with RPCAG: {error(model.embedding_):.0%}")

# %%
# The first component is nearly the same for all digits; the next two tell some apart.

plots.embedding(model, labels, first=1)
