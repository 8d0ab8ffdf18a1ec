"""
Faces behind blocks
===================

Faces of the ORL database, under research terms and therefore not part of the package.
:func:`rpcag_study.datasets.load`, of the package ``rpcag-study``, finds them in the
folder that the environment variable ``RPCAG_DATA`` names. Where this page was built
without them it has no pictures.
"""

import numpy as np

from rpcag import RPCAG, plots
from rpcag.corruption import occlude_blocks
from rpcag.metrics import recovery_error
from rpcag.models import RobustGraph
from rpcag_study.datasets import list_datasets, load

here = any(data.name == "ORL-28x23" and data.is_present for data in list_datasets())
print("faces are here" if here else "no faces here: set RPCAG_DATA to their folder")

# %%
# Ten images each of thirty people, a black block over a quarter of every image. First
# the model is told where the blocks are: NaN. Then it is not, and black is a grey
# level.

if here:
    faces = load("ORL-28x23")
    occluded, seen = occlude_blocks(faces.X, faces.image_shape, 0.25, random_state=0)
    known = RPCAG(gamma="clustering").fit(np.where(seen, occluded, np.nan))
    unknown = RPCAG(gamma="clustering").fit(occluded)
    plots.decomposition(
        {
            "original": faces.X,
            "occluded": occluded,
            "known": known.low_rank_,
            "unknown": unknown.low_rank_,
        },
        faces.image_shape,
        samples=range(0, 300, 30),
    )

# %%
# Unknown blocks stay, and this is no failure of the solver, as the certificates say. A
# quarter of the image is not a sparse error. A graph does not help: the robust graph is
# built from the low-rank part of Robust PCA, and that still has such blocks. Two blocks
# at the same place make images alike, so the graph joins blocks and not people. If you
# can detect a corruption, mark it with NaN.

if here:
    same = faces.y[:, None] == faces.y
    print(f"{'':16} error   gap       weight within people")
    print(f"{'as they come':16} {recovery_error(occluded, faces.X):.3f}")
    for name, model, X in (
        ("blocks known", known, np.where(seen, occluded, np.nan)),
        ("blocks unknown", unknown, occluded),
    ):
        error = recovery_error(model.low_rank_, faces.X)
        graph = RobustGraph()(X)
        within = (graph * same).sum() / graph.sum()
        print(f"{name:16} {error:.3f}   {model.gap_:.1e}   {within:.0%}")
