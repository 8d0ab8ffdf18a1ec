"""All measurements of docs/benchmarks.md; what is recorded already is not run again.

Times are in units of one ``scipy.linalg.svd`` of the same matrix, or of one
``randomized_svd``, measured in the same run with one BLAS thread. Run nothing else.
"""

import argparse
import json
import multiprocessing
import resource
import time
import warnings
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import peers
from printed_algorithm import printed
from scipy import linalg
from sklearn.decomposition import PCA
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

import problems
from rpcag import RPCA, RPCAG
from rpcag.graphs import KNNGraph, laplacian
from rpcag.linalg.shifted import ShiftedLaplacian
from rpcag.linalg.typical import typical_size
from rpcag.models.rules import clustering_gamma
from rpcag.solvers.problem import Problem

# A peer this many times slower than the fastest one on three matrices is not run on the
# others.
TOO_SLOW = 2.5


class Records:
    """A file of records, each under its key, written whole after every one."""

    def __init__(self, path):
        self.path = Path(path)
        self.all = json.loads(self.path.read_text()) if self.path.exists() else {}

    def add(self, key, make):
        if key not in self.all:
            self.put(key, make())
        return self.all[key]

    def put(self, key, record):
        self.all[key] = record
        text = json.dumps(self.all, indent=1, sort_keys=True) + "\n"
        partial = self.path.with_suffix(".partial")
        partial.write_text(text)
        partial.replace(self.path)
        print(key, json.dumps(record), flush=True)


def objective(X, L, lam):
    return linalg.svdvals(L).sum() + lam * np.abs(X - L).sum()


def name_of(problem):
    n, p, rank, wrong, *_ = problem
    return f"rpca {n}x{p} r{rank} {wrong:.0%}"


def rpca(records):
    """On matrices whose truth is known: in turn with the fastest peer and an SVD."""
    for problem in problems.SYNTHETIC:
        name = name_of(problem)
        if f"{name} / pyrpca" not in records.all:
            ours, theirs = side_by_side(*problem[:5])
            records.put(f"{name} / rpcag", ours)
            records.put(f"{name} / pyrpca", theirs)


def seeds(records):
    """The first three again, on five draws."""
    for problem in problems.SYNTHETIC[:3]:
        n, p, rank, wrong, tol = problem[:5]

        def draws(n=n, p=p, rank=rank, wrong=wrong, tol=tol):
            found = {"svds": [], "gap": [], "error": []}
            for seed in range(5):
                X, truth = problems.synthetic(n, p, rank, wrong, seed)
                model = RPCA(lam="theory", tol=tol)
                seconds, model = problems.fastest(lambda X=X, m=model: m.fit(X), 3)
                found["svds"].append(seconds / problems.svd_seconds(X))
                found["gap"].append(model.gap_)
                distance = linalg.norm(model.low_rank_ - truth)
                found["error"].append(distance / linalg.norm(truth))
            return found

        records.add(f"{name_of(problem)} / seeds", draws)


def side_by_side(n, p, rank, wrong, tol):
    X, truth = problems.synthetic(n, p, rank, wrong)
    lam = 1 / np.sqrt(max(n, p))
    calls = {
        "svd": lambda: linalg.svd(X, full_matrices=False),
        "rpcag": lambda: RPCA(lam="theory", tol=tol).fit(X),
        "pyrpca": lambda: peers.pyrpca(X, lam),
        "PCA": lambda: PCA(rank).fit(X),
        "randomized_svd": lambda: randomized_svd(X, rank, random_state=0),
    }
    seconds, answers = problems.in_turn(calls, 5 if n * p < 1e6 else 3)
    svds = {name: time / seconds["svd"] for name, time in seconds.items()}
    model = answers["rpcag"]
    ours = {
        "svds": svds["rpcag"],
        "gap": model.gap_,
        "error": linalg.norm(model.low_rank_ - truth) / linalg.norm(truth),
        "objective": model.objective_,
        "rank": model.rank_,
        "n_iter": model.n_iter_,
        "svd_seconds": seconds["svd"],
        "PCA": svds["PCA"],
        "randomized_svd": svds["randomized_svd"],
    }
    L = answers["pyrpca"]
    return ours, judged(X, L, lam, truth, model.objective_, svds["pyrpca"])


