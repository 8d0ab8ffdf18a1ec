"""Fit every model to random problems and check each answer independently.

    python benchmarks/fuzz.py --fits 10000 --seed 0 --jobs 2
    python benchmarks/fuzz.py --only 4711        one problem, with all its details

Problems and checks are in tests/fuzz_problems.py and tests/fuzz_checks.py. Worker
processes with one BLAS thread do the work; one that needs more than --seconds of
processor time, or waits for twenty times as long, is killed and its problem counted as
a hang. The summary goes to
benchmarks/fuzz.json; the exit code is 1 if anything was found.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
from collections import Counter, defaultdict
from multiprocessing.connection import wait
from pathlib import Path

HERE = Path(__file__).parent
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"  # before NumPy is loaded, here and in the workers
sys.path.insert(0, str(HERE.parent / "tests"))

import rpcag  # noqa: E402
from fuzz_checks import Report, examine  # noqa: E402
from fuzz_problems import MODELS, random_problem  # noqa: E402

# Columns of the table, and the kinds of findings that each counts.
COLUMNS = {
    "silent wrong answers": ("structure", "objective", "optimum", "shape", "modified"),
    "NaN": ("nan",),
    "false bounds": ("bound",),
    "statuses": ("status",),
    "transform": ("transform",),
    "not repeatable": ("repeat",),
    "exceptions": ("exception", "crash"),
    "warnings": ("warning",),
    "hangs": ("hang",),
}


class Worker:
    """A process that examines one problem at a time."""

    def __init__(self, context):
        self.here, there = context.Pipe()
        self.process = context.Process(target=_work, args=(there,), daemon=True)
        self.process.start()
        there.close()
        self.seed = None

    def give(self, seed):
        self.seed, self.since = seed, time.monotonic()
        self.cpu = _processor_seconds(self.process.pid)
        self.here.send(seed)

    def is_late(self, seconds):
        waited = time.monotonic() - self.since
        if self.cpu is None:
            return waited > seconds
        worked = (_processor_seconds(self.process.pid) or 0.0) - self.cpu
        return worked > seconds or waited > 20 * seconds

    def end(self):
        self.process.kill()
        self.process.join()
        self.here.close()


def _processor_seconds(pid):
    """Used by a process so far, where the system tells; busy machines are no hangs."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _work(pipe):
    while True:
        seed = pipe.recv()
        if seed is None:
            return
        try:
            report = examine(random_problem(seed))
        except Exception as error:  # of the checks themselves
            report = Report(seed, MODELS[seed % len(MODELS)], "crashed")
            report.add("crash", f"the check failed: {type(error).__name__}: {error}")
        pipe.send(report)


def run(seeds, jobs, seconds):
    """Reports of all problems, as they come."""
    context = multiprocessing.get_context("spawn")
    seeds = iter(seeds)
    workers = []

    def start(worker):
        seed = next(seeds, None)
        if seed is None:
            worker.end()
        else:
            worker.give(seed)
            workers.append(worker)

    for _ in range(jobs):
        start(Worker(context))
    while workers:
        ready = wait([worker.here for worker in workers], timeout=0.5)
        for worker in list(workers):
            trouble = None
            if worker.here in ready:
                try:
                    report = worker.here.recv()
                except EOFError:
                    trouble = "crash", "the process ended"
            elif worker.is_late(seconds):
                trouble = "hang", f"no answer after {seconds:g} s"
            else:
                continue
            workers.remove(worker)
            if trouble:
                worker.end()
                model = MODELS[worker.seed % len(MODELS)]
                report = Report(worker.seed, model, trouble[0])
                report.add(*trouble)
                worker = Worker(context)
            yield report
            start(worker)


def summarize(reports):
    """A row of counts for every model, refusals with an example, and the findings."""
    rows = {model: Counter() for model in MODELS}
    refusals = defaultdict(list)
    findings = defaultdict(list)
    for report in sorted(reports, key=lambda report: report.seed):
        row = rows[report.model]
        row["problems"] += 1
        row["fits"] += report.fits
        row[report.status] += 1
        kinds = {kind for kind, _ in report.findings}
        for column, counted in COLUMNS.items():
            row[column] += bool(kinds & set(counted))
        if report.status == "refused" and report.refusal:
            refusals[report.refusal].append(report.seed)
        for kind in sorted(kinds):
            findings[f"{report.model} {kind}"].append(report.seed)
    return {
        "version": rpcag.__version__,
        "models": {model: dict(row) for model, row in rows.items()},
        "refusals": {
            text: {"count": len(seeds), "example": seeds[0]}
            for text, seeds in sorted(refusals.items())
        },
        "findings": {
            what: {"count": len(seeds), "examples": seeds[:5]}
            for what, seeds in sorted(findings.items())
        },
    }


def table(summary):
    statuses = ["converged", "max_iter", "stalled", "refused"]
    columns = ["problems", "fits", *statuses, *COLUMNS]
    rows = [["", *columns]]
    total = Counter()
    for model, row in summary["models"].items():
        total.update(row)
        rows.append([model, *(str(row.get(column, 0)) for column in columns)])
    rows.append(["all", *(str(total[column]) for column in columns)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=1000, help="number of problems")
    parser.add_argument("--seed", type=int, default=0, help="number of the first")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seconds", type=float, default=60.0, help="per problem")
    parser.add_argument("--only", type=int, help="examine this problem, here")
    parser.add_argument("--output", type=Path, default=HERE / "fuzz.json")
    options = parser.parse_args()
    if options.only is not None:
        problem = random_problem(options.only)
        print(problem)
        report = examine(problem)
        print(f"{report.status}, {report.fits} fits; {report.refusal or ''}")
        for kind, detail in report.findings:
            print(f"{kind}: {detail}")
        return int(bool(report.findings))
    reports = []
    seeds = range(options.seed, options.seed + options.fits)
    for report in run(seeds, options.jobs, options.seconds):
        reports.append(report)
        for kind, detail in report.findings:
            print(f"{report.model} {kind}: {detail}")
            print(f"    python benchmarks/fuzz.py --only {report.seed}", flush=True)
    summary = summarize(reports)
    summary = {"seeds": [seeds[0], seeds[-1]], **summary}
    options.output.write_text(json.dumps(summary, indent=1) + "\n")
    for text, found in summary["refusals"].items():
        first = text.splitlines()[0]
        print(f"refused {found['count']} times (--only {found['example']}): {first}")
    print(table(summary))
    return int(bool(summary["findings"]))


if __name__ == "__main__":
    sys.exit(main())
