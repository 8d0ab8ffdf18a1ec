"""What constants of `rpcag.video.masks` would made-up clips choose, without real masks?

    python benchmarks/mask_rule.py           # minutes; writes mask_rule.json
    python benchmarks/mask_rule.py --clips   # F of these on the study's clips, as well

From the plainest rule (Otsu's threshold on |S|, holes filled, nothing else) one
constant after another takes the value of highest score, until none changes. The score
is F, and where nothing moves one minus twenty times the share that is marked; its mean
over the first clips of `clips.py`, with the backgrounds of RPCAG and of RPCA, both as
they come. The others confirm. Going by coordinates is not a search of the whole grid,
but no mask made by hand has a say in it.
"""

import json
import sys
import tempfile
from itertools import product
from pathlib import Path

import clips
import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from rpcag.datasets import load_video
from rpcag.metrics import foreground_scores
from rpcag.study.experiments import video
from rpcag.study.experiments.task import quietly
from rpcag.video import masks
from rpcag.video.background import BackgroundModel, scaled

FILE = Path(__file__).with_suffix(".json")
CHOSEN_ON, CONFIRMED_ON = range(16), range(16, 32)
MODELS = ("rpcag", "rpca")
CLIP_MODELS = ("RPCAG", "RPCA", "KNN", "MOG2", "median")
# The first is the plain one, mostly that a step is left out.
CANDIDATES = {
    "POWER": (1.0, 0.5),
    "BLUR": (0.0, 0.5, 1.0, 1.5, 2.0),
    "FLOOR": (0.0, 3.0, 4.0, 6.0, 8.0, 12.0),
    "SIGMAS": (0.0, 2.0, 3.0, 4.0, 6.0),
    "TEXTURE": (1.0, 2.0, 4.0),
    "WINDOWS": ((1.0,), (2.5,), (1.0, 2.5)),
    "GAP": (0.0, 1.0, 2.0, 3.0, 4.0),
    "AREA": (0.0, 10.0, 20.0, 40.0),
}
SHIPPED = {name: getattr(masks, name) for name in CANDIDATES}


def separated(seed):
    """Of a clip: what is scored, its backgrounds by every model, and the truth."""
    clip = clips.make(seed)
    frames = scaled(clip.frames[clip.scored])
    with threadpool_limits(1):
        backgrounds = [
            BackgroundModel(name).fit(clip.frames).fitted_background(clip.scored)
            for name in MODELS
        ]
    return frames, backgrounds, clip.truth


def score(constants, case):
    """Of a clip with every model's background."""
    for name, value in constants.items():
        setattr(masks, name, value)
    frames, backgrounds, truth = case
    found = []
    for background in backgrounds:
        estimate = masks.MaskEstimate()
        estimate.add(frames - background)
        mask = estimate.rule()(frames, background)
        found.append(
            foreground_scores(mask, truth).f
            if truth.any()
            else 1 - min(1.0, 20 * float(mask.mean()))
        )
    return found


def choose(pool, cases):
    """Constants, and the score of every step on the way."""

    def mean(constants):
        return float(np.mean(pool(delayed(score)(constants, case) for case in cases)))

    best = {name: values[0] for name, values in CANDIDATES.items()}
    reached, way, tried = mean(best), [], 1
    way.append({"score": reached, **best})
    changed = True
    while changed:
        changed = False
        for name, values in CANDIDATES.items():
            for value in values:
                if value != best[name]:
                    f, tried = mean(best | {name: value}), tried + 1
                    if f > reached:
                        reached, better = f, value
                        best, changed = best | {name: better}, True
                        way.append({"score": f, **best})
                        print(f"{f:.4f}  {name} = {value}", flush=True)
    return best, way, tried


def main():
    pool = Parallel(n_jobs=2, max_nbytes=None)
    seeds = [*CHOSEN_ON, *CONFIRMED_ON]
    cases = dict(zip(seeds, pool(delayed(separated)(s) for s in seeds), strict=True))
    best, way, tried = choose(pool, [cases[s] for s in CHOSEN_ON])
    report = {
        "candidates": CANDIDATES,
        "tried": tried,
        "chosen": best,
        "shipped": SHIPPED,
        "way": way,
    }
    for name, constants in (("plain", way[0]), ("shipped", SHIPPED), ("chosen", best)):
        constants = {key: constants[key] for key in CANDIDATES}
        for group, chosen in (("chosen_on", CHOSEN_ON), ("confirmed_on", CONFIRMED_ON)):
            f = np.mean([score(constants, cases[s]) for s in chosen], axis=0)
            report[f"{name} {group}"] = dict(
                zip(MODELS, f.round(4).tolist(), strict=True)
            )
            print(name, group, report[f"{name} {group}"])
    FILE.write_text(json.dumps(report, indent=1) + "\n")


def f_on_clip(constants, clip, model):
    for name, value in constants.items():
        setattr(masks, name, value)
    with quietly(), tempfile.TemporaryDirectory() as pictures:
        run = video.VideoRun(clip, model)
        return video.measure(run, load_video(clip), Path(pictures))["f"]


def on_clips():
    """The constants of the file, on clips with masks made by hand."""
    report = json.loads(FILE.read_text())
    runs = list(product(CLIP_MODELS, video.CLIPS))
    pool = Parallel(n_jobs=2)
    found = pool(delayed(f_on_clip)(report["chosen"], c, m) for m, c in runs)
    report["chosen, F"] = {
        model: {c: f for (m, c), f in zip(runs, found, strict=True) if m == model}
        for model in CLIP_MODELS
    }
    FILE.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    on_clips() if "--clips" in sys.argv[1:] else main()
