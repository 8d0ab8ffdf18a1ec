"""Random problems for every model, each from one number."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

import rpcag
from rpcag.graphs import CompleteGraph, KNNGraph, KNNHypergraph

MODELS = [
    "RPCA",
    "RPCAG",
    "FRPCAG",
    "RPCAGCV",
    "GLPCA",
    "RGLPCA",
    "MMF",
    "MMMF",
    "MHMF",
    "GNMF",
    "NCuts",
    "LaplacianEigenmaps",
]
CERTIFIED = ("RPCA", "RPCAG", "RPCAGCV", "FRPCAG")
# Models that take NaN for a missing entry.
MISSING = (*CERTIFIED, "NCuts", "LaplacianEigenmaps")
# Rules for weights that are not given.
RULES: dict[str, dict[str, Any]] = {
    "RPCA": {"lam": "theory"},
    "RPCAG": {"lam": "theory", "gamma": "clustering"},
    "FRPCAG": {"gamma": "unit", "gamma_features": "unit"},
}


@dataclass(frozen=True)
class Problem:
    """A model with its options, and the data to fit it to."""

    seed: int
    model: str
    X: Any
    options: dict[str, Any]
    traits: list[str] = field(default_factory=list)  # how X was made
    warm: bool = False  # fit once with another lam first
    threads: bool = False  # fit in four threads too
    pickles: bool = False  # pickle and clone it too

    def estimator(self):
        return getattr(rpcag, self.model)(**self.options)

    def __str__(self):
        options = ", ".join(f"{k}={_short(v)}" for k, v in self.options.items())
        shape = "x".join(map(str, np.shape(self.X)))
        kind = getattr(self.X, "dtype", "list")
        traits = ", ".join(self.traits)
        return f"{self.model}({options}) on {shape} {kind}: {traits}"


def random_problem(seed: int) -> Problem:
    """Problem number `seed`: the models take turns, everything else is random."""
    rng = np.random.default_rng([seed, 2015])
    name = MODELS[seed % len(MODELS)]
    X, traits = _data(rng, name)
    options = _options(rng, name, np.array(X, float))
    if np.random.default_rng([seed, 2016]).random() < 0.5:  # else chosen from the data
        options = RULES.get(name, {}) | options
    return Problem(
        seed,
        name,
        X,
        options,
        traits,
        warm=bool(options.get("warm_start")),
        threads=rng.random() < 0.1,
        pickles=rng.random() < 0.2,
    )


def _decades(rng, low, high):
    return float(10.0 ** rng.uniform(low, high))


def _choose(rng, *shares):
    """One of the names in pairs of name and share."""
    names, weights = shares[::2], np.array(shares[1::2], float)
    return names[rng.choice(len(names), p=weights / weights.sum())]


# ---- data ----


def _shape(rng, name):
    kind = _choose(rng, "tiny", 0.15, "small", 0.5, "medium", 0.3, "factored", 0.05)
    if name == "RPCAGCV" and kind != "tiny":
        kind = "small"
    low, high = {
        "tiny": (1, 4),
        "small": (3, 25),
        "medium": (20, 60),
        "factored": (100, 150),
    }[kind]
    n, p = rng.integers(low, high + 1, size=2)
    if kind in ("small", "medium") and rng.random() < 0.1:
        n, p = (1, p) if rng.random() < 0.5 else (n, 1)
    return int(n), int(p)


def _base(rng, n, p):
    """Entries of a size of about one."""
    kind = _choose(
        rng, "low rank", 4, "clusters", 3, "noise", 2, "exact", 1, "heavy", 1,
        "sparse", 1, "counts", 1, "binary", 0.5, "constant", 0.5, "zero", 0.3,
        "uneven", 1,
    )  # fmt: skip
    normal = rng.standard_normal
    rank = int(rng.integers(1, 4))
    low_rank = normal((n, rank)) @ normal((rank, p))
    if kind == "low rank":
        return low_rank + 0.1 * normal((n, p)), kind
    if kind == "clusters":
        centers = normal((rank + 1, p))
        return centers[rng.integers(rank + 1, size=n)] + 0.1 * normal((n, p)), kind
    if kind == "exact":
        return low_rank, kind
    if kind == "heavy":
        return np.clip(rng.standard_cauchy((n, p)), -1e6, 1e6), kind
    if kind == "sparse":
        return normal((n, p)) * (rng.random((n, p)) < 0.1), kind
    if kind == "counts":
        return rng.poisson(3, (n, p)).astype(float), kind
    if kind == "binary":
        return (rng.random((n, p)) < 0.5).astype(float), kind
    if kind == "constant":
        return np.full((n, p), normal()), kind
    if kind == "zero":
        return np.zeros((n, p)), kind
    if kind == "uneven":  # features in units far apart
        return normal((n, p)) * 10.0 ** rng.uniform(-6, 6, p), kind
    return normal((n, p)), kind


def _data(rng, name):
    n, p = _shape(rng, name)
    X, kind = _base(rng, n, p)
    traits = [kind]

    def happens(share, trait):
        if rng.random() >= share:
            return False
        traits.append(trait)
        return True

    if happens(0.2, "outliers"):
        wrong = rng.random(X.shape) < _decades(rng, -2, -0.5)
        X[wrong] += _decades(rng, 1, 6) * rng.standard_normal(int(wrong.sum()))
    if happens(0.15, "equal rows"):
        X[rng.integers(n, size=n // 2 + 1)] = X[rng.integers(n)]
    if happens(0.1, "equal columns"):
        X[:, rng.integers(p, size=p // 2 + 1)] = X[:, [rng.integers(p)]]
    if happens(0.1, "zero rows"):
        X[rng.random(n) < 0.3] = 0
    if happens(0.1, "zero columns"):
        X[:, rng.random(p) < 0.3] = 0
    if happens(0.1, "constant columns"):
        X[:, rng.random(p) < 0.3] = rng.standard_normal()
    if happens(0.2, "offset"):
        offset = _decades(rng, 0, 8) * (np.abs(X).max() or 1.0)
        X += offset * (rng.standard_normal(p) if rng.random() < 0.5 else 1.0)
    if name == "GNMF" and rng.random() < 0.98:
        X = np.abs(X)
    single = happens(0.3, "float32")
    whole = not single and happens(0.08, "integers")
    if whole:
        X = np.round(np.clip(X, -1e6, 1e6) * 3)
    elif happens(0.35, "scaled"):
        X *= _decades(rng, -30, 30)
    if single:  # within its range
        largest = np.abs(X).max()
        X = X * (1e36 / largest) if largest > 1e36 else X
        X = X.astype(np.float32)
    if not whole and rng.random() < (0.3 if name in MISSING else 0.01):
        traits.append("missing")
        X[rng.random(X.shape) < rng.choice([0.05, 0.3, 0.6, 0.9])] = np.nan
        if happens(0.2, "missing rows"):
            X[rng.integers(n)] = np.nan
        if happens(0.2, "missing columns"):
            X[:, rng.integers(p)] = np.nan
    if whole:
        X = X.astype(_choose(rng, np.int64, 1, np.int32, 1))
    return _layout(rng, X, traits), traits


def _layout(rng, X, traits):
    """The same numbers, laid out in memory in another way."""
    kind = _choose(
        rng, "C", 6, "Fortran", 1, "read-only", 1, "strided", 1, "reversed", 0.5,
        "big-endian", 0.3, "list", 0.3,
    )  # fmt: skip
    if kind != "C":
        traits.append(kind)
    if kind == "Fortran":
        return np.asfortranarray(X)
    if kind == "read-only":
        X.flags.writeable = False
    if kind == "strided":
        wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
        wide[::2, ::3] = X
        return wide[::2, ::3]
    if kind == "reversed":
        return np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1]
    if kind == "big-endian":
        return X.astype(X.dtype.newbyteorder(">"))
    if kind == "list" and X.dtype == np.float64:
        return X.tolist()
    return X


# ---- options ----


def _options(rng, name, X):
    n, p = X.shape
    options: dict[str, Any] = {}
    certified = name in CERTIFIED

    def sometimes(share, key, value):
        if rng.random() < share:
            options[key] = value() if callable(value) else value

    most = max(min(n, p), 1)
    if name in ("NCuts", "LaplacianEigenmaps"):
        most = max(n - 1, 1)
    options["n_components"] = int(rng.integers(1, min(most, 10) + 1))
    if certified and rng.random() < 0.7:
        del options["n_components"]
    elif rng.random() < 0.02:
        options["n_components"] = most + 3
    if name == "MMMF":
        sometimes(0.7, "graphs", lambda: _graphs(rng, n))
    elif name == "MHMF":
        sometimes(0.7, "graphs", lambda: _hypergraphs(rng, n))
    elif name != "RPCA":
        sometimes(0.7, "graph", lambda: _graph(rng, n))
    if name == "FRPCAG":
        sometimes(0.5, "feature_graph", lambda: _graph(rng, p))
    if name in ("NCuts", "LaplacianEigenmaps"):
        sometimes(0.4, "drop_first", lambda: bool(rng.random() < 0.5))
        return options
    if name not in ("RPCA", "MHMF"):
        sometimes(0.4, "laplacian", "combinatorial")
    _weights(rng, name, X, sometimes)
    if name in ("GLPCA", "MMF"):
        return options
    sometimes(0.3, "tol", lambda: _decades(rng, -8, -1))
    sometimes(0.05, "tol", 0)
    sometimes(0.2, "max_iter", lambda: int(rng.integers(1, 6)))
    sometimes(0.2, "max_iter", lambda: int(rng.integers(10, 200)))
    if name in ("RPCA", "RPCAG"):
        sometimes(0.15, "warm_start", True)
    if name == "RPCAGCV":
        options["n_splits"] = int(rng.integers(1, 3))
        options["holdout"] = float(rng.uniform(0.05, 0.4))
        options.setdefault("max_iter", 200)
    return options


def _weights(rng, name, X, sometimes):
    """lam, gamma and beta: around what fits the data, or anything."""
    n, p = X.shape
    size = float(np.nanmedian(np.abs(X))) if not np.isnan(X).all() else 1.0
    size = size or 1.0

    def gamma():
        kind = _choose(rng, "zero", 1, "near", 4, "far", 2, "any unit", 1)
        if kind == "zero":
            return 0.0
        if kind == "any unit":
            return _decades(rng, -6, 6)
        spread = 2 if kind == "near" else 6
        unit = 4 / max(n, p) ** 0.5 / size
        if name == "GLPCA":
            unit = size**2 * p
        elif name == "RGLPCA":
            unit = size
        elif name in ("MMF", "MMMF", "MHMF", "GNMF"):
            unit = 1.0
        return unit * _decades(rng, -spread, spread)

    def lam():
        return _decades(rng, -3, 3) / max(n, p) ** 0.5

    if name in ("RPCA", "RPCAG"):
        sometimes(0.4, "lam", lam)
    if name == "RPCAGCV":
        sometimes(0.3, "lams", lambda: [lam(), lam()])
        sometimes(0.5, "gammas", lambda: [0.0, gamma(), gamma()])
    elif name == "FRPCAG":
        sometimes(0.5, "gamma", gamma)
        sometimes(0.5, "gamma_features", gamma)
    elif name in ("GLPCA", "RGLPCA"):
        if rng.random() < 0.4:
            sometimes(1.0, "gamma", gamma)
        else:
            sometimes(0.6, "beta", lambda: float(rng.choice([0, 0.1, 0.5, 0.9, 0.999])))
        sometimes(0.2, "drop_constant", True)
    elif name != "RPCA":
        sometimes(0.6, "gamma", gamma)
    if name in ("MMMF", "MHMF"):
        unit = size**2 * n * p
        sometimes(
            0.4,
            "weight_penalty",
            lambda: rng.choice([0.0, unit * _decades(rng, -6, 3)]),
        )


def _graph(rng, n):
    kind = _choose(rng, "name", 3, "builder", 3, "adjacency", 4)
    if kind == "name":
        return _choose(rng, "knn", 1, "complete", 1, "robust", 1)
    if kind == "builder":
        if rng.random() < 0.3:
            return CompleteGraph(sigma2=_decades(rng, -3, 3))
        return KNNGraph(
            int(rng.integers(1, 15)),
            weights=_choose(rng, "heat", 2, "binary", 1, "correlation", 1),
        )
    return _adjacency(rng, n)


def _adjacency(rng, n):
    """Disconnected, with isolated vertices, weights over twelve decades, or empty."""
    A = np.triu(rng.random((n, n)) < rng.choice([0.02, 0.1, 0.4, 1.0]), 1).astype(float)
    kind = _choose(rng, "random", 3, "chain", 1, "star", 1, "blocks", 2, "empty", 0.5)
    if kind == "chain":
        A = np.eye(n, k=1)
    elif kind == "star":
        A = np.zeros((n, n))
        A[0, 1:] = 1
    elif kind == "blocks":
        block = rng.integers(3, size=n)
        A *= block[:, None] == block
    elif kind == "empty":
        A[:] = 0
    weights = _choose(rng, "ones", 1, "uniform", 2, "decades", 2)
    if weights == "uniform":
        A *= rng.random((n, n))
    elif weights == "decades":
        A *= 10.0 ** rng.uniform(-6, 6, (n, n))
    if rng.random() < 0.3:
        alone = rng.random(n) < 0.3
        A[alone] = 0
        A[:, alone] = 0
    if rng.random() < 0.1:
        A *= _decades(rng, -30, 30)
    A = A + A.T
    return sparse.csr_array(A) if rng.random() < 0.5 else A


def _graphs(rng, n):
    return [_graph(rng, n) for _ in range(rng.integers(1, 4))]


def _hypergraphs(rng, n):
    graphs: list[Any] = []
    for _ in range(rng.integers(1, 4)):
        if rng.random() < 0.6:
            graphs.append(KNNHypergraph(int(rng.integers(1, 15))))
            continue
        H = (rng.random((n, rng.integers(1, n + 3))) < 0.3).astype(float)
        if rng.random() < 0.3:
            H *= 10.0 ** rng.uniform(-3, 3, H.shape)
        graphs.append(sparse.csr_array(H) if rng.random() < 0.5 else H)
    return graphs


def _short(value):
    if isinstance(value, list):
        return "[" + ", ".join(_short(part) for part in value) + "]"
    if sparse.issparse(value) or isinstance(value, np.ndarray):
        kind = "sparse" if sparse.issparse(value) else "dense"
        return f"<{kind} {value.shape[0]}x{value.shape[1]}>"
    return f"{value:.3g}" if isinstance(value, float) else repr(value)
