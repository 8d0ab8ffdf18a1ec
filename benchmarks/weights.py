"""Compare the automatic weights of RPCA and RPCAG with other imputers and with a grid.

    python benchmarks/weights.py                          # what is missing in the store
    python benchmarks/weights.py --methods RPCA,RPCAG --redo
    python benchmarks/weights.py --only "raw, 20 %"       # cases whose name has this
    python benchmarks/weights.py --report                 # print the tables

Tables and image sets of RPCAG_DATA and scikit-learn, with hidden entries and gross
errors (spoiled_tables.py), are filled in by all methods of imputers.py. "best cell" is
the cell of a grid of weights with the lowest true error: a bound that no choice can
know. Results are in weights.json, which is written after every one; a run that was
stopped goes on from there. qolmat is optional (pip install qolmat).
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from imputers import METHODS, ONLY_TABLES, grid
from spoiled_tables import BLOCKS, Case, cases
from threadpoolctl import threadpool_limits
from weights_report import report

from rpcag.atomic import write_text

FILE = Path(__file__).with_suffix(".json")
GRID = "best cell"
CHEAP = ("median", "KNN", "Iterative", "SoftImpute", "RPCA theory", "RPCAG theory")
# What is run first in every block: methods, and whether on sets.
STEPS = (
    (CHEAP, False),
    ((GRID,), False),
    (CHEAP, True),
    ((GRID,), True),
    (("missForest", "missForest leaf 5"), False),
    (("qolmat PCP", "qolmat noisy"), False),
    (("qolmat PCP",), True),
    (("RPCA", "RPCAG", "RobustImputer"), False),
    (("RPCA", "RPCAG"), True),
)


def read() -> dict:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


def write(store: dict) -> None:
    """One line for every case."""
    lines = [
        f" {json.dumps(key)}: {json.dumps(store[key], separators=(',', ':'))}"
        for key in sorted(store)
    ]
    write_text(FILE, "{\n" + ",\n".join(lines) + "\n}\n")


def enter(key: str, method: str, found: dict) -> None:
    """Add a result to the store, as other processes have left it."""
    store = read()
    record = store.setdefault(key, {"error": {}, "seconds": {}})
    record["error"][method] = round(found["error"], 4)
    record["seconds"][method] = float(f"{found['seconds']:.2g}")
    if "grid" in found:
        record["grid"] = found["grid"]
    write(store)


def run(case: Case, method: str) -> dict:
    """Error and CPU seconds; of the grid also the errors of all cells, times 10 000."""
    spoiled = case.make()
    start = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method == GRID:
            errors = [spoiled.error(L) for L in grid(spoiled.data)]
            found = {"error": min(errors), "grid": [round(1e4 * e) for e in errors]}
        else:
            filled = METHODS[method](spoiled.data, case.unit)
            found = {"error": spoiled.error(filled)}
    if not np.isfinite(found["error"]):
        raise ValueError("the answer is not finite")
    return found | {"seconds": time.process_time() - start}


def jobs(methods: set[str]) -> list[tuple[Case, str]]:
    """Cases and methods, in the order of BLOCKS and STEPS."""
    found = []
    for block in BLOCKS:
        of_block = [case for case in cases() if case.block == block]
        for names, on_sets in STEPS:
            for case in of_block:
                if case.is_set == on_sets:
                    found += [(case, name) for name in names if name in methods]
    return found


def is_run(case: Case, method: str) -> bool:
    # The grid of raw data would be that of the standardized ones.
    if method == GRID and case.unit == "raw":
        return False
    return not (case.is_set and method in ONLY_TABLES)


def main() -> None:
    known = [*METHODS, GRID]
    parser = argparse.ArgumentParser(description="Compare imputers on spoiled tables.")
    parser.add_argument("--methods", help=f"of {', '.join(known)}; default: all")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--redo", action="store_true", help="forget old results first")
    parser.add_argument("--report", action="store_true", help="run nothing")
    options = parser.parse_args()
    if not options.report:
        methods = set(options.methods.split(",") if options.methods else known)
        if unknown := methods - set(known):
            parser.error(f"--methods {', '.join(unknown)}: not one of {known}")
        todo = [
            (case, method)
            for case, method in jobs(methods)
            if options.only in case.key and is_run(case, method)
        ]
        if options.redo:
            forget(todo)
        run_all(todo)
    report(read())


def forget(todo) -> None:
    store = read()
    for case, method in todo:
        for part in ("error", "seconds"):
            store.get(case.key, {}).get(part, {}).pop(method, None)
    write(store)


def run_all(todo) -> None:
    failed = set()
    for case, method in todo:
        is_known = method in read().get(case.key, {}).get("error", {})
        if is_known or (case.unit, method) in failed:
            continue
        try:
            found = run(case, method)
        except (ImportError, NotImplementedError) as reason:  # not to be had at all
            failed.add((case.unit, method))
            print(f"{method} is left out of {case.unit} data: {reason}", flush=True)
            continue
        except Exception as reason:
            print(f"{case.key}: {method} failed: {reason!r}", flush=True)
            continue
        enter(case.key, method, found)
        line = f"{found['error']:.4f}, {found['seconds']:.1f} s"
        print(f"{case.key}: {method} {line}", flush=True)


if __name__ == "__main__":
    main()