def judged(X, L, lam, truth, best, svds):
    """A peer's answer, by its objective and its distance from the truth."""
    return {
        "svds": svds,
        "excess": objective(X, L, lam) / best - 1,
        "error": linalg.norm(L - truth) / linalg.norm(truth),
    }


def others(records):
    """The slower peers: on the first three matrices, and further if they keep up."""
    for k, problem in enumerate(problems.SYNTHETIC):
        for peer in peers.PEERS:
            if k < 3 or not _slow(records, peer):
                rival(records, problem, peer)


def rival(records, problem, peer):
    n, p, rank, wrong, *_ = problem
    best = records.all[f"{name_of(problem)} / rpcag"]

    def theirs():
        X, truth = problems.synthetic(n, p, rank, wrong)
        lam = 1 / np.sqrt(max(n, p))
        unit = problems.svd_seconds(X, 2)
        repeats = 2 if n * p < 1e6 else 1
        seconds, L = problems.fastest(lambda: peers.PEERS[peer](X, lam), repeats)
        return judged(X, L, lam, truth, best["objective"], seconds / unit)

    records.add(f"{name_of(problem)} / {peer}", theirs)


def _slow(records, peer):
    """On all of the first three matrices."""
    names = [name_of(problem) for problem in problems.SYNTHETIC[:3]]
    return all(
        records.all[f"{name} / {peer}"]["svds"]
        > TOO_SLOW * records.all[f"{name} / pyrpca"]["svds"]
        for name in names
    )


def faces(records):
    """RPCAG on occluded faces with the paper's graph, and the printed algorithm."""
    for per_subject in (10, 20, 40):
        X, Phi = problems.faces(per_subject)
        lam = 1 / np.sqrt(max(X.shape))
        for gamma in (1.0, 10.0):
            name = f"faces n={len(X)} gamma={gamma:g}"

            def ours(X=X, Phi=Phi, lam=lam, gamma=gamma):
                unit = problems.svd_seconds(X)

                def solve():
                    shifted = ShiftedLaplacian(Phi)
                    problem = Problem(X, lam, gamma, shifted)
                    return problem.solve(tol=1e-3, max_iter=1000)

                seconds, result = problems.fastest(solve, 3)
                return {
                    "svds": seconds / unit,
                    "seconds": seconds,
                    "gap": result.gap,
                    "rank": result.rank,
                    "n_iter": result.n_iter,
                    "svd_seconds": unit,
                }

            best = records.add(f"{name} / rpcag", ours)
            if per_subject < 40:
                continue

            def theirs(X=X, Phi=Phi, lam=lam, gamma=gamma, best=best):
                """Cut when it has taken 32 times as long."""
                unit = problems.svd_seconds(X)
                limit = 32 * best["svds"] * unit
                _, few, _ = printed(X, Phi, lam, gamma, 1e-3, 3)
                steps = int(limit / (few / 3))
                n_iter, seconds, gap = printed(X, Phi, lam, gamma, 1e-3, steps)
                return {
                    "svds": seconds / unit,
                    "n_iter": n_iter,
                    "gap": gap,
                    "times_slower": seconds / unit / best["svds"],
                }

            records.add(f"{name} / printed", theirs)


