"""
Faces behind blocks
===================

Mark blocks with NaN if you know where they are; unmarked blocks are not removed. The
faces of the ORL database are for research only and not part of the package.
:func:`rpcag_study.datasets.load`, of the package ``rpcag-study``, finds them in the
folder ``RPCAG_DATA``. If this page was built without them, it has no pictures.
"""

import numpy as np

from rpcag import RPCAG, plots
from rpcag.metrics import recovery_error
from rpcag.models import RobustGraph
from rpcag_study.corruptions import occlude_blocks
from rpcag_study.datasets import list_datasets, load

here = any(data.name == "ORL-28x23" and data.is_present for data in list_datasets())
print("faces are here" if here else "no faces here: set RPCAG_DATA to their folder")

# %%
# There are ten images of each of thirty people, with a black block over a quarter of
# every image. The first model gets NaN at the blocks. The second gets black pixels.

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
# Unmarked blocks stay. The solver has not failed, as the certified gaps show: a quarter
# of the image is not a sparse error. The graph does not help either, because images
# with blocks at the same place look similar. If you can detect a corruption, mark it
# with NaN.

if here:
    same = faces.y[:, None] == faces.y
    print(f"{'':16} error   gap       weight within people")
    print(f"{'occluded':16} {recovery_error(occluded, faces.X):.3f}")
    for name, model, X in (
        ("blocks known", known, np.where(seen, occluded, np.nan)),
        ("blocks unknown", unknown, occluded),
    ):
        error = recovery_error(model.low_rank_, faces.X)
        graph = RobustGraph()(X)
        within = (graph * same).sum() / graph.sum()
        print(f"{name:16} {error:.3f}   {model.gap_:.1e}   {within:.0%}")
