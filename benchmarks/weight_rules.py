"""Choose how clearly a graph must help, by cross-validation over tables.

    python benchmarks/weight_rules.py            # what is missing in the store, report
    python benchmarks/weight_rules.py --report
    python benchmarks/weight_rules.py --report --fresh

Every value of CLEARLY (rpcag.models.weights) chooses the weights of all standardized
tables of spoiled_tables.py. Their true error is looked up in the grid of weights.json,
which must be there: see weights.py. Then every table is left out once, the value that
is best on all others is taken, and its errors on the table that was left out are
reported. The draw FRESH has no part in this; it is reported with --fresh only. Results
are in weight_rules.json.
"""

import argparse
import json
import math
import warnings
from pathlib import Path

import numpy as np
from imputers import GAMMAS, LAMS
from spoiled_tables import Case, cases

from rpcag import RPCAG
from rpcag.atomic import write_text
from rpcag.models import weights
from rpcag.models.trials import Trials

FILE = Path(__file__).with_suffix(".json")
GRIDS = FILE.with_name("weights.json")
VALUES = (0.0, 0.5, 1.0, 1.5, 2.0)
OURS = weights.CLEARLY
FRESH = 3


def true_error(grid: np.ndarray, c: float, g: float) -> float:
    """The error at these weights, between those of the grid; beyond, its edge."""

    def place(value: float, values) -> tuple[int, int, float]:
        logs = np.log2(values)
        at = float(np.interp(math.log2(value), logs, np.arange(len(logs))))
        low = min(int(at), len(logs) - 2)
        return low, low + 1, at - low

    a, b, t = place(c, LAMS)
    row = (1 - t) * grid[a] + t * grid[b]
    if g == 0:
        return float(row[0])
    a, b, t = place(g, GAMMAS[1:])
    return float((1 - t) * row[1 + a] + t * row[1 + b])


def ratios(case: Case, grid: np.ndarray) -> list[list[float]]:
    """For every value, the error relative to the best cell and to no graph."""
    X = case.make().data
    trials = Trials(X, RPCAG().trial_graph(), masks=weights._masks(X))
    weights._search_gamma(trials, weights._search_lam(trials, 1.0, 0.0, True), True)

    def error(clearly: float) -> float:
        weights.CLEARLY = clearly
        c, g = weights._surest(trials)
        return true_error(grid, c, g / trials.stiffness)

    alone = error(math.inf)
    errors = [error(clearly) for clearly in VALUES]
    return [[round(e / grid.min(), 4), round(e / alone, 4)] for e in errors]


def run() -> None:
    store = json.loads(FILE.read_text()) if FILE.exists() else {}
    grids = json.loads(GRIDS.read_text())
    for case in cases():
        known = grids.get(case.key, {}).get("grid")
        if case.is_set or known is None or case.key in store:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            grid = np.reshape(known, (len(LAMS), len(GAMMAS)))
            store[case.key] = ratios(case, grid)
        lines = [
            f" {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}"
            for k, v in sorted(store.items())
        ]
        write_text(FILE, "{\n" + ",\n".join(lines) + "\n}\n")


def loss(found: np.ndarray) -> np.ndarray:
    """Of every value: root mean squares of both excesses, which bad cases dominate.

    Being below no graph is no excess.
    """
    excess = np.maximum(found - 1, 0)
    return np.sqrt((excess**2).mean(axis=0)).sum(axis=1)


def report(with_fresh: bool) -> None:
    store = json.loads(FILE.read_text())
    fresh = [key for key in store if f"draw {FRESH}," in key]
    keys = [key for key in store if key not in fresh]
    tables = np.array([key.split(": ")[1] for key in keys])
    found = np.array([store[key] for key in keys])
    print(f"{len(found)} cases of {len(set(tables))} tables")
    for k in np.argsort(loss(found)):
        _print(f"CLEARLY {VALUES[k]:g}", found[:, k])
    left_out = np.empty_like(found[:, 0])
    picks: dict[float, int] = {}
    for table in sorted(set(tables)):
        others = tables != table
        k = int(np.argmin(loss(found[others])))
        picks[VALUES[k]] = picks.get(VALUES[k], 0) + 1
        left_out[~others] = found[~others, k]
    _print("tables left out", left_out)
    print("values that were taken, and how often:", picks)
    rule = VALUES.index(OURS)
    for gaps in ("20 %", "10 %") if with_fresh else ():
        of_gaps = [store[key][rule] for key in fresh if f"{gaps} gaps" in key]
        _print(f"fresh draw, {gaps} gaps", np.array(of_gaps))
    _print("cell that is best on the other draw", other_draw(keys))


def other_draw(keys) -> np.ndarray:
    """Ratios of the weights that the truth of the other draw would choose."""
    records = json.loads(GRIDS.read_text()).items()
    grids = {key: np.array(record.get("grid", [])) for key, record in records}
    found = []
    for key in keys:
        if "draw 1, " in key:
            pair = grids[key], grids[key.replace("draw 1, ", "")]
            for here, there in (pair, pair[::-1]):
                alone = len(GAMMAS) * int(np.argmin(there[:: len(GAMMAS)]))
                error = here[np.argmin(there)]
                found.append([error / here.min(), error / here[alone]])
    return np.array(found)


def _print(name: str, found: np.ndarray) -> None:
    best, alone = found.T
    print(
        f"{name}: to the best cell {best.mean():.4f}, worst {best.max():.3f}, "
        f"{np.sum(best > 1.1)} above 1.1; to no graph {alone.mean():.4f}, worst "
        f"{alone.max():.3f}, {np.sum(alone > 1.02)} above 1.02"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Cross-validate the rule of weights.")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--fresh", action="store_true", help="report the last draw too")
    options = parser.parse_args()
    if not options.report:
        run()
    report(options.fresh)
