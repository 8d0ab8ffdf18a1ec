"""How good the mask rule is on synthetic clips, and what other constants would change.

    python benchmarks/mask_rule.py             # five minutes; keeps its fits

The score of a rule is its mean over the clips of `clips.py`: F where something moves,
else one minus twenty times the share that is marked. For every constant of
`rpcag.video.masks`, the score is measured for other values of this constant alone. The
last clips are not used for that; they confirm the score of the package's constants.
"""

import json
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from pathlib import Path

import clips
import numpy as np
from threadpoolctl import threadpool_limits

from rpcag.video import BackgroundModel, fit_mask_rule, masks, scaled
from rpcag_study.datasets.files import cache_folder
from rpcag_study.experiments.video import foreground_scores

FILE = Path(__file__).with_suffix(".json")
COMPARED_ON, CONFIRMED_ON = range(16), range(16, 24)
MODELS = ("rpcag", "rpca")
# The first value mostly leaves a step out.
CANDIDATES = {
    "FLOOR": (0.0, 3.0, 5.0, 6.0, 8.0),
    "SIGMAS": (0.0, 2.0, 3.0, 6.0),
    "TEXTURE": (1.0, 4.0),
    "SHADE": (1.0, 0.8, 0.7, 0.5),
    "SLOPE": (0.0, 0.03, 0.05, 0.08),
    "UNEVEN": (1.0, 2.0, 8.0),
    "GAP": (0.0, 1.0, 3.0, 4.0),
    "AREA": (10.0, 20.0, 80.0),
    "GHOST": (0.0, 0.25, 0.5),
}


@cache
def background(seed: int, model: str) -> dict[str, np.ndarray]:
    """The scored frames of a clip with their truth, and their background."""
    path = cache_folder() / "made-up" / f"{seed}-{model}.npz"
    if not path.exists():
        clip = clips.make(seed)
        with threadpool_limits(1):
            fit = BackgroundModel(model).fit(clip.frames)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"part-{path.name}")
        L = fit.fitted_background(clip.scored)
        truths = {"truth": clip.truth, "decided": clip.decided}
        np.savez(part, frames=clip.frames[clip.scored], L=L, **truths)
        part.replace(path)
    with np.load(path) as stored:
        return {**stored}


def score(seed: int, model: str, constants: dict[str, float]) -> float:
    before = {name: getattr(masks, name) for name in constants}
    vars(masks).update(constants)
    stored = background(seed, model)
    frames, L, truth = scaled(stored["frames"]), stored["L"], stored["truth"]
    mask = fit_mask_rule([frames - L])(frames, L)
    vars(masks).update(before)
    if not truth.any():
        return 1 - min(1.0, 20 * float(mask.mean()))
    decided = np.broadcast_to(stored["decided"], truth.shape)
    return foreground_scores(mask, truth, decided)[2]


def scores(seed: int) -> dict[str, float]:
    """Of one clip: with the constants of the package, and with one changed."""
    found = {model: score(seed, model, {}) for model in MODELS}
    if seed in COMPARED_ON:
        for name, values in CANDIDATES.items():
            for value in values:
                found[f"{name} {value}"] = score(seed, "rpcag", {name: value})
    return found


def means(found: list[dict[str, float]]) -> dict[str, float]:
    return {
        name: round(float(np.mean([f[name] for f in found])), 4) for name in found[0]
    }


def main():
    with ProcessPoolExecutor(2) as pool:
        compared = means(list(pool.map(scores, COMPARED_ON)))
        confirmed = means(list(pool.map(scores, CONFIRMED_ON)))
    report = {
        "constants": {name: getattr(masks, name) for name in CANDIDATES},
        "compared": compared,
        "confirmed": confirmed,
    }
    FILE.write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
