"""Tables and image sets with hidden entries and gross errors at known places."""

import os
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from sklearn import datasets

# Rows that are drawn from each set of RPCAG_DATA.
SETS = {
    "bci": 400,
    "usps": 400,
    "mnist_5k": 300,
    "yale_32x32": 165,
    "mfeat": 400,
    "coil20": 300,
    "orl_28x23": 300,
    "pie_pose27": 300,
}
SKLEARN = ("breast_cancer", "diabetes", "digits", "iris", "wine")
# Rows that are drawn from a table.
ROWS = 600
# Share of the entries that are wrong, and by how many deviations of their column. No
# rule on single columns finds the small errors.
ERRORS = {
    "none": (0.0, 0, 0),
    "5 % large": (0.05, 3, 10),
    "10 % large": (0.1, 3, 10),
    "10 % small": (0.1, 1.5, 4),
}


@dataclass(frozen=True)
class Block:
    """Unit of the columns, share of hidden entries, draw, and kinds of errors.

    Rows, gaps and errors are random, and differ between draws.
    """

    unit: str
    gaps: float
    draw: int = 0
    kinds: tuple[str, ...] = tuple(ERRORS)
    has_sets: bool = True

    @property
    def name(self) -> str:
        draw = f"draw {self.draw}, " if self.draw else ""
        return f"{self.unit}, {draw}{100 * self.gaps:.0f} % gaps"


# In order of importance.
BLOCKS = (
    Block("standardized", 0.2),
    Block("standardized", 0.2, draw=1),
    Block("standardized", 0.1),
    Block("raw", 0.2, kinds=("none", "5 % large")),
    Block("standardized", 0.2, draw=2, has_sets=False),
    Block("standardized", 0.1, draw=2, has_sets=False),
    Block("standardized", 0.2, draw=3, has_sets=False),
    Block("standardized", 0.1, draw=3, has_sets=False),
)


@dataclass(frozen=True)
class Case:
    """A table, how it is spoiled, and the unit of its columns."""

    table: str
    is_set: bool
    block: Block
    errors: str

    @property
    def unit(self) -> str:
        return self.block.unit

    @property
    def key(self) -> str:
        return f"{self.block.name}, {self.errors}: {self.table}"

    def make(self) -> "Spoiled":
        """Hide entries and add errors; the same ones whatever the unit."""
        draw = self.block.draw
        X = _load(self.table, self.is_set, draw)
        mean, deviation = X.mean(axis=0), X.std(axis=0)
        Z = (X - mean) / deviation
        share, least, most = ERRORS[self.errors]
        rng = _generator(2, draw)
        hidden = rng.random(Z.shape) < self.block.gaps
        wrong = rng.random(Z.shape) < share
        size = rng.choice([-1, 1], Z.shape) * rng.uniform(least, most, Z.shape)
        if self.unit == "standardized":
            mean, deviation = 0.0, 1.0
        data = mean + deviation * np.where(hidden, np.nan, Z + wrong * size)
        return Spoiled(data, hidden, Z, mean, deviation)


@dataclass(frozen=True)
class Spoiled:
    """Data with gaps and errors, and the standardized truth."""

    data: np.ndarray
    hidden: np.ndarray
    truth: np.ndarray
    mean: np.ndarray | float
    deviation: np.ndarray | float

    def error(self, filled: np.ndarray) -> float:
        """Root mean squared error at the hidden entries, relative to the column mean.

        In units of the columns' standard deviations, so that all columns count alike.
        """
        wrong = ((filled - self.mean) / self.deviation - self.truth)[self.hidden]
        return float(np.sqrt(np.mean(wrong**2) / np.mean(self.truth[self.hidden] ** 2)))


def cases() -> list[Case]:
    """All cases, the most important ones first."""
    folder = Path(os.environ["RPCAG_DATA"])
    tables = [path.stem for path in sorted((folder / "tables").glob("*.npz"))]
    tables += [f"{name} (scikit-learn)" for name in SKLEARN]
    names = [(name, False) for name in tables] + [(name, True) for name in SETS]
    return [
        Case(name, is_set, block, kind)
        for block in BLOCKS
        for kind, (name, is_set) in product(block.kinds, names)
        if block.has_sets or not is_set
    ]


def _generator(seed: int, draw: int) -> np.random.Generator:
    return np.random.default_rng((seed, draw) if draw else seed)


def _load(table: str, is_set: bool, draw: int) -> np.ndarray:
    """Some rows of a table, without constant columns, in the original units."""
    name, _, own = table.partition(" ")
    if own:
        options = {"scaled": False} if name == "diabetes" else {}
        X = getattr(datasets, f"load_{name}")(**options).data
    else:
        folder = Path(os.environ["RPCAG_DATA"])
        path = folder / f"{name}.npz" if is_set else folder / "tables" / f"{name}.npz"
        with np.load(path) as file:
            X = file["X"].astype(np.float64)
    rows = SETS[name] if is_set else ROWS
    if len(X) > rows:
        X = X[np.sort(_generator(1, draw).choice(len(X), rows, replace=False))]
    return X[:, X.std(axis=0) > 1e-12 * np.abs(X).max()]
