"""The matrices of the benchmarks, and how they are timed."""

import os
import time
from pathlib import Path

import numpy as np
from scipy import linalg

from rpcag.graphs import CompleteGraph, laplacian
from rpcag_study.corruptions import occlude_blocks

# n, p, rank, share of wrong entries, gap asked for, whether the truth is recoverable.
SYNTHETIC = [
    (500, 500, 25, 0.1, 1e-5, True),
    (1000, 1000, 50, 0.05, 1e-5, True),
    (300, 2576, 30, 0.1, 1e-5, True),
    (200, 20000, 10, 0.1, 1e-5, True),
    (1000, 1000, 100, 0.2, 1e-3, False),
    (2000, 2000, 100, 0.1, 1e-5, True),
]
# Data set, samples: the sizes of the paper's experiments, then larger ones.
REAL = [
    ("PIE", 300),
    ("ORL", 300),
    ("COIL20", 200),
    ("MNIST", 300),
    ("MFeat", 400),
    ("PIE", 600),
    ("PIE", 1200),
    ("COIL20", 1440),
    ("MNIST", 1000),
    ("MNIST", 2000),
    ("MFeat", 2000),
]
# lam in units of 1 / sqrt(max(n, p)).
LAMS = (1, 2, 4)
GAMMAS = [2.0**k for k in range(-3, 11)]


def synthetic(n, p, rank, wrong, seed=0):
    """A product of Gaussian matrices with entries of variance one; uniform errors."""
    rng = np.random.default_rng(seed)
    L = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, p)) / rank**0.5
    S = np.zeros((n, p))
    mask = rng.random((n, p)) < wrong
    S[mask] = rng.uniform(-10, 10, mask.sum())
    return L + S, L


def load(file):
    folder = os.environ.get("RPCAG_DATA")
    if not folder:
        raise SystemExit("set RPCAG_DATA to the folder of the real data sets")
    with np.load(Path(folder) / f"{file}.npz") as data:
        return data["X"].astype(float), data["y"]


def standardize(X):
    deviation = X.std(axis=0, ddof=1)
    return (X - X.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def real(name, n):
    """A data set, the same number of random samples per class, standardized."""
    if name == "ORL":
        return clean("ORL")[0]
    files = {"PIE": "pie_pose27", "COIL20": "coil20", "MNIST": "mnist_5k"}
    X, y = load(files.get(name, "mfeat"))
    classes = np.unique(y)[:30]  # PIE has 68 subjects
    rng = np.random.default_rng(0)
    rows = [
        np.sort(rng.choice(np.flatnonzero(y == c), n // len(classes), replace=False))
        for c in classes
    ]
    return standardize(X[np.concatenate(rows)])


def occluded_faces(per_subject, subjects=30, occluded=0.2):
    """CMU PIE with blocks over a share of each image: images, mask, person."""
    X, y = load("pie_pose27")
    rng = np.random.default_rng(0)
    rows = np.concatenate(
        [
            np.sort(rng.choice(np.flatnonzero(y == c), per_subject, replace=False))
            for c in range(subjects)
        ]
    )
    images, mask = occlude_blocks(X[rows] / 255, (32, 32), occluded, random_state=0)
    return images, mask, y[rows]


def faces(per_subject):
    """Occluded faces, standardized, and the paper's graph."""
    images, mask, _ = occluded_faces(per_subject)
    return standardize(images), laplacian(CompleteGraph()(images, mask))


def clean(name):
    """ORL (30 subjects) or YALE, and the paper's graph."""
    file = {"ORL": "orl_56x46", "YALE": "yale_64x64"}[name]
    X, y = load(file)
    if name == "ORL":
        X = X[np.isin(y, [*range(9), 12, *range(20, 40)])]
    X /= max(1.0, X.max())
    return standardize(X), laplacian(CompleteGraph()(X))


def digits(n, seed=0):
    """MNIST digits, each moved by up to two pixels, 5 % of the pixels random."""
    X, _ = load("mnist_5k")
    images = X.reshape(-1, 28, 28) / X.max()
    rng = np.random.default_rng(seed)
    chosen = rng.integers(len(images), size=n)
    moves = rng.integers(-2, 3, size=(n, 2))
    moved = np.empty((n, 28, 28))
    for i in range(n):
        moved[i] = np.roll(images[chosen[i]], tuple(moves[i]), (0, 1))
    moved = moved.reshape(n, 784)
    wrong = rng.random(moved.shape) < 0.05
    moved[wrong] = rng.random(wrong.sum())
    return moved


def fastest(function, repeats):
    """The least time of several calls, and the last answer."""
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        answer = function()
        best = min(best, time.perf_counter() - start)
    return best, answer


def in_turn(calls, rounds):
    """The least time of every call and its last answer; a slow minute hits all."""
    seconds, answers = dict.fromkeys(calls, np.inf), {}
    for _ in range(rounds):
        for name, call in calls.items():
            spent, answers[name] = fastest(call, 1)
            seconds[name] = min(seconds[name], spent)
    return seconds, answers


def cpu_seconds(function, repeats):
    """The least CPU time of several calls, and the last answer."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        answer = function()
        best = min(best, time.process_time() - start)
    return best, answer


def svd_seconds(X, repeats=3):
    return fastest(lambda: linalg.svd(X, full_matrices=False), repeats)[0]
