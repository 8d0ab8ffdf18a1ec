"""Small decompositions to look at."""

import numpy as np
from sklearn.datasets import load_digits

from rpcag import RPCAG
from rpcag.files.decomposition import Decomposition


def of(X, model, **given) -> Decomposition:
    """A fit of X with all that belongs to it."""
    n, p = X.shape
    model.fit(X)
    missing = np.isnan(X)
    names = ("n_iter", "objective", "lower_bound", "gap")
    history = np.column_stack([model.history_[name] for name in names]).tolist()
    facts = {
        "model": type(model).__name__,
        "input": {"file": "data.npy", "sha256": "0" * 64, "shape": [n, p]},
        "parameters": {"lam": "theory", "gamma": "clustering", "tol": model.tol},
        "resolved": {"lam": model.lam_, "gamma": getattr(model, "gamma_", 0.0)},
        "objective": model.objective_,
        "lower_bound": model.lower_bound_,
        "gap": model.gap_,
        "rank": model.rank_,
        "n_iter": model.n_iter_,
        "status": model.status_,
        "seconds": 0.1,
        "versions": {"rpcag": "0", "numpy": np.__version__},
        "history": history,
    }
    values = {
        "low_rank": model.low_rank_,
        "sparse": model.sparse_,
        "missing": missing if missing.any() else None,
        "embedding": model.embedding_,
        "components": model.components_,
        "singular_values": model.singular_values_,
        "graph": getattr(model, "adjacency_", None),
        "samples": [f"sample {i + 1}" for i in range(n)],
        "features": [f"feature {j + 1}" for j in range(p)],
        "labels": None,
        "image_shape": None,
        "facts": facts,
    }
    facts |= given.pop("facts", {})
    return Decomposition(**values | given)


def images(n: int = 40, **given) -> Decomposition:
    """Digits behind blocks, with lines that are missing."""
    X, y = load_digits(return_X_y=True)
    X = X[:n]
    for i, image in enumerate(X.reshape(n, 8, 8)):
        image[i % 4 : i % 4 + 4, i % 5 : i % 5 + 3] = 0
    X[::3, :8] = np.nan
    given = {"labels": [str(label) for label in y[:n]], "image_shape": (8, 8)} | given
    return of(X, RPCAG(gamma="clustering"), **given)


def color_images(n: int = 20) -> Decomposition:
    """The same with three channels: red, half as bright in green, no blue."""
    X = load_digits().data[:n]
    X = np.stack([X, X / 2, 0 * X], axis=2).reshape(n, -1)
    X[4, :3] = -30.0
    return of(X, RPCAG(n_components=1, gamma="clustering"), image_shape=(8, 8, 3))


def table(n: int = 30, p: int = 6, **given) -> Decomposition:
    """A table of rank two with gaps and outliers, and units far apart."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, p))
    X[3, 2] = 40.0
    X[5, 1] = np.nan
    return of(X, RPCAG(n_components=2, gamma="clustering"), **given)
