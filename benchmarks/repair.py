"""Measure gaps, wrong cells, intervals and odd rows of repaired tables.

    python benchmarks/repair.py            # all; results in repair.json
    python benchmarks/repair.py sensors    # or cells, rows, large, downstream

sensors: made-up sensor tables with known truth (rpcag.datasets.sensors).
cells: tables of RPCAG_DATA and scikit-learn with 10 % gaps and planted errors of 2 to
10 deviations: false discovery rate, recall and coverage of 90 % intervals.
rows: labeled rows of the tables of RPCAG_DATA, against IsolationForest.
large: time of 100 000 x 50 cells against IterativeImputer, and memory.
downstream: accuracy of a linear and a boosted classifier of the labeled tables, 20 % of
whose cells are missing and 5 % wrong, relative to that on complete data.
"""

import json
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from spoiled_tables import SKLEARN, _load
from threadpoolctl import threadpool_limits

from rpcag.atomic import write_text
from rpcag.datasets.sensors import make_sensors
from rpcag.tables import OutlierDetector, RobustImputer, repair_matrix

FILE = Path(__file__).with_suffix(".json")
# Rank and noise of each kind; "harder" ones have more of both.
KINDS = {
    "plain": ("plain", {}),
    "seasons": ("seasons", {"rank": 8, "noise": 0.1}),
    "drift": ("drift", {"rank": 3, "noise": 0.05}),
    "stuck": ("stuck", {}),
    "blocks": ("blocks", {"rank": 4, "noise": 0.1}),
    "harder seasons": ("seasons", {"rank": 8, "noise": 0.2}),
    "harder blocks": ("blocks", {"rank": 10, "noise": 0.3}),
}
# Errors that are smaller, in deviations, are not told from noise: values at which a
# sensor is stuck are often close to the truth.
VISIBLE = 1.4
SIZES = {"large": (6, 20), "small": (1.5, 5)}
DRAWS = 1
Z5 = 5.0  # robust deviations of the rule on single columns


def sensors() -> dict:
    """Errors in deviations of the signal; precision and recall of spikes."""
    found = {}
    for title, (kind, options) in KINDS.items():
        for name, size in SIZES.items():
            s = make_sensors(kind=kind, size=size, **options)
            repaired = repair_matrix(s.X, times=np.arange(len(s.X), dtype=float))
            unit = np.nanstd(s.signal, axis=0)
            live = unit > 0
            wrong = (repaired.values - s.signal) / np.where(live, unit, 1.0)
            gaps = s.is_gap & live
            spikes = s.is_spike & (np.abs(s.X - s.clean) > VISIBLE * unit)
            hit = repaired.replaced & s.is_spike
            found[f"{title}, {name} spikes"] = {
                "gap error": _rms(wrong[gaps]),
                "spike error": _rms(wrong[spikes]),
                "precision": _ratio(hit, repaired.replaced),
                "recall": _ratio(hit & spikes, spikes),
                "coverage": _inside(repaired, s.clean, gaps),
            }
        s = make_sensors(kind=kind, spikes=0.0, **options)
        repaired = repair_matrix(s.X, times=np.arange(len(s.X), dtype=float))
        found[f"{title}, no spikes"] = {
            "replaced": float((repaired.replaced & ~s.is_spike).mean())
        }
    return found


def cells() -> dict:
    """Means over DRAWS draws of gaps and errors.

    Beside ours, cells beyond five robust deviations of their column, and as many cells
    as ours that differ most from IterativeImputer's predictions of them.
    """
    found = {}
    for table in _tables():
        X = _load(table, False, 0)
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        for share in (0.0, 0.05, 0.1):
            draws = [_cells(X, share, draw) for draw in range(DRAWS)]
            names = draws[0]
            found[f"{100 * share:.0f} %: {table}"] = {
                name: float(np.mean([draw[name] for draw in draws])) for name in names
            }
    return found


def _cells(X: np.ndarray, share: float, draw: int) -> dict[str, float]:
    rng = np.random.default_rng((11, round(100 * share), draw))
    gaps = rng.random(X.shape) < 0.1
    wrong = (rng.random(X.shape) < share) & ~gaps
    size = rng.choice([-1, 1], X.shape) * rng.uniform(2, 10, X.shape)
    Y = np.where(gaps, np.nan, X + wrong * size)
    imputer = RobustImputer()
    filled = imputer.fit_transform(Y)
    flagged = imputer.outliers_
    lower, upper = imputer.predict_interval()
    inside = (lower <= X) & (upper >= X)
    z = np.abs(Y - np.nanmedian(Y, axis=0))
    z /= np.maximum(1.4826 * np.nanmedian(z, axis=0), 1e-12)
    normal = 1.645 * 2 * imputer.prediction_error_
    widths = np.where(gaps, upper - lower, np.nan) / normal
    by_iterative = _largest(_iterative_residuals(Y), int(flagged.sum()))
    return {
        "flagged": float(flagged.mean()),
        "false": 1 - _ratio(flagged & wrong, flagged) if flagged.any() else 0.0,
        "recall": _ratio(flagged & wrong, wrong),
        "false z5": 1 - _ratio((z > Z5) & wrong, z > Z5),
        "recall z5": _ratio((z > Z5) & wrong, wrong),
        "recall iterative": _ratio(by_iterative & wrong, wrong),
        "coverage": float(inside[gaps].mean()),
        "coverage error": float(np.sqrt(0.09 / gaps.sum() / DRAWS)),
        "width": float(np.nanmean(widths)),
        "error": _rms((filled - X)[gaps]) / _rms(X[gaps]),
    }


