"""CPU time of the choice of weights, printed as the table of docs/design_weights.md.

    python benchmarks/weights_time.py

For two kinds of tables, low rank plus noise and rows of eight kinds: the time of the
choice relative to a fit with the chosen weights and to a fit with a graph (with the
chosen gamma, or 0.05 if that is zero), and that of `RPCAG()` relative to
`IterativeImputer()`.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer

from problems import cpu_seconds
from rpcag import RPCAG

SHAPES = [(n, p) for n in (200, 600, 2000, 16_000, 64_000) for p in (20, 50)]


def low_rank(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    L = rng.standard_normal((n, 4)) @ rng.standard_normal((4, p))
    return L + 0.5 * rng.standard_normal((n, p))


def kinds(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    centers = 2 * rng.standard_normal((8, p))
    return centers[rng.integers(8, size=n)] + rng.standard_normal((n, p))


def spoiled(make, n: int, p: int) -> np.ndarray:
    """Standardized; 5 % of the cells wrong by 3 to 10 deviations, and 10 % missing."""
    rng = np.random.default_rng(0)
    X = make(rng, n, p)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    wrong = rng.random(X.shape) < 0.05
    X[wrong] += (rng.choice([-1, 1], X.shape) * rng.uniform(3, 10, X.shape))[wrong]
    X[rng.random(X.shape) < 0.1] = np.nan
    return X


def row(make, n: int, p: int) -> str:
    X, repeats = spoiled(make, n, p), 5 if n <= 2000 else 1
    whole, model = cpu_seconds(lambda: RPCAG().fit(X), repeats)
    lam, gamma = model.lam_, model.gamma_
    fit, _ = cpu_seconds(lambda: RPCAG(lam=lam, gamma=gamma).fit(X), repeats)
    graph, _ = cpu_seconds(lambda: RPCAG(lam=lam, gamma=gamma or 0.05).fit(X), repeats)
    other, _ = cpu_seconds(lambda: IterativeImputer().fit(X), min(repeats, 2))
    choice = max(whole - fit, 0.0)
    used = "yes" if gamma else "no"
    cells = choice / fit, choice / graph, whole / other
    numbers = " | ".join(f"{cell:.2f}" for cell in cells)
    return f"| {n} x {p} | {make.__name__} | {used} | {numbers} |"


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    cpu_seconds(lambda: RPCAG().fit(spoiled(kinds, 100, 20)), 1)  # imports
    print("| rows x columns | data | graph | choice / fit | with graph | / Iterative |")
    for shape in SHAPES:
        for make in (low_rank, kinds):
            print(row(make, *shape), flush=True)
