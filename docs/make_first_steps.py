"""Make first_steps.md: run a new user's first commands and write down what they say."""

# ruff: noqa: E501  (text of the page)

import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

PAGE = Path(__file__).with_name("first_steps.md")
LANDSCAPES = ("coast", "valley", "ridge")
HOURS = np.arange(24)

# A text, and the command that is run after it.
STEPS = [
    (
        "The table has a day of temperatures from sixty sensors, with gaps. Some sensors\n"
        "send -99.9 or 85 now and then.",
        "head -4 sensors.csv",
    ),
    (
        "## Repair it\n\nThe repaired file keeps its format. The text columns are left alone.",
        "rpcag repair sensors.csv -o repaired.csv",
    ),
    (
        "The list of changed cells has the old value, the new one, and a 90 % interval.",
        "head -4 repaired.cells.csv",
    ),
    (
        "## Split it\n\n`decompose` returns the low-rank and the sparse part.",
        "rpcag decompose sensors.csv -o result",
    ),
    (
        "The column `landscape` is text, so the command needs an option for it. Here it\n"
        "holds classes, so keep it as labels. The model does not use them.",
        "rpcag decompose sensors.csv --labels landscape -o result",
    ),
    (
        "| line | meaning |\n|---|---|\n"
        "| largest in S | the largest errors, each with the value that fits |\n"
        "| optimality | about the optimization: no other L has an objective that is lower by more than this |\n"
        "| prediction | about the data: the share of the spread of hidden entries that was predicted |\n\n"
        "The result is a folder:",
        "ls result",
    ),
    (
        "## Look at it\n\nThe page is one file that you can send to a colleague.",
        "rpcag explore result -o page.html",
    ),
    (
        "## Cluster the rows\n\nThe labels give the number of clusters, and the error\n"
        "afterwards.",
        "rpcag cluster sensors.csv --labels landscape -o clusters.csv",
    ),
    ("", "head -4 clusters.csv"),
]


def temperatures() -> tuple[np.ndarray, np.ndarray]:
    """Values that sixty sensors sent, with NaN for gaps, and the true values."""
    rng = np.random.default_rng(7)
    turn = HOURS / 24 * 2 * np.pi
    days = [
        12 + 3 * np.sin(turn - 2.4),
        8 + 9 * np.sin(turn - 2.2),
        4 + 2 * np.sin(turn - 3.1),
    ]
    truth = np.array([days[i % 3] * rng.uniform(0.9, 1.1) for i in range(60)])
    sent = truth + 0.3 * rng.standard_normal(truth.shape)
    wrong = rng.random(sent.shape) < 0.04
    sent[wrong] = rng.choice([-99.9, 85.0], wrong.sum())
    sent[rng.random(sent.shape) < 0.08] = np.nan
    return sent, truth


def write_sensors(path: Path) -> None:
    sent, _ = temperatures()
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["sensor", "landscape", *(f"{h:02d}:00" for h in HOURS)])
        for i, row in enumerate(sent):
            cells = ["" if np.isnan(x) else f"{x:.1f}" for x in row]
            writer.writerow([f"s{i + 1:02d}", LANDSCAPES[i % 3], *cells])


def run(line: str, folder: Path) -> str:
    """Output of a shell command; `rpcag` is that of this Python."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        line,
        shell=True,
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return "\n".join(text.rstrip() for text in done.stdout.strip().splitlines())


def transcript(folder: Path) -> str:
    """All steps, and how close the result is to the truth."""
    write_sensors(folder / "sensors.csv")
    commands = run("rpcag --help", folder)
    parts = []
    for text, line in STEPS:
        words = line.split()
        is_known = words[0] != "rpcag" or f"│ {words[1]} " in commands
        shown = "\n".join([f"$ {line}", run(line, folder) if is_known else ""]).strip()
        parts.append("\n\n".join(filter(None, [text, f"```console\n{shown}\n```"])))
    sent, truth = temperatures()
    found = np.load(folder / "result" / "low_rank.npy")
    gaps, nonsense = np.isnan(sent), np.abs(sent - truth) > 20
    errors = np.abs(found - truth)
    parts.append(
        "## How close is it?\n\n"
        "The temperatures are synthetic, so the truth is known:\n\n"
        "| cells of L | number | median error, degrees |\n|---|---|---|\n"
        f"| gaps | {gaps.sum()} | {np.median(errors[gaps]):.1f} |\n"
        f"| wrong values | {nonsense.sum()} | {np.median(errors[nonsense]):.1f} |"
    )
    return "\n\n".join(parts)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        body = transcript(Path(name))
    page = f"""# First steps on the command line

Follow these commands to repair, split, view and cluster a table. `make first-steps` runs them and writes this page.
[Commands](command.md) lists all options.

```console
$ pip install ".[all]"
```

{body}

## Next

| you want to | read |
|---|---|
| repair your own table | [Repair a table](repair_table.md) |
| find outliers | [Find wrong cells and odd rows](find_outliers.md) |
| do the same in Python | [Get started](get_started.md) |
"""
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
