"""Tables of benchmarks/weights.json: errors, ranks, and ratios to the best cell."""

from importlib.metadata import PackageNotFoundError, version

import numpy as np
from imputers import METHODS
from scipy.stats import rankdata
from spoiled_tables import BLOCKS, Block, cases

# Ranks are among these, in each case among those that were run.
FORESTS = ("missForest", "missForest leaf 5")
RIVALS = ("KNN", "Iterative", "SoftImpute", *FORESTS, "qolmat PCP", "qolmat noisy")
RANKED = (*RIVALS, "RPCA", "RPCAG", "RobustImputer")
SHOWN = (*METHODS, "best cell")
LABELS = {
    "median": "column median",
    "KNN": "`KNNImputer(10)`",
    "Iterative": "`IterativeImputer`",
    "missForest leaf 5": "missForest, leaves of 5",
    "qolmat PCP": "qolmat `ImputerRpcaPcp`",
    "qolmat noisy": "qolmat `ImputerRpcaNoisy`",
    "RPCA theory": '`RPCA(lam="theory")`',
    "RPCAG theory": '`RPCAG(lam="theory", gamma="clustering")`',
    "RPCA": "`RPCA()`",
    "RPCAG": "`RPCAG()`",
    "RobustImputer": "`RobustImputer()`",
    "best cell": "best cell of the grid",
}
WHERE = {False: "tables", True: "sets"}


def report(store: dict) -> None:
    """Print all tables for what is in the store."""
    groups = _groups(store)
    for (block, is_set, kind), rows in (groups | _contaminated(groups)).items():
        print(f"\n{block}, {WHERE[is_set]}, errors: {kind}")
        _print_methods(rows)
    _print_ratios(groups)
    for (block, _, kind), rows in groups.items():
        rivals = ("KNN", "Iterative", "SoftImpute", "missForest", "best cell")
        full = {table: row for table, row in rows.items() if set(rivals) <= set(row)}
        if kind == "none" and full:
            rank = mean_ranks(full, rivals)["best cell"][0]
            print(f"{block}, no errors: mean rank of the best cell {rank:.2f}")
    for block in BLOCKS:
        for is_set in WHERE:
            if any((block.name, is_set, kind) in groups for kind in block.kinds):
                title = f"{block.name.capitalize()}, {WHERE[is_set]}"
                print(f"\n{title}:\n\n{markdown(groups, block, is_set)}")
    names = ("rpcag", "scikit-learn", "qolmat")
    print("\n" + ", ".join(f"{name} {_version(name)}" for name in names))


def markdown(groups, block: Block, is_set: bool) -> str:
    """Mean errors, and mean ranks in parentheses."""
    kinds = block.kinds
    parts = [groups.get((block.name, is_set, kind), {}) for kind in kinds]
    ranks = [mean_ranks(rows, RANKED) for rows in parts]
    lines = ["| | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    for method in SHOWN:
        cells = []
        for rows, rank in zip(parts, ranks, strict=True):
            values = [row[method] for row in rows.values() if method in row]
            cell = f"{np.mean(values):.3f}" if values else ""
            place = f" ({rank[method][0]:.1f})" if method in rank else ""
            cells.append(cell + place)
        if any(cells):
            label = LABELS.get(method, method)
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def mean_ranks(rows: dict, names) -> dict[str, tuple[float, int]]:
    """Mean rank and number of first places; equal methods share the better rank."""
    found: dict[str, list] = {}
    for row in rows.values():
        present = [name for name in names if name in row]
        ranks = rankdata([row[name] for name in present], method="min")
        for name, rank in zip(present, ranks, strict=True):
            found.setdefault(name, []).append(rank)
    return {name: (np.mean(r), r.count(1)) for name, r in found.items()}


def _groups(store: dict) -> dict:
    """Name of the block, is_set and kind of errors -> table -> method -> error."""
    groups: dict = {}
    for case in cases():
        row = dict(store.get(case.key, {}).get("error", {}))
        if row and case.unit == "raw":  # the same data in other units
            twin = case.key.replace("raw", "standardized", 1)
            best = store.get(twin, {}).get("error", {}).get("best cell")
            row |= {} if best is None else {"best cell": best}
        if row:
            key = (case.block.name, case.is_set, case.errors)
            groups.setdefault(key, {})[case.table] = row
    return groups


def _contaminated(groups: dict) -> dict:
    """All kinds of errors together."""
    found: dict = {}
    for (block, is_set, kind), rows in groups.items():
        if kind != "none":
            together = found.setdefault((block, is_set, "all kinds"), {})
            together |= {f"{table}, {kind}": row for table, row in rows.items()}
    return found


def _print_methods(rows: dict) -> None:
    print(f"  {'':18s} cases  error   rank  first   RPCAG alone: rank  first")
    with_rpca = mean_ranks(rows, RANKED)
    without = mean_ranks(
        rows, [name for name in RANKED if name not in ("RPCA", "RobustImputer")]
    )
    for name in SHOWN:
        values = [row[name] for row in rows.values() if name in row]
        if values:
            line = f"  {name:18s} {len(values):5d}  {np.mean(values):.4f}"
            if name in with_rpca:
                line += "  {:.2f}  {:5d}".format(*with_rpca[name])
            if name in without:
                line += "                {:.2f}  {:5d}".format(*without[name])
            print(line)


def _print_ratios(groups: dict) -> None:
    """Of RPCAG to the best cell and to RPCA; where one is missing, nothing."""
    print("\nratio of RPCAG: mean and worst")
    for block in BLOCKS:
        for is_set in WHERE:
            for clean in (True, False):
                for other in ("best cell", "RPCA", "RPCA theory"):
                    ratios = {
                        f"{table}, {kind}": row["RPCAG"] / row[other]
                        for (name, s, kind), rows in groups.items()
                        if (name, s, kind == "none") == (block.name, is_set, clean)
                        for table, row in rows.items()
                        if {"RPCAG", other} <= set(row)
                    }
                    if not ratios:
                        continue
                    worst = max(ratios, key=lambda name: ratios[name])
                    print(
                        f"  {block.name}, {WHERE[is_set]}, "
                        f"{'clean' if clean else 'contaminated'}, to {other}: "
                        f"{np.mean(list(ratios.values())):.3f}, "
                        f"{ratios[worst]:.3f} ({worst}), {len(ratios)} cases"
                    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
