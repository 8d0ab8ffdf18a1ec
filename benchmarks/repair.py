"""Measure gaps, wrong cells, intervals and odd rows of repaired tables.

    python benchmarks/repair.py            # all; results in repair.json
    python benchmarks/repair.py sensors    # or cells, rows, large, downstream
    python benchmarks/repair.py report     # the tables of docs/design_tables.md

Measurements that are in repair.json are not made again; several processes can share the
work.

sensors: made-up sensor tables with known truth (rpcag.datasets).
cells: tables of RPCAG_DATA and scikit-learn with 10 % gaps and planted errors of 2 to
10 deviations: false discovery rate, recall and coverage of 90 % intervals.
rows: labeled rows of the tables of RPCAG_DATA, against IsolationForest and the distance
from principal components.
large: time of 100 000 x 50 cells against IterativeImputer, and memory.
downstream: accuracy of a linear and a boosted classifier of the labeled tables, 20 % of
whose cells are missing and 5 % wrong, relative to that on complete data.
"""

import fcntl
import json
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import sensor_tables
from sklearn import datasets
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier, IsolationForest
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from spoiled_tables import SKLEARN, _load
from threadpoolctl import threadpool_limits

from rpcag.atomic import write_text
from rpcag.tables import OutlierDetector, RobustImputer, repair_matrix

LABELED = ("breast_cancer", "digits", "iris", "wine")
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
SHARES = (0.0, 0.05, 0.1)  # of wrong cells
DRAWS = 5  # of gaps and errors; the first also of other rules, which take longer
Z5 = 5.0  # robust deviations of the rule on single columns
Section = Iterator[tuple[str, Callable[[], dict[str, float]]]]


def sensors() -> Section:
    """Errors in deviations of the signal; precision and recall of spikes."""
    for title in KINDS:
        for name in (*SIZES, "no"):
            yield f"{title}, {name} spikes", partial(_sensors, title, name)


def _sensors(title: str, name: str) -> dict[str, float]:
    kind, options = KINDS[title][0], dict(KINDS[title][1])
    options |= {"spikes": 0.0} if name == "no" else {"size": SIZES[name]}
    s = sensor_tables.sensors(kind, **options)
    repaired = repair_matrix(s.X, times=np.arange(len(s.X), dtype=float))
    unit = np.nanstd(s.signal, axis=0)
    wrong = (repaired.values - s.signal) / unit
    spikes = s.is_spike & (np.abs(s.X - s.clean) > VISIBLE * unit)
    hit = repaired.replaced & s.is_spike
    found = {
        "gap error": _rms(wrong[s.is_gap]),
        "replaced": float(repaired.replaced.mean()),
        "coverage": _inside(repaired, s.clean, s.is_gap),
    }
    if name != "no":
        found["spike error"] = _rms(wrong[spikes])
        found["precision"] = _ratio(hit, repaired.replaced)
        found["recall"] = _ratio(hit & spikes, spikes)
    return found


def cells() -> Section:
    for draw in range(DRAWS):
        for share in SHARES:
            for table in _tables():
                key = f"{100 * share:.0f} %: {table}, draw {draw}"
                yield key, partial(_cells, table, share, draw)


def _cells(table: str, share: float, draw: int) -> dict[str, float]:
    """Beside ours, cells beyond five robust deviations of their column, and as many
    cells as ours that differ most from IterativeImputer's predictions of them."""
    X = _load(table, False, 0)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
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
    is_median = gaps & (imputer.explained_ == 0)
    normal = 1.645 * 2 * imputer.prediction_error_
    widths = np.where(gaps, upper - lower, np.nan) / normal
    found = {
        "gaps": int(gaps.sum()),
        "flagged": float(flagged.mean()),
        "coverage": float(inside[gaps].mean()),
        "in median columns": float(is_median.sum() / gaps.sum()),
        "coverage there": _ratio(inside & is_median, is_median),
        "width": float(np.nanmean(widths)),
        "error": _rms((filled - X)[gaps]) / _rms(X[gaps]),
    }
    if not share:
        return found
    z = np.abs(Y - np.nanmedian(Y, axis=0))
    z /= np.maximum(1.4826 * np.nanmedian(z, axis=0), 1e-12)
    found["false"] = 1 - _ratio(flagged & wrong, flagged) if flagged.any() else 0.0
    found["recall"] = _ratio(flagged & wrong, wrong)
    found["false z5"] = 1 - _ratio((z > Z5) & wrong, z > Z5)
    found["recall z5"] = _ratio((z > Z5) & wrong, wrong)
    if draw == 0:
        by_iterative = _largest(_iterative_residuals(Y), int(flagged.sum()))
        found["recall iterative"] = _ratio(by_iterative & wrong, wrong)
    return found


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


def downstream() -> Section:
    for table in LABELED:
        yield table, partial(_downstream, table)


