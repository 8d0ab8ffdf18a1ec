"""Time and memory of ``rpcag background`` on long videos.

    python benchmarks/video.py                 # synthetic: 1000 and 20 000 frames
    python benchmarks/video.py --real          # and the restaurant clip (RPCAG_DATA)
    python benchmarks/video.py --long 5000     # another length

Every video is separated by a process of its own, whose peak memory the system tells.
Times are also in LAPACK SVDs of the 1000 x 19200 matrix of its fitted frames, in double
precision and measured just before, with one thread and with all.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy import linalg, ndimage
from threadpoolctl import threadpool_limits

from rpcag.video.writers import Writer
from rpcag_study.datasets import load_video

HEIGHT, WIDTH, FITTED = 120, 160, 1000


def synthetic(n, seed=0):
    """A textured wall in changing light, noise, and three discs that move."""
    rng = np.random.default_rng(seed)
    wall = ndimage.gaussian_filter(rng.standard_normal((HEIGHT, WIDTH)), 2)
    wall = 110 + 25 * wall / wall.std()
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    speeds = rng.uniform(0.3, 2.0, (3, 2))
    for t in range(n):
        frame = wall * (1 + 0.15 * np.sin(t / 180))
        for k, (u, v) in enumerate(speeds):
            cx, cy = (20 + u * t) % WIDTH, (30 * k + v * t) % HEIGHT
            frame[np.hypot(x - cx, y - cy) < 6 + 2 * k] = 60 + 80 * k
        frame = frame + 2.5 * rng.standard_normal(frame.shape)
        yield np.clip(frame, 0, 255).astype(np.uint8)


def write(path, frames):
    with Writer(path, Fraction(25)) as writer:
        for frame in frames:
            writer.write(frame)
    return writer.path


def separate(path, folder, *words):
    """Facts of a run, its wall time and its peak memory in bytes."""
    command = [
        sys.executable,
        "-m",
        "rpcag",
        "background",
        str(path),
        "-o",
        str(folder),
    ]
    start = time.perf_counter()
    with subprocess.Popen([*command, "--json", *words], stdout=subprocess.PIPE) as run:
        text = run.stdout.read()
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if run.returncode:
        raise SystemExit(f"rpcag background ended with {run.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    return json.loads(text), seconds, usage.ru_maxrss * unit


def svd_seconds(threads):
    X = np.random.default_rng(0).standard_normal((FITTED, HEIGHT * WIDTH))
    with threadpool_limits(threads):
        times = []
        for _ in range(2):
            start = time.perf_counter()
            linalg.svd(X, full_matrices=False, check_finite=False)
            times.append(time.perf_counter() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--long", type=int, default=20_000, metavar="FRAMES")
    parser.add_argument("--real", action="store_true")
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    svd = {name: svd_seconds(n) for name, n in (("one", 1), ("all", None))}
    print(f"SVD: {svd['one']:.1f} s with one thread, {svd['all']:.1f} s with all")
    videos = {"synthetic": lambda: synthetic(FITTED)}
    if options.real:
        videos["restaurant"] = lambda: load_video("bootstrap").frames
    videos["synthetic, long"] = lambda: synthetic(options.long)
    figures = {"svd_seconds": svd}
    for name, frames in videos.items():
        with tempfile.TemporaryDirectory() as folder:
            path = write(Path(folder) / "video", frames())
            facts, seconds, memory = separate(path, Path(folder) / "out")
        fit = facts["seconds"]["fit"]
        figures[name] = {
            "frames": facts["frames"],
            "fitted": facts["fitted_frames"],
            "gap": facts["certified_gap"],
            "rank": facts["rank"],
            "iterations": facts["iterations"],
            "seconds": facts["seconds"] | {"all": round(seconds, 2)},
            "svds": {key: round(seconds / value, 2) for key, value in svd.items()},
            "frames_per_second": round(facts["frames"] / seconds, 1),
            "peak_memory_gb": round(memory / 1e9, 3),
        }
        counts = f"{facts['frames']} frames, {facts['fitted_frames']} of them fitted"
        print(
            f"{name}: {counts}, to a gap of {facts['certified_gap']:.1e} in {fit:.0f} s"
        )
        print(
            f"  all in {seconds:.0f} s: {seconds / svd['one']:.1f} SVDs with one "
            f"thread, {seconds / svd['all']:.1f} with all; "
            f"{facts['frames'] / seconds:.1f} frames/s; "
            f"peak memory {memory / 1e9:.2f} GB",
            flush=True,
        )
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