def _iterative_residuals(Y: np.ndarray) -> np.ndarray:
    """Of cells that are hidden, a quarter at a time, in units of their column's."""
    folds = np.random.default_rng(5).integers(4, size=Y.shape)
    nearest = 20 if Y.shape[1] > 40 else None
    predicted = np.full(Y.shape, np.nan)
    for fold in range(4):
        hidden = (folds == fold) & ~np.isnan(Y)
        imputer = IterativeImputer(
            max_iter=3, n_nearest_features=nearest, random_state=0
        )
        filled = imputer.fit_transform(np.where(hidden, np.nan, Y))
        predicted[hidden] = filled[hidden]
    residuals = np.abs(Y - predicted)
    return residuals / np.maximum(np.nanquantile(residuals, 0.8, axis=0), 1e-12)


def _largest(values: np.ndarray, n: int) -> np.ndarray:
    order = np.argsort(np.nan_to_num(values, nan=-1.0), axis=None)
    found = np.zeros(values.size, bool)
    found[order[values.size - n :]] = True
    return found.reshape(values.shape)


def downstream() -> dict:
    """Balanced accuracy on complete data, and after imputation; means of five folds."""
    models = {
        "linear": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "boosted": HistGradientBoostingClassifier(random_state=0),
    }
    imputers = {
        "RobustImputer": RobustImputer(),
        "repair=True": RobustImputer(repair=True),
        "Iterative": IterativeImputer(random_state=0),
        "KNN": KNNImputer(n_neighbors=10),
        "median": SimpleImputer(strategy="median"),
    }
    found = {}
    for table, (X, y) in _labeled().items():
        rng = np.random.default_rng(12)
        gaps = rng.random(X.shape) < 0.2
        wrong = (rng.random(X.shape) < 0.05) & ~gaps
        size = rng.choice([-1, 1], X.shape) * rng.uniform(3, 10, X.shape)
        Y = np.where(gaps, np.nan, X + wrong * size * X.std(axis=0))
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        options = {"cv": folds, "scoring": "balanced_accuracy"}
        for kind, model in models.items():
            complete = cross_val_score(model, X, y, **options).mean()
            row = {"complete": float(complete)}
            for name, imputer in imputers.items():
                chain = make_pipeline(imputer, model)
                row[name] = float(cross_val_score(chain, Y, y, **options).mean())
            found[f"{kind}: {table}"] = row
    return found


def _labeled() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    found = {}
    for name in ("breast_cancer", "digits", "iris", "wine"):
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        rows = np.random.default_rng(3).permutation(len(X))[:600]
        X = X[rows]
        found[name] = X[:, X.std(axis=0) > 0], y[rows]
    return found


def rows() -> dict:
    found = {}
    for path in sorted((Path(os.environ["RPCAG_DATA"]) / "tables").glob("*.npz")):
        with np.load(path) as file:
            X, y = file["X"].astype(float), file["is_outlier"]
        forest = IsolationForest(random_state=0).fit(X)
        detector = OutlierDetector().fit(X)
        found[path.stem] = {
            "ours": float(roc_auc_score(y, -detector.score_samples(X))),
            "IsolationForest": float(roc_auc_score(y, -forest.score_samples(X))),
        }
    return found


def large() -> dict:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 8)) @ rng.normal(size=(8, 50))
    X += rng.normal(size=X.shape)
    X[rng.random(X.shape) < 0.01] += 30
    X[rng.random(X.shape) < 0.07] = np.nan
    # Pages that are resident now; the largest number so far would hide some of ours.
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    before = pages * resource.getpagesize()
    start = time.process_time()
    RobustImputer(repair=True).fit_transform(X)
    ours = time.process_time() - start
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    IterativeImputer(max_iter=10, random_state=0).fit_transform(X)
    theirs = time.process_time() - start
    return {"time ratio": ours / theirs, "memory": (1024 * after - before) / X.nbytes}


def _tables() -> list[str]:
    folder = Path(os.environ["RPCAG_DATA"]) / "tables"
    own = [path.stem for path in sorted(folder.glob("*.npz"))]
    return own + [f"{name} (scikit-learn)" for name in SKLEARN]


def _inside(repaired, truth, gaps) -> float:
    inside = (repaired.lower <= truth) & (repaired.upper >= truth)
    return float(inside[gaps].mean())


def _ratio(part: np.ndarray, whole: np.ndarray) -> float:
    return float(part.sum() / max(whole.sum(), 1))


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2))) if values.size else 0.0


def main() -> None:
    chosen = sys.argv[1:] or ["sensors", "cells", "rows", "large", "downstream"]
    store = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name in chosen:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = globals()[name]()
        store[name] = {
            key: round(value, 4)
            if isinstance(value, float)
            else {k: round(v, 4) for k, v in value.items()}
            for key, value in found.items()
        }
        write_text(FILE, json.dumps(store, indent=1) + "\n")
        for key, value in store[name].items():
            print(key, value, flush=True)


if __name__ == "__main__":
    main()
