"""Time of `import rpcag` beside scikit-learn's PCA, in fresh processes in turn.

Processor time, which other programs disturb less than the clock; medians.
"""

import statistics
import subprocess
import sys

LIMIT = 1.3
ROUNDS = 9
REFERENCE = "from sklearn.decomposition import PCA"
STATEMENTS = (REFERENCE, "import rpcag", "from rpcag import RPCAG")
CODE = "from time import process_time as now; start = now(); {}; print(now() - start)"


def seconds(statement: str) -> float:
    """Processor time of one import in a new process."""
    command = [sys.executable, "-c", CODE.format(statement)]
    return float(subprocess.run(command, capture_output=True, check=True).stdout)


def main() -> None:
    times: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for _ in range(ROUNDS):
        for statement in STATEMENTS:
            times[statement].append(seconds(statement))
    reference = statistics.median(times[REFERENCE])
    ratios = {s: statistics.median(times[s]) / reference for s in STATEMENTS}
    for statement, ratio in ratios.items():
        taken = statistics.median(times[statement])
        print(f"{statement:<40} {taken:6.2f} s  {ratio:5.2f}")
    if max(ratios.values()) > LIMIT:
        sys.exit(f"more than {LIMIT} times {REFERENCE}")


if __name__ == "__main__":
    main()