def real(records):
    """Real data, of high rank, in CPU time; with missing entries and a graph too.

    A peer's excess is the share by which its objective is above our lower bound.
    """
    for name, n in problems.REAL:
        X = problems.real(name, n)
        theory = 1 / np.sqrt(max(X.shape))

        def unit(X=X):
            return problems.cpu_seconds(lambda: linalg.svd(X, full_matrices=False), 3)

        for factor in problems.LAMS:
            key = f"{name} {X.shape[0]}x{X.shape[1]} lam={factor}"

            def ours(X=X, lam=factor * theory, unit=unit):
                solve = partial(Problem(X, lam).solve, tol=1e-3, max_iter=1000)
                return solved(*problems.cpu_seconds(solve, 3), unit()[0])

            def theirs(X=X, lam=factor * theory, unit=unit, key=key):
                seconds, L = problems.cpu_seconds(lambda: peers.pyrpca(X, lam), 1)
                bound = records.all[f"{key} / rpcag"]["lower_bound"]
                value = objective(X, L, lam)
                return {"svds": seconds / unit()[0], "excess": 1 - bound / value}

            def with_graph(X=X, lam=factor * theory, unit=unit):
                Phi = laplacian(KNNGraph(10)(X))
                gaps = X.copy()
                gaps[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan

                def solve():
                    shifted = ShiftedLaplacian(Phi)
                    problem = Problem(gaps, lam, 0.01, shifted)
                    return problem.solve(tol=1e-3, max_iter=1000)

                return solved(*problems.cpu_seconds(solve, 2), unit()[0])

            records.add(f"{key} / rpcag", ours)
            records.add(f"{key} / pyrpca", theirs)
            records.add(f"{key} / graph", with_graph)


def solved(seconds, result, unit):
    return {
        "svds": seconds / unit,
        "gap": result.gap,
        "lower_bound": result.lower_bound,
        "rank": result.rank,
        "n_iter": result.n_iter,
        "svd_seconds": unit,
    }


def path(records):
    """Fourteen gammas, each from the last, against one solve from scratch."""
    for name in ("YALE", "ORL"):

        def both(name=name):
            X, Phi = problems.clean(name)
            lam = 1 / np.sqrt(max(X.shape))

            def warm():
                shifted = ShiftedLaplacian(Phi)
                state, iterations = None, []
                for gamma in problems.GAMMAS:
                    problem = Problem(X, lam, gamma, shifted)
                    result = problem.solve(tol=1e-3, max_iter=1000, start=state)
                    assert result.gap <= 1e-3
                    state = result.state
                    iterations.append(result.n_iter)
                return iterations

            def cold(gamma):
                problem = Problem(X, lam, gamma, ShiftedLaplacian(Phi))
                return problem.solve(tol=1e-3, max_iter=1000).n_iter

            seconds, iterations = problems.fastest(warm, 3)
            single = [problems.fastest(lambda g=g: cold(g), 2) for g in problems.GAMMAS]
            times = [s for s, _ in single]
            return {
                "solves": seconds / float(np.mean(times)),
                "iterations": iterations,
                "iterations_from_scratch": [n for _, n in single],
                "svds": seconds / problems.svd_seconds(X),
            }

        records.add(f"path {name}", both)


def grid(records):
    """Four lam with eight gammas each: along gamma, then on to the next lam."""
    for name in ("YALE", "ORL"):

        def both(name=name):
            X, Phi = problems.clean(name)
            theory = 1 / np.sqrt(max(X.shape))
            lams, gammas = [k * theory for k in (0.5, 1, 2, 4)], problems.GAMMAS[:8]

            def warm():
                shifted = ShiftedLaplacian(Phi)
                iterations, first = [], None
                for lam in lams:
                    state = first
                    for k, gamma in enumerate(gammas):
                        problem = Problem(X, lam, gamma, shifted)
                        result = problem.solve(tol=1e-3, max_iter=1000, start=state)
                        assert result.gap <= 1e-3
                        state = result.state
                        first = state if k == 0 else first
                        iterations.append(result.n_iter)
                return iterations

            def cold(lam, gamma):
                problem = Problem(X, lam, gamma, ShiftedLaplacian(Phi))
                return problem.solve(tol=1e-3, max_iter=1000)

            seconds, iterations = problems.cpu_seconds(warm, 1)
            single = [
                problems.cpu_seconds(lambda lam=lam, g=g: cold(lam, g), 1)[0]
                for lam in lams
                for g in gammas[::3]
            ]
            solves = seconds / float(np.mean(single))
            return {"solves": solves, "iterations": iterations}

        records.add(f"grid {name}", both)


def shapes(records):
    """Time with the number of features and with the rank, to a gap of 1e-3."""
    cases = [(500, p, 20) for p in (500, 1000, 2000, 4000, 8000)]
    cases += [(600, 600, rank) for rank in (6, 12, 24, 48, 96)]
    for n, p, rank in cases:

        def one(n=n, p=p, rank=rank):
            X, _ = problems.synthetic(n, p, rank, 0.1)
            seconds, model = problems.fastest(lambda: RPCA(lam="theory").fit(X), 2)
            return {
                "seconds": seconds,
                "svds": seconds / problems.svd_seconds(X, 2),
                "n_iter": model.n_iter_,
                "rank": model.rank_,
            }

        records.add(f"shape {n}x{p} r{rank}", one)


def growth(records):
    """Time and memory with the number of samples, on a nearest-neighbor graph."""
    for n in (2000, 8000, 16000, 64000):

        def one(n=n):
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                return pool.apply(_large, (n,))

        records.add(f"growth n={n}", one)


def _large(n):
    """In a process of its own: its peak of memory is that of the fit."""
    threadpool_limits(1)
    images = problems.digits(n)
    start = time.perf_counter()
    A = KNNGraph(10)(images)
    graph_seconds = time.perf_counter() - start
    X = problems.standardize(images)
    del images
    lam = 1 / np.sqrt(n)
    gamma = clustering_gamma(X.shape, typical_size(X))
    Phi = laplacian(A)
    before = _resident()
    with _Peak() as peak:
        start = time.perf_counter()
        shifted = ShiftedLaplacian(Phi)
        result = Problem(X, lam, gamma, shifted).solve(tol=1e-2, max_iter=1000)
        seconds = time.perf_counter() - start
    unit, _ = problems.fastest(
        lambda: randomized_svd(X, max(result.rank, 1), random_state=0), 2
    )
    return {
        "seconds": seconds,
        "randomized_svds": seconds / unit,
        "graph_seconds": graph_seconds,
        "gap": result.gap,
        "rank": result.rank,
        "n_iter": result.n_iter,
        # X itself counted
        "memory_in_X": 1 + (peak.bytes - before) / X.nbytes,
    }


def _resident():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()


class _Peak:
    """The largest resident memory while a block runs, looked at every 20 ms."""

    def __enter__(self):
        import threading

        self.bytes, self._stop = _resident(), threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()
        return self

    def _watch(self):
        while not self._stop.wait(0.02):
            self.bytes = max(self.bytes, _resident())

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join()


def gaps(records):
    """Certified gap against time, for the plot."""
    for name, gamma in (("ORL", 0.0), ("ORL", 1.0), ("ORL", 10.0)):

        def curve(name=name, gamma=gamma):
            X, Phi = problems.clean(name)
            unit = problems.svd_seconds(X)
            seen, start = [], time.perf_counter()

            def watch(progress):
                seconds = time.perf_counter() - start
                if not seen or progress.gap != seen[-1][1]:
                    seen.append((seconds / unit, progress.gap))

            model = RPCAG(gamma=gamma, tol=1e-6, max_iter=500, callback=watch)
            solver = Problem(X, 1 / np.sqrt(max(X.shape)), gamma, ShiftedLaplacian(Phi))
            solver.solve(tol=model.tol, max_iter=model.max_iter, callback=watch)
            return seen

        records.add(f"gap {name} gamma={gamma:g}", curve)


SECTIONS = {
    "rpca": rpca,
    "seeds": seeds,
    "path": path,
    "grid": grid,
    "faces": faces,
    "real": real,
    "growth": growth,
    "shapes": shapes,
    "gaps": gaps,
    "others": others,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sections", nargs="*", help=", ".join(SECTIONS))
    parser.add_argument("--output", type=Path, default="benchmarks/results.json")
    options = parser.parse_args()
    threadpool_limits(1)
    warnings.simplefilter("ignore")
    records = Records(options.output)
    packages = ("rpcag", "numpy", "scipy", "tensorly", "pyrpca", "skpcp", "sporco")
    records.add("versions", lambda: {name: version(name) for name in packages})
    for name in options.sections or SECTIONS:
        SECTIONS[name](records)


if __name__ == "__main__":
    main()
