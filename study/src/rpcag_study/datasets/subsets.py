"""Which samples of a set make the paper's experiments."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Subset:
    """How the samples of an experiment are chosen; None takes all of them.

    Images of a class come in an order that means something: the lamps of PIE, the poses
    of COIL20. Seed 0 may spread its choice evenly over them instead of drawing it.
    """

    classes: tuple[int, ...] | None = None  # of seed 0; other seeds draw as many
    per_class: int | None = None
    evenly: bool = False


# The paper gives numbers only. Subjects of ORL: those in the authors' published code.
PAPER = {
    "PIE": Subset(classes=tuple(range(30)), per_class=10, evenly=True),
    "ORL": Subset(classes=(*range(9), 12, *range(20, 40)), evenly=True),
    "YALE": Subset(evenly=True),
    "COIL20": Subset(per_class=10, evenly=True),
    "MNIST": Subset(per_class=30),
    "USPS": Subset(per_class=30),
    "MFeat": Subset(per_class=40),
    "BCI": Subset(),
}


def choose_rows(
    y: np.ndarray, subset: Subset, *, seed: int = 0, without: Sequence[int] = ()
) -> np.ndarray:
    """Rows of the subset, sorted by class and inside a class as they were.

    The samples of the seeds in `without` are left out before the choice.
    """
    if len(without):
        used = [choose_rows(y, subset, seed=other) for other in without]
        left = np.setdiff1d(np.arange(len(y)), np.concatenate(used))
        _check_enough(y[left], y, subset, without)
        return left[choose_rows(y[left], subset, seed=seed)]
    rng = np.random.default_rng(seed)
    classes = present = np.unique(y)
    if subset.classes is not None:
        count = len(subset.classes)
        if count > len(present):
            raise ValueError(
                f"{count} classes are wanted but only {len(present)} "
                f"are there; subset='all' takes these"
            )
        if seed == 0:
            classes = present[list(subset.classes)]
        else:
            classes = np.sort(rng.choice(present, count, replace=False))
    return np.concatenate(
        [_members(np.flatnonzero(y == label), subset, seed, rng) for label in classes]
    )


def _check_enough(left, y, subset, without) -> None:
    """Whether the samples that are left make the subset."""
    wanted = subset.per_class or int(np.unique(y, return_counts=True)[1].min())
    whole = (np.unique(left, return_counts=True)[1] >= wanted).sum()
    classes = len(np.unique(y) if subset.classes is None else subset.classes)
    if whole < classes:
        raise ValueError(
            f"without the samples of seeds {', '.join(map(str, without))} {whole} "
            f"classes have {wanted} left, and {classes} are wanted; leave out fewer"
        )


def _members(rows, subset, seed, rng):
    wanted, there = subset.per_class, len(rows)
    if wanted is None or wanted == there:
        return rows
    if not 0 < wanted < there:
        raise ValueError(
            f"per_class must lie between 1 and {there}, the samples of a class, "
            f"got {wanted!r}"
        )
    if subset.evenly and seed == 0:
        return rows[np.arange(wanted) * there // wanted]
    return np.sort(rng.choice(rows, wanted, replace=False))
