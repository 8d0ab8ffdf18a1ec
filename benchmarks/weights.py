"""Compare weights that predict hidden entries with fixed weights and with imputers.

    python benchmarks/weights.py     # resumes; writes weights.json, about half an hour

Tables of RPCAG_DATA and of scikit-learn, at most 600 rows, standardized. A fifth of the
entries is hidden, and none, 5 % or 10 % of the others are wrong: by 3 to 10 deviations,
or by 1.5 to 4, which no rule on single columns finds. Errors are root mean squares at
the hidden entries, relative to filling in the column mean.
"""

import json
import os
import warnings
from itertools import product
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer
from threadpoolctl import threadpool_limits

from rpcag import RPCA, RPCAG

FILE = Path(__file__).with_suffix(".json")
OWN = ("breast_cancer", "diabetes", "digits", "iris", "wine")
ERRORS = {"none": (0.0, 0, 0), "5 % large": (0.05, 3, 10), "10 % small": (0.1, 1.5, 4)}
ROWS, GAPS = 600, 0.2


def low_rank(model):
    return lambda X: model.fit(X).low_rank_


METHODS = {
    "RPCAG, predict": low_rank(RPCAG(lam="predict", gamma="predict")),
    "RPCA, predict": low_rank(RPCA(lam="predict")),
    "RPCA": low_rank(RPCA()),
    "RPCAG": low_rank(RPCAG()),
    "KNNImputer(10)": KNNImputer(n_neighbors=10).fit_transform,
    "IterativeImputer": IterativeImputer(random_state=0).fit_transform,
}


def tables() -> dict:
    """Name -> how to load it."""
    folder = Path(os.environ.get("RPCAG_DATA", "")) / "tables"
    found = {path.stem: path for path in sorted(folder.glob("*.npz"))}
    return found | {f"{name} (scikit-learn)": name for name in OWN}


def load(source) -> np.ndarray:
    if isinstance(source, Path):
        with np.load(source) as file:
            X = file["X"].astype(np.float64)
    else:
        X = getattr(datasets, f"load_{source}")().data
    if len(X) > ROWS:
        X = X[np.sort(np.random.default_rng(1).choice(len(X), ROWS, replace=False))]
    X = X[:, X.std(axis=0) > 1e-12 * np.abs(X).max()]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def spoil(Z: np.ndarray, share: float, least: float, most: float):
    rng = np.random.default_rng(2)
    hidden = rng.random(Z.shape) < GAPS
    wrong = rng.random(Z.shape) < share
    size = rng.choice([-1, 1], Z.shape) * rng.uniform(least, most, Z.shape)
    return np.where(hidden, np.nan, Z + wrong * size), hidden


def errors(source, kind: str) -> dict[str, float]:
    Z = load(source)
    X, hidden = spoil(Z, *ERRORS[kind])
    found = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for name, method in METHODS.items():
            filled = method(X)
            square = np.mean((filled - Z)[hidden] ** 2) / np.mean(Z[hidden] ** 2)
            found[name] = round(float(np.sqrt(square)), 4)
    return found


def main() -> None:
    done = json.loads(FILE.read_text()) if FILE.exists() else {}
    todo = [
        (name, source, kind)
        for kind, (name, source) in product(ERRORS, tables().items())
        if name not in done.get(kind, {})
    ]
    pool = Parallel(n_jobs=2, return_as="generator", batch_size=1)
    answers = pool(delayed(errors)(source, kind) for _, source, kind in todo)
    for (name, _, kind), found in zip(todo, answers, strict=True):
        done.setdefault(kind, {})[name] = found
        FILE.write_text(json.dumps(done, indent=1, sort_keys=True) + "\n")
        print(kind, name, found, flush=True)
    for kind in ERRORS:
        values = np.array([[row[m] for m in METHODS] for row in done[kind].values()])
        ranks = values.argsort(axis=1).argsort(axis=1) + 1
        print(f"\n{kind}: {len(values)} tables; mean error, mean rank, first places")
        for k, name in enumerate(METHODS):
            mean, rank = values[:, k].mean(), ranks[:, k].mean()
            print(f"  {name:18s} {mean:.3f} {rank:.1f} {(ranks[:, k] == 1).sum()}")


if __name__ == "__main__":
    main()
