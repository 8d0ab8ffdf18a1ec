"""Time and memory of ``rpcag background``.

    python benchmarks/video.py                 # street, synthetic and long
    python benchmarks/video.py street          # ten seconds in color, 320 x 240
    python benchmarks/video.py restaurant      # a real clip (RPCAG_DATA)
    python benchmarks/video.py long --long 5000

Every video is separated by a process of its own, whose CPU time and peak memory the
system tells. CPU times of the fit are also in LAPACK SVDs of a 1000 x 19200 matrix, the
frames of "synthetic" and "restaurant", in double precision and with one thread.
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

from rpcag.demo_files import MOVING
from rpcag.video import BackgroundModel, Source
from rpcag.video.ffmpeg import Writer
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


def street(n=250, height=240, width=320, seed=0):
    """The scene of `rpcag.demo_files.street_frames`, larger, and crossed again."""
    rng = np.random.default_rng(seed)
    unit = height // 120
    texture = sum(
        w * ndimage.gaussian_filter(rng.standard_normal((height, width)), w * unit)
        for w in (1, 3, 8)
    )
    scene = 120 + 22 * (texture / np.std(texture))[..., None] * [1.0, 0.95, 0.85]
    road = slice(66 * unit, 100 * unit)
    scene[road] = 90 + 0.35 * (scene[road] - 90)
    for t in range(n):
        light = 1 + 0.12 * np.sin(2 * np.pi * t / 160)
        frame = scene * light
        for top, tall, wide, speed, color in MOVING:
            tall, wide = tall * unit, wide * unit
            left = round(speed * unit * t % (width + wide)) - wide
            rows = slice(top * unit, top * unit + tall)
            part = rows, slice(max(left, 0), max(left + wide, 0))
            frame[part] = np.multiply(color, light)
        frame = frame + 2 * rng.standard_normal(frame.shape)
        yield np.clip(np.rint(frame), 0, 255).astype(np.uint8)


def write(path, frames):
    with Writer(path, Fraction(25)) as writer:
        for frame in frames:
            writer.write(frame)
    return writer.path


def separate(path, folder):
    """Facts of a run, its wall and CPU times, and its peak memory in bytes."""
    words = ["background", str(path), "-o", str(folder), "--json"]
    command = [sys.executable, "-m", "rpcag", *words]
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as run:
        text = run.stdout.read()
        _, status, usage = os.wait4(run.pid, 0)
        run.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - start
    if run.returncode:
        raise SystemExit(f"rpcag background ended with {run.returncode}")
    unit = 1 if sys.platform == "darwin" else 1024
    cpu = usage.ru_utime + usage.ru_stime
    return json.loads(text), seconds, cpu, usage.ru_maxrss * unit


def svd_seconds():
    X = np.random.default_rng(0).standard_normal((FITTED, HEIGHT * WIDTH))
    with threadpool_limits(1):
        start = time.process_time()
        linalg.svd(X, full_matrices=False, check_finite=False)
        return time.process_time() - start


def fit_seconds(frames):
    """CPU time of a fit with one thread."""
    with threadpool_limits(1):
        start = time.process_time()
        BackgroundModel().fit(frames)
        return time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = ["street", "synthetic", "restaurant", "long"]
    parser.add_argument("videos", nargs="*", default=["street", "synthetic", "long"])
    parser.add_argument("--long", type=int, default=20_000, metavar="FRAMES")
    parser.add_argument("--output", type=Path, help="also write the figures as JSON")
    options = parser.parse_args()
    for name in set(options.videos) - set(names):
        parser.error(f"{name!r} is none of {', '.join(names)}")
    videos = {
        "street": street,
        "synthetic": lambda: synthetic(FITTED),
        "restaurant": lambda: load_video("bootstrap").frames,
        "long": lambda: synthetic(options.long),
    }
    figures = {}
    for name in options.videos:
        with tempfile.TemporaryDirectory() as folder:
            path = write(Path(folder) / "video", videos[name]())
            facts, seconds, cpu, memory = separate(path, Path(folder) / "out")
            found = {
                "frames": facts["frames"],
                "fitted": facts["fitted_frames"],
                "fitted_values": facts["fitted_values"],
                "gap": facts["certified_gap"],
                "regression_gap": facts["regression_gap"],
                "rank": facts["rank"],
                "iterations": facts["iterations"],
                "seconds": facts["seconds"] | {"all": round(seconds, 2)},
                "cpu_seconds": round(cpu, 2),
                "frames_per_second": round(facts["frames"] / seconds, 1),
                "peak_memory_gb": round(memory / 1e9, 3),
            }
            if name in ("synthetic", "restaurant"):
                frames = np.stack(list(Source(path, gray=True)))
                found["fit_svds"] = round(fit_seconds(frames) / svd_seconds(), 2)
        figures[name] = found
        print(name, json.dumps(found), flush=True)
    if options.output:
        options.output.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
