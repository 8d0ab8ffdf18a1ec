"""Records as a store would hold them: of the clustering and of some experiments."""

import numpy as np

from test_study import line


def records() -> list[dict]:
    return [*clustering(), *parameters(), *components(), video()]


def clustering() -> list[dict]:
    elsewhere = line("PCA", [0.4], graph=None, d=[2])
    elsewhere["run"]["dataset"] = "YALE"
    grid = {"lam": ["theory"], "gamma": ["clustering"], "components": ["k"]}
    return [
        line("RPCAG", [0.2, 0.3], lam=[1.0], components=["all", "k"]),
        line("PCA", [0.4], graph=None, d=[2]),
        line("NCuts", [0.1], d=[2]),
        elsewhere,
        *(line("RPCAG", [0.3], "knn", "fair", seed, **grid) for seed in (1, 2)),
    ]


def parameters() -> list[dict]:
    run = {
        "experiment": "parameters",
        "subjects": 3,
        "images": 4,
        "corruption": "occlusion20",
        "lam": [0.5, 1.0],
        "gamma": [8.0, 0.0],
        "graph": "complete",
        "seed": 0,
        "dataset": "PIE",
    }
    errors = {"all": [[0.2, 0.4], [0.16, 0.3]], "k": [[0.5, 0.5], [0.5, 0.5]]}
    found = {"matching": errors, "majority": errors, "rank": [[1, 2], [3, 4]]}
    return [{"run": run} | found]


def components() -> list[dict]:
    rng = np.random.default_rng(0)
    run = {"experiment": "components", "graph": "complete", "mask": "zeros"}
    return [
        {
            "run": run | {"model": model},
            "parameters": {},
            "components": rng.standard_normal((12, 3)).round(3).tolist(),
            "classes": [i // 4 for i in range(12)],
            "errors": [0.25, 0.25],
        }
        for model in ("PCA", "RPCAG")
    ]


def video() -> dict:
    rng = np.random.default_rng(0)
    frames = rng.integers(0, 256, (3, 12)).tolist()
    strips = {
        "title": "hall",
        "shape": [3, 4],
        "frames": ["frame 1", "frame 2", "frame 3"],
        "panels": {"frame": frames, "RPCAG": [list(range(0, 240, 20))] * 3},
    }
    run = {"experiment": "video", "clip": "hall", "model": "RPCAG", "every": 1}
    scores = {"f": 0.8, "precision": 0.9, "recall": 0.72, "behind": None}
    rest = {"seconds_per_frame": 0.01, "frames": 3, "masks": 1, "facts": {"rank": 2}}
    return {"run": run, "strips": strips, **scores, **rest}
