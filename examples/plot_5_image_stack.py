"""
A stack of images
=================

Separate the background of an image stack from moving objects. The view is a photograph
of scikit-learn. **This script adds** changing light, noise, and objects that move
through the view. Rows are frames, and a chain joins each frame to the frames before and
after it. For videos, use :func:`rpcag.video.separate`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image
from sklearn.metrics import f1_score, precision_score, recall_score

from rpcag import RPCAG

rng = np.random.default_rng(0)
view = load_sample_image("china.jpg").mean(axis=2)[::7, ::7] / 255
flower = load_sample_image("flower.jpg").mean(axis=2)[150:270:7, 250:400:7] / 255
height, width = view.shape
n_frames = 80
light = 1 + 0.25 * np.sin(np.arange(n_frames) / 12)
frames = light[:, None, None] * view
moving = np.zeros(frames.shape, dtype=bool)
h, w = flower.shape
for start, top, speed in ((-15, 30, 1.4), (20, 5, 1.0), (45, 42, 2.2)):
    for t in range(n_frames):
        left = int((t - start) * speed) - w
        columns = np.arange(max(left, 0), min(left + w, width))
        if columns.size:
            part = slice(top, top + h), slice(columns[0], columns[-1] + 1)
            frames[t][part] = flower[: height - top, columns - left]
            moving[t][part] = True
frames += 0.02 * rng.standard_normal(frames.shape)
X = frames.reshape(n_frames, -1)
print(f"{n_frames} frames of {height} x {width}, {moving.mean():.0%} is covered")

# %%
# The low-rank part is the view in its light, and the sparse part has the objects. They
# cover many pixels at once, so weights that predict hidden pixels would keep them in L.
# Pass ``lam="theory"`` instead; gamma is chosen by prediction.

model = RPCAG(lam="theory", graph="chain").fit(X)
print(f"gamma {model.gamma_:.2g}: the frames before and after are not needed here")
print(f"rank {model.rank_}, certified gap {model.gap_:.1e}, {model.n_iter_} iterations")

figure, axes = plt.subplots(3, 4, figsize=(9, 5), layout="constrained")
for column, t in zip(axes.T, (5, 30, 50, 70), strict=True):
    for ax, part, low in zip(
        column, (X, model.low_rank_, model.sparse_), (0, 0, -0.8), strict=True
    ):
        ax.imshow(
            part[t].reshape(height, width),
            cmap="RdBu_r" if low else "gray",
            vmin=low,
            vmax=0.8 if low else 1.2,
        )
        ax.set(xticks=[], yticks=[])
    column[0].set_title(f"frame {t}", fontsize=9)
for ax, name in zip(axes[:, 0], ("frame", "low-rank", "sparse"), strict=True):
    ax.set_ylabel(name)

# %%
# A threshold on the sparse part marks moving objects. Pixels that have the same gray
# level as the background behind them are missed.

found = np.abs(model.sparse_).reshape(frames.shape) > 0.1
for score in (precision_score, recall_score, f1_score):
    print(f"{score.__name__} {score(moving.ravel(), found.ravel()):.2f}")
background = np.abs(model.low_rank_.reshape(frames.shape) - light[:, None, None] * view)
print(f"mean error of the background {background.mean():.3f} (the noise has 0.016)")