def _downstream(table: str) -> dict[str, float]:
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
    X, y = getattr(datasets, f"load_{table}")(return_X_y=True)
    rows = np.random.default_rng(3).permutation(len(X))[:600]
    X, y = X[rows][:, X[rows].std(axis=0) > 0], y[rows]
    rng = np.random.default_rng(12)
    gaps = rng.random(X.shape) < 0.2
    wrong = (rng.random(X.shape) < 0.05) & ~gaps
    size = rng.choice([-1, 1], X.shape) * rng.uniform(3, 10, X.shape)
    Y = np.where(gaps, np.nan, X + wrong * size * X.std(axis=0))
    found: dict[str, list[float]] = {}
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        tables = {"complete": (X[train], X[test])}
        for name, imputer in imputers.items():
            tables[name] = imputer.fit_transform(Y[train]), imputer.transform(Y[test])
        for kind, model in models.items():
            for name, (seen, new) in tables.items():
                guess = model.fit(seen, y[train]).predict(new)
                score = balanced_accuracy_score(y[test], guess)
                found.setdefault(f"{kind}, {name}", []).append(score)
    return {name: float(np.mean(scores)) for name, scores in found.items()}


def rows() -> Section:
    for path in sorted((Path(os.environ["RPCAG_DATA"]) / "tables").glob("*.npz")):
        yield path.stem, partial(_rows, path)


def _rows(path: Path) -> dict[str, float]:
    """Areas under the ROC curve."""
    with np.load(path) as file:
        X, y = file["X"].astype(float), file["is_outlier"]
    forest = IsolationForest(random_state=0).fit(X)
    detector = OutlierDetector().fit(X)
    varies = X.std(axis=0) > 0
    scores = PCA(whiten=True).fit_transform(
        StandardScaler().fit_transform(X[:, varies])
    )
    return {
        "ours": float(roc_auc_score(y, -detector.score_samples(X))),
        "IsolationForest": float(roc_auc_score(y, -forest.score_samples(X))),
        "PCA distance": float(roc_auc_score(y, np.sum(scores**2, axis=1))),
    }


def large() -> Section:
    yield "100 000 x 50", _large


def _large() -> dict[str, float]:
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


def report(store: dict) -> None:
    """Print the tables of docs/design_tables.md."""
    print("\n## sensors")
    for key, row in store["sensors"].items():
        print(key, row)
    print("\n## cells")
    table = _by_table(store["cells"])
    for share in SHARES:
        part = {key: rows for key, rows in table.items() if key[0] == share}
        mean = {
            name: np.array(
                [np.mean([row[name] for row in rows]) for rows in part.values()]
            )
            for name in next(iter(part.values()))[0]
            if name != "recall iterative"
        }
        n = np.array([sum(row["gaps"] for row in rows) for rows in part.values()])
        error = 2 * np.sqrt(0.09 / n)
        low, high = mean["coverage"] - error, mean["coverage"] + error
        inside = (mean["coverage"] >= 0.88) & (mean["coverage"] <= 0.92)
        print(f"{100 * share:.0f} % wrong, {len(part)} tables")
        print(
            "  coverage", _summary(mean["coverage"]), inside.sum(), "inside,", end=" "
        )
        print(((high >= 0.88) & (low <= 0.92)).sum(), "with two standard errors")
        for (_, name), value in zip(part, mean["coverage"], strict=True):
            if not 0.88 <= value <= 0.92:
                print(f"    {name} {value:.3f}")
        for name in (
            "width",
            "error",
            "flagged",
            "false",
            "recall",
            "false z5",
            "recall z5",
        ):
            if name in mean:
                print(" ", name, _summary(mean[name]))
        if share:
            print("  false > 7 %:", (mean["false"] > 0.07).sum(), end="; worst: ")
            print(list(part)[int(np.argmax(mean["false"]))][1])
            firsts = [rows[0].get("recall iterative", np.nan) for rows in part.values()]
            print("  recall iterative", _summary(np.array(firsts)))
    print("\n## rows")
    for name in ("ours", "IsolationForest", "PCA distance"):
        print(name, _summary(np.array([row[name] for row in store["rows"].values()])))
    for name, row in store["rows"].items():
        print(f"  {name}", row)
    print(store["large"])
    for name, row in store["downstream"].items():
        print(name, row)


def _by_table(records: dict) -> dict[tuple[float, str], list[dict[str, float]]]:
    found: dict[tuple[float, str], list[dict[str, float]]] = {}
    for key, row in records.items():
        share, _, rest = key.partition(" %: ")
        found.setdefault((int(share) / 100, rest.rpartition(",")[0]), []).append(row)
    return found


def _summary(values: np.ndarray) -> str:
    low, middle, high = np.nanquantile(values, [0, 0.5, 1])
    return (
        f"mean {np.nanmean(values):.3f}, median {middle:.3f}, {low:.3f} to {high:.3f}"
    )


def _save(section: str, key: str, row: dict[str, float]) -> None:
    """Add a record; other processes may have added some."""
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        store = _stored()
        rounded = {name: round(float(value), 4) for name, value in row.items()}
        store.setdefault(section, {})[key] = rounded
        text = ",\n".join(
            f"{json.dumps(name)}: {{\n"
            + ",\n".join(f" {json.dumps(k)}: {json.dumps(v)}" for k, v in part.items())
            + "\n}"
            for name, part in store.items()
        )
        write_text(FILE, f"{{\n{text}\n}}\n")


def _stored() -> dict:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def main() -> None:
    chosen = sys.argv[1:] or ["sensors", "cells", "rows", "large", "downstream"]
    if chosen == ["report"]:
        return report(_stored())
    for section in chosen:
        for key, measure in globals()[section]():
            if key in _stored().get(section, {}):
                continue
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                row = measure()
            _save(section, key, row)
            print(key, row, flush=True)
    return None


if __name__ == "__main__":
    main()
