"""Make first_steps.md: run a new user's first commands and write down what they say."""

import csv
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PAGE = Path(__file__).with_name("first_steps.md")
LANDSCAPES = ("coast", "valley", "ridge")
HOURS = np.arange(24)

# What is said, and what is typed then. A command that is not there yet stays without
# an answer.
STEPS = [
    (
        "You have a table with holes, and some of its numbers are nonsense: a day of\n"
        "temperatures from sixty sensors, of which some send -99.9 or 85 now and then.",
        "head -4 sensors.csv",
    ),
    ("Take it apart.", "rpcag decompose sensors.csv -o result"),
    (
        "It has a column of words that is no name, and asks what to do with it. These\n"
        "are classes, so keep them as labels; the model does not look at them.",
        "rpcag decompose sensors.csv --labels landscape -o result",
    ),
    (
        "The largest entries of the sparse part are the nonsense, each with the value\n"
        "that would fit. *optimality* is about the computation: no other L has an\n"
        "objective that is lower by more than this. *prediction* is about the data:\n"
        "some entries were hidden, and this share of their spread was predicted. All\n"
        "of that is in result.json, the matrices are in the other files.",
        "ls result",
    ),
    (
        "Look at it: one file for the browser, which can be sent to a colleague.",
        "rpcag explore result -o page.html",
    ),
    (
        "Group the sensors. The labels are only used to say how many groups there\n"
        "are, and afterwards how well they were found. The note recommends other\n"
        "weights for clusters that are harder to find than these.",
        "rpcag cluster result -o clusters.csv",
    ),
    ("", "head -4 clusters.csv"),
    (
        "For a spreadsheet, write text: the repaired table is low_rank.csv.",
        "rpcag decompose sensors.csv --labels landscape -o tables --format csv --quiet",
    ),
    ("", "head -3 tables/low_rank.csv | cut -c 1-78"),
]


def temperatures() -> tuple[np.ndarray, np.ndarray]:
    """What the sixty sensors sent, NaN where nothing, and what was true."""
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
    """What a shell shows; the command is the one of this Python."""
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
    """All steps, and how well the answer fits what was true."""
    write_sensors(folder / "sensors.csv")
    commands = run("rpcag --help", folder)
    parts = []
    start = time.perf_counter()
    for text, line in STEPS:
        words = line.split()
        is_known = words[0] != "rpcag" or f"│ {words[1]} " in commands
        shown = "\n".join([f"$ {line}", run(line, folder) if is_known else ""]).strip()
        parts.append("\n\n".join(filter(None, [text, f"```console\n{shown}\n```"])))
    seconds = time.perf_counter() - start
    sent, truth = temperatures()
    found = np.load(folder / "result" / "low_rank.npy")
    gaps, nonsense = np.isnan(sent), np.abs(sent - truth) > 20
    parts.append(
        f"The commands of this page took {seconds:.0f} seconds in all. The "
        "temperatures are made up, so that the truth\nis known: half of the "
        f"{gaps.sum()} gaps were filled to within "
        f"{np.median(np.abs(found - truth)[gaps]):.1f} degrees, half of the "
        f"{nonsense.sum()} wrong numbers\nwere replaced to within "
        f"{np.median(np.abs(found - truth)[nonsense]):.1f} degrees."
    )
    return "\n\n".join(parts)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        body = transcript(Path(name))
    page = f"""# First steps

The first minutes with `rpcag`, from an empty folder. Written by `make first-steps`,
which types these commands and copies what they say; all options are in
[the command](command.md). It is installed from a clone:

```console
$ pip install ".[all]"
```

{body}

Then: `--scale` for columns in different units (automatic if they differ much),
`--model rpca` for Robust PCA without a graph, `--gamma clustering` for more weight on
the graph if you look for clusters, and the [README](../README.md) for the same in
Python.
"""
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
